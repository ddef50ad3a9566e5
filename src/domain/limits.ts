// Bounds from the first day. Absent or zero options fall back to these; nothing here is "unlimited".

export const TASKS_MAX = 20_000
export const CONCURRENCY_DEFAULT = 4
export const CONCURRENCY_MAX = 1_000
/** How many labels a plan may ask of a worker. */
export const PLACE_LABELS_MAX = 32
/** How many plans a worker drives by default. */
export const PLANS_AT_ONCE = 16
export const ATTEMPTS_MAX = 100
export const VISITS_DEFAULT = 3
export const VISITS_MAX = 100
/** A task lost this often in one visit is parked: it probably kills its owner. */
export const LOST_MAX = 10
export const TIMEOUT_DEFAULT_MS = 60 * 60_000
export const TIMEOUT_MAX_MS = 30 * 24 * 60 * 60_000
export const BACKOFF_DEFAULT_MS = { min: 1_000, max: 30_000 } as const
/** An approval that was not used by then must be given again. */
export const CONSENT_VALID_MS = 24 * 60 * 60_000
export const DURATION_MAX_MS = 365 * 24 * 60 * 60_000
export const PAYLOAD_MAX_BYTES = 256 * 1024
export const TASK_OUTPUT_MAX_BYTES = 10 * 1024 * 1024
/** A file that a task leaves as an output, or uploads. */
export const OUTPUT_MAX_BYTES = 64 * 1024 * 1024
/** Of an upload; each part is one order. */
export const UPLOAD_PART_MAX_BYTES = 3 * 1024 * 1024
export const DOCUMENT_MAX_BYTES = 5 * 1024 * 1024
export const DEPTH_MAX = 64
export const CLAIM_LEASE_DEFAULT_MS = 10 * 60_000
export const CLAIM_LEASE_MAX_MS = 24 * 60 * 60_000
/** How many reports of one attempt may be refused because of a failed criterion; the last one fails the attempt. */
export const REPORTS_MAX = 10
export const NAME_TRIES_MAX = 1_000
export const ITEMS_MAX = 1_000
/** As JSON. */
export const ITEMS_MAX_BYTES = 1024 * 1024
export const SUBPLAN_DEPTH_MAX = 10
export const PLAN_ATTEMPTS_DEFAULT = 100_000
export const PLAN_LOOPS_DEFAULT = 10_000
/** Consecutive failures that open the breaker of a capability, and for how long. */
export const BREAKER_DEFAULT = { failures: 5, cooldownMs: 60_000 } as const
/** The upper limit for a server's Retry-After. */
export const RETRY_AFTER_MAX_MS = 60 * 60_000
export const ANNOTATIONS_MAX_BYTES = 64 * 1024
/** As JSON; and how many evaluations of a task the state keeps. */
export const EVALUATION_MAX_BYTES = 16 * 1024
export const EVALUATIONS_KEPT = 100

/** A clock this far behind the last entry of a plan was set back. */
export const CLOCK_BACK_MS = 60_000

/** The last heartbeat before a crash may be this old; later changes are a person's work. */
export const SIGN_SLACK_MS = 2_000

/** The default time during which reverted files can be restored. */
export const RESTORED_KEPT_MS = 30 * 24 * 3_600_000

/** For one list of `policy.commands`, and for one of its rules. */
export const COMMAND_RULES_MAX = 1_000
export const COMMAND_WORDS_MAX = 100

/** The capture of a write scope refuses larger files and larger totals. A file is in memory while it is read. */
export const CAPTURED_FILE_MAX_BYTES = 128 * 1024 ** 2
export const CAPTURED_ENTRIES_MAX = 200_000
export const CAPTURED_TOTAL_MAX_BYTES = 4 * 1024 ** 3
