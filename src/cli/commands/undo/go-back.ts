// Rollback and undo are one path: look what would happen, show it, stop where a person must choose, order it, see it through,
// tell what became of it.

import type { Composed } from '../../../compose.ts'
import type { PlanId } from '../../../domain/id.ts'
import { numberOf } from '../../../domain/phrases.ts'
import type { FilePreview, RollbackAsk } from '../../../engine/engine.ts'
import {
  type ChoiceFault,
  choiceFor,
  orderRollback,
  previewRollback,
  type RollbackEnd,
  readChoices,
} from '../../../operations/rollback-plan.ts'
import type { Change } from '../../../workspace/workspace.ts'
import { answer, print, printNote, withDir } from '../../answer.ts'
import type { Context } from '../../context.ts'
import { type CarriedOut, carryOut } from '../../drive.ts'
import { CliError, declined, EXIT, refused, usage } from '../../exit.ts'
import { confirm } from '../../terminal/confirm.ts'
import { resolvePaths } from '../../text/path-text.ts'
import {
  type Asked,
  doneWords,
  nextCommandLines,
  nextCommands,
  type Preview,
  previewLines,
  undecided,
} from '../../text/rollback-preview.ts'
import { changedBy, resultLines } from '../../text/rollback-result.ts'

import { unfinishedRollback } from '../../text/wait-text.ts'

export interface ChoiceOptions {
  readonly dryRun?: boolean
  readonly force?: boolean
  readonly includeUnclaimed?: boolean
  readonly keep?: readonly string[]
  readonly take?: readonly string[]
  readonly merge?: readonly string[]
}

export interface GoBack {
  readonly plan: PlanId
  readonly name: string
  readonly kind: 'rollback' | 'undo'
  readonly ask: RollbackAsk
  readonly only?: Asked['only']
  readonly confirm?: () => Promise<boolean>
  /** The plan is cancelled then, so that nothing is to be resumed. */
  readonly isLast?: true
  readonly isAnswered?: boolean | undefined
  readonly command: readonly string[]
  readonly options: ChoiceOptions
}

export async function goBack(context: Context, composed: Composed, wanted: GoBack): Promise<number> {
  const { ask, options } = wanted
  const said = { ...ask, ...(options.includeUnclaimed === true ? { includeUnclaimed: true as const } : {}) }
  const first = await previewOf(context, composed, wanted, said)
  const isIncluded = await includesUnclaimed(context, first.preview, wanted)
  const { preview, chosen, asked, how } = isIncluded
    ? await previewOf(context, composed, wanted, { ...said, includeUnclaimed: true })
    : first
  if (options.dryRun === true) {
    const { plan, name } = wanted
    answer(
      context,
      { plan, name, dryRun: true, preview, ...chosen, conflicts: undecided(asked), ways: waysOf(asked) },
      () => (undecided(asked).length === 0 ? [] : nextCommandLines(context, asked)),
    )
    printNote(context, 'dry run: nothing was changed')
    return EXIT.done
  }
  stopAtConflicts(context, asked)
  if (wanted.confirm !== undefined && !(await wanted.confirm())) throw declined('nothing was changed')
  const carried = await ordered(context, composed, { ...wanted, ask: how }, preview)
  return await tell(context, composed, wanted, asked, carried)
}

const leftUnclaimed = (files: readonly FilePreview[]): ReadonlySet<string> =>
  new Set(files.flatMap(({ path, will, unclaimed }) => (unclaimed !== undefined && will === 'leave' ? [path] : [])))

async function includesUnclaimed(
  context: Context,
  { files }: Preview,
  { options, isAnswered }: GoBack,
): Promise<boolean> {
  const left = leftUnclaimed(files)
  if (left.size === 0 || options.dryRun === true || isAnswered === true) return false
  if (context.terminal === null || context.settings.json) return false
  return await confirm(context, `revert ${numberOf(left.size, 'path')} as well that may be yours (see above)?`)
}

async function previewOf(context: Context, { engine, root }: Composed, wanted: GoBack, ask: RollbackAsk) {
  const { plan, name, kind, options } = wanted
  const force = options.force === true ? { force: true as const } : {}
  const look = async (more: RollbackAsk): Promise<Preview> => {
    const found = await previewRollback(engine, { plan, kind, ask: { ...ask, ...force, ...more } })
    if (found === null) throw new Error(`bug: the plan ${plan} was found and is gone`)
    if (!found.ok) throw refused(found.refusal)
    return found
  }
  const before = await look({})
  const chosen = choicesOf({ root, cwd: context.cwd }, options, before.files)
  // What is taken by its name is no longer left.
  const isTaken = before.files.some(
    ({ path, unclaimed }) => unclaimed !== undefined && chosen.choices?.[path] === 'take',
  )
  const preview = isTaken ? await look(chosen) : before
  const asked: Asked = {
    name,
    preview,
    isStart: ask.to === undefined,
    isRunning: ((await engine.ask({ type: 'summary', plan }))?.running.length ?? 0) > 0,
    filesOnly: ask.filesOnly === true || ask.files !== undefined,
    only: wanted.only ?? {},
    command: commandWriter(context)(
      [
        ...wanted.command,
        ...(options.force === true ? ['--force'] : []),
        ...(ask.includeUnclaimed === true ? ['--include-unclaimed'] : []),
      ].join(' '),
    ),
    choiceOf: path => choiceFor({ ...chosen, ...force }, path),
    isKept: path => chosen.choices?.[path] === 'keep',
  }
  if (!context.settings.json) print(context, previewLines(context, asked))
  return { preview, chosen, asked, how: { ...ask, ...force, ...chosen } }
}

const waysOf = (asked: Asked) => (undecided(asked).length === 0 ? [] : nextCommands(asked))

function stopAtConflicts(context: Context, asked: Asked): void {
  const conflicts = undecided(asked)
  if (conflicts.length === 0) return
  if (!context.settings.json) print(context, [...nextCommandLines(context, asked), ''])
  throw new CliError(
    EXIT.refused,
    'conflict',
    `nothing was changed: ${numberOf(conflicts.length, 'path')} edited since, not by the plan`,
    'choose with one of the commands above',
    [],
    { preview: asked.preview, conflicts, ways: nextCommands(asked) },
  )
}

async function ordered(
  context: Context,
  composed: Composed,
  { plan, name, kind, ask }: GoBack,
  preview: Preview,
): Promise<CarriedOut> {
  const seeThrough = async ({ version }: { readonly version: number }): Promise<CarriedOut> => {
    const carried = await carryOut(context, composed, { plan, since: version }).catch((error: Error) => {
      throw unfinishedRollback(name, error) ?? error
    })
    if (carried.ended === null && carried.interrupted === null)
      throw new CliError(
        EXIT.refused,
        'conflict',
        `the outcome of the rollback of '${name}' is unknown`,
        `see planfold log ${name}`,
      )
    return carried
  }
  const options = { holdStill: preview.resets.length === 0 }
  const done = await orderRollback(composed.engine, { plan, kind, ask }, seeThrough, options)
  if (done.status === 'refused') throw refused(done.refusal)
  return done.carried
}

async function tell(
  context: Context,
  { engine }: Composed,
  { plan, name, kind, isLast }: GoBack,
  asked: Asked,
  { ended, failed, interrupted, by }: CarriedOut,
): Promise<number> {
  const say = commandWriter(context)
  const { preview } = asked
  if (ended === null)
    throw new CliError(
      interrupted === 'SIGINT' ? EXIT.interrupted : EXIT.waits,
      'interrupted',
      `the rollback of '${name}' was interrupted and is not finished`,
      by === null ? `Next: ${say(`resume ${name}`)}` : `pid ${by.pid} on ${by.host} continues it`,
    )
  const summary = await engine.ask({ type: 'summary', plan })
  const undone =
    preview.adopted !== undefined
      ? `the adoption of ${preview.adopted} was undone`
      : preview.redoes === true
        ? 'what was undone last was redone'
        : 'the last rollback was undone'
  const what = kind === 'undo' ? undone : doneWords(asked)
  const status = isLast === true ? 'cancelled' : (summary?.status ?? 'paused')
  const { type, ...outcome } = ended
  const also = await unlistedChanges(engine, asked, ended)
  const data = {
    plan,
    name,
    dryRun: false,
    preview,
    status: type === 'rollback.finished' ? 'finished' : 'stopped',
    outcome,
    also,
    failed,
    planStatus: status,
    by,
  }
  answer(context, data, () => [
    '',
    ...resultLines(
      { name, what, ended, also, failed, status, again: asked.command, unclaimed: leftUnclaimed(preview.files) },
      context.paint,
      say,
    ),
  ])
  if (ended.type === 'rollback.stopped') return ended.conflicts === undefined ? EXIT.failed : EXIT.refused
  const left = ended.left ?? []
  return failed.length === 0 && left.every(({ path, uncovered }) => uncovered !== true && isExpected(asked, path))
    ? EXIT.done
    : EXIT.failed
}

async function unlistedChanges(
  engine: Composed['engine'],
  { preview }: Asked,
  ended: RollbackEnd,
): Promise<readonly Change[]> {
  const known = new Set(preview.files.map(({ path }) => path))
  return (await changedBy(engine, ended)).filter(({ path }) => !known.has(path))
}

/** Expected: what the preview announced, what a person chose to keep, and the folders it lies in. */
function isExpected({ preview, choiceOf, isKept }: Asked, left: string): boolean {
  const stays = ({ path, will, conflict }: FilePreview): boolean =>
    will === 'leave' || isKept(path) || (conflict !== undefined && choiceOf(path) === 'keep')
  const file = preview.files.find(({ path }) => path === left)
  if (file !== undefined) return stays(file) || preview.files.some(one => one.path.startsWith(`${left}/`) && stays(one))
  return preview.git.some(step => step.do === 'refuse' && step.target === left)
}

export function commandWriter({ settings }: Context): (words: string) => string {
  return words => withDir({ settings }, `planfold ${words}`)
}

export function choicesOf(
  stand: Parameters<typeof resolvePaths>[0],
  { keep, take, merge }: ChoiceOptions,
  files: readonly FilePreview[],
): Pick<RollbackAsk, 'choices' | 'every'> {
  const said = { keep, take, merge }
  const read = readChoices(files, said, (word, paths) => resolvePaths(stand, word, paths))
  if (read.ok) return read.choices
  throw choiceComplaint(read.fault)
}

function choiceComplaint(fault: ChoiceFault): CliError {
  switch (fault.what) {
    case 'two-for-all':
      return usage('only one option can be used for all files', 'name paths for the others')
    case 'two-for-path':
      return usage(`two options for '${fault.path}'`, 'use one')
    case 'no-path':
      return usage(`the plan wrote nothing since then that matches '${fault.word}'`, WHICH_FILES)
    case 'no-conflict':
      return usage(`'${fault.word}' was not edited by anyone else since, so there is nothing to choose`, WHICH_FILES)
    default:
      return fault satisfies never
  }
}

const WHICH_FILES = '--files says which files go back at all; --dry-run shows them'
