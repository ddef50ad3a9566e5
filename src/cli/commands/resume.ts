// `planfold resume [PLAN]`: goes on where the plan was, whether it was paused, interrupted or killed. Fast: nothing here reads
// a document.

import type { Composed } from '../../compose.ts'
import { remark } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { complaintOf, EXIT } from '../exit.ts'
import { meantPlan, openPlans } from '../meant.ts'
import type { MirrorOption } from '../mirror.ts'
import { startAndDrive, tellWarnings, versionOf } from './run.ts'

export interface ResumeOptions {
  readonly all?: boolean
  readonly wait?: boolean
  /** With `all`: stay, and take over plans whose process dies. */
  readonly watch?: boolean
  readonly mirror?: MirrorOption
}

const RESCUE_MS = 5_000

export async function resume(context: Context, word: string | undefined, options: ResumeOptions): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    tellWarnings(context, composed)
    if (options.watch === true) return await watchOver(context, composed)
    if (options.all === true) return await resumeAll(context, composed, options)
    const { plan, name } = await meantPlan(composed.engine, word)
    return await startAndDrive(context, composed, { plan, name, since: await versionOf(composed, plan) }, options)
  })
}

/** One after the other; the worst end is the exit code. A plan that another process drives is passed over. */
async function resumeAll(context: Context, composed: Composed, options: ResumeOptions): Promise<number> {
  let worst: number = EXIT.done
  for (const row of await openPlans(composed.engine, 200)) {
    if (row.status === 'draft') continue
    try {
      const exit = await startAndDrive(
        context,
        composed,
        { plan: row.id, name: row.name, since: row.version },
        { plain: true, ...(options.mirror === undefined ? {} : { mirror: options.mirror }) },
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

/** Takes over whatever loses its process, now and every few seconds, until interrupted. */
async function watchOver(context: Context, composed: Composed): Promise<number> {
  const stop = new AbortController()
  const unlisten = context.onSignal(() => stop.abort())
  const nameOf = async (plan: string) => (await composed.engine.ask({ type: 'find', reference: plan }))?.name ?? plan
  remark(context, 'watching for plans whose process died (Ctrl-C ends it)')
  try {
    await composed.worker.rescue({
      everyMs: RESCUE_MS,
      stop: stop.signal,
      onRescued: plan => void nameOf(plan).then(name => remark(context, `${name}: its process died; taken over`)),
      onDriven: (plan, driven) =>
        void nameOf(plan).then(name =>
          remark(context, `${name}: ${driven.status === 'rested' ? driven.rest : driven.status}`),
        ),
    })
  } finally {
    unlisten()
  }
  return EXIT.interrupted
}
