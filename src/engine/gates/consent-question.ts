// What an open gate asks approval for: the stored question and the texts it shows. Reads only contents that the gate is bound to, so anyone
// who may read the plan may read this.

import type { Shown } from '../../domain/gates/consent.ts'
import type { TaskState } from '../../domain/state/state.ts'
import { readConsentContents } from '../../format/text/consent-contents.ts'
import type { Consent } from '../queries.ts'
import type { Rooms } from '../rooms.ts'

/** Null if no gate is open, or it is not bound to anything. A question about edits stores the edits instead. */
export async function consentQuestion({ store }: Rooms, { gate }: TaskState): Promise<Consent | null> {
  const hash = gate === null || gate.asks.type === 'edits' ? null : (gate.shown ?? null)
  const bytes = hash === null ? null : await store.blobs.get(hash)
  if (hash === null || bytes === null) return null
  const shown = JSON.parse(Buffer.from(bytes).toString('utf8')) as Shown
  const { patches, files } = await readConsentContents(shown, sha256 => store.blobs.get(sha256), { all: true })
  return { hash, shown, patches: Object.fromEntries(patches), files: Object.fromEntries(files) }
}
