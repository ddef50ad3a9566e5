// `planfold show [PLAN] --checks`: every criterion of a plan, and how each was judged last: evidence, by whom, when, in which entry.
// Nothing is judged anew, and nothing is written.

import type { ContractLine } from '../../../domain/views/contract.ts'

import type { AnswerOf } from '../../../engine/engine.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, type Context, EXIT, withState } from '../../command.ts'
import { findPlan } from '../../find-target.ts'
import { ago } from '../../terminal/elapsed-time.ts'

type Contract = NonNullable<AnswerOf<'contract'>>

export interface ContractOptions {
  readonly open?: boolean
}

const CRITERION_MAX = 100

export async function contract(context: Context, word: string | undefined, options: ContractOptions): Promise<number> {
  return await withState(context, { create: false, reading: true }, async ({ engine }) => {
    const { plan } = await findPlan(engine, word, { looking: true })
    const found = await engine.ask({ type: 'contract', plan })
    if (found === null) throw new Error(`the plan ${plan} has gone`)
    const lines = options.open === true ? found.lines.filter(({ holds }) => holds !== true) : found.lines
    answer(context, { ...found, lines }, () => contractLines(context, found, lines))
    return EXIT.done
  })
}

function contractLines(context: Context, found: Contract, lines: readonly ContractLine[]): readonly string[] {
  const { paint } = context
  const { name, revision, counts } = found
  const parts = [
    `${counts.holds} passed`,
    ...(counts.broken === 0 ? [] : [paint.red(`${counts.broken} failed`)]),
    ...(counts.open === 0 ? [] : [`${counts.open} pending`]),
  ]
  if (found.lines.length === 0) return [`${paint.bold(name)} revision ${revision} has no checks`]
  const text = [`${paint.bold(name)} revision ${revision}: ${parts.join(', ')}`]
  for (const [at, line] of lines.entries()) {
    if (line.task !== lines[at - 1]?.task) text.push('', line.task)
    text.push(...lineOf(context, line))
  }
  return text
}

function lineOf(
  { paint, now }: Context,
  { part, criterion, words, holds, by, judged }: ContractLine,
): readonly string[] {
  const sign = holds === true ? paint.green('✔') : holds === false ? paint.red('✖') : paint.dim('·')
  const whole = words === null ? criterion : `${words}: ${criterion}`
  const shown = whole.replace(/\s+/g, ' ')
  const what = escapeForTerminal(shown.length > CRITERION_MAX ? `${shown.slice(0, CRITERION_MAX - 1)}…` : shown)
  const first = `  ${sign} ${part.padEnd(13)} ${what}`
  if (judged === null || (holds === null && judged.evidence === null))
    return [`${first}${paint.dim(by === 'person' ? ' · needs a person' : ' · not run yet')}`]
  const facts = [
    ...(judged.evidence === null ? [] : [escapeForTerminal(judged.evidence)]),
    ...(judged.who === 'engine' ? [] : [`by ${escapeForTerminal(judged.who)}`]),
    ago(judged.at, now()),
    `entry ${judged.entry}`,
    ...(judged.isCurrent ? [] : [`last checked in run ${judged.visit}`]),
    ...(judged.log === null ? [] : [`output ${judged.log.sha256.slice(0, 12)}`]),
  ]
  const said = judged.said === null || holds !== false ? [] : judged.said.split('\n')
  return [
    first,
    paint.dim(`      ${facts.join(' · ')}`),
    ...said.map(line => paint.dim(`      | ${escapeForTerminal(line)}`)),
  ]
}
