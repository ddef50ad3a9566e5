// `planfold fork PLAN --from WHERE`: a new plan that continues from an earlier point of another one, in a folder of its own with the
// files of that point. The other plan and its files do not change.

import type { Json } from '../../../domain/json.ts'
import { numberOf } from '../../../domain/phrases.ts'
import type { Forked } from '../../../engine/engine.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import type { LeftOut } from '../../../workspace/workspace.ts'
import { answer, type Context, EXIT, print, printNote, usage, withState } from '../../command.ts'
import { findPlan } from '../../find-target.ts'
import { submit } from '../../order.ts'

import type { PlanFile } from '../../plan-file.ts'
import { halves } from '../formats/template-new.ts'

export interface ForkOptions {
  readonly from?: string
  readonly name?: string
  readonly input?: readonly string[]
  readonly revision?: string
  readonly model?: string
  readonly here?: true
  readonly start?: true
}

const NAMED_MAX = 5

export async function fork(context: Context, word: string, options: ForkOptions): Promise<number> {
  const { from } = options
  if (from === undefined) throw usage("required option '--from <where>' not specified", 'see `planfold fork --help`')
  const file = options.revision === undefined ? null : await revisionOf(context, options.revision)
  const inputs = inputsOf(options.input ?? [])
  return await withState(context, { create: false }, async composed => {
    const { plan, name: origin } = await findPlan(composed.engine, word)
    const { name, model, here } = options
    const made = await submit(composed, plan, {
      type: 'fork',
      from,
      inputs,
      name,
      model,
      ...(here === true ? { here } : {}),
      ...(file === null ? {} : { definition: file.definition, source: file.source }),
    })
    const forked = made.fork
    if (forked === undefined) throw new Error('bug: a fork was made, and the answer has no details')
    if (options.start !== true) {
      const data = { plan: made.plan, name: made.name, status: 'draft', origin: { plan, name: origin }, ...forked }
      answer(context, data, () => [
        ...lines(context, made.name, origin, forked),
        ...(forked.works.in === 'workspace' ? [] : [`  Later, to merge its work: planfold fork adopt ${made.name}`]),
        `  Next: planfold run ${made.name}`,
      ])
      return EXIT.done
    }
    // With `--json` the run prints its own lines, and its summary names the folder.
    if (!context.settings.json) print(context, lines(context, made.name, origin, forked))
    const { startAndDrive } = await import('../plans/run.ts')
    return await startAndDrive(context, composed, { plan: made.plan, name: made.name, since: made.version }, {})
  })
}

async function revisionOf(context: Context, path: string) {
  const { readPlanFile, refuseSketch } = await import('../../plan-file.ts')
  const { sourceOf } = await import('../../../operations/run-plan.ts')
  const file: PlanFile = await readPlanFile(context, path)
  refuseSketch(file)
  if (file.warnings.length > 0) {
    const { printDiagnostics } = await import('../../text/diagnostics.ts')
    for (const line of printDiagnostics(context.paint, file.warnings)) printNote(context, line)
  }
  return { definition: file.definition, source: sourceOf(file) }
}

function inputsOf(words: readonly string[]): { readonly [place: string]: Json } {
  const given: { [place: string]: Json } = {}
  for (const word of words) {
    const [place, text] = halves(word, '--input')
    given[place] = readValue(text)
  }
  return given
}

function readValue(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

function lines(
  { paint }: Context,
  name: string,
  origin: string,
  { from, ended, open, works }: Forked,
): readonly string[] {
  const line = (word: string, text: string) => `  ${paint.dim(word.padEnd(8))} ${escapeForTerminal(text)}`
  const head = `${paint.green('✔')} ${paint.bold(name)} continues from entry ${from} of ${escapeForTerminal(origin)}`
  const tasks = [
    line('done', `${ended.length} of ${numberOf(ended.length + open.length, 'task')}${named(ended)}`),
    line('to do', `${open.length}${named(open)}`),
  ]
  if (works.in === 'workspace')
    return [head, ...tasks, line('works in', 'the workspace, with its files as they are now')]
  const { place, files, left, others, unseen, uncommitted, why } = works
  const what =
    works.in === 'worktree' ? `a worktree on branch plan/${name}` : `a folder of its own, ${numberOf(files, 'file')}`
  return [
    head,
    ...tasks,
    line('works in', `${place} (${what})`),
    line(
      'files',
      others === 'then' ? `as of entry ${from}` : `files of the plan as of entry ${from}; other files as they are now`,
    ),
    ...(left.paths === 0
      ? []
      : [line('missing', `${numberOf(left.paths, 'path')}: ${some(left.first.map(reasoned))}`)]),
    ...(uncommitted.paths === 0
      ? []
      : [
          line(
            'copied',
            `${numberOf(uncommitted.paths, 'file that is', 'files that are')} in no commit: ${some(uncommitted.first)}`,
          ),
        ]),
    ...(works.in === 'worktree' ? [line('ignored', 'files ignored by git or .planfoldignore are not copied')] : []),
    ...(unseen.length === 0
      ? []
      : [line('unseen', `files written by ${some(unseen)} were not tracked; they are as they are now`)]),
    ...(why === undefined ? [] : [line('why', `no worktree: ${why}`)]),
  ]
}

const some = (names: readonly string[]): string =>
  `${names.slice(0, NAMED_MAX).join(', ')}${names.length > NAMED_MAX ? ', …' : ''}`

const reasoned = ({ path, reason }: LeftOut): string => `${path} (${reason})`

const named = (names: readonly string[]): string => (names.length === 0 ? '' : `: ${some(names)}`)
