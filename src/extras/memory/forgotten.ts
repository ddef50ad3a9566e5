// What forgetting does not reach: the journal of a plan is never changed.

export const FORGOTTEN =
  'the journals of plans that read or proposed it still hold what it was; archive and prune such a plan to remove that too'
