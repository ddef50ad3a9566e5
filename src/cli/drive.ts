// Drives one plan and tells what happens, until it ends, rests or is interrupted. The one place where signals, the worker
// and a reporter meet; `run`, `resume` and `cancel` come through here.
//
//   driving ── SIGINT/SIGTERM ──→ pausing (what may not be run again ends first) ── again ──→ forced (it is parked)
//   held by another process ──→ attached: watched on a terminal, refused elsewhere; if its owner dies, driven from here

import type { Composed } from '../compose.ts'
import type { PlanId } from '../domain/id.ts'
import type { Driven } from '../engine/engine.ts'
import type { Holder } from '../stores/store.ts'
import { print } from './answer.ts'
import type { Context, StopSignal } from './context.ts'
import { tellEnd } from './ending.ts'
import { Complaint, EXIT, exitOf } from './exit.ts'
import { FileProgressLines } from './file-progress.ts'
import { Follower } from './live/follower.ts'
import type { Reporter } from './live/reporter.ts'
import { Mirror, type MirrorOption, mirrorFolder } from './mirror.ts'
import { NoticeWait } from './notice-wait.ts'
import { type Ended, isRollbackEnd } from './rollback-words.ts'
import { scopeWaitLine } from './scope-wait-lines.ts'
import { shortEnd, thrownShort } from './shortage-words.ts'

export interface DriveTask {
  readonly plan: PlanId
  readonly name: string
  /** Events after this version are told. */
  readonly since: number
  /** Stay while the plan waits for people or agents. */
  readonly wait: boolean
  /** Plain lines even on a terminal. */
  readonly plain?: boolean
  /** Keep a file in step with the plan. */
  readonly mirror?: MirrorOption
  /** Stop when it fires, as if nothing more were to be begun; the plan stays as it is. */
  readonly until?: AbortSignal
  /** Say nothing at the end: whoever drives goes on. */
  readonly brief?: true
}

const ATTACHED_POLL_MS = 1_000
const AWAKE_MS = 60_000

export async function drive(context: Context, composed: Composed, task: DriveTask): Promise<number> {
  const { plan, name } = task
  const stop = new AbortController()
  const force = new AbortController()
  let interrupted: StopSignal | null = null
  let detach: (() => void) | null = null
  const onUntil = () => stop.abort()
  task.until?.addEventListener('abort', onUntil)
  if (task.until?.aborted === true) stop.abort()
  const reporter = await reporterFor(context, composed, task, () => stop.abort())
  if (reporter.working !== undefined) {
    const progress = new FileProgressLines(context, line => reporter.working?.(line))
    composed.onProgress(told => progress.tell(told))
  }
  const mirrored = mirrorFolder(context, composed, task.mirror)
  const mirror = mirrored === null ? null : new Mirror(context, composed.engine, plan, mirrored)
  let rolledBack: Ended | null = null
  const isStaying = task.wait || reporter.asks
  const notices = new NoticeWait(composed.engine, plan, text => reporter.say(text))
  const follower = new Follower(composed.engine, plan, task.since, entry => {
    reporter.entry(entry)
    rolledBack = entry.events.find(isRollbackEnd) ?? rolledBack
    mirror?.touch()
    if (!isStaying || entry.events.some(({ type }) => type === 'plan.finished')) notices.touch()
  })
  const unlisten = context.onSignal(signal => {
    if (interrupted !== null) {
      reporter.say('stopping at once; what was under way is parked')
      return force.abort()
    }
    interrupted = signal
    if (detach !== null) return detach()
    void pause()
      // Whether or not the pause could be written down, we stop.
      .catch((error: unknown) => reporter.say(`stopping: ${error instanceof Error ? error.message : String(error)}`))
      .finally(() => stop.abort())
  })

  async function pause(): Promise<void> {
    reporter.say('pausing … (Ctrl-C again to force)')
    await composed.engine.submit(
      plan,
      { type: 'pause', reason: interrupted === 'SIGINT' ? 'interrupted' : 'terminated' },
      composed.actor,
    )
    const unsafe = await unsafeRunning(composed, plan)
    if (unsafe.length > 0)
      reporter.say(`pausing: waiting for ${unsafe.join(', ')}, which may not be run twice (Ctrl-C again to force)`)
  }

  async function attached(holder: Holder): Promise<'free' | 'over'> {
    reporter.say(`driven by pid ${holder.pid} on ${holder.host}; watching (Ctrl-C leaves it running)`)
    for (;;) {
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, ATTACHED_POLL_MS)
        detach = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      const summary = await composed.engine.ask({ type: 'summary', plan })
      if (interrupted !== null || summary === null || summary.endedAt !== null || summary.status === 'paused')
        return 'over'
      if (summary.holder === null || !summary.holder.alive) {
        detach = null
        reporter.say(null)
        return 'free'
      }
    }
  }

  // Loaded now: should file handles run out while it is driven, it could not be loaded any more.
  await import('./complain.ts')
  // A plan that waits for people has no timer of its own: without this, Node would leave.
  const awake = setInterval(() => {}, AWAKE_MS)
  let driven: Driven
  try {
    for (;;) {
      driven = await composed.worker.drive(plan, {
        stop: stop.signal,
        force: force.signal,
        stay: isStaying,
        onOutput: (name, text) => reporter.output(name, text),
        onWaiting: waits => reporter.say(scopeWaitLine(waits)),
      })
      if (driven.status !== 'held') break
      if (!reporter.asks) throw heldBy(driven.holder, name)
      if ((await attached(driven.holder)) === 'over') break
    }
    if (driven.status === 'lost') throw await lostTo(composed, plan, name)
    if (driven.status === 'short') throw shortEnd(name, driven.shortage)
    const summary = await composed.engine.ask({ type: 'summary', plan })
    if (summary !== null) await follower.reach(summary.version)
  } catch (error) {
    throw thrownShort(name, error) ?? error
  } finally {
    clearInterval(awake)
    notices.close()
    unlisten()
    task.until?.removeEventListener('abort', onUntil)
    await follower.close()
    await reporter.close()
    await mirror?.close()
  }
  if (rolledBack !== null && !context.settings.json) {
    const { changedBy, resultLines } = await import('./rollback-result.ts')
    // Whoever resumes has seen no preview: all that was changed is named.
    const files = await changedBy(composed.engine, rolledBack)
    const told = { name, what: 'the rollback was finished', ended: rolledBack, files, status: 'active' } as const
    print(context, resultLines(told, context.paint))
  }
  const left = driven.status === 'held' ? driven.holder : null
  const status =
    task.brief === true
      ? ((await composed.engine.ask({ type: 'summary', plan }))?.status ?? 'draft')
      : await tellEnd(context, composed, plan, {
          interrupted,
          left,
          held: heldOf(driven),
          rollback: whyStopped(rolledBack),
        })
  const exit = isStopped(rolledBack) ? EXIT.failed : exitOf(status)
  return interrupted === 'SIGINT' && exit === EXIT.waits ? EXIT.interrupted : exit
}

const heldOf = (driven: Driven) => (driven.status === 'rested' ? (driven.held ?? []) : [])

/** Asked apart: it is set where the compiler does not look. */
const isStopped = (ended: Ended | null): boolean => ended?.type === 'rollback.stopped'
const whyStopped = (ended: Ended | null): string | null =>
  ended?.type === 'rollback.stopped' ? ended.failure.message : null

async function reporterFor(
  context: Context,
  composed: Composed,
  task: DriveTask,
  onLeft: () => void,
): Promise<Reporter> {
  if (context.settings.json) return new (await import('./live/json-lines.ts')).JsonReporter(context)
  if (context.terminal === null || context.settings.quiet || task.plain === true)
    return new (await import('./live/plain.ts')).PlainReporter(context, task.name)
  return new (await import('./live/live.ts')).LiveReporter(context, context.terminal, composed, task.plan, onLeft)
}

/** Our lease is gone: to another process, or to nobody. */
async function lostTo(composed: Composed, plan: PlanId, name: string): Promise<Complaint> {
  const holder = (await composed.engine.ask({ type: 'summary', plan }))?.holder ?? null
  if (holder?.alive === true)
    return new Complaint(
      EXIT.refused,
      'lease-lost',
      `'${name}' is driven by pid ${holder.pid} on ${holder.host} now`,
      `follow it with: planfold log ${name} --follow`,
    )
  return new Complaint(
    EXIT.refused,
    'lease-lost',
    `the lease on '${name}' could not be renewed in time, so this process stopped; nobody drives it now`,
    `go on with: planfold resume ${name}`,
  )
}

function heldBy(holder: Holder, name: string): Complaint {
  return new Complaint(
    EXIT.refused,
    'held',
    `plan '${name}' is driven by pid ${holder.pid} on ${holder.host}`,
    `follow it with: planfold log ${name} --follow`,
  )
}

async function unsafeRunning(composed: Composed, plan: PlanId): Promise<readonly string[]> {
  const summary = await composed.engine.ask({ type: 'summary', plan })
  const cards = await Promise.all(
    (summary?.running ?? []).map(task => composed.engine.ask({ type: 'task', plan, task })),
  )
  return cards.flatMap(card =>
    card !== null && card.effect === 'unsafe' && card.claimedBy === null ? [card.name] : [],
  )
}
