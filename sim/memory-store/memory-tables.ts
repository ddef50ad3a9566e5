// The tables of the memory store that hold plans: journal and projections. Rows are the records themselves.

import { type PlanId, type PlanName, type TaskName, taskId } from '../../src/domain/id.ts'
import { PLAN_STATUSES, type PlanStatus, TASK_STATUSES, type TaskStatus } from '../../src/domain/status.ts'
import { limitOf, openCursor, pageOf, seal, unseal } from '../../src/stores/cursor.ts'
import { firstAfter } from '../../src/stores/first-after.ts'
import type { StoredEntry } from '../../src/stores/journal/entry.ts'
import {
  type AttemptRecord,
  attemptAfter,
  attemptRow,
  type Changes,
  type PlanRecord,
  planRecord,
  type TaskRecord,
  taskRecord,
} from '../../src/stores/journal/projection.ts'
import { holdsWords } from '../../src/stores/search/words.ts'
import type {
  AttemptQuery,
  MetricRow,
  OverviewPage,
  OverviewQuery,
  PlanOverview,
  PlanQuery,
  PlanRow,
  TaskQuery,
  TaskRow,
} from '../../src/stores/store.ts'
import type { Head, JournalTable, ProjectionTables, StoredFold } from '../../src/stores/tables.ts'
import type { MemoryDisk, MemoryPlan } from './memory-disk.ts'

export class MemoryJournal implements JournalTable {
  readonly #disk: MemoryDisk
  constructor(disk: MemoryDisk) {
    this.#disk = disk
  }

  planNo = (plan: PlanId): number | null => this.#disk.numbers.get(plan) ?? null
  planOf = (no: number) => nameOf(this.#disk.plans.get(no))
  named = (name: string) => nameOf(this.#disk.plans.get(this.#disk.names.get(name) ?? 0))
  lastPosition = () => this.#disk.position
  newestPosition = () => this.#disk.position
  knownPosition = () => this.#disk.position
  /** Leaves some out, as a store may. */
  nextPosition = () => this.#disk.position + 1 + (this.#disk.position % 3)
  fold = (no: number) => this.#disk.plans.get(no)?.fold ?? null
  entry = (no: number, version: number) => this.#disk.plans.get(no)?.entries[version - 1] ?? null

  head(no: number): Head | null {
    const plan = this.#disk.plans.get(no)
    if (plan === undefined) return null
    const owner = plan.owner === null ? undefined : this.#disk.owners.get(plan.owner)
    const { version, at, fence } = plan
    return {
      no,
      version,
      at,
      hash: plan.lastHash ?? '',
      reached: version,
      fence,
      owner: plan.owner,
      ownerBoot: owner?.boot ?? null,
      ownerExpires: owner?.expires ?? null,
    }
  }

  entries(no: number, after: number, upTo: number, limit: number): readonly StoredEntry[] {
    return this.#disk.plans.get(no)?.entries.slice(after, Math.min(upTo, after + limit)) ?? []
  }

  since(after: number, limit: number, no: number | null) {
    const { journal } = this.#disk
    const low = firstAfter(journal, after, ({ entry }) => entry.position)
    const found: (StoredEntry & { readonly plan: PlanId })[] = []
    for (let at = low; at < journal.length && found.length < limit; at++) {
      const { no: of, plan, entry } = journal[at]!
      if (no === null || no === of) found.push({ ...entry, plan })
    }
    return found
  }

  addPlan(id: PlanId, record: PlanRecord): number {
    const disk = this.#disk
    const no = disk.planNo + 1
    disk.set(disk, 'planNo', no)
    disk.put(disk.numbers, id, no)
    disk.put(disk.names, record.name, no)
    disk.put(disk.plans, no, {
      no,
      id,
      record,
      entries: [],
      lastHash: null,
      version: 0,
      at: 0,
      fence: 0,
      owner: null,
      ownerSince: 0,
      fold: null,
      tasks: new Map(),
      attempts: new Map(),
      claims: new Map(),
      reservations: new Map(),
      logs: [],
    })
    return no
  }

  addEntry(no: number, entry: StoredEntry): void {
    const disk = this.#disk
    const plan = disk.plans.get(no)!
    disk.add(plan.entries, entry)
    disk.add(disk.journal, { no, plan: plan.id, entry })
    disk.set(disk, 'position', entry.position)
    disk.set(disk, 'written', disk.written + 1)
    disk.set(plan, 'version', entry.version)
    disk.set(plan, 'lastHash', entry.hash)
    disk.set(plan, 'at', entry.at)
  }

  saveFold(no: number, fold: StoredFold): void {
    this.#disk.set(this.#disk.plans.get(no)!, 'fold', fold)
  }
}

const nameOf = (plan: MemoryPlan | undefined): { id: PlanId; name: PlanName } | null =>
  plan === undefined ? null : { id: plan.id, name: plan.record.name }

export class MemoryProjections implements ProjectionTables {
  readonly #disk: MemoryDisk
  constructor(disk: MemoryDisk) {
    this.#disk = disk
  }

  apply(no: number, { state, tasks, added, attempts }: Changes): void {
    const disk = this.#disk
    const plan = disk.plans.get(no)!
    const record = planRecord(state)
    if (record.name !== plan.record.name) {
      disk.take(disk.names, plan.record.name)
      disk.put(disk.names, record.name, no)
    }
    disk.set(plan, 'record', record)
    for (const change of attempts) {
      const key = attemptKey(change)
      disk.put(plan.attempts, key, attemptAfter(plan.attempts.get(key), change))
    }
    if (tasks === 'all') {
      const ordinals = new Set(state.order.map(task => task.ordinal))
      for (const ordinal of plan.tasks.keys()) if (!ordinals.has(ordinal)) disk.take(plan.tasks, ordinal)
      for (const [key, { ordinal }] of plan.attempts) if (!ordinals.has(ordinal)) disk.take(plan.attempts, key)
    }
    for (const task of tasks === 'all' ? state.order : [...tasks, ...added])
      disk.put(plan.tasks, task.ordinal, taskRecord(task))
  }

  taskName = (no: number, ordinal: number): TaskName | null =>
    this.#disk.plans.get(no)?.tasks.get(ordinal)?.name ?? null

  ordinal(no: number, task: TaskName): number | null {
    for (const record of this.#disk.plans.get(no)?.tasks.values() ?? []) if (record.name === task) return record.ordinal
    return null
  }

  plans(query: PlanQuery, words: readonly string[] | null) {
    const limit = limitOf(query.limit)
    const [before] = openCursor('plans', 1, query) ?? [Number.MAX_SAFE_INTEGER]
    const rows = this.#asked(query, words).filter(({ no }) => no < before!)
    return pageOf('plans', query, rows.slice(0, limit + 1), limit, planRow, plan => [plan.no])
  }

  overview(query: OverviewQuery, words: readonly string[] | null): Omit<OverviewPage, 'complete'> {
    const { order = 'newest', since, until, within, among, status, ...more } = query
    const list = `plans by ${order}`
    const wide = this.#asked(more, words).filter(
      ({ id, record: { updatedAt, createdAt, session } }) =>
        (since === undefined || updatedAt >= since) &&
        (until === undefined || createdAt < until) &&
        (within === undefined ||
          within.plans?.includes(id) === true ||
          (session !== null && within.sessions?.includes(session) === true)),
    )
    const statuses = Object.fromEntries(PLAN_STATUSES.map(one => [one, 0])) as Record<PlanStatus, number>
    for (const plan of wide) statuses[shownStatus(plan)]++
    const rows = wide
      .filter(
        plan =>
          (status === undefined || shownStatus(plan) === status) && (among === undefined || among.includes(plan.id)),
      )
      .map(plan => ({ no: plan.no, row: this.#overviewed(plan) }))
      .map(({ no, row }) => ({ row, key: [overviewKey(row, no, order), no] as const }))
      .sort((a, b) => compareKeys(a.key, b.key) * (order === 'name' ? 1 : -1))
    const place = unseal(list, query) as readonly [string | number, number] | null
    const from =
      place === null ? 0 : rows.findIndex(({ key }) => compareKeys(key, place) * (order === 'name' ? 1 : -1) > 0)
    const shown = from === -1 ? [] : rows.slice(from, from + limitOf(query.limit))
    const isMore = from !== -1 && from + shown.length < rows.length
    return {
      items: shown.map(({ row }) => row),
      next: isMore ? seal(list, query, shown.at(-1)!.key) : null,
      total: rows.length,
      statuses,
    }
  }

  #overviewed(plan: MemoryPlan): PlanOverview {
    const counts = Object.fromEntries(TASK_STATUSES.map(status => [status, 0])) as Record<TaskStatus, number>
    for (const { status } of plan.tasks.values()) counts[status]++
    const ended = [...this.#disk.index.steps.values()].flatMap(step => (step.no === plan.no ? (step.ended ?? []) : []))
    const sum = (key: 'tokens' | 'cost'): number | null =>
      ended.reduce<number | null>((all, { [key]: one }) => (one === null ? all : (all ?? 0) + one), null)
    return { ...planRow(plan), counts, tokens: sum('tokens'), cost: sum('cost') }
  }

  /** Newest first. */
  #asked(query: PlanQuery, words: readonly string[] | null): readonly MemoryPlan[] {
    return this.#newestFirst().filter(plan => {
      const { record } = plan
      return (
        (query.status === undefined || shownStatus(plan) === query.status) &&
        (query.session === undefined || record.session === query.session) &&
        (query.goal === undefined || record.goal === query.goal) &&
        (query.agent === undefined || record.agent === query.agent) &&
        (query.archived === undefined || record.archived === query.archived) &&
        (query.unsettled === undefined || isUnsettled(plan)) &&
        (query.text === undefined || this.#holdsText(plan, query.text, words))
      )
    })
  }

  tasks(query: TaskQuery, no: number | null) {
    const limit = limitOf(query.limit)
    const { list, keyOf } = ORDERS[query.order ?? 'plan']
    const after = openCursor(list, keyOf(FIRST_ROW).length, query)
    const rows = this.#newestFirst()
      .filter(plan => no === null || plan.no === no)
      .filter(plan => query.archived === undefined || plan.record.archived === query.archived)
      .flatMap(plan => Array.from(plan.tasks.values(), task => ({ plan, task })))
      .filter(
        ({ task }) =>
          (query.status === undefined || task.status === query.status) &&
          (query.statuses === undefined || query.statuses.includes(task.status)) &&
          (query.assignee === undefined || task.assignee === query.assignee),
      )
      .map(row => ({ ...row, key: keyOf(row) }))
      .filter(({ key }) => after === null || compare(key, after) > 0)
      .sort((a, b) => compare(a.key, b.key))
    const show = ({ plan, task }: (typeof rows)[number]): TaskRow => ({
      id: taskId(plan.id, task.ordinal),
      plan: plan.id,
      ...task,
    })
    return pageOf(list, query, rows.slice(0, limit + 1), limit, show, ({ key }) => key)
  }

  attempts(query: AttemptQuery, no: number) {
    const limit = limitOf(query.limit)
    const after = openCursor('attempts', 3, query) ?? [0, 0, 0]
    const plan = this.#disk.plans.get(no)!
    const rows = Array.from(plan.attempts.values())
      .filter(record => compare(place(record), after) > 0)
      .filter(record => query.task === undefined || plan.tasks.get(record.ordinal)?.name === query.task)
      .sort((a, b) => compare(place(a), place(b)))
    return pageOf(
      'attempts',
      query,
      rows.slice(0, limit + 1),
      limit,
      record => attemptRow(record, plan.tasks.get(record.ordinal)!.name),
      place,
    )
  }

  metrics(no: number): readonly MetricRow[] {
    const plan = this.#disk.plans.get(no)!
    const kinds = new Map<string | null, MetricRow>()
    for (const record of plan.attempts.values()) {
      const task = plan.tasks.get(record.ordinal)!
      const kind = task.kind
      const sum = kinds.get(kind) ?? { kind, attempts: 0, succeeded: 0, failed: 0, lost: 0, retries: 0, durationMs: 0 }
      kinds.set(kind, {
        kind,
        attempts: sum.attempts + 1,
        succeeded: sum.succeeded + Number(record.status === 'succeeded'),
        failed: sum.failed + Number(record.status === 'failed'),
        lost: sum.lost + Number(record.status === 'lost'),
        retries: sum.retries + Number(record.attempt > 1),
        durationMs: sum.durationMs + (attemptRow(record, task.name).durationMs ?? 0),
      })
    }
    return Array.from(kinds.values()).sort((a, b) => compareText(a.kind ?? '', b.kind ?? ''))
  }

  records(no: number) {
    const plan = this.#disk.plans.get(no)!
    return { plan: plan.record, tasks: [...plan.tasks.values()], attempts: [...plan.attempts.values()] }
  }

  #holdsText({ no, record }: MemoryPlan, text: string, words: readonly string[] | null): boolean {
    if (words !== null) return holdsWords(this.#disk.index.docs.get(JSON.stringify([no, null]))?.text ?? '', words)
    const part = text.toLowerCase()
    return [record.name, record.title, record.goalText].some(each => each?.toLowerCase().includes(part))
  }

  #newestFirst(): MemoryPlan[] {
    return [...this.#disk.plans.values()].reverse()
  }
}

interface Listed {
  readonly plan: Pick<MemoryPlan, 'no'>
  readonly task: Pick<TaskRecord, 'ordinal' | 'sequence' | 'addedAt'>
}
const FIRST_ROW: Listed = { plan: { no: 0 }, task: { ordinal: 0, sequence: 0, addedAt: 0 } }
/** The lists of tasks; what is to come first has the lower key. */
const ORDERS = {
  plan: { list: 'tasks', keyOf: ({ plan, task }: Listed) => [-plan.no, task.ordinal] },
  sequence: {
    list: 'tasks in sequence',
    keyOf: ({ plan, task }: Listed) => [-plan.no, task.sequence, task.ordinal],
  },
  recent: { list: 'recent tasks', keyOf: ({ plan, task }: Listed) => [-task.addedAt, -plan.no, -task.ordinal] },
}

const attemptKey = ({ ordinal, visit, attempt }: { ordinal: number; visit: number; attempt: number }) =>
  `${ordinal} ${visit} ${attempt}`
const place = ({ ordinal, visit, attempt }: AttemptRecord) => [ordinal, visit, attempt]
const compare = (a: readonly number[], b: readonly number[]) => a.reduce((order, part, at) => order || part - b[at]!, 0)
const compareText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

function overviewKey(row: PlanOverview, no: number, order: NonNullable<OverviewQuery['order']>): string | number {
  if (order === 'name') return row.name
  return order === 'cost' ? (row.cost ?? -1) : order === 'updated' ? row.updatedAt : no
}

type Key = readonly [string | number, number]
const compareKeys = ([a, no]: Key, [b, other]: Key): number => (a < b ? -1 : a > b ? 1 : no - other)

function planRow(plan: MemoryPlan): PlanRow {
  const { id, record, version } = plan
  const { goalText, goal, ...rest } = record
  return { id, version, ...rest, status: shownStatus(plan), goal: goalText, goalId: goal }
}

function isUnsettled({ entries, attempts }: MemoryPlan): boolean {
  const last = entries.at(-1)
  if (last !== undefined && (last.body === null || last.body.includes('rollback.stopped'))) return true
  return [...attempts.values()].some(({ attempt }) => attempt > 1)
}

/** As `domain/views/summary.ts` says it: nothing can move until a person decides. */
function shownStatus({ record, tasks }: MemoryPlan): PlanStatus {
  if (record.status !== 'active') return record.status
  const statuses = new Set(Array.from(tasks.values(), task => task.status))
  return statuses.has('waiting') && !statuses.has('ready') && !statuses.has('running') ? 'blocked' : 'active'
}
