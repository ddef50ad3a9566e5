// What is asked by whoever looks at a plan from outside: its trail, what happened since a time, and what is handed on at the end.

import { createHash } from 'node:crypto'
import type { Millis, PlanId, Sha256, TaskName } from '../../domain/id.ts'
import type { Json } from '../../domain/json.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { type AuditLine, AuditReader } from '../../domain/views/audit.ts'
import { type Card, card } from '../../domain/views/board.ts'
import { type Contract, contractOf } from '../../domain/views/contract.ts'
import { type Digest, digest } from '../../domain/views/digest.ts'
import { artifactFiles, type Handoff, handoff } from '../../domain/views/handoff.ts'
import type { Summary } from '../../domain/views/summary.ts'
import { canonicalJson } from '../../format/plan/hash.ts'
import type { Entry, Store } from '../../stores/store.ts'
import type { Rooms } from '../rooms.ts'
import { type LinkTo, postmortemText, readmeText } from './handoff-text.ts'
import { type Chain, proven, wholeJournal } from './verify-chain.ts'

// What a plan demands and how each demand was judged, from its journal.

export async function contract({ store }: Rooms, plan: PlanId): Promise<Contract> {
  return contractOf(await wholeJournal(store, plan))
}

// Tasks with everything that is written about them: how they stand, and what their definition says. For faces that show whole tasks.

export interface TaskRecord {
  readonly card: Card
  readonly definition: TaskDefinition
  readonly neededBy: readonly TaskName[]
}

export interface RecordQueries {
  /** `since`: the version the asker has; at that version there is nothing to tell, and it is said by `unchanged`. */
  record: { ask: { plan: string; since?: number }; answer: PlanRecord | { readonly unchanged: true } | null }
  /** Those of these names or ids that are there, in this order. */
  records: { ask: { plan: string; tasks: readonly string[] }; answer: Records | null }
}

/** A plan with everything that is written about it. */
interface PlanRecord {
  readonly summary: Summary
  readonly definition: PlanDefinition
}

interface Records {
  /** Of the plan. */
  readonly name: string
  readonly version: number
  readonly tasks: readonly TaskRecord[]
}

export function records(state: PlanState, tasks: readonly TaskState[]): Records {
  return {
    name: state.definition.name,
    version: state.version,
    tasks: tasks.map(task => ({
      card: card(state, task),
      definition: task.definition,
      neededBy: task.dependants.map(({ definition }) => definition.id),
    })),
  }
}

export interface AuditTrail extends Omit<Chain, 'at'> {
  readonly lines: readonly AuditLine[]
}

export interface HandedOn extends Handoff {
  /** Markdown. */
  readonly readme: string
  readonly postmortem: string
}

/** Only what the chain proves; behind a fault nothing is told. */
export async function auditTrail(
  { store }: Rooms,
  { plan, name }: { readonly plan: PlanId; readonly name: string },
  since: Millis,
): Promise<AuditTrail> {
  const reader = new AuditReader(hashOf)
  const lines: AuditLine[] = []
  const told = await proven(store, plan, entry => {
    const read = reader.read(entry)
    if (entry.now >= since) lines.push(...read)
  })
  return { plan, name, ...told, lines }
}

const hashOf = (value: Json): Sha256 => createHash('sha256').update(canonicalJson(value)).digest('hex') as Sha256

/** With `links`, artifacts are linked as files beside the documents, under the names of `artifactFiles`. */
export async function handOn({ store, word }: Rooms, plan: PlanId, links: boolean): Promise<HandedOn> {
  const facts = handoff(await wholeJournal(store, plan))
  const files = new Map<string, string>(artifactFiles(facts).map(({ sha256, path }) => [sha256, path]))
  const linkTo: LinkTo = sha256 => (links ? (files.get(sha256) ?? null) : null)
  return {
    ...facts,
    readme: readmeText(facts, linkTo, word),
    postmortem: postmortemText(facts, linkTo, word),
  }
}

export async function digestSince({ store, clock }: Rooms, state: PlanState, since: Millis): Promise<Digest> {
  return digest(state, await entriesSince(store, state, since), since, clock.now())
}

const PAGE = 500

/** Times only rise from entry to entry, so where to begin is found by halving. */
async function entriesSince(store: Store, { id, version }: PlanState, since: Millis): Promise<readonly Entry[]> {
  let [low, high] = [0, version]
  while (low < high) {
    const middle = (low + high) >> 1
    const [entry] = await store.read(id, { after: middle, limit: 1 })
    if (entry !== undefined && entry.now < since) low = middle + 1
    else high = middle
  }
  const all: Entry[] = []
  for (let after = low; ; ) {
    const page = await store.read(id, { after, limit: PAGE })
    all.push(...page)
    if (page.length < PAGE) return all
    after = page.at(-1)!.version
  }
}
