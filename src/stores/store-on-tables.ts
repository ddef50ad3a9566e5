// The store over any tables, with the rules of this room: journal, plans, leases, output; a group of requests is one transaction.

import { type PlanId, type PlanName, parseTaskId } from '../domain/id.ts'
import { hasConfidential } from '../domain/plan-rules/confidential.ts'
import type { SnapshotBlobs } from '../workspace/workspace.ts'
import { limitOf } from './cursor.ts'
import { type Appending, createPlan, updatePlan, withKey } from './journal/append.ts'
import { type Changes, type Recent, watchEntries } from './journal/changes.ts'
import { chained, checkAll } from './journal/check.ts'
import { GENESIS } from './journal/entry.ts'
import { answerAgain, forgetKeys, usedFor } from './journal/idempotency.ts'
import { foldText, Glances, type Kept, packStored, type States } from './journal/plan-states.ts'
import { type PruneBlobs, prune } from './journal/prune.ts'
import { foldGoal, foldSession, refuseToTalk, sessionMessages, streamsOn } from './journal/streams.ts'
import { EntryVerifier } from './journal/verified-entries.ts'
import { claimsOn } from './leases/claims.ts'
import type { Clock, Host } from './leases/host.ts'
import { type Heartbeat, LeasesOnTables } from './leases/leases.ts'
import { rebuildAllReservations, reservationsOn } from './leases/reservations.ts'
import { memoriesOn } from './memories-on-tables.ts'
import { CatchingUp, search } from './search/catch-up.ts'
import { sumSteps } from './search/step-metrics.ts'
import { isKept, keptQuery, keptText } from './search/storable-text.ts'
import { wordsOf } from './search/words.ts'
import type { Logs } from './store.ts'
import * as door from './store.ts'

import { eachLoaded, Missing, type Tables, type Transactions } from './tables.ts'

// Task output: durable chunks beside the journal, never state. They share the commits of the entries around them.

const LOG_READ_DEFAULT = 500
const LOG_READ_MAX = 5_000

function logsOn(transactions: Transactions): Logs {
  return {
    async append(chunks) {
      if (chunks.length === 0) return
      await transactions.write(tables => {
        const places = eachLoaded(chunks, chunk => {
          const no = tables.journal.planNo(chunk.plan)
          const ordinal = no === null ? null : tables.projections.ordinal(no, chunk.task)
          if (no === null || ordinal === null)
            throw new Error(`there is no task '${chunk.task}' in plan ${chunk.plan} to log for`)
          return { no, ordinal, chunk }
        })
        for (const { no, ordinal, chunk } of places)
          tables.logs.append(no, ordinal, { ...chunk, text: keptText(chunk.text) })
      })
    },

    async read({ plan, task, after = 0, before, limit }) {
      return transactions.read(tables => {
        const no = tables.journal.planNo(plan)
        const ordinal = no === null || task === undefined ? null : tables.projections.ordinal(no, task)
        if (no === null || (task !== undefined && ordinal === null)) return []
        const most = limitOf(limit, LOG_READ_DEFAULT, LOG_READ_MAX)
        if (before === undefined) return tables.logs.read(plan, no, ordinal, after, most)
        return tables.logs.readBack(plan, no, ordinal, { after, before }, most)
      })
    },

    since: async (after, limit) => transactions.read(tables => tables.logs.since(after, limit)),
    last: async () => transactions.read(tables => tables.logs.last()),
  }
}

function haltsOn(transactions: Transactions): door.Halts {
  return {
    get: async () => transactions.read(({ halts }) => halts.get()),
    put: halt =>
      transactions.write(({ halts }) => {
        const before = halts.get()
        if (before === null) halts.put(halt)
        return before ?? halt
      }),
    lift: () =>
      transactions.write(({ halts }) => {
        const halt = halts.get()
        if (halt !== null) halts.remove()
        return halt
      }),
  }
}

// Implements the Store door over any tables. SQLite and the simulator's store in memory only provide tables, transactions, blobs and a way
// to notice other processes.

export interface ContentStore extends SnapshotBlobs, PruneBlobs {}

export interface Snapshot {
  readonly tables: Tables
  /** Where rows have to be loaded. */
  load?(missing: Missing): Promise<void>
  close(): void | Promise<void>
}

interface Parts {
  readonly transactions: Transactions
  readonly states: States
  readonly blobs: ContentStore
  readonly changes: Changes
  readonly recent?: Recent
  readonly clock: Clock
  readonly host: Host
  readonly newId: () => string
  readonly heartbeat?: Heartbeat | undefined
  readonly shared?: door.Shared
  readonly foldEvery?: number
  /** A consistent view of the tables for a check that yields. */
  readonly snapshot: () => Snapshot | Promise<Snapshot>
  readonly close: () => Promise<void>
}

/**
 * Replaying this many events takes a few hundredths of a second; writing a fold of thousands of tasks takes as long, and blocks the event
 * loop.
 */
const FOLD_EVERY = 10_000
const READ_DEFAULT = 1_000
const READ_MAX = 10_000

export class StoreOnTables implements door.Store {
  readonly leases: LeasesOnTables
  readonly claims: door.Claims
  readonly reservations: door.Reservations
  readonly shared?: door.Shared
  readonly halts: door.Halts
  readonly logs: door.Logs
  readonly blobs: ContentStore
  readonly memories: door.Memories
  readonly sessions: door.Store['sessions']
  readonly goals: door.Store['goals']
  readonly #parts: Parts
  readonly #appending: Appending
  readonly #catchingUp: CatchingUp
  readonly #glances: Glances
  readonly #folding = new Set<Promise<void>>()
  readonly #foldingPlans = new Set<PlanId>()
  #closed: Promise<void> | null = null

  constructor(parts: Parts) {
    this.#parts = parts
    const { transactions, clock, host, heartbeat, newId } = parts
    if (parts.shared !== undefined) this.shared = parts.shared
    this.leases = new LeasesOnTables({ transactions, clock, host, newId, ...(heartbeat && { heartbeat }) })
    this.#appending = {
      leaseMsOf: owner => this.leases.renewable(owner),
      ...parts,
      foldEvery: parts.foldEvery ?? FOLD_EVERY,
      foldDue: (plan, kept) => this.#storeFold(plan, kept),
    }
    this.#catchingUp = new CatchingUp(parts)
    this.#glances = new Glances(transactions.moment?.bind(transactions), parts.states)
    this.claims = claimsOn(parts)
    this.reservations = reservationsOn(parts)
    this.halts = haltsOn(transactions)
    this.logs = logsOn(transactions)
    this.blobs = parts.blobs
    this.memories = memoriesOn(parts)
    this.sessions = streamsOn('session', foldSession, parts)
    this.goals = streamsOn('goal', foldGoal, parts)
  }

  create: door.Store['create'] = (command, actor, options) =>
    this.#parts.transactions.write(tables =>
      withKey(tables, this.#appending, actor, options?.once, () => {
        const { conversation } = options ?? {}
        const session = command.session ?? command.definition.session
        if (conversation === undefined || session === undefined)
          return createPlan(tables, this.#appending, command, actor)
        const refusal = refuseToTalk(tables, session)
        if (refusal !== null) return { ok: false, refusal }
        const made = createPlan(tables, this.#appending, command, actor)
        if (made.ok) sessionMessages(tables, this.#parts.clock, session, conversation, { plan: command.plan, actor })
        return made
      }),
    )

  update: door.Store['update'] = (plan, command, options) => {
    const asked = typeof command === 'function' ? calledOnce(command) : command
    return this.#parts.transactions.write(tables =>
      withKey(tables, this.#appending, options.actor, options.once, () =>
        updatePlan(tables, this.#appending, plan, asked, options),
      ),
    )
  }

  updateFrom: door.Store['updateFrom'] = (plan, workOut, options) =>
    this.#parts.transactions.write(tables =>
      withKey(tables, this.#appending, options.actor, options.once, () =>
        updatePlan(tables, this.#appending, plan, { workOut }, options),
      ),
    )

  answered: door.Store['answered'] = async (actor, once) =>
    this.#read(tables => {
      const used = usedFor(tables, actor, once, 'plan', this.#parts.clock.now())
      if (used === null) return null
      return 'code' in used ? { ok: false, refusal: used } : answerAgain(tables, this.#appending, used)
    })

  state: door.Store['state'] = async plan =>
    this.#glances.state(plan, () =>
      this.#read(tables => {
        const no = this.#parts.states.numberOf(plan) ?? tables.journal.planNo(plan)
        const head = no === null ? null : tables.journal.head(no)
        return head === null ? null : this.#parts.states.at(tables, plan, head).state
      }),
    )

  find: door.Store['find'] = async reference =>
    this.#glances.found(reference, () =>
      this.#read(tables => {
        if (!isKept(reference)) return null
        const part = parseTaskId(reference)
        const no = tables.journal.planNo((part?.plan ?? reference) as PlanId)
        if (no === null) {
          const named = tables.journal.named(reference as PlanName)
          return named === null ? null : { plan: named.id, name: named.name, task: null }
        }
        const plan = tables.journal.planOf(no)!
        const task = part === null ? null : tables.projections.taskName(no, part.ordinal)
        return part !== null && task === null ? null : { plan: plan.id, name: plan.name, task }
      }),
    )

  read: door.Store['read'] = async (plan, options) =>
    this.#read(tables => {
      const no = tables.journal.planNo(plan)
      if (no === null) return []
      const limit = limitOf(options?.limit, READ_DEFAULT, READ_MAX)
      const after = options?.after ?? 0
      const page = tables.journal.entries(no, after, Number.MAX_SAFE_INTEGER, limit)
      // Every plan has a first entry.
      if (page.length === 0 && after === 0) throw new door.StoreDamaged(`the journal of plan ${plan} is missing`)
      // Verified even without the caller's hash, because a changed entry is always damage.
      const stored = after === 0 ? GENESIS : tables.journal.entry(no, after)
      const previous = options?.previous === undefined ? stored : { format: 1, hash: options.previous }
      const head = page.length < limit ? tables.journal.head(no) : null
      if (previous !== null) return chained(plan, page, { after, previous, head }, this.blobs)
      if (page.length === 0 && after > (head?.reached ?? 0)) return []
      throw new door.ChainBroken('missing', after, null, `entry ${after} of plan ${plan} is missing`)
    })

  since: door.Store['since'] = async (after, limit) =>
    this.#read(tables => {
      for (let from = after; ; ) {
        const rows = tables.journal.since(from, limit, null)
        const { entries, fault, last } = new EntryVerifier().verify(tables, rows, this.blobs)
        // Entries before the fault are valid and returned first; the next read reports the fault.
        if (fault !== null && entries.length === 0) throw fault
        if (entries.length > 0 || last === undefined) return entries
        from = last
      }
    })

  watch: door.Store['watch'] = options => watchEntries(this.#parts, options)

  onChange: door.Store['onChange'] = listener => this.#parts.changes.listen(listener)

  position: door.Store['position'] = async () => this.#read(tables => tables.journal.lastPosition())

  pruned: door.Store['pruned'] = async after => this.#read(tables => tables.upkeep.pruned(after))

  plans: door.Store['plans'] = async asked => {
    const query = keptQuery(asked, ['session', 'goal', 'agent', 'text'])
    const words = query.text === undefined ? [] : wordsOf(query.text)
    const isFound = words.length > 0 && (await this.#catchingUp.run())
    return this.#read(tables => tables.projections.plans(query, isFound ? words : null))
  }

  overview: door.Store['overview'] = async asked => {
    const query = keptQuery(asked, ['session', 'goal', 'agent', 'text'])
    const words = query.text === undefined ? [] : wordsOf(query.text)
    const complete = await this.#catchingUp.run()
    const page = await this.#read(tables =>
      tables.projections.overview(query, complete && words.length > 0 ? words : null),
    )
    return { ...page, complete }
  }

  tasks: door.Store['tasks'] = async asked =>
    this.#read(tables => {
      const query = keptQuery(asked, ['assignee'])
      const no = query.plan === undefined ? null : tables.journal.planNo(query.plan)
      return query.plan !== undefined && no === null ? EMPTY : tables.projections.tasks(query, no)
    })

  attempts: door.Store['attempts'] = async query =>
    this.#read(tables => {
      const no = tables.journal.planNo(query.plan)
      return no === null ? EMPTY : tables.projections.attempts(query, no)
    })

  metrics: door.Store['metrics'] = async plan =>
    this.#read(tables => {
      const no = tables.journal.planNo(plan)
      return no === null ? [] : tables.projections.metrics(no)
    })

  search: door.Store['search'] = async query => {
    const complete = await this.#catchingUp.run()
    return { ...(await this.#read(tables => search(tables, query))), complete }
  }

  steps: door.Store['steps'] = async query => {
    const complete = await this.#catchingUp.run()
    return { ...(await sumSteps(this.#parts.transactions, keptQuery(query, ['agent', 'kind']))), complete }
  }

  tidy: door.Store['tidy'] = async options => {
    const { transactions, clock, states } = this.#parts
    if (options?.rebuild === true) {
      await transactions.write(tables => tables.index.clear())
      await rebuildAllReservations(transactions, states)
    }
    await this.#catchingUp.run()
    await forgetKeys(transactions, clock.now())
  }

  async check(options?: { readonly readData?: boolean }): Promise<door.CheckReport> {
    const snapshot = await this.#parts.snapshot()
    try {
      const steps = checkAll(snapshot.tables, this.blobs, options?.readData === true)
      for (;;) {
        const step = steps.next()
        if (step.done === true) return step.value
        if (step.value instanceof Missing) await snapshot.load?.(step.value)
        else await new Promise(resolve => setImmediate(resolve))
      }
    } finally {
      await snapshot.close()
    }
  }

  prune: door.Store['prune'] = async options => {
    const now = this.#parts.clock.now()
    if (!options.dryRun) await forgetKeys(this.#parts.transactions, now)
    const forget = () => {
      this.#glances.forget()
      this.#parts.recent?.forget()
    }
    return await prune({ ...this.#parts, now, forget }, options)
  }

  close(): Promise<void> {
    this.#closed ??= (async () => {
      await Promise.all(this.#folding)
      try {
        await this.leases.close()
      } finally {
        this.#parts.changes.close()
        await this.#parts.close()
      }
    })()
    return this.#closed
  }

  #read<T>(work: (tables: Tables) => T): T | Promise<T> {
    return this.#parts.transactions.read(work)
  }

  /** A stored fold is only a cache: taken as text now, compressed in another thread, stored by a later commit or never. */
  #storeFold(plan: PlanId, kept: Kept): void {
    kept.tail = 0
    if (this.#foldingPlans.has(plan) || kept.state.order.length === 0) return
    // It would hold what must not leave this machine.
    if (this.blobs.keepNow !== undefined && hasConfidential(kept.state)) return
    const { no, hash, definitionVersion, state } = kept
    const at = { version: state.version, definitionVersion, hash }
    const text = foldText(state)
    this.#foldingPlans.add(plan)
    const folding: Promise<void> = packStored(text, at)
      .then(fold =>
        this.#parts.transactions.write(tables => {
          // The transaction of the fold may have been rolled back since.
          if (tables.journal.entry(no, fold.version)?.hash === hash) tables.journal.saveFold(no, fold)
        }),
      )
      .catch(() => {})
      .finally(() => {
        this.#folding.delete(folding)
        this.#foldingPlans.delete(plan)
      })
    this.#folding.add(folding)
  }
}

const EMPTY = { items: [], next: null }

/** A rule may run again, with the command of the first time. */
function calledOnce<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

// A group of requests in one transaction: those that fail before their first write fail alone, a later failure fails the whole group. Each
// store has its own begin, commit and rollback.

export interface Request {
  readonly work: (tables: Tables) => unknown
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

/** Called when the commit is durable, not before (law L6). */
export type Answers = (() => void)[]

/** Throws when the transaction must be rolled back. */
export function runGroup(tables: Tables, requests: readonly Request[]): Answers {
  return requests.map(({ work, resolve, reject }) => {
    const before = tables.writes
    try {
      const value = work(tables)
      return () => resolve(value as never)
    } catch (error) {
      if (tables.writes !== before) throw error
      return () => reject(error)
    }
  })
}

export function rejectAll(requests: readonly Request[], states: States, error: unknown): void {
  states.rolledBack()
  for (const { reject } of requests) reject(error)
}
