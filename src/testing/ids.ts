// Ids that count: the same in every run, and told apart at a glance.

import { type PlanId, planId, type Sha256 } from '../domain/id.ts'
import { EPOCH } from './clock.ts'

export function sequentialPlanIds(): () => PlanId {
  let next = 1
  return () => numberedPlanId(next++)
}

export function numberedPlanId(number: number): PlanId {
  return planId(EPOCH, Uint8Array.of(0, 0, 0, 0, (number >> 4) & 0xff, (number & 0xf) << 4, 0, 0, 0, 0))
}

/** A hash that is none: sixty-four digits that begin with the number. */
export const numberedSha = (number: number): Sha256 => number.toString(16).padStart(64, '0') as Sha256
