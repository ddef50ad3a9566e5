// Bounds from the first day. Absent or zero options fall back to these; nothing here is "unlimited".

export const TASKS_MAX = 20_000
export const CONCURRENCY_DEFAULT = 4
export const CONCURRENCY_MAX = 1_000
export const ATTEMPTS_MAX = 100
export const VISITS_DEFAULT = 3
export const VISITS_MAX = 100
/** A task lost to crashes this often in one visit is parked: something about it kills its owner. */
export const LOST_MAX = 10
export const TIMEOUT_DEFAULT_MS = 60 * 60_000
export const TIMEOUT_MAX_MS = 30 * 24 * 60 * 60_000
export const BACKOFF_DEFAULT_MS = { min: 1_000, max: 30_000 } as const
/** An approval that nobody has used by then must be given anew. */
export const CONSENT_VALID_MS = 24 * 60 * 60_000
export const DURATION_MAX_MS = 365 * 24 * 60 * 60_000
export const PAYLOAD_MAX_BYTES = 256 * 1024
export const TASK_OUTPUT_MAX_BYTES = 10 * 1024 * 1024
export const DOCUMENT_MAX_BYTES = 5 * 1024 * 1024
export const DEPTH_MAX = 64
export const CLAIM_LEASE_DEFAULT_MS = 10 * 60_000
export const CLAIM_LEASE_MAX_MS = 24 * 60 * 60_000
/** So many reports of one attempt may be refused because a criterion does not hold; the last one fails the attempt. */
export const REPORTS_MAX = 10
/** How many numbered names are tried when a plan's name is taken. */
export const NAME_TRIES_MAX = 1_000
/** How many tasks one `for_each` or `matrix` may become. */
export const ITEMS_MAX = 1_000
/** How large the items of one `for_each` may be, as JSON. */
export const ITEMS_MAX_BYTES = 1024 * 1024
/** How deep subplans may stand in each other. */
export const SUBPLAN_DEPTH_MAX = 10
/** How many attempts and how many new visits a whole plan may need; `policy.limits` says otherwise. */
export const PLAN_ATTEMPTS_DEFAULT = 100_000
export const PLAN_LOOPS_DEFAULT = 10_000
/** So many failures in a row open the breaker of a capability for so long. */
export const BREAKER_DEFAULT = { failures: 5, cooldownMs: 60_000 } as const
/** Nobody waits longer than this because a server asked for it. */
export const RETRY_AFTER_MAX_MS = 60 * 60_000
/** What clients may keep beside one plan or task, as JSON. */
export const ANNOTATIONS_MAX_BYTES = 64 * 1024
/** What an evaluation may bring along, as JSON, and how many of a task its state remembers. */
export const EVALUATION_MAX_BYTES = 16 * 1024
export const EVALUATIONS_KEPT = 100

/** A dead owner gave its last sign at most so long before it died; what changed later is a person's work. */
export const SIGN_SLACK_MS = 2_000

/** How long what was set back can be restored, when a plan does not say. */
export const RESTORED_KEPT_MS = 30 * 24 * 3_600_000

/** Of one list of `policy.commands`, and of one of its rules. */
export const COMMAND_RULES_MAX = 1_000
export const COMMAND_WORDS_MAX = 100

/** What is captured of a write scope, so that it can be restored: no larger file, and no scope that holds more. A file is in memory while it is read. */
export const CAPTURED_FILE_MAX_BYTES = 128 * 1024 ** 2
export const CAPTURED_ENTRIES_MAX = 200_000
export const CAPTURED_TOTAL_MAX_BYTES = 4 * 1024 ** 3
