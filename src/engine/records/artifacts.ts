// Answers about the artifacts of a plan, from its journal and the content store.

import { createHash } from 'node:crypto'
import {
  type Artifact,
  addressOf,
  artifactsOf,
  contentOf,
  type FoundArtifact,
  findArtifact,
  type Measured,
} from '../../domain/artifacts/artifact-list.ts'
import type { PlanId, Sha256 } from '../../domain/id.ts'
import type { ArtifactFound, ListedArtifact, QueryOf } from '../queries.ts'
import type { Rooms } from '../rooms.ts'
import { wholeJournal } from './verify-chain.ts'

export const measure = (text: string): Measured => {
  const bytes = Buffer.from(text)
  return { sha256: createHash('sha256').update(bytes).digest('hex') as Sha256, bytes: bytes.length }
}

const PAGE_MAX = 1_000

type Ask<T extends 'artifacts' | 'artifactOf' | 'artifact'> = Omit<QueryOf<T>, 'type'>

export async function listArtifacts(
  rooms: Rooms,
  { plan, task, name, sha256, after = 0, limit = PAGE_MAX }: Ask<'artifacts'>,
): Promise<{ readonly items: readonly ListedArtifact[]; readonly total: number } | null> {
  const found = await inPlan(rooms, plan)
  if (found === null) return null
  const wanted = found.all.filter(
    one =>
      (task === undefined || one.task === task) &&
      (name === undefined || one.name === name) &&
      (sha256 === undefined || one.sha256 === sha256),
  )
  const page = wanted.slice(after, after + Math.min(limit, PAGE_MAX))
  return { items: page.map(one => listed(rooms, found.name, one)), total: wanted.length }
}

export async function artifactOf(rooms: Rooms, { plan, ...asked }: Ask<'artifactOf'>): Promise<ArtifactFound | null> {
  const found = await inPlan(rooms, plan)
  const one = found === null ? undefined : findArtifact(found.all, asked)
  if (found === null || one === undefined) return null
  const artifact = listed(rooms, found.name, one)
  const isThere = 'value' in one || (await rooms.store.blobs.get(one.sha256)) !== null
  const content = artifact.expired ? 'expired' : isThere ? 'kept' : 'missing'
  return { ...artifact, provenance: one.provenance, content }
}

/** Null also for the content of confidential tasks, unless `confidential`. */
export async function artifactBytes(
  rooms: Rooms,
  { plan, sha256 }: Ask<'artifact'>,
  { confidential }: { readonly confidential: boolean },
): Promise<Uint8Array | null> {
  const now = rooms.clock.now()
  const found = await inPlan(rooms, plan)
  const one = found?.all.find(
    each => each.sha256 === sha256 && !isExpired(each, now) && (confidential || !each.confidential),
  )
  if (one === undefined) return null
  return one.value === undefined ? await rooms.store.blobs.get(sha256) : new TextEncoder().encode(contentOf(one.value))
}

export const isExpired = ({ expires }: Pick<Artifact, 'expires'>, now: number): boolean =>
  expires !== null && expires <= now

async function inPlan(
  { store }: Rooms,
  reference: string,
): Promise<{ readonly plan: PlanId; readonly name: string; readonly all: readonly FoundArtifact[] } | null> {
  const found = await store.find(reference)
  return found === null ? null : { ...found, all: artifactsOf(await wholeJournal(store, found.plan), measure) }
}

function listed({ clock }: Rooms, plan: string, { value: _, provenance: __, ...one }: FoundArtifact): ListedArtifact {
  return { address: addressOf(plan, one), ...one, expired: isExpired(one, clock.now()) }
}
