// `planfold status [PLAN] --drift`: what has moved since the plan became what it is, by whose hand, and what was expected and did not hold.

import type { AnswerOf } from '../../../engine/engine.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, type Context, EXIT, withState } from '../../command.ts'
import { findPlan } from '../../find-target.ts'
import { ago } from '../../terminal/elapsed-time.ts'

type Drift = NonNullable<AnswerOf<'drift'>>

export interface DriftOptions {
  readonly all?: boolean
}

const FILES_SHOWN_MAX = 40

export async function drift(context: Context, word: string | undefined, options: DriftOptions): Promise<number> {
  return await withState(context, { create: false }, async ({ engine }) => {
    const { plan, name } = await findPlan(engine, word, { looking: true })
    const found = await engine.ask({ type: 'drift', plan })
    if (found === null) throw new Error(`the plan ${plan} has gone`)
    answer(context, { plan, name, drifted: hasDrifted(found), ...found }, () => lines(context, name, found, options))
    return EXIT.done
  })
}

export const hasDrifted = ({ commit, files, unmet, outputs }: Drift): boolean =>
  commit?.by === 'somebody' || files.some(({ by }) => by === 'somebody') || unmet.length + outputs.length > 0

function lines({ paint, now }: Context, name: string, found: Drift, options: DriftOptions): readonly string[] {
  const { revision, since, commit, files, basis, lacks, unmet, outputs } = found
  const strange = files.filter(({ by }) => by === 'somebody')
  const shown = options.all === true ? files : strange
  const own = files.length - strange.length
  return [
    `${paint.bold(name)} revision ${revision}, since ${ago(since.at, now())}${hasDrifted(found) ? '' : ': no changes outside the plan'}`,
    ...(commit === null
      ? []
      : [
          `  commit   ${where(commit.from)} → ${where(commit.to)}, by ${commit.by === 'plan' ? 'the plan' : 'someone else'}`,
        ]),
    ...shown
      .slice(0, FILES_SHOWN_MAX)
      .map(({ path, what, by, tasks }) => `  ${what.padEnd(8)} ${escapeForTerminal(path)}${authorOf(by, tasks)}`),
    ...(shown.length > FILES_SHOWN_MAX ? [`  … and ${shown.length - FILES_SHOWN_MAX} more`] : []),
    ...(own > 0 && options.all !== true
      ? [paint.dim(`  ${own} more changed by the plan's own tasks: planfold status ${name} --drift --all`)]
      : []),
    ...(basis === 'whole' && lacks === null
      ? []
      : [paint.dim(`  ${basisWords(basis)}: ${escapeForTerminal(lacks ?? '')}`)]),
    ...unmet.map(
      ({ task, stage, criterion, evidence }) =>
        `  ${paint.red('failed')}   ${task}: ${stage} '${escapeForTerminal(criterion)}'${evidence === null ? '' : ` (${escapeForTerminal(evidence)})`}`,
    ),
    ...outputs.map(
      ({ task, output, file, what }) =>
        `  ${paint.red('output')}   ${task}: '${escapeForTerminal(output)}' is ${what} (${escapeForTerminal(file)}); planfold retry ${name} ${task} rebuilds it`,
    ),
    ...(hasDrifted(found) ? ['', `To change the plan: planfold revise ${name} FILE --propose -m 'why'`] : []),
  ]
}

const where = ({ head, branch }: { readonly head: string | null; readonly branch: string | null }): string =>
  `${head?.slice(0, 10) ?? 'no commits yet'}${branch === null ? '' : ` (${escapeForTerminal(branch)})`}`

function authorOf(by: 'plan' | 'somebody', tasks: readonly string[]): string {
  if (by === 'plan') return `, by ${tasks.join(', ')}`
  return tasks.length === 0 ? ', by someone else' : `: written by ${tasks.join(', ')}, then changed by someone else`
}

const basisWords = (basis: Drift['basis']): string =>
  basis === 'whole'
    ? 'all files were compared'
    : basis === 'written'
      ? 'only files written by the plan were compared'
      : 'files were not compared'
