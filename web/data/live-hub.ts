// The one event stream of this browser, and the plans its tabs show. Runs in a SharedWorker, or in the tab itself if there is
// none.
//
//   connecting ──→ live ──→ away ──→ live …        the client reads on behind the last entry it had; nothing is lost
//                   └──→ signed-out ──(reconnect)──→ connecting
//
// Tabs are updated at most once per frame, and less often for large plans.

import { connect, type Entry, type RemoteEngine, RemoteTrouble } from '../../src/client/client.ts'
import type { Connection, FromTab, ToTab } from './live-messages.ts'
import { PlanFold } from './plan-fold.ts'
import { noteServerTime, serverNow } from './server-clock.ts'

const FRAME_MS = 16
/** The cost of a frame grows with the plan: with 1,000 tasks, tabs are updated ten times a second. */
const FRAME_MS_PER_TASK = 0.1
const PAGE = 500
const RETRY_MS = 2_000

export interface Port {
  send(message: ToTab): void
}

interface Tab {
  readonly plans: Set<string>
  task: { readonly plan: string; readonly task: string } | null
  log: { readonly plan: string; readonly task: string } | null
}

interface Followed {
  readonly fold: PlanFold
  readonly asked: Set<string>
  loading: Promise<void> | null
  /** The newest version of each plan seen on the stream while this one was loading; the loaded state may be older. */
  readonly missed: Map<string, number>
  isFailed: boolean
}

export class LiveHub {
  readonly #engine: RemoteEngine
  readonly #now: () => number
  readonly #tabs = new Map<Port, Tab>()
  readonly #followed = new Map<string, Followed>()
  readonly #dirty = new Set<Followed>()
  readonly #changed = new Set<string>()
  #connection: Connection = { is: 'connecting' }
  #lastSeen: number
  #timer: ReturnType<typeof setTimeout> | null = null
  #stream: AbortController | null = null
  /** What the shown logs print: a second stream, only while there are any. */
  #printing: { readonly plans: string; readonly events: EventSource } | null = null

  constructor({ url, now }: { readonly url: string; readonly now: () => number }) {
    this.#now = now
    this.#lastSeen = now()
    this.#engine = connect({ url, fetch: (...asked) => this.#fetch(...asked) })
  }

  join(port: Port): void {
    this.#tabs.set(port, { plans: new Set(), task: null, log: null })
    port.send({ say: 'connection', connection: this.#connection })
    if (this.#stream === null) void this.#run()
  }

  leave(port: Port): void {
    this.#tabs.delete(port)
    this.#forget()
    this.#hear()
  }

  receive(port: Port, message: FromTab): void {
    const tab = this.#tabs.get(port)
    if (tab === undefined) return
    switch (message.say) {
      case 'follow':
        tab.plans.add(message.plan)
        void this.#follow(message.plan, port)
        break
      case 'leave':
        tab.plans.delete(message.plan)
        this.#forget()
        break
      case 'follow-task':
        tab.task = message.task === null ? null : { plan: message.plan, task: message.task }
        this.#tellTask(port, tab)
        break
      case 'follow-log':
      case 'leave-log':
        tab.log = message.say === 'leave-log' ? null : { plan: message.plan, task: message.task }
        this.#hear()
        break
      case 'reconnect':
        if (this.#connection.is === 'signed-out') void this.#run()
        break
      case 'bye':
        this.leave(port)
        break
      default:
        message satisfies never
    }
  }

  /** The client opens the stream again only when it broke: opened while live, the service is away until it answers. */
  async #fetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    const isStream = String(input).includes('/engine/entries')
    if (isStream && this.#connection.is === 'live') this.#set({ is: 'away', lastSeen: this.#lastSeen })
    const response = await fetch(input, init)
    noteServerTime(response)
    if (isStream && response.ok) {
      this.#lastSeen = this.#now()
      this.#set({ is: 'live' })
    }
    return response
  }

  /** Listens to the output of the plans whose logs are shown. The stream may cut output, so tabs read it from the log itself. */
  #hear(): void {
    const plans = [...new Set(Array.from(this.#tabs.values(), ({ log }) => log?.plan))].filter(
      plan => plan !== undefined,
    )
    const asked = plans.toSorted().join(',')
    if (asked === (this.#printing?.plans ?? '') && this.#printing?.events.readyState !== EventSource.CLOSED) return
    this.#printing?.events.close()
    this.#printing = null
    if (asked === '') return
    const events = new EventSource(`/events?plan_id=${encodeURIComponent(asked)}`)
    const tell = (isOf: (log: { readonly plan: string; readonly task: string }) => boolean): void => {
      for (const [port, { log }] of this.#tabs) if (log !== null && isOf(log)) port.send({ say: 'printed' })
    }
    // While it was not open, something may have been printed.
    events.onopen = () => tell(() => true)
    events.addEventListener('task.output', ({ data }) => {
      const { plan, task } = JSON.parse(data) as { readonly plan: string; readonly task: string }
      tell(log => log.plan === plan && log.task === task)
    })
    this.#printing = { plans: asked, events }
  }

  async #run(): Promise<void> {
    this.#stream = new AbortController()
    const { signal } = this.#stream
    this.#set({ is: 'connecting' })
    while (!signal.aborted) {
      try {
        const after = await this.#engine.ask({ type: 'position' })
        // Everything folded before this position is read again; running loads may be older as well.
        await Promise.all(
          [...new Set(this.#followed.values())].map(async one => {
            await one.loading
            await this.#catchUp(one)
          }),
        )
        this.#all()
        for await (const entry of this.#engine.watch({ after, signal })) this.#read(entry)
      } catch (error) {
        if (error instanceof RemoteTrouble && error.kind === 'not-signed-in') {
          this.#stream = null
          this.#set({ is: 'signed-out' })
          return
        }
        this.#set({ is: 'away', lastSeen: this.#lastSeen })
      }
      await new Promise(resolve => setTimeout(resolve, RETRY_MS))
    }
  }

  #read(entry: Entry): void {
    this.#lastSeen = this.#now()
    this.#changed.add(entry.plan)
    for (const one of new Set(this.#followed.values())) {
      // For every plan that is loading: its id may be unknown until then.
      if (one.loading !== null) one.missed.set(entry.plan, entry.version)
      if (one.fold.state.id !== entry.plan || one.loading !== null) continue
      if (one.fold.read(entry)) this.#dirty.add(one)
      else void this.#catchUp(one)
    }
    this.#soon()
  }

  async #follow(plan: string, port: Port): Promise<void> {
    let one = this.#followed.get(plan)
    if (one === undefined) {
      one = { fold: new PlanFold(), asked: new Set([plan]), loading: null, missed: new Map(), isFailed: false }
      this.#followed.set(plan, one)
    }
    if (one.loading !== null) await one.loading
    else if (one.fold.version === 0) await this.#catchUp(one)
    if (!this.#tabs.get(port)?.plans.has(plan)) return
    if (one.fold.version > 0) port.send({ say: 'plan', plan, frame: one.fold.whole() })
    const tab = this.#tabs.get(port)
    if (tab?.task?.plan === plan) this.#tellTask(port, tab)
  }

  /** Reads missing entries from the service. Entries that arrive meanwhile are included, or it reads again. */
  async #catchUp(one: Followed): Promise<void> {
    if (one.loading !== null) return await one.loading
    one.loading = this.#readAll(one)
    await one.loading
    this.#dirty.add(one)
    this.#soon()
  }

  /** Never fails: while the service is away, it retries for as long as a tab shows the plan. */
  async #readAll(one: Followed): Promise<void> {
    one.missed.clear()
    try {
      const missed = (): number => one.missed.get(one.fold.state.id) ?? 0
      // Reads again while the stream is ahead, until a read makes no progress.
      for (let [version, lastMissed] = [-1, -1]; version !== one.fold.version || lastMissed !== missed(); ) {
        ;[version, lastMissed] = [one.fold.version, missed()]
        await this.#readPages(one)
        if (missed() <= one.fold.version) break
      }
      one.isFailed = false
    } catch (error) {
      one.isFailed = true
      if (error instanceof RemoteTrouble && error.kind === 'not-signed-in') this.#set({ is: 'signed-out' })
      else setTimeout(() => void (this.#isFollowed(one) && this.#catchUp(one)), RETRY_MS)
    } finally {
      // No `await` since the last check of missed versions: the next entry is applied directly.
      one.loading = null
    }
  }

  #isFollowed(one: Followed): boolean {
    return [...one.asked].some(plan => this.#followed.get(plan) === one)
  }

  async #readPages(one: Followed): Promise<void> {
    const [plan] = one.asked
    if (one.fold.version === 0) {
      const now = await this.#engine.ask({ type: 'state', plan: plan! })
      if (now === null || one.fold.start(now.fold, now.definition)) return
    }
    for (;;) {
      const entries = await this.#engine.ask({ type: 'entries', plan: plan!, after: one.fold.version, limit: PAGE })
      if (entries === null) return
      for (const entry of entries) one.fold.read(entry)
      if (entries.length < PAGE) return
    }
  }

  #soon(): void {
    if (this.#timer !== null) return
    const tasks = Math.max(0, ...Array.from(this.#dirty, ({ fold }) => fold.state.order.length))
    this.#timer = setTimeout(() => this.#tell(), Math.max(FRAME_MS, tasks * FRAME_MS_PER_TASK))
  }

  #tell(): void {
    this.#timer = null
    for (const one of this.#dirty) {
      // A plan that was closed may have been opened again as a new object.
      if (!this.#isFollowed(one)) continue
      if (one.fold.version === 0) {
        if (!one.isFailed)
          for (const [port, tab] of this.#tabs)
            for (const plan of one.asked) if (tab.plans.has(plan)) port.send({ say: 'missing', plan })
        continue
      }
      const frame = one.fold.changes()
      for (const [port, tab] of this.#tabs)
        for (const plan of one.asked) if (tab.plans.has(plan)) port.send({ say: 'plan', plan, frame })
      const touched = new Set(frame.tasks.map(({ name }) => name))
      for (const [port, tab] of this.#tabs)
        if (tab.task !== null && one.asked.has(tab.task.plan) && (frame.whole || touched.has(tab.task.task)))
          this.#tellTask(port, tab)
    }
    this.#dirty.clear()
    if (this.#changed.size > 0) this.#all({ say: 'changed', plans: [...this.#changed] })
    this.#changed.clear()
  }

  #tellTask(port: Port, tab: Tab): void {
    if (tab.task === null) return
    const { plan, task } = tab.task
    const one = this.#followed.get(plan)
    if (one === undefined || one.fold.version === 0) return
    port.send({ say: 'task', plan, task, detail: one.fold.detail(task, serverNow()) })
  }

  /** Sends to every tab; the default message says that anything may have changed. */
  #all(message: ToTab = { say: 'changed', plans: [] }): void {
    for (const port of this.#tabs.keys()) port.send(message)
  }

  #set(connection: Connection): void {
    if (this.#connection.is === connection.is) return
    this.#connection = connection
    this.#all({ say: 'connection', connection })
    if (connection.is === 'live') this.#hear()
  }

  #forget(): void {
    const wanted = new Set([...this.#tabs.values()].flatMap(({ plans }) => [...plans]))
    for (const plan of this.#followed.keys()) if (!wanted.has(plan)) this.#followed.delete(plan)
  }
}
