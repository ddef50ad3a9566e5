// The race of an attempt with `tries`: what has been recorded of its tries so far, and which of them is the best. The order is: passes all
// checks; fewest changed paths outside `effects`; what a judge says, else the smaller difference; the earlier in the list.

import type { Sha256 } from '../id.ts'
import type { ModelUse } from '../model-use.ts'
import { numberOf } from '../phrases.ts'

/** `outside`: it changed a path outside the scope of the task. `stopped`: another one had passed already. */
export type TryEnd = 'passed' | 'failed' | 'outside' | 'stopped'

export interface Tried {
  readonly round: number
  /** Its place in the list, from 1. */
  readonly number: number
  readonly by: string
  readonly ended: TryEnd
  readonly reason?: string
  /** What it changed since the start of the race; null for nothing. */
  readonly changes: Sha256 | null
  readonly paths: number
  /** Lines added and removed. */
  readonly lines: number
  /** Changed paths that `effects` does not name. */
  readonly beyond?: number
  /** What its runner reported, for the checks in the workspace. */
  readonly outcome?: Sha256
  /** The checks that it did not meet; absent if none ran. */
  readonly unmet?: readonly string[]
  readonly durationMs?: number
  readonly model?: ModelUse
}

export interface RaceRound {
  readonly round: number
  /** All files when the race began. */
  readonly start: Sha256
  /** Who runs, in the order of the list. */
  readonly of: readonly string[]
  /** Further tries that did not fit into the budget, and why. */
  readonly left?: { readonly tries: number; readonly why: string }
  /** What the tries of a later round are given, and whose files they continue with. */
  readonly from?: Place
  readonly findings?: string
}

/** A try within its race. */
export interface Place {
  readonly round: number
  readonly number: number
}

export interface TriesVerdict {
  readonly by: string
  /** Null: it gave no usable answer, and `says` tells why. */
  readonly best: Place | null
  readonly says: string
  /** What the best one lacks, for the next round. */
  readonly improve?: string
  readonly model?: ModelUse
}

/** The best try so far. `why` is what decided between it and the others. */
export interface Judged {
  readonly best: Place | null
  readonly why: 'alone' | 'effects' | 'judge' | 'lines' | 'order' | 'none'
  readonly judge?: TriesVerdict
}

/** What was saved before the best one's changes were written into the workspace. */
export interface AppliedBest {
  /** The files when the first of them was written. */
  readonly saved: Sha256
  /** Edits of people that were replaced, and the files just before that. */
  readonly overwrote?: readonly { readonly saved: Sha256; readonly paths: readonly string[] }[]
}

export interface Race extends RaceRound {
  readonly visit: number
  readonly tried: readonly Tried[]
  readonly judged?: Judged & { readonly round: number }
  /** What judges used. */
  readonly judges?: readonly ModelUse[]
  readonly applied?: AppliedBest
  /** The attempt has ended. */
  readonly over?: true
}

/** By round and place in the list, whichever ended first. */
export const inOrder = (tried: readonly Tried[]): readonly Tried[] =>
  tried.toSorted((a, b) => a.round - b.round || a.number - b.number)

/** The tries between which only a judge, the size or the order can decide, in the order of the list. */
export function finalists(race: Race): readonly Tried[] {
  const passed = race.tried.filter(({ ended }) => ended === 'passed')
  const fewest = Math.min(...passed.map(({ beyond = 0 }) => beyond))
  return inOrder(passed.filter(({ beyond = 0 }) => beyond === fewest))
}

export function judgeRace(race: Race, judge?: TriesVerdict): Judged {
  const left = finalists(race)
  const asked = judge === undefined ? {} : { judge }
  const chosen = judge?.best == null ? undefined : triedAt({ tried: left }, judge.best)
  if (chosen !== undefined) return { best: placeOf(chosen), why: 'judge', ...asked }
  const smallest = left.filter(({ lines }) => lines === Math.min(...left.map(one => one.lines)))
  const [first] = smallest
  if (first === undefined) return { best: null, why: 'none', ...asked }
  const passed = race.tried.filter(({ ended }) => ended === 'passed').length
  const why =
    smallest.length > 1 ? 'order' : left.length > 1 ? 'lines' : passed > 1 ? ('effects' as const) : ('alone' as const)
  return { best: placeOf(first), why, ...asked }
}

/** What people call it: 2, or 2-3 for the second of round 3. */
export const tryName = ({ round, number }: Place): string => (round === 1 ? String(number) : `${number}-${round}`)

export const placeOf = ({ round, number }: Place): Place => ({ round, number })

export const triedAt = ({ tried }: Pick<Race, 'tried'>, place: Place | null): Tried | undefined =>
  tried.find(({ round, number }) => round === place?.round && number === place.number)

/** Passed, and kept to the `effects` that the task declares. */
export const isGood = ({ ended, beyond = 0 }: Tried): boolean => ended === 'passed' && beyond === 0

/** Where the next round begins: the best one, or the one that failed the fewest checks. */
export function closestOf(race: Race): Tried | undefined {
  const best = triedAt(race, race.judged?.best ?? null)
  if (best !== undefined) return best
  // A try whose checks did not even run is further away.
  const unmetIn = ({ unmet }: Tried): number => unmet?.length ?? Number.MAX_SAFE_INTEGER
  const failed = race.tried.filter(({ ended, changes }) => ended === 'failed' && changes !== null)
  return failed.toSorted((a, b) => unmetIn(a) - unmetIn(b) || a.lines - b.lines)[0]
}

/** A race whose attempt was interrupted continues in the next attempt of the visit. */
export const openRace = ({ race, visit }: { readonly race?: Race | undefined; readonly visit: number }): Race | null =>
  race === undefined || race.over === true || race.visit !== visit ? null : race

export const WHY_BEST: Readonly<Record<Judged['why'], string>> = {
  alone: 'only it passed',
  effects: 'it changed the fewest paths outside `effects`',
  judge: 'the judge chose it',
  lines: 'it changed the fewest lines',
  order: 'it stands first in the list',
  none: 'none passed',
}

export function triedWords({
  ended,
  reason,
  paths,
  lines,
}: Pick<Tried, 'ended' | 'reason' | 'paths' | 'lines'>): string {
  const size = `${numberOf(paths, 'path')}, ${numberOf(lines, 'line')}`
  if (ended === 'passed') return `passed${reason === undefined ? '' : `, but ${reason}`} (${size})`
  if (ended === 'stopped') return 'was stopped, because another one passed'
  return `${ended === 'outside' ? 'is out' : 'failed'}: ${reason ?? 'it did not say why'} (${size})`
}
