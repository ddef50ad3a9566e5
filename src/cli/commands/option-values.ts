// Texts and values that several commands share: how a plan is named, whole numbers, durations. A bad value is a usage error
// with a hint.

import { InvalidArgumentError } from 'commander'
import { readDuration } from '../../format/text/units.ts'

export const PLAN = 'name or UUID of the plan'
export const OPTIONAL_PLAN = `${PLAN}; optional if only one plan is unfinished`

export function count(text: string): number {
  if (!/^\d{1,9}$/.test(text) || Number(text) < 1) throw new InvalidArgumentError('Write a whole number, 1 or more.')
  return Number(text)
}

export function position(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('Write a whole number, 0 or more.')
  return Number(text)
}

export function duration(text: string): number {
  const read = readDuration(text)
  if (!read.ok) throw new InvalidArgumentError(`${read.hint[0]!.toUpperCase()}${read.hint.slice(1)}.`)
  return read.value
}

export function collectValues(text: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), text]
}
