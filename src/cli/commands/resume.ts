// `planfold resume [PLAN]`: goes on where the plan was, whether it was paused, interrupted or killed. Fast: nothing here reads
// a document.

import type { Composed } from '../../compose.ts'
import { remark } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { complaintOf, EXIT } from '../exit.ts'
import { meantPlan, openPlans } from '../meant.ts'
import { startAndDrive, versionOf } from './run.ts'

export interface ResumeOptions {
  readonly all?: boolean
  readonly wait?: boolean
}

export async function resume(context: Context, word: string | undefined, options: ResumeOptions): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    if (options.all === true) return await resumeAll(context, composed)
    const { plan, name } = await meantPlan(composed.engine, word)
    return await startAndDrive(context, composed, { plan, name, since: await versionOf(composed, plan) }, options)
  })
}

/** One after the other; the worst end is the exit code. A plan that another process drives is passed over. */
async function resumeAll(context: Context, composed: Composed): Promise<number> {
  let worst: number = EXIT.done
  for (const row of await openPlans(composed.engine, 200)) {
    if (row.status === 'draft') continue
    try {
      const exit = await startAndDrive(
        context,
        composed,
        { plan: row.id, name: row.name, since: row.version },
        { plain: true },
      )
      worst = Math.max(worst, exit)
      if (exit === EXIT.interrupted) break
    } catch (error) {
      const complaint = complaintOf(error)
      if (complaint === null || complaint.exit !== EXIT.refused) throw error
      remark(context, `${row.name}: ${complaint.message}`)
      worst = Math.max(worst, EXIT.refused)
    }
  }
  return worst
}
