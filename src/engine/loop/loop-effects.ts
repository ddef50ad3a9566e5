// What the loop touches the world with: carrying out, preparing, committing, going back.

import { perform } from '../attempts/perform.ts'
import { prepare } from '../attempts/prepare.ts'
import type { lostOutputs } from '../files/lost-outputs.ts'
import { type ScopeWaits, ScopeWaitsLocal } from '../files/scope-waits.ts'
import type { commit } from '../git/task-commits.ts'
import { late } from '../lazy-imports.ts'
import { type Notices, Notifier, type NotifierOptions } from '../notifications/notifier.ts'
import type { ScopeWait } from '../queries.ts'
import type { propose } from '../revisions/propose-after-failure.ts'
import type { rollBack } from '../rollback/perform-rollback.ts'
import type { Rooms } from '../rooms.ts'

/** A replay brings hands that hold nothing but what was recorded. */
export interface Hands {
  readonly perform: typeof perform
  readonly prepare: typeof prepare
  /** Commits what a task wrote on the plan's branch; the same item never commits twice. */
  readonly commit: typeof commit
  /** Carries out the rollback under way, or finishes it. */
  readonly rollBack: typeof rollBack
  /** Makes the revision that a rule asks for. */
  readonly propose: typeof propose
  /** Declared outputs of completed tasks that are not as they were left. */
  readonly lostOutputs: typeof lostOutputs
  /** Which tasks wait for files that other plans hold. */
  readonly scopeWaits: (rooms: Rooms, tell: ((waits: readonly ScopeWait[]) => void) | undefined) => ScopeWaits
  /** Tells people, beside the loop. */
  readonly notices: (rooms: Rooms, options: NotifierOptions) => Notices
}

export const HANDS: Hands = {
  perform,
  prepare,
  commit: async (...args) => await (await late.committing()).commit(...args),
  rollBack: async (...args) => await (await late.goingBack()).rollBack(...args),
  lostOutputs: async (...args) => await (await late.lostOutputs()).lostOutputs(...args),
  scopeWaits: (rooms, tell) => new ScopeWaitsLocal(rooms, tell),
  notices: (rooms, options) => new Notifier(rooms, options),
  propose: async (...args) => await (await late.proposing()).propose(...args),
}
