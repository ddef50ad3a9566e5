// `kb/*.md` of the workspace: one claim each, with front matter (claim, confidence, sources, verified). What a file says of itself is shown
// as claimed. Any task may have written it, so it is never trusted.

import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Actor } from '../../domain/id.ts'
import { type Json, mapOf, orElse, pick } from '../../domain/json.ts'
import { type MemoryItem, memoryKey } from '../../domain/memory/memory-items.ts'
import { readDocument } from '../../format/text/document.ts'
import { readPlainFileNow } from '../../safety/files/plain-file.ts'

const FOLDER = 'kb'
const FILES_MAX = 500
const BYTES_MAX = 64 * 1024
const TEXT_MAX = 2_000
const FRONT = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)^---[ \t]*\r?$/m

/** Links are not followed. */
export function readClaims(root: string): readonly MemoryItem[] {
  const folder = join(root, FOLDER)
  if (orElse(() => lstatSync(folder).isDirectory(), false) !== true) return []
  const files = orElse(() => readdirSync(folder, { withFileTypes: true }), [])
  return files
    .filter(file => file.isFile() && file.name.endsWith('.md'))
    .map(({ name }) => name)
    .sort()
    .slice(0, FILES_MAX)
    .flatMap(name => claimIn(folder, name) ?? [])
}

function claimIn(folder: string, name: string): MemoryItem | null {
  const path = join(folder, name)
  const key = memoryKey(`${FOLDER}/${name.slice(0, -'.md'.length)}`)
  const text = readPlainFileNow(path, BYTES_MAX)?.toString('utf8')
  if (key === null || text === undefined) return null
  const front = FRONT.exec(text)
  const read = front === null ? null : readDocument(front[1]!)
  const claims = read?.ok === true ? mapOf(read.document.value as Json) : {}
  const body = front === null ? text : text.slice(front.index + front[0].length)
  return {
    scope: 'project',
    key,
    value: typeof claims.claim === 'string' ? claims.claim : body.trim().slice(0, TEXT_MAX),
    source: {
      by: 'file' as Actor,
      file: `${FOLDER}/${name}`,
      claims: pick(claims, ...(['confidence', 'sources', 'verified'] as const).filter(word => word in claims)),
    },
    trust: 'untrusted',
    at: Math.round(orElse(() => lstatSync(path).mtimeMs, 0)),
    expiresAt: null,
  }
}
