// Group commit on PostgreSQL. The rules of all requests of one turn run on the working set, and what they write goes out as one call. While
// it is under way the next requests gather. A request that was passed over runs again on what is there now.
//
//   idle ─write→ scheduled ─setImmediate→ running rules ─one call→ committed, everybody is answered
//   a row is missing → what was recorded before is sent first; then it is loaded, and the rule runs again (at most 8 times)
//   nothing was recorded → no guard looks at it: what came from memory is loaded, and the rule runs again
//   the connection broke → the same call is sent again on another one; the database answers a call that it has committed as before.
//   Only if it cannot be reached for half a minute it stays unknown: `CommitUnknown`, and everything known is forgotten

import { hash } from 'node:crypto'
import type pg from 'pg'
import type { Changes } from '../journal/changes.ts'
import type { States } from '../journal/plan-states.ts'
import type { Clock } from '../leases/host.ts'
import { CommitUnknown, LeaseLost, StoreBusy } from '../store.ts'
import type { Request } from '../store-on-tables.ts'
import { Missing, MissingAll, type Tables, type Transactions } from '../tables.ts'
import { Answers, ROUNDS_MAX } from './answers.ts'
import { type Batch, WRITER_UNKNOWN } from './append.ts'
import type { BlobsPostgres } from './blobs-postgres.ts'
import { type Link, queryOn } from './connection/connection.ts'
import { Answered, Unreachable } from './connection/errors.ts'
import { type Counted, GroupedReads } from './grouped-reads.ts'
import { tablesOn } from './tables-postgres.ts'
import { Recording, type WorkingSet } from './working-set.ts'

/** Positions of one call are numbered by ten bits. */
const ENTRIES_MAX = 1_000
const TRIES_MAX = 50
const PLAN_NUMBERS_PER_MS = 1_024
/** SQLSTATE: a unique key, a deadlock, a serialization failure. */
const AGAIN = new Set(['23505', '40P01', '40001'])
const REGISTER = 'SELECT register($1)'
const APPEND_CALL = { name: 'append', text: 'SELECT append($1::jsonb) AS answer' }

interface Sent {
  readonly first: number
  readonly passed: readonly number[]
  /** Those of them that wrote under a lease which has run out. */
  readonly lapsed?: readonly number[]
  /** The answer that was lost. */
  readonly isEarlier?: true
}

export interface PostgresRoom {
  /** Where new plans work. */
  readonly workspace: string
  readonly writer: Link
  readonly reader: Link
  readonly loader: Link
  readonly states: States
  readonly changes: Changes
  readonly clock: Clock
  readonly set: WorkingSet
  /** Null: that of the database. */
  readonly now: () => number | null
  readonly newId: () => string
  readonly committed: () => void
  readonly blobs: BlobsPostgres
  /** For measurements: called with every request; what it returns is called with how often rows were loaded for it. */
  readonly counted?: (() => (rounds: number) => void) | undefined
}

interface Waiting extends Request {
  tries: number
  /** What it lacked each time it was put off. */
  readonly missing: Missing[]
  /** Plans whose rows it took from memory, and that are loaded for it instead. */
  readonly forgotten: Set<number>
  readonly counted: Counted
}

interface Done {
  readonly request: Waiting
  readonly recording: Recording
  readonly value: unknown
  readonly error: unknown
}

export class PostgresTransactions implements Transactions {
  readonly #room: PostgresRoom
  readonly #tables: Tables
  readonly #answers = new Answers()
  #recording: Recording | null = null
  #queue: Waiting[] = []
  #running: Promise<void> | null = null
  readonly #reads: GroupedReads
  #entries = 0
  #planNumber = 0
  #position = 0
  #closed = false
  #writer: string | null = null
  /** A rule that failed changed a plan after an earlier rule of the same group. */
  #hasDropped = false
  /** Plans that earlier rules of the group changed, which is not committed yet. */
  readonly #changed = new Set<number>()
  #calls = 0
  /** How many calls were sent, for tests and measurements. */
  sent = 0

  constructor(room: PostgresRoom) {
    this.#room = room
    const { set, clock } = room
    this.#reads = new GroupedReads({
      reader: room.reader,
      counted: room.counted,
      tablesOf: answers => this.#readTables(answers),
      // A call that is under way has changed states that are not durable yet.
      settled: async () => void (await this.#running?.catch(() => {})),
    })
    this.#tables = tablesOn({
      answers: this.#answers,
      set,
      blobs: room.blobs,
      recording: () => this.#recording,
      nextEntry: () => ++this.#entries,
      newNumber: () => {
        const chance = hash('sha256', room.newId(), 'buffer').readUInt16BE() % PLAN_NUMBERS_PER_MS
        const earliest = clock.now() * PLAN_NUMBERS_PER_MS + chance
        this.#planNumber = Math.max(this.#planNumber + 1, earliest)
        return this.#planNumber
      },
      position: () => this.#position,
      workspace: this.#room.workspace,
      monotonic: () => Math.floor(clock.monotonic()),
      isWriting: true,
    })
  }

  /** The name under which this process appends, once it does. */
  get writer(): string | null {
    return this.#writer
  }

  read<T>(work: (tables: Tables) => T): Promise<T> {
    return this.#reads.read(work)
  }

  write<T>(work: (tables: Tables) => T): Promise<T> {
    if (this.#closed) return Promise.reject(new Error('the store is closed'))
    return new Promise((resolve, reject) => {
      this.#queue.push({
        work,
        resolve,
        reject,
        tries: 0,
        missing: [],
        forgotten: new Set(),
        counted: this.#room.counted?.(),
      })
      this.#start()
    })
  }

  /** For a check, which asks row by row: a connection of its own. */
  snapshotOn(client: pg.Client): { readonly tables: Tables; load(missing: Missing): Promise<void> } {
    const answers = new Answers()
    return {
      tables: this.#readTables(answers),
      load: async missing => await answers.fill(missing, queryOn(client)),
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    while (this.#running !== null) await this.#running
    await this.#reads.ended()
  }

  #start(): void {
    this.#running ??= new Promise<void>(resolve => setImmediate(resolve))
      .then(() => this.#flush())
      .finally(() => {
        this.#running = null
        if (this.#queue.length > 0) this.#start()
      })
  }

  #readTables(answers: Answers): Tables {
    const { set, clock } = this.#room
    const none = () => {
      throw new Error('bug: a read of the store writes')
    }
    return tablesOn({
      answers,
      set,
      blobs: this.#room.blobs,
      recording: () => null,
      nextEntry: none,
      newNumber: none,
      position: () => this.#position,
      workspace: this.#room.workspace,
      monotonic: () => Math.floor(clock.monotonic()),
      isWriting: false,
    })
  }

  async #flush(): Promise<void> {
    const requests = this.#queue
    this.#queue = []
    const done: Done[] = []
    this.#entries = 0
    this.#answers.clear()
    const left: Waiting[] = []
    let isEmpty = true
    this.#hasDropped = false
    this.#changed.clear()
    try {
      await this.#loadFor(requests)
      for (const [at, request] of requests.entries()) {
        const isFull: boolean = this.#entries >= ENTRIES_MAX || (!isEmpty && this.#alone > 0)
        const ran: Done | 'later' = isFull ? 'later' : await this.#run(request, isEmpty)
        // Put off until the next call: nothing is loaded once something is recorded.
        if (ran === 'later') left.push(request)
        else {
          done.push(ran)
          isEmpty &&= ran.recording.isEmpty
          for (const no of ran.recording.touched) this.#changed.add(no)
        }
        // The rest reads again what was dropped, after these are sent.
        if (this.#hasDropped) {
          left.push(...requests.slice(at + 1))
          break
        }
      }
      this.#alone = Math.max(0, this.#alone - 1)
      this.#queue.unshift(...left)
      await this.#send(done)
    } catch (bug) {
      this.#room.set.forgetAll()
      this.#room.states.rolledBack()
      for (const { request } of done) request.reject(bug)
    }
  }

  /** What requests lacked when they were put off, all at once. */
  async #loadFor(requests: readonly Waiting[]): Promise<void> {
    const missing = requests.flatMap(request => request.missing)
    for (const { forgotten } of requests) for (const no of forgotten) this.#room.set.forget(no)
    // When it fails, each of them finds out by itself.
    if (missing.length > 0) await this.#answers.fill(new MissingAll(missing), this.#room.loader.query).catch(() => {})
  }

  /** Runs one rule, loading what is missing; with something recorded already nothing is loaded. */
  async #run(request: Waiting, mayLoad: boolean): Promise<Done | 'later'> {
    const { forgotten } = request
    for (let round = 0; ; round++) {
      const before = this.#entries
      const recording = new Recording()
      this.#recording = recording
      this.#room.states.nextRule()
      try {
        const value = request.work(this.#tables)
        if (recording.isEmpty && this.#isStale(recording, forgotten)) {
          this.#forget(recording, forgotten, mayLoad)
          if (!mayLoad) return 'later'
          continue
        }
        request.counted?.(round)
        return { request, recording, value, error: null }
      } catch (error) {
        if (!this.#undoRule(recording)) this.#hasDropped = true
        this.#entries = before
        if (!(error instanceof Missing) && this.#isStale(recording, forgotten)) {
          this.#forget(recording, forgotten, mayLoad)
          if (!mayLoad) return 'later'
          continue
        }
        if (!(error instanceof Missing)) return { request, recording: new Recording(), value: undefined, error }
        if (!mayLoad) {
          request.missing.push(error)
          return 'later'
        }
        if (round >= ROUNDS_MAX) {
          const bug = new Error(`bug: a rule reads in a loop: ${error.key}`)
          return { request, recording: new Recording(), value: undefined, error: bug }
        }
        try {
          await this.#answers.fill(error, this.#room.loader.query)
        } catch (failed) {
          return { request, recording: new Recording(), value: undefined, error: failed }
        }
      } finally {
        this.#recording = null
      }
    }
  }

  /** No guard looks at a request that writes nothing, so what it is refused for must not come from memory. */
  #forget({ remembered }: Recording, forgotten: Set<number>, isNow: boolean): void {
    for (const no of remembered) {
      if (isNow) this.#room.set.forget(no)
      forgotten.add(no)
    }
  }

  /** Was its answer made from what is only remembered, or not committed yet? */
  #isStale({ remembered }: Recording, forgotten: ReadonlySet<number>): boolean {
    return [...remembered].some(no => !forgotten.has(no) || this.#changed.has(no))
  }

  /** False if an earlier rule of the group changed the same plan. */
  #undoRule({ touched }: Recording): boolean {
    let isAlone = this.#room.states.undoRule()
    for (const no of touched) {
      this.#room.set.forget(no)
      if (this.#changed.has(no)) isAlone = false
    }
    return isAlone
  }

  /** The states that a rule changed are read again from the journal. */
  #undo({ touched }: Recording): void {
    this.#room.states.rolledBack()
    for (const no of touched) this.#room.set.forget(no)
  }

  async #send(done: readonly Done[]): Promise<void> {
    const { states, changes } = this.#room
    const sending = done.filter(({ recording }) => !recording.isEmpty)
    if (sending.length > 0) {
      const sent = (await this.#publish(sending)) ?? (await this.#append(sending))
      if (sent !== null) {
        for (const { request, recording } of sending) {
          this.#undo(recording)
          request.reject(sent)
        }
        for (const one of done) if (!sending.includes(one)) answer(one)
        return
      }
    } else states.committed()
    for (const one of done) if (!this.#again.has(one.request)) answer(one)
    if (sending.length > 0) {
      changes.announce()
      this.#room.committed()
    }
    const again = done.filter(({ request }) => this.#again.has(request)).map(({ request }) => request)
    this.#again.clear()
    this.#queue.unshift(...again)
  }

  readonly #again = new Set<Waiting>()
  /** Two requests of one group may want the same name or key: then this many are sent one by one. */
  #alone = 0

  /** What the entries name, before they are appended. */
  async #publish(sending: readonly Done[]): Promise<Error | null> {
    try {
      const entries = sending.flatMap(({ recording }) => recording.entries)
      await this.#room.blobs.publish(entries, this.#room.writer.query)
      return null
    } catch (error) {
      return error as Error
    }
  }

  /** Null when it was committed; requests that were passed over run again. */
  async #append(sending: readonly Done[]): Promise<Error | null> {
    const { states } = this.#room
    let sent: Sent
    try {
      sent = await this.#call(sending.map(({ recording }) => recording.item()))
    } catch (error) {
      // Another process was faster with a name or a key; or the database chose this call to end a deadlock. Nothing was written.
      if (error instanceof Answered && AGAIN.has(error.state)) {
        this.#alone = sending.length
        this.#pass(sending)
        return null
      }
      return error as Error
    }
    const over = sent.passed.map(at => sending[at]!)
    for (const one of sending) if (!over.includes(one)) this.#place(one, sent.first)
    if (over.length === 0) states.committed()
    else this.#pass(over)
    for (const at of sent.lapsed ?? []) {
      this.#again.delete(sending[at]!.request)
      sending[at]!.request.reject(new LeaseLost('the lease ran out before it was renewed'))
    }
    return null
  }

  /** Sends the same call until there is an answer: the database carries it out once. */
  async #call(items: Batch['items']): Promise<Sent> {
    const { writer } = this.#room
    let mayHaveHappened = false
    const call = ++this.#calls
    const send = async (client: pg.Client): Promise<Sent> => {
      const query = queryOn(client)
      if (this.#writer === null) {
        const id = this.#room.newId()
        await query(REGISTER, [id])
        this.#writer = id
      }
      const appended = async (asked: Batch['items']): Promise<Sent> => {
        const batch: Batch = { writer: this.#writer!, call, items: asked, now: this.#room.now() }
        return (await query(APPEND_CALL, [JSON.stringify(batch)]))[0]!.answer as Sent
      }
      const isFirst = !mayHaveHappened
      mayHaveHappened = true
      this.sent++
      try {
        return await appended(items)
      } catch (error) {
        if (error instanceof Unreachable) throw error
        const isForgotten = error instanceof Answered && error.state === WRITER_UNKNOWN
        if (isForgotten && !isFirst) throw error
        if (!isFirst) {
          // The first one may still be on its way: an empty call takes its number, or finds that it arrived.
          const settled = await appended([])
          if (settled.isEarlier === true) return settled
        }
        mayHaveHappened = false
        if (!isForgotten) throw error
        this.#writer = null
        return await send(client)
      }
    }
    try {
      return await writer.patiently(send)
    } catch (error) {
      if (!mayHaveHappened) throw error
      this.#room.set.forgetAll()
      throw new CommitUnknown(`${(error as Error).message}; it is unknown whether the last write happened`)
    }
  }

  /** Positions are known only now. */
  #place({ recording, value }: Done, first: number): void {
    for (const entry of recording.entries) placed(entry, first)
    placed(value, first)
    for (const entry of recording.entries) this.#position = Math.max(this.#position, entry.position)
  }

  #pass(over: readonly Done[]): void {
    this.#room.states.rolledBack()
    for (const { request, recording } of over) {
      for (const no of recording.touched) this.#room.set.forget(no)
      for (const guard of recording.guards) if ('no' in guard) this.#room.set.forget(guard.no)
      request.tries++
      if (request.tries >= TRIES_MAX)
        request.reject(new StoreBusy('other processes were faster each time; nothing was written'))
      else this.#again.add(request)
    }
  }
}

function answer({ request, value, error }: Done): void {
  if (error === null) request.resolve(value as never)
  else request.reject(error)
}

function placed(value: unknown, first: number): void {
  const entry = value as { position?: number } | null
  if (typeof entry === 'object' && entry !== null && typeof entry.position === 'number' && entry.position < 0)
    (entry as { position: number }).position = first - 1 - entry.position
}
