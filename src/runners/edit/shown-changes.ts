// Drafted changes as a unified diff, for dry runs and gates. Modes are shown like git shows them; what is no text, or too
// different to compare in reasonable time, is named with its sizes.

import { type Change, type FileState, same } from './draft.ts'

const EDIT_LENGTH_MAX = 20_000

export async function shownChanges(changes: readonly Change[]): Promise<string> {
  const { createTwoFilesPatch, FILE_HEADERS_ONLY } = await import('diff')
  const parts: string[] = []
  for (const { path, before, after } of changes) {
    if (same(before, after)) continue
    if (before !== null && after !== null && before.mode !== after.mode) {
      parts.push(`mode ${octal(before)} => ${octal(after)} ${path}\n`)
    }
    if (before?.sha256 === after?.sha256) continue
    const names = [before === null ? '/dev/null' : `a/${path}`, after === null ? '/dev/null' : `b/${path}`] as const
    const diff =
      isText(before) && isText(after)
        ? createTwoFilesPatch(...names, text(before), text(after), undefined, undefined, {
            context: 3,
            headerOptions: FILE_HEADERS_ONLY,
            maxEditLength: EDIT_LENGTH_MAX,
          })
        : undefined
    parts.push(diff ?? `--- ${names[0]}\n+++ ${names[1]}\n${size(before)} => ${size(after)} bytes, not shown\n`)
  }
  return parts.join('')
}

const text = (state: FileState | null): string => state?.bytes.toString('utf8') ?? ''
const isText = (state: FileState | null): boolean => state === null || !state.bytes.includes(0)
const size = (state: FileState | null): number => state?.bytes.length ?? 0
const octal = (state: FileState): string => (state.mode ?? 0).toString(8)
