// What an option's word means: whole numbers and durations. A word that means nothing is a usage error with a hint.

import { InvalidArgumentError } from 'commander'
import { readDuration } from '../../format/text/units.ts'

export function count(text: string): number {
  if (!/^\d{1,9}$/.test(text) || Number(text) < 1) throw new InvalidArgumentError('Write a whole number, 1 or more.')
  return Number(text)
}

/** Zero is a place to begin from, too. */
export function position(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('Write a whole number, 0 or more.')
  return Number(text)
}

/** In milliseconds. */
export function duration(text: string): number {
  const read = readDuration(text)
  if (!read.ok) throw new InvalidArgumentError(`${read.hint[0]!.toUpperCase()}${read.hint.slice(1)}.`)
  return read.value
}

export function collectValues(text: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), text]
}
