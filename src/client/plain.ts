// The door's types without their brands: what is sent is checked where it arrives, so a caller may write names as plain text.

import type { Actor, CheckpointName, PlanId, PlanName, Sha256, TaskId, TaskName } from '../domain/id.ts'

type Branded = Actor | CheckpointName | PlanId | PlanName | Sha256 | TaskId | TaskName

/** The same, with text wherever a name, an id or a hash stands. Maps hold what clients wrote themselves, and stay as they are. */
export type Plain<T> = T extends Branded
  ? string
  : T extends readonly (infer One)[]
    ? readonly Plain<One>[]
    : T extends object
      ? string extends keyof T
        ? T
        : { readonly [K in keyof T]: Plain<T[K]> }
      : T
