// Keys, search and steps of the memory store: plain maps, looked through from end to end.

import type { PlanId } from '../../src/domain/id.ts'
import type {
  Doc,
  EndedStep,
  FoundText,
  IndexTable,
  Marks,
  SearchWhere,
  Step,
} from '../../src/stores/search/search-tables.ts'
import { holdsWords, printed } from '../../src/stores/search/words.ts'
import type { PlanSet } from '../../src/stores/store.ts'
import type { OnceRecord, OnceTable } from '../../src/stores/tables.ts'
import type { MemoryDisk, MemoryPlan } from './memory-disk.ts'

export type MemoryDoc = Doc & { readonly key: number; readonly no: number }
export type MemoryStep = Step & { readonly key: number; readonly no: number }

/** What is caught up; made again from the journal when it is lost. */
export class MemoryIndex {
  marks: Marks = { position: 0, log: 0 }
  readonly docs = new Map<string, MemoryDoc>()
  readonly steps = new Map<string, MemoryStep>()
  /** How much of each task's output can be found, and which pieces. */
  readonly logBytes = new Map<string, number>()
  readonly logs = new Map<number, true>()
  lastKey = 0
}

export function memoryOnce(disk: MemoryDisk): OnceTable {
  const keyOf = ({ actor, key }: Pick<OnceRecord, 'actor' | 'key'>) => JSON.stringify([actor, key])
  return {
    get: (actor, key) => disk.once.get(keyOf({ actor, key })) ?? null,
    put: record => disk.put(disk.once, keyOf(record), record),
    hasBefore: at => [...disk.once.values()].some(record => record.at < at),
    forget(before) {
      for (const [key, { at }] of disk.once) if (at < before) disk.take(disk.once, key)
    },
  }
}

export function memoryIndex(disk: MemoryDisk): IndexTable {
  const { index } = disk
  const nextKey = () => {
    disk.set(index, 'lastKey', index.lastKey + 1)
    return index.lastKey
  }
  return {
    marks: () => index.marks,
    mark: marks => disk.set(index, 'marks', marks),

    doc(no, task) {
      const found = index.docs.get(JSON.stringify([no, task]))
      return found === undefined ? null : docOf(found)
    },
    docs: no => ofPlan(index.docs, no).map(docOf),
    putDoc(no, doc) {
      const place = JSON.stringify([no, doc.task])
      disk.put(index.docs, place, { ...doc, no, key: index.docs.get(place)?.key ?? nextKey() })
    },
    dropDoc: (no, task) => disk.take(index.docs, JSON.stringify([no, task])),
    step(no, task, visit, attempt) {
      const found = index.steps.get(JSON.stringify([no, task, visit, attempt]))
      return found === undefined ? null : stepOf(found)
    },
    steps: no => ofPlan(index.steps, no).map(stepOf),
    putStep(no, step) {
      const place = JSON.stringify([no, step.task, step.visit, step.attempt])
      disk.put(index.steps, place, { ...step, no, key: index.steps.get(place)?.key ?? nextKey() })
    },

    lastLog: () => disk.logSeq,
    unreadLogs: (after, limit) =>
      [...disk.plans.values()]
        .flatMap(({ no, logs }) => logs.map(({ seq, ordinal, text }) => ({ seq, no, ordinal, text })))
        .filter(({ seq }) => seq > after)
        .sort((a, b) => a.seq - b.seq)
        .slice(0, limit),
    logBytes: (no, ordinal) => index.logBytes.get(`${no} ${ordinal}`) ?? 0,
    addLog({ seq, no, ordinal }, bytes) {
      disk.put(index.logs, seq, true)
      disk.put(index.logBytes, `${no} ${ordinal}`, bytes)
    },

    find(kind, where, before, limit) {
      const plans = [...disk.plans.values()].filter(plan => isAsked(plan, where))
      return plans
        .flatMap(plan => (kind === 'log' ? logsOf(disk, plan) : docsOf(disk, plan, kind)))
        .filter(found => found.key < before && holdsWords(printed(found.text), where.words))
        .sort((a, b) => b.key - a.key)
        .slice(0, limit)
    },
    ended({ no, agent, capability, kind, since, until }, after, limit) {
      const found: EndedStep[] = []
      for (const step of index.steps.values()) {
        const { ended, key } = step
        const plan = disk.plans.get(step.no)
        if (ended === null || plan === undefined) continue
        const isAsked =
          (no === undefined || step.no === no) &&
          (agent === undefined || step.agent === agent) &&
          (kind === undefined || step.kind === kind) &&
          (capability === undefined || step.capabilities.includes(capability)) &&
          (since === undefined || ended.at >= since) &&
          (until === undefined || ended.at < until)
        if (isAsked) found.push({ ...stepOf(step), ended, no: key, plan: plan.id })
      }
      return found
        .sort(inTime)
        .filter(step => after === null || inTime(step, after) > 0)
        .slice(0, limit)
    },

    clear() {
      for (const map of [index.docs, index.steps, index.logBytes] as Map<string, unknown>[])
        for (const key of map.keys()) disk.take(map, key)
      for (const seq of index.logs.keys()) disk.take(index.logs, seq)
      disk.set(index, 'marks', { position: 0, log: 0 })
    },
    faults: () => [],
  }
}

/** Takes out everything that is kept of a plan. */
export function forgetPlan(disk: MemoryDisk, { no, logs }: MemoryPlan): void {
  for (const map of [disk.index.docs, disk.index.steps] as Map<string, { readonly no: number }>[])
    for (const [key, row] of map) if (row.no === no) disk.take(map, key)
  for (const key of disk.index.logBytes.keys()) if (key.startsWith(`${no} `)) disk.take(disk.index.logBytes, key)
  for (const { seq } of logs) disk.take(disk.index.logs, seq)
}

const inTime = (a: EndedStep, b: EndedStep) => a.ended.at - b.ended.at || a.no - b.no

function ofPlan<R extends { readonly no: number }>(rows: ReadonlyMap<string, R>, no: number): readonly R[] {
  return [...rows.values()].filter(row => row.no === no)
}

const docOf = ({ key: _, no: __, ...doc }: MemoryDoc): Doc => doc
const stepOf = ({ key: _, no: __, ...step }: MemoryStep): Step => step

const isAsked = (plan: MemoryPlan, { no, within, archived }: SearchWhere): boolean =>
  (no === null || plan.no === no) && (within === null || isWithin(plan, within)) && (archived || !plan.record.archived)

const isWithin = ({ id, record: { session } }: MemoryPlan, { plans = [], sessions = [] }: PlanSet): boolean =>
  plans.includes(id) || (session !== null && sessions.includes(session))

function docsOf(disk: MemoryDisk, plan: MemoryPlan, kind: 'plan' | 'task'): readonly FoundText[] {
  const added = new Map(Array.from(plan.tasks.values(), task => [task.name, task.addedAt]))
  return ofPlan(disk.index.docs, plan.no)
    .filter(({ task }) => (task === null) === (kind === 'plan'))
    .map(({ key, task, text }) => {
      const at = (task === null ? undefined : added.get(task)) ?? plan.record.createdAt
      return { key, ...placeOf(plan), task, text, at, log: null }
    })
}

function logsOf(disk: MemoryDisk, plan: MemoryPlan): readonly FoundText[] {
  return plan.logs
    .filter(({ seq }) => disk.index.logs.has(seq))
    .map(({ seq, task, text, at, visit, attempt, stream }) => {
      return { key: seq, ...placeOf(plan), task, text, at, log: { seq, visit, attempt, stream } }
    })
}

const placeOf = ({ id, record }: MemoryPlan): { plan: PlanId; name: MemoryPlan['record']['name'] } => ({
  plan: id,
  name: record.name,
})
