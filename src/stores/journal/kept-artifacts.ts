// What retention means for the content store: contents of artifacts whose time is over are not kept for the journal's sake, and plans with an
// artifact that is kept forever are not pruned.

import { artifactsOf, type FoundArtifact } from '../../domain/artifacts/artifact-list.ts'
import type { Event, PlanEntry } from '../../domain/event.ts'
import type { Millis, Sha256 } from '../../domain/id.ts'
import type { Tables } from '../tables.ts'
import type { CheckBlobs } from './check.ts'
import { isBodyElsewhere, readEntry } from './entry.ts'

const PAGE = 200

/** Those of a plan whose contents are in the content store. */
export function storedArtifacts(tables: Tables, blobs: CheckBlobs, no: number): readonly FoundArtifact[] {
  const plan = tables.journal.planOf(no)
  const entries: PlanEntry[] = []
  for (let after = 0; plan !== null; ) {
    const page = tables.journal.entries(no, after, Number.MAX_SAFE_INTEGER, PAGE)
    if (page.length === 0) break
    after = page.at(-1)!.version
    for (const entry of page) if (!isBodyElsewhere(entry, blobs)) entries.push(readEntry(plan.id, entry, blobs))
  }
  return artifactsOf(entries, () => NOT_STORED).filter(({ value }) => value === undefined)
}

const NOT_STORED = { sha256: '' as Sha256, bytes: 0 }

/** Contents that every artifact of the plan has lost the right to. */
export function expiredContents(artifacts: readonly FoundArtifact[], now: Millis): ReadonlySet<string> {
  const kept = new Set(artifacts.flatMap(({ sha256, expires }) => (expires === null || expires > now ? [sha256] : [])))
  return new Set(artifacts.map(({ sha256 }) => sha256).filter(sha256 => !kept.has(sha256)))
}

/** The text of an entry without the names of these contents as artifacts; other records of the same contents stay. */
export function withoutContents(text: string, events: readonly Event[], gone: ReadonlySet<string>): string {
  if (events.some(event => event.type === 'artifact.uploaded' && gone.has(event.sha256))) return ''
  return text.replaceAll(/"artifact":"([0-9a-f]{64})"/g, (found, sha256: string) => (gone.has(sha256) ? '' : found))
}
