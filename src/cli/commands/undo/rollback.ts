// `planfold rollback` reverts files, tasks and git to an earlier point of the plan, after a preview; `planfold undo` undoes the last
// rollback.

import type { Composed } from '../../../compose.ts'
import type { KeptFile, RollbackAsk } from '../../../engine/engine.ts'
import type { PlanTarget } from '../../../operations/find-target.ts'
import { listKeptFiles, previewRollback, restoreOrder } from '../../../operations/rollback-plan.ts'
import { shellWord } from '../../../safety/text/terminal.ts'
import {
  answer,
  CliError,
  type Context,
  EXIT,
  notConfirmed,
  notFound,
  printNote,
  refused,
  usage,
  withState,
} from '../../command.ts'
import { findPlan, findTask } from '../../find-target.ts'
import { orderAndTell } from '../../order.ts'
import { confirm } from '../../terminal/confirm.ts'
import { ago } from '../../terminal/elapsed-time.ts'
import { brief } from '../../terminal/one-line.ts'
import { resolvePaths, resolvePattern, shownPath } from '../../text/path-text.ts'
import { type ChoiceOptions, goBack } from './go-back.ts'

export interface UndoOptions extends ChoiceOptions {
  readonly keepGit?: boolean
}

export async function undo(context: Context, word: string | undefined, options: UndoOptions): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const target = await findPlan(composed.engine, word)
    return await goBack(context, composed, {
      ...target,
      kind: 'undo',
      ask: options.keepGit === true ? { keepGit: true } : {},
      command: ['undo', target.name, ...(options.keepGit === true ? ['--keep-git'] : [])],
      options,
    })
  })
}

export interface RollbackOptions extends ChoiceOptions {
  readonly to?: string
  readonly files?: readonly string[]
  readonly tasks?: readonly string[]
  readonly filesOnly?: boolean
  readonly keepGit?: boolean
  readonly yes?: boolean
}

export async function rollback(context: Context, word: string | undefined, options: RollbackOptions): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const target = await findPlan(composed.engine, word)
    const tasks = []
    for (const task of options.tasks ?? []) tasks.push((await findTask(composed.engine, target.name, task)).task)
    const whole: RollbackAsk = {
      to: options.to,
      ...(tasks.length === 0 ? {} : { tasks }),
      ...(options.filesOnly === true ? { filesOnly: true } : {}),
      ...(options.keepGit === true ? { keepGit: true } : {}),
    }
    const files =
      options.files === undefined ? undefined : await patterns(context, composed, target, whole, options.files)
    return await goBack(context, composed, {
      ...target,
      kind: 'rollback',
      ask: files === undefined ? whole : { ...whole, files },
      only: { tasks, files: options.files },
      ...(isConsent(context, options) ? {} : { confirm: () => askFirst(context, target.name) }),
      isAnswered: options.yes,
      command: commandOf(target.name, options),
      options,
    })
  })
}

const isAsked = ({ terminal, settings }: Context): boolean => terminal !== null && !settings.json

/** Reverting a whole plan needs consent: an answer at a terminal, in a script `--yes`, or choices after a preview. */
function isConsent(context: Context, options: RollbackOptions): boolean {
  const { to, files, tasks, yes, force, keep, take, merge } = options
  if (yes === true || [to, files, tasks].some(one => one !== undefined)) return true
  return !isAsked(context) && (force === true || [keep, take, merge].some(one => one !== undefined))
}

async function askFirst(context: Context, name: string): Promise<boolean> {
  if (isAsked(context)) return await confirm(context, `roll back all of ${name}?`)
  throw notConfirmed(
    'nothing was changed: this rolls back the whole plan, and without a terminal that needs --yes',
    'add --yes to do it, --to to name a checkpoint, or --dry-run to only see it',
  )
}

async function patterns(
  { cwd }: Context,
  { engine, root }: Composed,
  { plan, name }: PlanTarget,
  whole: RollbackAsk,
  words: readonly string[],
): Promise<readonly string[]> {
  const preview = await previewRollback(engine, { plan, kind: 'rollback', ask: whole })
  if (preview === null) throw new Error(`bug: the plan ${plan} was found and is gone`)
  if (!preview.ok) throw refused(preview.refusal)
  const known = preview.files.map(({ path }) => path)
  return words.map(word => {
    const pattern = resolvePattern({ root, cwd }, word, known)
    if (pattern === null)
      throw usage(
        `the plan wrote nothing since then that matches '${word}'`,
        `planfold rollback ${name} --dry-run lists its files`,
      )
    return pattern
  })
}

function commandOf(name: string, options: RollbackOptions): readonly string[] {
  const { to, files = [], tasks = [], filesOnly, keepGit } = options
  return [
    'rollback',
    name,
    ...(to === undefined ? [] : ['--to', shellWord(to)]),
    ...(files.length === 0 ? [] : ['--files', ...files.map(shellWord)]),
    ...(tasks.length === 0 ? [] : ['--tasks', ...tasks.map(shellWord)]),
    ...(filesOnly === true ? ['--files-only'] : []),
    ...(keepGit === true ? ['--keep-git'] : []),
  ]
}

// `planfold undo files PLAN [PATH…]`: lists what was set back and is kept, by time and task; with paths, brings these back.

interface RestoreOptions {
  readonly hash?: string
  readonly overwrite?: boolean
  readonly merge?: boolean
}

export async function restore(
  context: Context,
  plan: string,
  words: readonly string[],
  options: RestoreOptions,
): Promise<number> {
  if (options.overwrite === true && options.merge === true)
    throw usage('--overwrite and --merge cannot be used together', 'use one of them')
  return await withState(context, { create: false }, async composed => {
    const { engine, root } = composed
    const target = await findPlan(engine, plan)
    const kept = await listKeptFiles(engine, target.plan)
    if (words.length === 0) {
      const items = kept.flatMap(({ versions }) => versions).sort((a, b) => a.at - b.at)
      answer(context, { plan: target.plan, name: target.name, items }, () =>
        items.length === 0 ? `no backups in ${brief(target.name)}` : items.map(one => versionLine(one, context.now())),
      )
      if (items.length > 0)
        printNote(
          context,
          `Restore one: planfold undo files ${shellWord(target.name)} PATH  (an older version: --hash HASH)`,
        )
      return EXIT.done
    }
    const known = kept.map(({ path }) => path)
    const paths = new Set<string>()
    for (const word of words) {
      const found = resolvePaths({ root, cwd: context.cwd }, word, known)
      if (found.length === 0)
        throw notFound(
          `no backup of '${word}' in ${target.name}`,
          `planfold undo files ${shellWord(target.name)} lists them`,
        )
      for (const path of found) paths.add(path)
    }
    try {
      const { events } = await orderAndTell(context, composed, target.plan, restoreOrder([...paths], options))
      if (events.length === 0) printNote(context, 'the file already has this version; for an older one use --hash HASH')
    } catch (error) {
      if (!(error instanceof CliError) || error.code !== 'conflict' || options.overwrite || options.merge) throw error
      const command = `planfold undo files ${shellWord(target.name)} ${words.map(shellWord).join(' ')}`
      throw new CliError(
        EXIT.refused,
        'conflict',
        error.message,
        `${command} --overwrite (the current version is backed up), or ${command} --merge`,
      )
    }
    return EXIT.done
  })
}

const HAPPENED: { readonly [by in KeptFile['by']]?: string } = { task: 'overwritten', adopt: 'replaced' }

function versionLine({ path, at, by, task, kept }: KeptFile, now: number): string {
  const why =
    by === 'retry'
      ? `before retrying ${brief(task ?? '')}`
      : by === 'rollback'
        ? 'by a rollback'
        : by === 'adopt'
          ? 'by adopting a fork'
          : by === 'task'
            ? `by ${brief(task ?? '')}`
            : 'by a restore'
  const what =
    kept === null
      ? 'removed   '
      : kept.type === 'file'
        ? `${kept.sha256.slice(0, 10)}`
        : kept.type === 'link'
          ? 'link      '
          : 'folder    '
  return `${what}  ${shownPath(path)}  ${HAPPENED[by] ?? 'reverted'} ${ago(at, now)} ${why}`
}
