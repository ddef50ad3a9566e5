// `planfold resume [PLAN]`: goes on where the plan was, whether it was paused, interrupted or killed. Fast: nothing here reads
// a document.

import type { Composed } from '../../../compose.ts'
import { openPlans } from '../../../operations/find-target.ts'
import { sessionPlans } from '../../../operations/session-plans.ts'
import type { PlanRow } from '../../../stores/store.ts'
import { type Context, complaintOf, EXIT, printNote, usage, withState } from '../../command.ts'
import { demandSession, findPlan } from '../../find-target.ts'
import type { MirrorOption } from '../../plan-mirror.ts'
import { stoppedRollback } from '../../text/rollback-result.ts'
import { startAndDrive, warnAboutEnvironment } from './run.ts'

export interface ResumeOptions {
  readonly all?: boolean
  readonly session?: string
  readonly wait?: boolean
  readonly watch?: boolean
  readonly mirror?: MirrorOption
}

const RESCUE_MS = 5_000
const HOW_TO_START = '`planfold list --session ID` shows its plans; `planfold run PLAN` starts one'

export async function resume(context: Context, word: string | undefined, options: ResumeOptions): Promise<number> {
  demandOneChoice(word, options)
  return await withState(context, { create: false }, async composed => {
    warnAboutEnvironment(context, composed)
    if (options.watch === true) return await watchOver(context, composed)
    if (options.all === true) return await resumeAll(context, composed, await openPlans(composed.engine, 200), options)
    if (options.session !== undefined) {
      await demandSession(composed.engine, options.session, word)
      const rows = await sessionPlans(composed.engine, options.session)
      if (rows.length === 0) throw usage(`session '${options.session}' has no running plan`, HOW_TO_START)
      if (rows.length > 1) return await resumeAll(context, composed, rows, options)
      const [{ id: plan, name, version: since }] = rows as [PlanRow]
      return await startAndDrive(context, composed, { plan, name, since }, options)
    }
    const { plan, name } = await findPlan(composed.engine, word, { all: 'planfold resume --all' })
    const summary = await composed.engine.ask({ type: 'summary', plan })
    // Without a name, a draft is not started: it was only proposed.
    if (word === undefined && summary?.status === 'draft')
      throw usage(
        `${name} is a draft that was never started`,
        `\`planfold show ${name}\` shows it; \`planfold run ${name}\` starts it`,
      )
    const since = summary?.version ?? 0
    const isStopped = (await stoppedRollback(composed.engine, plan)) !== null
    const goOn = isStopped ? {} : { goOn: { rationale: `resume ${name}` } }
    return await startAndDrive(context, composed, { plan, name, since, ...goOn }, options)
  })
}

/** Only one way to choose plans may be given; further ones would be ignored silently. */
function demandOneChoice(word: string | undefined, { all, session, watch }: ResumeOptions): void {
  const said = [
    ...(word === undefined ? [] : [`a plan ('${word}')`]),
    ...(all === true ? ['--all'] : []),
    ...(session === undefined ? [] : ['--session']),
    ...(watch === true ? ['--watch'] : []),
  ]
  const [first, second] = said
  if (second === undefined || (said.length === 2 && all === true && watch === true)) return
  throw usage(`${first} and ${second} cannot be used together`, 'use one of them')
}

/** One after the other; the worst end is the exit code. A plan that another process drives is passed over. */
async function resumeAll(
  context: Context,
  composed: Composed,
  rows: readonly PlanRow[],
  options: ResumeOptions,
): Promise<number> {
  let worst: number = EXIT.done
  for (const row of rows) {
    if (row.status === 'draft') continue
    try {
      const exit = await startAndDrive(
        context,
        composed,
        { plan: row.id, name: row.name, since: row.version },
        { plain: true, mirror: options.mirror },
      )
      worst = Math.max(worst, exit)
      if (exit === EXIT.interrupted) break
    } catch (error) {
      const complaint = complaintOf(error)
      if (complaint === null || complaint.exit !== EXIT.refused) throw error
      printNote(context, `${row.name}: ${complaint.message}`)
      worst = Math.max(worst, EXIT.refused)
    }
  }
  return worst
}

/** Takes over plans whose process died, now and every few seconds, until interrupted. */
async function watchOver(context: Context, composed: Composed): Promise<number> {
  const stop = new AbortController()
  const unlisten = context.onSignal(() => stop.abort())
  const nameOf = async (plan: string) => (await composed.engine.ask({ type: 'find', reference: plan }))?.name ?? plan
  printNote(context, 'watching for plans whose process dies (Ctrl-C stops watching)')
  try {
    await composed.worker.rescue({
      everyMs: RESCUE_MS,
      stop: stop.signal,
      onRescued: plan =>
        void nameOf(plan).then(name => printNote(context, `${name}: its process died; running it here`)),
      onDriven: (plan, driven) =>
        void nameOf(plan).then(name =>
          printNote(context, `${name}: ${driven.status === 'rested' ? driven.rest : driven.status}`),
        ),
    })
  } finally {
    unlisten()
  }
  return EXIT.interrupted
}
