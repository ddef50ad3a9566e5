// `planfold rollback` reverts files, tasks and git to an earlier point of the plan, after a preview; `planfold undo` undoes the last
// rollback.

import type { Composed } from '../../../compose.ts'
import type { RollbackAsk } from '../../../engine/engine.ts'
import type { PlanTarget } from '../../../operations/find-target.ts'
import { previewRollback } from '../../../operations/rollback-plan.ts'
import { shellWord } from '../../../safety/text/terminal.ts'
import { type Context, notConfirmed, refused, usage, withState } from '../../command.ts'
import { findPlan, findTask } from '../../find-target.ts'
import { confirm } from '../../terminal/confirm.ts'
import { resolvePattern } from '../../text/path-text.ts'
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
