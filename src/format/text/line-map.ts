// Where the lines of one text stand in another. Lines that occur once in both texts are anchors, in the longest sequence that keeps their
// order; the stretches between two anchors are compared by themselves. So a text that was rewritten as a whole costs little, too. A line
// keeps its place if only its line ending changed.

import { isUtf8 } from 'node:buffer'
import { diffArrays } from 'diff'

/** Both directions of the comparison of two texts. Lines are numbered from 1. */
export interface LineMap {
  /** Where a line of the older text stands in the newer one; null: it is gone. */
  newer(line: number): number | null
  /** Where a line of the newer text stood in the older one; null: it is new. */
  older(line: number): number | null
  /** How many lines stand in both. */
  readonly kept: number
}

/** Texts with more bytes are not compared line by line. */
export const TEXT_MAX_BYTES = 8 * 1024 * 1024
/** A stretch without anchors that differs in more lines than this counts as written anew. */
const EDITS_MAX = 300

/** The lines of a text without their line endings; null if it is binary, or too large. */
export function textLines(bytes: Uint8Array): readonly string[] | null {
  if (bytes.length > TEXT_MAX_BYTES || bytes.includes(0) || !isUtf8(bytes)) return null
  const lines = Buffer.from(bytes).toString('utf8').split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines.map(line => (line.endsWith('\r') ? line.slice(0, -1) : line))
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
  let [from, fromNew] = [0, 0]
  for (const [a, b] of [...anchors(older, newer), [older.length, newer.length] as const]) {
    matchBetween({ older, newer, from, to: a, fromNew, toNew: b }, match)
    if (a < older.length) match(a, b)
    from = a + 1
    fromNew = b + 1
  }
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

function matchBetween(stretch: Stretch, match: (a: number, b: number) => void): void {
  const { older, newer } = stretch
  let { from, to, fromNew, toNew } = stretch
  while (from < to && fromNew < toNew && older[from] === newer[fromNew]) match(from++, fromNew++)
  while (from < to && fromNew < toNew && older[to - 1] === newer[toNew - 1]) match(--to, --toNew)
  if (from === to || fromNew === toNew) return
  const parts = diffArrays(older.slice(from, to), newer.slice(fromNew, toNew), { maxEditLength: EDITS_MAX })
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
