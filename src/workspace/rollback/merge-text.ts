// Merges two edits of the same text if they do not touch. Pure. Null: they touch, or it is no text.

import { isUtf8 } from 'node:buffer'
import { diffArrays } from 'diff'

const EDITS_MAX = 20_000
const BYTES_MAX = 4 * 1024 * 1024

interface Hunk {
  readonly start: number
  readonly end: number
  readonly lines: readonly string[]
}

export function mergeText(base: Uint8Array, mine: Uint8Array, theirs: Uint8Array): Buffer | null {
  const texts = [base, mine, theirs].map(textLines)
  const [from, ours, others] = texts
  if (!from || !ours || !others) return null
  const hunksA = hunksOf(from, ours)
  const hunksB = hunksOf(from, others)
  if (hunksA === null || hunksB === null) return null
  const merged: string[] = []
  let at = 0
  let [a, b] = [0, 0]
  while (a < hunksA.length || b < hunksB.length) {
    const [left, right] = [hunksA[a], hunksB[b]]
    let next: Hunk
    if (left !== undefined && right !== undefined && touches(left, right)) {
      if (!isSame(left, right)) return null
      next = left
      a++
      b++
    } else if (right === undefined || (left !== undefined && left.start < right.start)) {
      next = left!
      a++
    } else {
      next = right
      b++
    }
    merged.push(...from.slice(at, next.start), ...next.lines)
    at = next.end
  }
  return Buffer.from([...merged, ...from.slice(at)].join(''))
}

/** Edits of adjacent lines count as touching, because nobody has checked their combination. */
const touches = (a: Hunk, b: Hunk): boolean => a.start <= b.end && b.start <= a.end

const isSame = (a: Hunk, b: Hunk): boolean =>
  a.start === b.start &&
  a.end === b.end &&
  a.lines.length === b.lines.length &&
  a.lines.every((line, at) => line === b.lines[at])

function hunksOf(from: readonly string[], to: readonly string[]): readonly Hunk[] | null {
  const parts = diffArrays([...from], [...to], { maxEditLength: EDITS_MAX })
  if (parts === undefined) return null
  const hunks: Hunk[] = []
  let at = 0
  for (let part = 0; part < parts.length; ) {
    if (!parts[part]!.added && !parts[part]!.removed) {
      at += parts[part++]!.value.length
      continue
    }
    const start = at
    const lines: string[] = []
    for (; parts[part]?.added || parts[part]?.removed; part++) {
      if (parts[part]!.added) lines.push(...parts[part]!.value)
      else at += parts[part]!.value.length
    }
    hunks.push({ start, end: at, lines })
  }
  return hunks
}

function textLines(bytes: Uint8Array): readonly string[] | null {
  if (bytes.length > BYTES_MAX || bytes.includes(0) || !isUtf8(bytes)) return null
  return (
    Buffer.from(bytes)
      .toString('utf8')
      .match(/[^\n]*\n|[^\n]+$/g) ?? []
  )
}
