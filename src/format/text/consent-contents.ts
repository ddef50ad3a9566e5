// Reads the stored contents that a request for approval shows: diffs of the changes so far, and the files a command names.

import type { Shown, ShownChange } from '../../domain/gates/consent.ts'
import type { Sha256 } from '../../domain/id.ts'
import { type ConsentContents, neededFor, type StoredText } from '../../domain/views/pages/consent-text.ts'
import { patchOf } from './patch.ts'

type Content = (sha256: Sha256) => Promise<Uint8Array | null>

/** Contents that are not stored are left out. */
export async function readConsentContents(
  shown: Shown,
  content: Content,
  { all }: { readonly all: boolean },
): Promise<ConsentContents> {
  const needed = neededFor(shown, { all })
  const patches = new Map<string, StoredText>()
  for (const change of needed.changes) {
    const patch = await patchBetween(change, content)
    if (patch !== null) patches.set(change.path, patch)
  }
  const files = new Map<Sha256, StoredText>()
  for (const sha256 of needed.files) {
    const bytes = await content(sha256)
    if (bytes !== null) files.set(sha256, textIn(bytes))
  }
  return { patches, files }
}

/** Null if one of the two is not stored. */
export async function patchBetween(
  { before, now }: Pick<ShownChange, 'before' | 'now'>,
  content: Content,
): Promise<StoredText | null> {
  const [a, b] = [await contentOf(before, content), await contentOf(now, content)]
  if (a === null || b === null) return null
  const patch = patchOf(a, b)
  return patch.type === 'text' ? patch : { type: 'none', why: patch.why }
}

async function contentOf(hash: string | null, content: Content): Promise<Uint8Array | null> {
  if (hash === null) return new Uint8Array()
  return /^[0-9a-f]{64}$/.test(hash) ? await content(hash as Sha256) : null
}

function textIn(bytes: Uint8Array): StoredText {
  const text = Buffer.from(bytes)
  if (text.includes(0)) return { type: 'none', why: 'not text' }
  return { type: 'text', lines: text.toString('utf8').split('\n') }
}
