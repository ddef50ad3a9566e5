// `planfold revise list|show|diff`: how a plan came to say what it says. Nothing here changes anything.

import { numberOf } from '../../../domain/phrases.ts'
import type { PlanDefinition } from '../../../domain/plan.ts'
import { type SemanticDiff, semanticDiff, summarise } from '../../../domain/revisions/semantic-diff.ts'
import { allTasks } from '../../../domain/state/task-index.ts'
import { explainDiff } from '../../../format/plan/diff-text.ts'
import { printYaml } from '../../../format/plan/print.ts'
import type { Revision } from '../../../format/plan/revisions.ts'
import type { PlanTarget } from '../../../operations/find-target.ts'
import { readRevisions } from '../../../operations/read-journal.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, type Context, EXIT, type ExitCode, notFound, withState } from '../../command.ts'
import { findPlan } from '../../find-target.ts'
import { dateAndTime } from '../../terminal/elapsed-time.ts'
import { table } from '../../terminal/table.ts'

export type { Revision } from '../../../format/plan/revisions.ts'

export function revisionNumbered(plan: PlanTarget, revisions: readonly Revision[], number: number): Revision {
  const found = revisions.find(({ revision }) => revision === number)
  if (found !== undefined) return found
  const last = revisions.at(-1)?.revision ?? 0
  throw notFound(
    `plan '${plan.name}' has no revision ${number}`,
    last === 1 ? 'it has only one, number 1' : `it has the revisions 1 to ${last}`,
  )
}

const HASH_SHOWN = 12

export async function listRevisions(context: Context, word: string | undefined): Promise<number> {
  return await withState(context, { create: false }, async ({ engine }) => {
    const { plan, name } = await findPlan(engine, word, { looking: true })
    const revisions = await readRevisions(engine, plan)
    const items = revisions.map((one, at) => ({ ...rowOf(one), summary: summaryOf(revisions[at - 1], one) }))
    const { paint, terminal } = context
    answer(context, { plan, name, items }, () => {
      const rows = items.map(({ revision, hash, verified, at, actor, rationale, summary }) => [
        { text: String(revision), tint: paint.bold },
        verified
          ? { text: hash.slice(0, HASH_SHOWN), tint: paint.dim }
          : { text: `${hash.slice(0, HASH_SHOWN)} DAMAGED`, tint: paint.red },
        dateAndTime(at),
        actor,
        rationale ?? '',
        summary,
      ])
      return table(paint, ['revision', 'hash', 'when', 'by', 'why', 'what'], rows, terminal?.columns() ?? null)
    })
    return exitOf(revisions)
  })
}

export async function showRevision(
  context: Context,
  word: string,
  number: number | undefined,
  options: { readonly yaml?: boolean; readonly original?: boolean },
): Promise<number> {
  return await withState(context, { create: false }, async ({ engine }) => {
    const target = await findPlan(engine, word, { looking: true })
    const revisions = await readRevisions(engine, target.plan)
    const one = revisionNumbered(target, revisions, number ?? revisions.at(-1)!.revision)
    if (options.original === true && one.source === null)
      throw notFound(
        `the text of revision ${one.revision} was not kept`,
        `the same content: planfold revise show ${target.name} ${one.revision} --yaml`,
      )
    const { definition, source } = one
    const before = revisions[revisions.indexOf(one) - 1]
    const summary = summaryOf(before, one)
    answer(context, { plan: target.plan, name: target.name, ...rowOf(one), summary, definition, source }, () => [])
    if (context.settings.json) return exitOf([one])
    if (options.original === true) write(context, source!.text)
    else if (options.yaml === true) write(context, printYaml(definition))
    else {
      context.stdout.write(`${headOf(context, one, summary).join('\n')}\n\n`)
      write(context, printYaml(definition))
    }
    return exitOf([one])
  })
}

export async function diffRevisions(
  context: Context,
  word: string,
  first: number | undefined,
  second: number | undefined,
): Promise<number> {
  return await withState(context, { create: false }, async ({ engine }) => {
    const target = await findPlan(engine, word, { looking: true })
    const revisions = await readRevisions(engine, target.plan)
    const last = revisions.at(-1)!.revision
    const to = revisionNumbered(target, revisions, second ?? last)
    const from = revisionNumbered(target, revisions, first ?? Math.max(1, last - 1))
    const diff = semanticDiff(from.definition, to.definition)
    const summary = summarise(diff)
    const side = ({ revision, hash, verified }: Revision) => ({ revision, hash, verified })
    answer(context, { plan: target.plan, name: target.name, from: side(from), to: side(to), summary, diff }, () =>
      diffLines(context, from, to, diff),
    )
    return exitOf([from, to])
  })
}

function diffLines({ paint }: Context, from: Revision, to: Revision, diff: SemanticDiff): readonly string[] {
  const head = `revision ${from.revision} → ${to.revision}: ${escapeForTerminal(summarise(diff))}`
  const text = escapeForTerminal(explainDiff(diff), { keepLines: true })
  if (text === '') return [head]
  const lines = text.split('\n').map(line => {
    const sign = line.trimStart()[0]
    return sign === '+' ? paint.green(line) : sign === '-' ? paint.red(line) : line
  })
  return [head, '', ...lines]
}

function headOf({ paint }: Context, one: Revision, summary: string): readonly string[] {
  const fields: readonly (readonly [string, string])[] = [
    ['hash', `${one.hash} ${one.verified ? '(verified)' : 'DAMAGED: it is not the hash of this definition'}`],
    ['by', one.actor],
    ['when', dateAndTime(one.at)],
    ...(one.rationale === null ? [] : [['why', one.rationale] as const]),
    ['what', summary],
    ...(one.source === null ? [] : [['text', `kept as written (${one.source.dialect}); see --original`] as const]),
  ]
  return [
    paint.bold(`revision ${one.revision}`),
    ...fields.map(([name, text]) => `  ${paint.dim(name.padEnd(5))} ${escapeForTerminal(text)}`),
  ]
}

/** Raw to a pipe or a file, so that it can be read back; escaped for a terminal. */
function write(context: Context, text: string): void {
  const shown = context.terminal === null ? text : escapeForTerminal(text, { keepLines: true })
  context.stdout.write(shown.endsWith('\n') ? shown : `${shown}\n`)
}

function rowOf({ definition, source, ...row }: Revision) {
  return { ...row, dialect: source?.dialect ?? null, tasks: allTasks(definition).length }
}

function summaryOf(before: Revision | undefined, one: Revision): string {
  return before === undefined ? created(one.definition) : summarise(semanticDiff(before.definition, one.definition))
}

function created(definition: PlanDefinition): string {
  return `created with ${numberOf(allTasks(definition).length, 'task')}`
}

/** What was agreed on is not what is there: as with `check`, that is no success. */
const exitOf = (revisions: readonly Revision[]): ExitCode =>
  revisions.every(({ verified }) => verified) ? EXIT.done : EXIT.failed
