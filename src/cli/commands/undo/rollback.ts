// `planfold rollback` sets files, tasks and git back to where the plan stood, after showing what will happen; `planfold undo`
// takes the last rollback back.

import type { Composed } from '../../../compose.ts'
import type { RollbackAsk } from '../../../engine/engine.ts'
import type { PlanTarget } from '../../../operations/find-target.ts'
import { previewRollback } from '../../../operations/rollback-plan.ts'
import { shellWord } from '../../../safety/text/terminal.ts'
import { type Context, withState } from '../../context.ts'
import { notConfirmed, refused, usage } from '../../exit.ts'
import { findPlan, findTask } from '../../find-target.ts'
import { confirm } from '../../terminal/confirm.ts'
import { resolvePattern } from '../../text/path-text.ts'
import { type ChoiceOptions, goBack } from './go-back.ts'

// `planfold undo [PLAN]`: takes the last rollback back, files, tasks and all. Once more is a redo.

export interface UndoOptions extends ChoiceOptions {
  readonly keepGit?: boolean
}

export async function undo(context: Context, word: string | undefined, options: UndoOptions): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const meant = await findPlan(composed.engine, word)
    return await goBack(context, composed, {
      ...meant,
      kind: 'undo',
      ask: options.keepGit === true ? { keepGit: true } : {},
      command: ['undo', meant.name, ...(options.keepGit === true ? ['--keep-git'] : [])],
      options,
    })
  })
}

// `planfold rollback [PLAN]`: sets files, tasks and git back to where the plan stood, after showing what will happen.

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
    const meant = await findPlan(composed.engine, word)
    const tasks = []
    for (const task of options.tasks ?? []) tasks.push((await findTask(composed.engine, meant.name, task)).task)
    const whole: RollbackAsk = {
      to: options.to,
      ...(tasks.length === 0 ? {} : { tasks }),
      ...(options.filesOnly === true ? { filesOnly: true } : {}),
      ...(options.keepGit === true ? { keepGit: true } : {}),
    }
    const files =
      options.files === undefined ? undefined : await patterns(context, composed, meant, whole, options.files)
    return await goBack(context, composed, {
      ...meant,
      kind: 'rollback',
      ask: files === undefined ? whole : { ...whole, files },
      only: { tasks, files: options.files },
      ...(isConsent(context, options) ? {} : { confirm: () => askFirst(context, meant.name) }),
      isAnswered: options.yes,
      command: commandOf(meant.name, options),
      options,
    })
  })
}

const isAsked = ({ terminal, settings }: Context): boolean => terminal !== null && !settings.json

/**
 * Without a place everything goes back, so somebody must have agreed to it: at a terminal by an answer, in a script by `--yes`. A
 * script that says what becomes of edited files, or `--force`, has seen the preview.
 */
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

/** The words of --files as patterns from the workspace; one that means nothing the plan wrote since is a mistake. */
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

/** The command as it was typed, apart from choices: what a person goes on with. */
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
