// What a gate that waits asks somebody to agree to: the stored question, and the texts it shows. Only what the gate itself is bound to
// is read, so that whoever may look at the plan may see it.

import type { Shown } from '../../domain/gates/consent.ts'
import type { TaskState } from '../../domain/state/state.ts'
import { readConsentContents } from '../../format/text/consent-contents.ts'
import type { Consent } from '../queries.ts'
import type { Rooms } from '../rooms.ts'

/** Null when it waits for nothing, or is bound to nothing. A question about edits stores the edits instead. */
export async function consentQuestion({ store }: Rooms, { gate }: TaskState): Promise<Consent | null> {
  const hash = gate === null || gate.asks.type === 'edits' ? null : (gate.shown ?? null)
  const bytes = hash === null ? null : await store.blobs.get(hash)
  if (hash === null || bytes === null) return null
  const shown = JSON.parse(Buffer.from(bytes).toString('utf8')) as Shown
  const { patches, files } = await readConsentContents(shown, sha256 => store.blobs.get(sha256), { all: true })
  return { hash, shown, patches: Object.fromEntries(patches), files: Object.fromEntries(files) }
}
