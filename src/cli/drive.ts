// Drives a plan from the command line and shows what happens: live, as plain lines or as JSON lines. Also sees a rollback
// through, and waits for notices that are still to be sent.

import type { Composed } from '../compose.ts'
import type { Millis, PlanId, TaskName } from '../domain/id.ts'
import { ENDED } from '../domain/status.ts'
import type { Driven } from '../engine/engine.ts'
import { isRollbackEnd, type RollbackEnd } from '../operations/rollback-plan.ts'
import { escapeForTerminal } from '../safety/text/terminal.ts'
import type { Entry, Holder, StoredLog } from '../stores/store.ts'
import { envelope, print, printNote } from './answer.ts'
import type { Context, StopSignal } from './context.ts'
import { CliError, EXIT, exitOf } from './exit.ts'
import { FileProgressLines } from './live/file-progress.ts'
import { Follower } from './live/follower.ts'
import { OutputLines, PlainReporter } from './live/plain-lines.ts'

import type { Reporter } from './live/reporter.ts'
import { Mirror, type MirrorOption, mirrorFolder } from './plan-mirror.ts'
import { stopping } from './terminal/interrupt.ts'
import { tellEnd, workerFor } from './text/run-summary.ts'
import { DrivingShort, scopeWaitLine, shortEnd, thrownShort } from './text/wait-text.ts'

// Says once that the plan has ended, or that nothing more can start, and only notifications are still being sent: a hook that
// hangs would otherwise look like a plan that hangs.

const QUIET_MS = 2_000

export class NoticeWait {
  readonly #engine: Composed['engine']
  readonly #plan: PlanId
  readonly #say: (text: string) => void
  #timer: NodeJS.Timeout | undefined
  #isOver = false

  constructor(engine: Composed['engine'], plan: PlanId, say: (text: string) => void) {
    this.#engine = engine
    this.#plan = plan
    this.#say = say
  }

  /** An entry was written: the quiet time begins again. */
  touch(quietMs = QUIET_MS): void {
    if (this.#isOver) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#look().catch(() => {}), quietMs)
  }

  close(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }

  async #look(): Promise<void> {
    const summary = await this.#engine.ask({ type: 'summary', plan: this.#plan })
    if (summary === null || summary.rollback !== undefined) return
    const { running, ready } = summary.progress.counts
    if (summary.endedAt === null && (running > 0 || ready > summary.claimable)) return
    const current = await this.#engine.ask({ type: 'definition', plan: this.#plan })
    if (this.#isOver || (current?.definition.notify?.length ?? 0) === 0) return
    this.close()
    this.#say(
      `${summary.endedAt === null ? 'nothing more can start' : 'the plan has finished'}; waiting until notifications are sent`,
    )
  }
}

// Drives one plan and tells what happens, until it ends, rests or is interrupted. The one place where signals, the worker
// and a reporter meet; `run`, `resume` and `cancel` come through here.
//
//   driving ── SIGINT/SIGTERM ──→ pausing (what may not be run again ends first) ── again ──→ forced (it is parked)
//   held by another process ──→ attached: watched on a terminal, refused elsewhere; if its owner dies, driven from here

interface DriveTask {
  readonly plan: PlanId
  readonly name: string
  readonly since: number
  readonly wait: boolean
  readonly plain?: boolean
  readonly mirror?: MirrorOption
  /** Stop when it fires, as if nothing more were to be begun; the plan stays as it is. */
  readonly until?: AbortSignal
  readonly brief?: true
  /** A gate that the caller asks the person about: it is not asked about here. */
  readonly leaves?: TaskName
  readonly continuedBy?: string | undefined
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
    composed.onProgress(update => progress.tell(update))
  }
  const mirrored = mirrorFolder(context, composed, task.mirror)
  const mirror = mirrored === null ? null : new Mirror(context, composed.engine, plan, mirrored)
  let rolledBack: RollbackEnd | null = null
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
      reporter.say('stopping at once; unsafe tasks that were running will need your decision')
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
    reporter.say('pausing … (Ctrl-C again stops at once)')
    await composed.engine.submit(plan, {
      type: 'pause',
      reason: interrupted === 'SIGINT' ? 'Ctrl-C' : 'stopped by a signal',
    })
    const unsafe = await unsafeRunning(composed, plan)
    if (unsafe.length > 0)
      reporter.say(
        `pausing: waiting for ${unsafe.join(', ')} to finish (unsafe to interrupt). Ctrl-C again stops ${unsafe.length === 1 ? 'it' : 'them'} now; you then decide whether ${unsafe.length === 1 ? 'it' : 'they'} succeeded`,
      )
  }

  async function attached(holder: Holder): Promise<'free' | 'over'> {
    reporter.say(
      holder.isHome === true
        ? `waiting: the plan has confidential tasks, so only ${holder.host} may run it; watching`
        : `already running in pid ${holder.pid} on ${holder.host}; watching (Ctrl-C leaves it running)`,
    )
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
  await import('./report-error.ts')
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
        onNote: (name, text) => reporter.note?.(name, text),
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
    const { changedBy, resultLines } = await import('./text/rollback-result.ts')
    // Resuming shows no preview, so all changed files are listed.
    const files = await changedBy(composed.engine, rolledBack)
    const result = { name, what: 'the rollback was finished', ended: rolledBack, files, status: 'active' } as const
    print(context, resultLines(result, context.paint))
  }
  const left = driven.status === 'held' ? driven.holder : null
  const status =
    task.brief === true || (await isLeft(composed, task))
      ? ((await composed.engine.ask({ type: 'summary', plan }))?.status ?? 'draft')
      : await tellEnd(context, composed, plan, {
          interrupted,
          left,
          held: heldOf(driven),
          elsewhere: driven.status === 'elsewhere' ? driven : null,
          rollback: whyStopped(rolledBack),
          continuedBy: task.continuedBy,
        })
  const exit = isStopped(rolledBack) ? EXIT.failed : exitOf(status)
  return interrupted === 'SIGINT' && exit === EXIT.waits ? EXIT.interrupted : exit
}

const isLeft = async ({ engine }: Composed, { plan, leaves }: DriveTask): Promise<boolean> =>
  leaves !== undefined &&
  (await engine.ask({ type: 'summary', plan }))?.waiting.some(({ task }) => task === leaves) === true

const heldOf = (driven: Driven) => (driven.status === 'rested' ? (driven.held ?? []) : [])

/** Asked apart: it is set where the compiler does not look. */
const isStopped = (ended: RollbackEnd | null): boolean => ended?.type === 'rollback.stopped'
const whyStopped = (ended: RollbackEnd | null): string | null =>
  ended?.type === 'rollback.stopped' ? ended.failure.message : null

async function reporterFor(
  context: Context,
  composed: Composed,
  task: DriveTask,
  onLeft: () => void,
): Promise<Reporter> {
  if (context.settings.json) return new (await import('./live/reporter.ts')).JsonReporter(context)
  if (context.terminal === null || context.settings.quiet || task.plain === true)
    return new (await import('./live/plain-lines.ts')).PlainReporter(context, task.name)
  return new (await import('./live/live-view.ts')).LiveReporter(context, context.terminal, composed, task, onLeft)
}

async function lostTo(composed: Composed, plan: PlanId, name: string): Promise<CliError> {
  const holder = (await composed.engine.ask({ type: 'summary', plan }))?.holder ?? null
  if (holder?.alive === true)
    return new CliError(
      EXIT.refused,
      'lease-lost',
      `plan '${name}' is now running in pid ${holder.pid} on ${holder.host}`,
      `follow it with: planfold log ${name} --follow`,
    )
  return new CliError(
    EXIT.refused,
    'lease-lost',
    `the lease on '${name}' could not be renewed in time, so this process stopped; the plan is not running`,
    `planfold resume ${name}`,
  )
}

function heldBy(holder: Holder, name: string): CliError {
  return new CliError(
    EXIT.refused,
    'held',
    holder.isHome === true
      ? `plan '${name}' has confidential tasks, so only ${holder.host} may run it`
      : `plan '${name}' is already running (pid ${holder.pid} on ${holder.host})`,
    `follow it with: planfold log ${name} --follow`,
  )
}

export async function unsafeRunning(composed: Composed, plan: PlanId): Promise<readonly string[]> {
  const summary = await composed.engine.ask({ type: 'summary', plan })
  const cards = await Promise.all(
    (summary?.running ?? []).map(task => composed.engine.ask({ type: 'task', plan, task })),
  )
  return cards.flatMap(card =>
    card !== null && card.effect === 'unsafe' && card.claimedBy === null ? [card.name] : [],
  )
}

// What tasks printed, from the store; with `follow` until the plan or the task has ended.

export interface OutputOf {
  readonly plan: PlanId
  readonly task: TaskName | null
  readonly after: number
  readonly follow: boolean
  readonly grep?: string
  readonly since?: Millis
}

const PAGE = 200
const POLL_MS = 250

export async function output(
  context: Context,
  { engine }: Composed,
  { plan, task, after: from, follow, grep, since = 0 }: OutputOf,
): Promise<number> {
  const stop = stopping(context)
  const write = writer(context, task, grep?.toLowerCase())
  const all: StoredLog[] = []
  let after = from
  for (let last = false; ; ) {
    const chunks =
      (await engine.ask({ type: 'logs', plan, after, limit: PAGE, ...(task === null ? {} : { task }) })) ?? []
    for (const chunk of chunks) {
      after = chunk.seq
      if (chunk.at < since) continue
      if (!context.settings.json) write(chunk)
      else if (grep !== undefined && !chunk.text.toLowerCase().includes(grep.toLowerCase())) continue
      else if (follow) context.stdout.write(envelope({ data: chunk }))
      else all.push(chunk)
    }
    if (stop.signal.aborted) break
    if (chunks.length === PAGE) continue
    if (!follow || last) break
    // Once more after the end: what was written last may have come between the two questions.
    last = await isOver()
    if (!last) await Promise.race([new Promise(resolve => setTimeout(resolve, POLL_MS)), stop.stopped])
  }
  stop.close()
  write(null)
  if (context.settings.json && !follow) context.stdout.write(envelope({ data: { items: all } }))
  return EXIT.done

  async function isOver(): Promise<boolean> {
    if (task !== null) {
      const card = await engine.ask({ type: 'task', plan, task })
      if (card === null || ENDED.has(card.status)) return true
    }
    const summary = await engine.ask({ type: 'summary', plan })
    return summary === null || summary.endedAt !== null
  }
}

/** Prints chunks as whole, escaped lines; null prints what is left. */
function writer(context: Context, only: TaskName | null, grep: string | undefined): (chunk: StoredLog | null) => void {
  const lines = new OutputLines()
  const tasks = new Set<TaskName>()
  const print = (task: TaskName, line: string): void => {
    if (grep !== undefined && !line.toLowerCase().includes(grep)) return
    const shown = escapeForTerminal(line, { keepLines: true })
    context.stdout.write(only === null ? `${context.paint.dim(`${task} │`)} ${shown}\n` : `${shown}\n`)
  }
  return chunk => {
    if (chunk !== null) {
      tasks.add(chunk.task)
      for (const line of lines.push(chunk.task, chunk.text)) print(chunk.task, line)
    } else {
      for (const task of tasks) {
        const rest = lines.end(task)
        if (rest !== '') print(task, rest)
      }
    }
  }
}

// Sees a rollback through that the journal says was started: drives the plan until it has ended, or waits for the process that
// drives it. If that one dies, it is driven on from here.
//
//   driving ── SIGINT ──→ stopped: the rollback stays under way, `planfold resume` finishes it
//   held by another process ── it ends ──→ done; ── it dies ──→ driving

export interface CarriedOut {
  readonly ended: RollbackEnd | null
  readonly failed: readonly { readonly task: string; readonly why: string }[]
  readonly interrupted: StopSignal | null
  readonly by: Holder | null
}

const HELD_POLL_MS = 500

export async function carryOut(
  context: Context,
  composed: Composed,
  { plan, since }: { readonly plan: PlanId; readonly since: number },
): Promise<CarriedOut> {
  const { engine, worker } = composed
  const [stop, force] = [new AbortController(), new AbortController()]
  const reporter = context.settings.json ? null : new PlainReporter(context)
  const failed: { task: string; why: string }[] = []
  let ended: RollbackEnd | null = null
  let interrupted: StopSignal | null = null
  let by: Holder | null = null
  let wake = (): void => {}
  const follower = new Follower(engine, plan, since, entry => {
    reporter?.entry(shownPart(entry))
    for (const event of entry.events) {
      if (event.type === 'compensation.finished' && event.result.status === 'failed')
        failed.push({ task: event.task, why: event.result.failure.message })
    }
    const end = entry.events.find(isRollbackEnd)
    if (end === undefined || ended !== null) return
    ended = end
    wake()
  })
  // The timers that look for entries of another process do not keep this one alive; this one does.
  const awake = setInterval(() => {}, AWAKE_MS)
  const unlisten = context.onSignal(signal => {
    if (interrupted !== null) return force.abort()
    interrupted = signal
    stop.abort()
    wake()
  })
  /** Until there is a new entry, or it is time to check whether the other process still lives. */
  const waited = (): Promise<void> =>
    new Promise(resolve => {
      const timer = setTimeout(resolve, HELD_POLL_MS)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
      if (ended !== null || interrupted !== null) wake()
    })

  try {
    for (;;) {
      const driven = await worker.drive(plan, {
        stop: stop.signal,
        force: force.signal,
        onOutput: (task, text) => reporter?.output(task, text),
      })
      if (driven.status === 'short') throw new DrivingShort(driven.shortage.message)
      if (driven.status === 'elsewhere')
        throw new CliError(EXIT.waits, 'elsewhere', `the rollback waits: ${driven.reason}`, workerFor(driven))
      if (driven.status === 'held') {
        if (by === null) {
          by = driven.holder
          printNote(context, `pid ${by.pid} on ${by.host} runs the plan and does it; waiting`)
        }
        await waited()
      }
      const summary = await engine.ask({ type: 'summary', plan })
      if (summary !== null) await follower.reach(summary.version)
      if (ended !== null || interrupted !== null || summary === null) break
      // The plan rests, and all of its entries have been printed.
      if (driven.status === 'rested' && summary.rollback === undefined) break
    }
  } finally {
    unlisten()
    clearInterval(awake)
    await follower.close()
    await reporter?.close()
  }
  return { ended, failed, interrupted, by }
}

/** The rollback itself is printed at the end; until then only undo steps, and attempts that were stopped for it. */
function shownPart(entry: Entry): Entry {
  const events = entry.events.filter(({ type }) => type.startsWith('compensation.') || type === 'attempt.lost')
  return { ...entry, events }
}
