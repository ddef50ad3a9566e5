// Records for an outside view of a plan: audit trail, history since a time, handoff.

import { createHash } from 'node:crypto'
import type { Millis, PlanId, Sha256 } from '../../domain/id.ts'
import type { Json } from '../../domain/json.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { type AuditLine, AuditReader } from '../../domain/views/audit.ts'
import { card } from '../../domain/views/board.ts'
import { type Contract, contractOf } from '../../domain/views/contract.ts'
import { type Digest, digest } from '../../domain/views/digest.ts'
import { artifactFiles, handoff } from '../../domain/views/handoff.ts'
import { isInterrupted, planState } from '../../domain/views/pages/plan-state.ts'
import { summary } from '../../domain/views/summary.ts'
import { canonicalJson } from '../../format/plan/hash.ts'
import type { Entry, Store } from '../../stores/store.ts'
import type { AuditTrail, HandedOn, Records } from '../queries.ts'
import type { Rooms } from '../rooms.ts'
import { type LinkTo, postmortemText, readmeText } from './handoff-text.ts'
import { verifiedEntries, wholeJournal } from './verify-chain.ts'

export async function contract({ store }: Rooms, plan: PlanId): Promise<Contract> {
  return contractOf(await wholeJournal(store, plan))
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

/** Only what the hash chain proves; nothing after a broken entry. */
export async function auditTrail(
  { store }: Rooms,
  { plan, name }: { readonly plan: PlanId; readonly name: string },
  since: Millis,
): Promise<AuditTrail> {
  const reader = new AuditReader(hashOf)
  const lines: AuditLine[] = []
  const chain = await verifiedEntries(store, plan, entry => {
    const read = reader.read(entry)
    if (entry.now >= since) lines.push(...read)
  })
  return { plan, name, ...chain, lines }
}

const hashOf = (value: Json): Sha256 => createHash('sha256').update(canonicalJson(value)).digest('hex') as Sha256

/** With `links`, artifacts are linked as files beside the documents, under the names of `artifactFiles`. */
export async function buildHandoff({ store, word }: Rooms, state: PlanState, links: boolean): Promise<HandedOn> {
  const { id: plan, endedAt } = state
  const facts = handoff(await wholeJournal(store, plan))
  const isDriven = (await store.leases.holder(plan))?.alive === true
  const cards = state.order.map(task => card(state, task))
  const interrupted = new Set(cards.filter(one => isInterrupted(one, isDriven)).map(({ name }) => name))
  const { words } = planState({ summary: summary(state), board: cards, isDriven })
  const files = new Map<string, string>(artifactFiles(facts).map(({ sha256, path }) => [sha256, path]))
  const linkTo: LinkTo = sha256 => (links ? (files.get(sha256) ?? null) : null)
  const layout = { linkTo, word, ...(endedAt === null ? { now: { words, interrupted } } : {}) }
  return {
    ...facts,
    readme: readmeText(facts, layout),
    postmortem: postmortemText(facts, layout),
  }
}

export async function digestSince({ store, clock }: Rooms, state: PlanState, since: Millis): Promise<Digest> {
  return digest(state, await entriesSince(store, state, since), since, clock.now())
}

const PAGE = 500

/** Times never decrease from entry to entry, so a binary search finds the first. */
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
