// Where the lines of one text stand in another, by the shortest edit. In texts that differ a lot that would take too long: there, lines that
// occur once in both are anchors, in the longest sequence that keeps their order, and the stretches between two anchors are compared by
// themselves. A line keeps its place if only its line ending changed.

import { isUtf8 } from 'node:buffer'
import { diffArrays } from 'diff'

/** Both directions of the comparison of two texts. Lines are numbered from 1. */
export interface LineMap {
  /** Where a line of the older text stands in the newer one; null: it is gone. */
  newer(line: number): number | null
  /** Where a line of the newer text was in the older one; null: it is new. */
  older(line: number): number | null
  /** How many lines stand in both. */
  readonly kept: number
}

/** Texts with more bytes are not compared line by line. */
export const TEXT_MAX_BYTES = 8 * 1024 * 1024
/** Of the shortest edit. A stretch between anchors that needs more counts as written anew. */
const EDITS_MAX = 200

/** The lines of a text without their line endings; null if it is binary, or too large. */
export function textLines(bytes: Uint8Array): readonly string[] | null {
  if (bytes.length > TEXT_MAX_BYTES || bytes.includes(0) || !isUtf8(bytes)) return null
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return text.includes('\r') ? lines.map(line => (line.endsWith('\r') ? line.slice(0, -1) : line)) : lines
}

export function mapLines(older: readonly string[], newer: readonly string[]): LineMap {
  const toNewer = new Int32Array(older.length)
  const toOlder = new Int32Array(newer.length)
  let kept = 0
  const match = (a: number, b: number): void => {
    toNewer[a] = b + 1
    toOlder[b] = a + 1
    kept++
  }
  matchBetween({ older, newer, from: 0, to: older.length, fromNew: 0, toNew: newer.length }, 'by anchors', match)
  return { newer: line => toNewer[line - 1] || null, older: line => toOlder[line - 1] || null, kept }
}

interface Stretch {
  readonly older: readonly string[]
  readonly newer: readonly string[]
  readonly from: number
  readonly to: number
  readonly fromNew: number
  readonly toNew: number
}

function matchBetween(stretch: Stretch, ifFar: 'by anchors' | 'none', match: (a: number, b: number) => void): void {
  const { older, newer } = stretch
  let { from, to, fromNew, toNew } = stretch
  while (from < to && fromNew < toNew && older[from] === newer[fromNew]) match(from++, fromNew++)
  while (from < to && fromNew < toNew && older[to - 1] === newer[toNew - 1]) match(--to, --toNew)
  if (from === to || fromNew === toNew) return
  const [a, b] = [older.slice(from, to), newer.slice(fromNew, toNew)]
  const parts = diffArrays(a, b, { maxEditLength: EDITS_MAX })
  if (parts === undefined && ifFar === 'by anchors') {
    let [at, atNew] = [0, 0]
    for (const [place, placeNew] of [...anchors(a, b), [a.length, b.length] as const]) {
      const ends = { from: from + at, to: from + place, fromNew: fromNew + atNew, toNew: fromNew + placeNew }
      matchBetween({ older, newer, ...ends }, 'none', match)
      if (place < a.length) match(from + place, fromNew + placeNew)
      ;[at, atNew] = [place + 1, placeNew + 1]
    }
  }
  for (const { added, removed, count = 0 } of parts ?? []) {
    if (added) fromNew += count
    else if (removed) from += count
    else for (let at = 0; at < count; at++) match(from++, fromNew++)
  }
}

/** Lines that occur once in both texts, without those that changed their order. */
function anchors(older: readonly string[], newer: readonly string[]): readonly (readonly [number, number])[] {
  const [a, b] = [onlyPlaces(older), onlyPlaces(newer)]
  const pairs: (readonly [number, number])[] = []
  for (const [line, place] of a) {
    const other = b.get(line)
    if (place >= 0 && other !== undefined && other >= 0) pairs.push([place, other])
  }
  return longestRise(pairs)
}

/** Where each line stands; -1 for one that occurs more than once. In the order of the text. */
function onlyPlaces(lines: readonly string[]): ReadonlyMap<string, number> {
  const places = new Map<string, number>()
  for (const [at, line] of lines.entries()) places.set(line, places.has(line) ? -1 : at)
  return places
}

/** The longest subsequence in which the second numbers rise, too. */
function longestRise(pairs: readonly (readonly [number, number])[]): readonly (readonly [number, number])[] {
  /** For each length, the pair with which a rise of this length ends lowest. */
  const ends: number[] = []
  const before = new Int32Array(pairs.length)
  for (const [at, [, place]] of pairs.entries()) {
    let [low, high] = [0, ends.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (pairs[ends[middle]!]![1] < place) low = middle + 1
      else high = middle
    }
    before[at] = low === 0 ? -1 : ends[low - 1]!
    ends[low] = at
  }
  const rise: (readonly [number, number])[] = []
  for (let at = ends.at(-1) ?? -1; at >= 0; at = before[at]!) rise.push(pairs[at]!)
  return rise.reverse()
}
