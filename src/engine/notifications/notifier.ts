// Sends the notifications of a plan, beside the loop and without delaying it. Both what is due and what was sent is in the journal, so the
// next owner continues where the last one stopped.
//
//   entries ──► due ──► held while a review window is open ──► sent (3 tries) ──► `notices` of the next turn ──► notice.sent
//
// Only the owner of the plan sends, so no two processes send the same notice. If an owner dies after sending and before the turn, the next
// one sends it again under the same id. One batch is in flight at a time, and ends with one turn. So everything older than the last notice
// in the journal was sent, apart from questions that are still open, which are looked up by id.

import { createHash } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import type { Turn } from '../../domain/command.ts'
import { plainStep } from '../../domain/hint.ts'
import type { Actor, Millis, PlanId, TaskName } from '../../domain/id.ts'
import type { Notify } from '../../domain/plan.ts'
import { commandAnswer, commandReason } from '../../domain/policy/policy-in-state.ts'
import type { PlanState } from '../../domain/state/state.ts'
import type { Due, Notice } from '../../domain/views/notices.ts'
import type { SandboxUse } from '../../safety/sandbox/command-sandbox.ts'
import { escapeForTerminal } from '../../safety/text/terminal.ts'
import { CommitUnknown, type Entry, type Lease } from '../../stores/store.ts'
import { sandboxFor } from '../attempts/attempt-sandbox.ts'
import { refusesSending } from '../attempts/policy-checks.ts'
import { lazy } from '../lazy-imports.ts'
import { Bell } from '../loop/bell.ts'
import { PendingResults } from '../loop/pending-results.ts'
import type { Rooms } from '../rooms.ts'
import { entryOf, type SentNotice, SentNotices } from './sent-notifications.ts'

// The recipient's name in the journal: host or program, never the whole address, since webhook addresses are often secrets. A short hash
// distinguishes two on one host.

const NAME_MAX = 60

function labelOf(send: Notify['send']): string {
  const mark = createHash('sha256').update(JSON.stringify(send)).digest('hex').slice(0, 6)
  if ('webhook' in send) {
    const host = URL.canParse(send.webhook) ? new URL(send.webhook).host : 'no address'
    return `webhook ${host} #${mark}`
  }
  const name = 'argv' in send.command ? (send.command.argv[0] ?? '').split('/').at(-1)! : 'script'
  return `command ${name.slice(0, NAME_MAX)} #${mark}`
}

export interface Notices {
  /** Called in each round of the loop; does not wait. True while a message is being sent. `resting`: the loop is about to end. */
  look(state: PlanState, results: PendingResults, resting: boolean): boolean
}

export interface NotifierOptions {
  readonly owner: string
  readonly bell: Bell
  /** Checked immediately before each message (law L5). */
  readonly isHeld: () => true | Promise<boolean>
  readonly leaving: AbortSignal
}

const TRIES_MAX = 3
const BACKOFF_MS = [1_000, 4_000] as const
const AT_ONCE_MAX = 4
/** A message in flight when we leave may take this long to finish. */
const GRACE_MS = 2_000
const FAILURE_MAX = 500

interface Message {
  readonly notice: Notice
  readonly send: Notify['send']
  readonly to: string
  readonly ids: Notice['ids']
}

const ENGINE = 'engine' as Actor
const say = (text: string): string => escapeForTerminal(text)

export class Notifier implements Notices {
  readonly #rooms: Rooms
  readonly #options: NotifierOptions
  readonly #already = new SentNotices()
  #due: Due[] = []
  #sent: SentNotice[] = []
  /** In a turn whose commit is unknown. */
  #unsure: SentNotice[] = []
  /** Due messages are held until then, unless more come or we leave. */
  #quietUntil: Millis | null = null
  #busy: 'reading' | 'sending' | null = null
  #isBroken = false
  #timer: (() => void) | null = null

  constructor(rooms: Rooms, options: NotifierOptions) {
    this.#rooms = rooms
    this.#options = options
    options.leaving.addEventListener('abort', () => this.#timer?.(), { once: true })
  }

  look(state: PlanState, results: PendingResults, resting: boolean): boolean {
    const { publisher } = this.#rooms
    const { notify = [] } = state.definition
    if (publisher === undefined || this.#isBroken) return false
    if (notify.length === 0 && this.#sent.length === 0) return false
    this.#unsure.push(...results.unsure.splice(0))
    results.notices.push(...this.#sent.splice(0))
    if (this.#busy === null) {
      if (this.#already.version < state.version || this.#unsure.length > 0) this.#do('reading', () => this.#read(state))
      else if (!this.#options.leaving.aborted) this.#begin(state, resting)
    }
    return this.#busy !== null
  }

  #do(what: 'reading' | 'sending', work: () => Promise<void>): void {
    this.#busy = what
    void work()
      // The loop will meet the same store error; the next owner sends the rest.
      .catch(() => {
        this.#isBroken = true
      })
      .finally(() => {
        this.#busy = null
        this.#options.bell.ring()
      })
  }

  async #read(state: PlanState): Promise<void> {
    const { dueIn } = await lazy.notices()
    const unsure = this.#unsure
    const entries = await this.#already.readUpTo(this.#rooms.store, state)
    this.#unsure = []
    this.#sent.push(...unsure.filter(one => !this.#already.isWritten(one)))
    const due = entries.flatMap((entry: Entry) => dueIn(entry))
    const wanted = due.filter(({ event, task }) => event.type !== 'task.readied' || hasName(state, task))
    this.#due.push(...wanted)
    if (wanted.length > 0) this.#quietUntil = null
  }

  #begin(state: PlanState, resting: boolean): void {
    const now = this.#rooms.clock.now()
    const digest = digestsDue(state, this.#already.digests, now)
    const isQuiet = this.#due.length === 0 || (!resting && this.#quietUntil !== null && now < this.#quietUntil)
    if (isQuiet && digest.now.length === 0) return this.#wakeAt(earlier(digest.next, this.#quietUntil), now)
    this.#do('sending', async () => {
      const { noticesFor, digestNotice } = await lazy.notices()
      const sending = { say, word: this.#rooms.word ?? plainStep }
      const { notices, held, until } = noticesFor(state, this.#due, now, { resting, ...sending })
      this.#due = [...held]
      this.#quietUntil = until
      const messages = this.#messages(state, notices)
      for (const { send, to, since } of digest.now) {
        const digest = await (await lazy.audit()).digestSince(this.#rooms, state, since)
        const notice = digestNotice(state, `digest.${now}`, since, digest, sending)
        messages.push({ notice, send, to, ids: notice.ids })
        this.#already.digests.set(to, now)
      }
      await this.#sendAll(state, messages)
    })
  }

  #messages({ definition: { notify = [] } }: PlanState, notices: readonly Notice[]): Message[] {
    return notices.flatMap(notice => {
      const wants = notify.filter(({ on }) => on?.includes(notice.kind) ?? true)
      const sends = new Map(wants.map(({ send }) => [labelOf(send), send]))
      return [...sends].flatMap(([to, send]) => {
        const ids = notice.ids.filter(({ id }) => !this.#already.has({ id, to }))
        return ids.length === 0 ? [] : [{ notice, send, to, ids }]
      })
    })
  }

  #wakeAt(at: Millis | null, now: Millis): void {
    this.#timer?.()
    this.#timer = at === null ? null : this.#rooms.clock.after(Math.max(0, at - now), () => this.#options.bell.ring())
  }

  async #sendAll(state: PlanState, messages: readonly Message[]): Promise<void> {
    const { sandbox } = sandboxFor(this.#rooms, state, null)
    const sent: SentNotice[] = []
    /** Entry of the first event that was not sent. Later ones count as unsent too and are sent again, so that none is lost. */
    let missed = Number.POSITIVE_INFINITY
    const line = [...messages]
    const worker = async (): Promise<void> => {
      for (let next = line.shift(); next !== undefined; next = line.shift()) {
        const { notice, send, to, ids } = next
        const refused = refusesNotice(state, send)
        const failure = refused ?? (await this.#send(send, notice, ids[0]!.id, sandbox))
        if (failure === 'not sent') {
          if (notice.kind !== 'waiting') missed = Math.min(missed, entryOf(ids[0]!.id) ?? missed)
          continue
        }
        const more = failure === null ? {} : { failure: failure.slice(0, FAILURE_MAX) }
        sent.push(...ids.map(one => ({ ...one, kind: notice.kind, to, ...more })))
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE_MAX }, worker))
    const sure = sent.filter(({ id, kind }) => kind === 'waiting' || (entryOf(id) ?? 0) <= missed)
    for (const one of sure) this.#already.add(one)
    this.#sent.push(...sure)
  }

  /** Null if it was sent; else why not. `not sent`: we are leaving, or lost the lease. */
  async #send(
    send: Notify['send'],
    notice: Notice,
    id: string,
    sandbox: SandboxUse | undefined,
  ): Promise<string | null> {
    const { publisher, clock } = this.#rooms
    const { owner, leaving } = this.#options
    const body = `${JSON.stringify({ id, ...notice.says })}\n`
    let failure = ''
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      if (tries > 0) await pause(clock, BACKOFF_MS[tries - 1] ?? 0, leaving)
      if (leaving.aborted || !(await this.#options.isHeld())) return 'not sent'
      const late = graceful(clock, leaving)
      const published = await publisher!.publish(send, { id, kind: notice.kind, owner, body }, late.signal, sandbox)
      late.end()
      if (published.ok) return null
      if (late.signal.aborted) return 'not sent'
      failure = published.failure
      if (!published.again) break
    }
    return failure
  }
}

/** Why the policy forbids this channel; null if it does not. Recorded like any other failure to send. */
function refusesNotice(state: PlanState, send: Notify['send']): string | null {
  if ('webhook' in send) return refusesSending(state, 'webhooks')?.message ?? null
  const answer = commandAnswer(state, send.command)
  return answer.verdict === 'allow' ? null : commandReason(answer)
}

/** Only a task with an assignee waits for somebody; anybody may claim the rest. */
const hasName = ({ tasks }: PlanState, task: TaskName | undefined): boolean =>
  task !== undefined && tasks.get(task)?.definition.assignee !== undefined

interface DigestDue extends Pick<Message, 'send' | 'to'> {
  readonly since: Millis
}

function digestsDue(
  state: PlanState,
  digests: ReadonlyMap<string, Millis>,
  now: Millis,
): { readonly now: readonly DigestDue[]; readonly next: Millis | null } {
  const due: DigestDue[] = []
  let next: Millis | null = null
  for (const { on, everyMs, send } of state.status === 'active' ? (state.definition.notify ?? []) : []) {
    if (everyMs === undefined || on?.includes('digest') === false) continue
    const to = labelOf(send)
    const since = digests.get(to) ?? state.startedAt ?? state.createdAt
    if (since + everyMs <= now) due.push({ send, to, since })
    else next = earlier(next, since + everyMs)
  }
  return { now: due, next }
}

const earlier = (a: Millis | null, b: Millis | null): Millis | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b)

/** Sends pending notices of a plan that no process drives. Running work is left to the next owner. */
export async function sendPendingNotices(rooms: Rooms, plan: PlanId, lease: Lease, stop: AbortSignal): Promise<void> {
  const { store, clock } = rooms
  const bell = new Bell()
  const results = new PendingResults()
  const isHeld = async (): Promise<boolean> => (await store.leases.holder(plan))?.owner === lease.owner
  const notices = new Notifier(rooms, { owner: lease.owner, bell, isHeld, leaving: stop })
  setMaxListeners(0, stop)
  stop.addEventListener('abort', () => bell.ring(), { once: true })
  let state = await store.state(plan)
  while (state !== null && isIdle(state)) {
    const sending = notices.look(state, results, true)
    if (results.notices.length > 0) {
      const command: Turn = { type: 'turn', notices: results.notices.splice(0), start: false }
      try {
        const updated = await store.update(plan, command, { actor: ENGINE, lease })
        if (!updated.ok) return
        state = updated.state
      } catch (error) {
        if (error instanceof CommitUnknown) return
        throw error
      }
    } else if (sending) await bell.wait(clock, null)
    else return
  }
}

/** Nothing is running, so nothing has to be recovered first. */
export const isIdle = ({ running, compensation, rollback, definition }: PlanState): boolean =>
  running.size === 0 && compensation === null && rollback === null && definition.notify !== undefined

function pause(clock: Rooms['clock'], ms: number, leaving: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const cancel = clock.after(ms, () => {
      leaving.removeEventListener('abort', leave)
      resolve()
    })
    const leave = (): void => {
      cancel()
      resolve()
    }
    leaving.addEventListener('abort', leave, { once: true })
  })
}

function graceful(clock: Rooms['clock'], leaving: AbortSignal): { readonly signal: AbortSignal; end(): void } {
  const controller = new AbortController()
  let cancel: (() => void) | null = null
  const leave = (): void => {
    cancel = clock.after(GRACE_MS, () => controller.abort())
  }
  leaving.addEventListener('abort', leave, { once: true })
  return {
    signal: controller.signal,
    end() {
      cancel?.()
      leaving.removeEventListener('abort', leave)
    },
  }
}
