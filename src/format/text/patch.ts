// A unified diff of two contents, or the reason there is none: binary, or too expensive.

import { isUtf8 } from 'node:buffer'
import { structuredPatch } from 'diff'
import { numberOf } from '../../domain/phrases.ts'

export type Patch =
  | { readonly type: 'text'; readonly lines: readonly string[] }
  | { readonly type: 'binary' | 'none'; readonly why: string }

const TAKES_MAX_MS = 2_000

export function patchOf(before: Uint8Array, after: Uint8Array, takesMaxMs: number = TAKES_MAX_MS): Patch {
  if (!isText(before) || !isText(after))
    return { type: 'binary', why: `binary, ${before.length} → ${numberOf(after.length, 'byte')}` }
  const [a, b] = [before, after].map(bytes => Buffer.from(bytes).toString('utf8'))
  const made = structuredPatch('', '', a!, b!, '', '', { context: 3, timeout: takesMaxMs })
  if (made === undefined) return { type: 'none', why: 'too different to be shown' }
  const lines = made.hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
    `@@ -${range(oldStart, oldLines)} +${range(newStart, newLines)} @@`,
    ...lines,
  ])
  return { type: 'text', lines }
}

const isText = (bytes: Uint8Array): boolean => isUtf8(bytes) && !bytes.includes(0)

/** An empty side is given by the line before it, as in `diff -u`. */
const range = (start: number, lines: number): string => `${lines === 0 ? start - 1 : start},${lines}`
