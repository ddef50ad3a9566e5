// Applying one unified diff to one file. The file's name comes from the edit, not from the diff. A diff that fits where it
// says wins over one that fits elsewhere, and one whose result stands there already is done.

import type { StructuredPatch } from 'diff'
import { type Answer, failure } from '../../safety/refused.ts'

type Hunk = StructuredPatch['hunks'][number]

/** The new content; null on either side means no file. */
export async function patchText(file: string, diff: string, bytes: Buffer | null): Promise<Answer<Buffer | null>> {
  const no = (message: string, hint: string): Answer<null> => ({ ok: false, failure: failure('logic', message, hint) })
  const { applyPatch, parsePatch, reversePatch } = await import('diff')
  let patches: StructuredPatch[]
  try {
    patches = parsePatch(diff)
  } catch (error) {
    return no(
      `The diff for ${JSON.stringify(file)} cannot be read: ${(error as Error).message}.`,
      'Write a unified diff.',
    )
  }
  const [patch, ...others] = patches.filter(one => one.hunks.length > 0)
  if (patch === undefined) return no(`The diff for ${JSON.stringify(file)} has no hunks.`, 'Write a unified diff.')
  if (others.length > 0) return no('The diff is about several files.', 'Write one edit for each file.')

  const creates = patch.oldFileName === '/dev/null'
  const deletes = patch.newFileName === '/dev/null'
  if (bytes === null) {
    if (deletes) return { ok: true, value: null }
    if (!creates) return no(`There is no file ${JSON.stringify(file)} to patch.`, 'Check the path, or create it first.')
  }
  const text = decoded(bytes ?? Buffer.alloc(0))
  if (text === null) return no(`${JSON.stringify(file)} is not UTF-8 text.`, 'Only text can be patched.')

  if (creates && bytes !== null) {
    if (applyPatch('', patch) === text) return { ok: true, value: bytes }
    return no(`${JSON.stringify(file)} exists with other content.`, 'Make a diff against the present content.')
  }

  const lines = text.split('\n')
  const isOld = patch.hunks.every(hunk => standsAt(lines, hunk, 'old'))
  const isNew = patch.hunks.every(hunk => standsAt(lines, hunk, 'new'))
  if (isNew && !isOld && bytes !== null) return { ok: true, value: bytes }
  const after = applyPatch(text, patch)
  if (after !== false) return { ok: true, value: deletes && after === '' ? null : Buffer.from(after) }
  if (bytes !== null && applyPatch(text, reversePatch(patch)) !== false) return { ok: true, value: bytes }
  return no(`The diff does not fit ${JSON.stringify(file)}.`, 'Read the file again and make the diff anew.')
}

/** Does one side of the hunk stand exactly where its header says? A hunk without lines on that side is no sign. */
function standsAt(lines: readonly string[], hunk: Hunk, side: 'old' | 'new'): boolean {
  const sign = side === 'old' ? '-' : '+'
  const wanted = hunk.lines.filter(line => line[0] === ' ' || line[0] === sign).map(line => line.slice(1))
  const start = (side === 'old' ? hunk.oldStart : hunk.newStart) - 1
  return wanted.length > 0 && wanted.every((line, at) => lines[start + at] === line)
}

function decoded(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}
