// `planfold undo [PLAN]`: takes the last rollback back, files, tasks and all. Once more is a redo.

import { type Context, withState } from '../../context.ts'
import { findPlan } from '../../find-target.ts'
import { type ChoiceOptions, goBack } from './go-back.ts'

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
