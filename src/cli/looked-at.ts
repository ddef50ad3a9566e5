// A plan to look at, from a document or from the store, with where its tasks stand. A file is only read.

import type { PlanDefinition } from '../domain/plan.ts'
import type { TaskStatus } from '../domain/status.ts'
import { type Context, withState } from './context.ts'
import { meantPlan } from './meant.ts'
import { isFile, type PlanFile, readPlanFile } from './plan-file.ts'

export interface LookedAt {
  readonly definition: PlanDefinition
  /** Empty for a file. */
  readonly statuses: ReadonlyMap<string, TaskStatus>
  /** Null for a plan of the store. */
  readonly file: PlanFile | null
}

/** A plan whose graph is wrong is looked at as well, when the caller says that it minds by itself. */
export async function lookAt(
  context: Context,
  word: string | undefined,
  options?: Parameters<typeof readPlanFile>[2],
): Promise<LookedAt> {
  if (word !== undefined && (await isFile(context, word))) {
    const file = await readPlanFile(context, word, options)
    return { definition: file.definition, statuses: file.told.ended, file }
  }
  return await withState(context, { create: false }, async ({ engine }) => {
    const { plan } = await meantPlan(engine, word, { looking: true })
    const current = await engine.ask({ type: 'definition', plan })
    const board = (await engine.ask({ type: 'board', plan })) ?? []
    if (current === null) throw new Error(`the plan ${plan} has gone`)
    return {
      definition: current.definition,
      statuses: new Map(board.map(card => [card.name, card.status])),
      file: null,
    }
  })
}
