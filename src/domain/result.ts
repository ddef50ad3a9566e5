// How an attempt ended. Made once, in `engine/attempts/classify-outcome`, and journaled as it is; nothing classifies a second time.

import type { EditChoice, EditChoices, EditedPaths, Event } from './event.ts'
import type { Hint } from './hint.ts'
import type { Millis, PlanId, Sha256, TaskName } from './id.ts'
import type { Json, JsonObject } from './json.ts'
import type { ModelUse } from './model-use.ts'
import type { EffectClass } from './plan.ts'
import type { GitOperation } from './plan-rules/git-operation.ts'
import type { ShortageKind } from './shortage.ts'

export type Result = Succeeded | Failed

interface Ended {
  readonly outputs?: JsonObject
  readonly exit?: number
  readonly durationMs?: number
  /** Hash and size of everything the task printed, sealed when it settled. */
  readonly log?: { readonly sha256: Sha256; readonly bytes: number }
  readonly verdicts?: readonly Verdict[]
  /** Of a command that other tasks take as their baseline. */
  readonly tests?: TestRun
  /** SHA-256 of what the task was given, when values flowed into it: action, inputs, environment and folder, resolved. */
  readonly inputHash?: Sha256
  readonly wrote?: Wrote
  readonly uncovered?: Uncovered
  /** Files in its scope from which the setuid and setgid bits were taken, because it ran in the sandbox; at most a hundred. */
  readonly cleared?: readonly string[]
  readonly beside?: Beside
  /** It was to be held, and there was no sandbox: it ran with the person's permissions. */
  readonly unheld?: true
  /** Of a git task, or one that worked in a worktree of its own: what was done to the repository. */
  readonly git?: readonly GitOperation[]
  /** Of a model task: what it used, and where the requests and responses are kept. */
  readonly model?: ModelUse
}

export interface Succeeded extends Ended {
  readonly status: 'succeeded'
  /** The outcome edge to take: `success`, or what a decision picked. Absent means `success`. */
  readonly outcome?: string
  /** Of a checkpoint task: what stood when it was taken. */
  readonly checkpoint?: Standing
}

export interface Failed extends Ended {
  readonly status: 'failed'
  readonly failure: Failure
  readonly mode?: string
}

/** Names that appeared, or changed although closed, beside what the person's own task may write in the sandbox; a hundred at most. */
export interface Beside {
  readonly appeared?: readonly string[]
  readonly changed?: readonly string[]
  readonly more?: number
  /** Of a claimed task: somebody said that this is not its work. */
  readonly disclaimed?: true
}

/** A file that a completed task declared as an output, and that is not there any more, or not as it was left. */
export interface LostOutput {
  readonly task: TaskName
  readonly visit: number
  readonly output: string
  readonly file: string
  readonly what: 'missing' | 'changed'
}

/** What a visit of a task changed in the workspace, seen by looking before and after. */
export interface Wrote {
  /** The blob that lists every path with what stood there before and after; null when nothing changed. */
  readonly changes: Sha256 | null
  readonly paths: number
  /** Paths nobody could look into, so that nobody knows whether they changed. */
  readonly left?: number
  /** All files afterwards, when they were looked at. */
  readonly snapshot?: Sha256
  readonly git?: GitStanding
  /** Of these: what others had changed since the visit before, or between attempts of the first. At most a hundred. */
  readonly overwrote?: { readonly paths: readonly string[]; readonly more?: number }
}

/** What a visit changed and nobody could store: a rollback leaves it as it is. At most a hundred paths are named. */
export interface Uncovered {
  readonly paths: readonly UncoveredPath[]
  readonly more?: number
}

export interface UncoveredPath {
  /** Or the patterns of the whole scope, where that could not be looked at. */
  readonly path: string
  readonly reason: string
  readonly gone?: true
}

/** What stood in the world when a checkpoint was taken. Recorded facts. */
export interface Standing {
  /** All files; absent when they could not be stored, and then `lacks` says why. */
  readonly snapshot?: Sha256
  readonly files?: number
  readonly left?: number
  readonly lacks?: string
  readonly git?: GitStanding
  /** Planfold, Node and platform, in a few words. */
  readonly about?: string
}

export interface GitStanding {
  readonly head: string | null
  readonly branch: string | null
  /** SHA-256 of the index file; null when there is none yet. */
  readonly index: string | null
  readonly dirty: number
}

/** The world said no. */
export interface Failure {
  readonly class: FailureClass
  readonly message: string
  readonly hint?: Hint
  readonly retryable: boolean
  /** What it was known by: `exit:75`, `signal:SIGKILL`, `timeout`, `http:429`, `errno:ENOSPC`, … */
  readonly code?: string
  /** The engine's own work met it: what the machine lacks. Never said of what a task's own command met. */
  readonly shortage?: ShortageKind
  /** Whoever said no asked for this much patience. */
  readonly retryAfterMs?: number
}

export type FailureClass =
  /** Passing trouble: timeouts, EAGAIN, exit 75. */
  | 'transient'
  /** It ran and said no. */
  | 'logic'
  | 'policy'
  | 'resource'
  /** Ended on request, by pause or cancel. */
  | 'cancelled'
  /** Nobody knows whether it happened. */
  | 'unknown'

/** A criterion judged: by expression or command in the engine, or by a person. */
export interface Verdict {
  readonly criterion: string
  readonly holds: boolean | null
  /** What it was judged by: an exit code, the values an expression looked at, why nobody could tell. */
  readonly evidence?: string
  /** Which part of the contract it is; acceptance when absent. */
  readonly stage?: Exclude<Stage, 'acceptance'>
  /** Of a check: the last lines it printed, and everything it printed by hash and size. */
  readonly said?: string
  readonly log?: { readonly sha256: Sha256; readonly bytes: number }
  /** Of a criterion about tests: what ran, and what is different from the baseline. */
  readonly tests?: TestRun
}

/** One run of a command that runs tests. */
export interface TestRun {
  readonly command: string
  readonly results: Sha256
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly baseline?: TaskName
  /** A new test was to fail: what fails in it must pass in the end. */
  readonly isRed?: true
  readonly changed?: TestChanges
}

/** Names of tests. At most twenty of each are named; `more` counts the rest. */
export interface TestChanges {
  readonly failing?: readonly string[]
  readonly passing?: readonly string[]
  readonly new?: readonly string[]
  readonly gone?: readonly string[]
  /** Failed, and passed when it was run once more. */
  readonly flaky?: readonly string[]
  readonly more?: number
}

export type Stage = 'precondition' | 'acceptance' | 'postcondition' | 'effects'

/** What was made ready before an attempt may start. Recorded facts; `decide` never evaluates the world. */
export interface Prepared {
  readonly when?: boolean
  /** The preconditions as they were judged; `holds` is null for prose, which only a person can judge. */
  readonly preconditions?: readonly Verdict[]
  /** Evaluation went wrong, or a precondition does not hold: the task fails with this. */
  readonly failure?: Failure
  readonly mode?: string
  /** In the state: a person has approved the prose among the preconditions of this visit. */
  readonly approved?: true
  /** In the state: all preconditions of this visit were found to hold. */
  readonly cleared?: true
  /** The manifest blob of the declared write scope before the first attempt of this visit. */
  readonly preimage?: Sha256
  readonly before?: Sha256
  /** Of a claimed task that declares a scope: all files before it. */
  readonly around?: Sha256
  /** In the state: what a person said about changes outside the scope, by path: part of the task, or somebody else's. */
  readonly outside?: Readonly<Record<string, 'task' | 'other'>>
  /** Why nobody looked at the files before, although somebody should have. */
  readonly unwatched?: string
  readonly reserves?: Reserves
  readonly checkpoint?: Standing
  /** A person's edits that would be set back; nothing was. `shown` is the stored list of all of them. */
  readonly edits?: EditedPaths & { readonly shown: Sha256 }
  /** In the state: what somebody chose about the edits listed in `shown`. */
  readonly chosen?: { readonly shown: Sha256; readonly every: EditChoice; readonly choices?: EditChoices }
  /** Paths that changed since the last attempt of this visit ended, of a task around which all files are compared. */
  readonly edited?: readonly string[]
  /** In the state: the attempt under way did not begin, because its preparation failed. */
  readonly idle?: true
  /** In the state: how the last attempt of this visit ended. Changes later than `at` are not its work. */
  readonly ended?: { readonly how: 'failed' | 'interrupted' | 'lost'; readonly at?: Millis }
  readonly inputHash?: Sha256
  /** What it would do now, of a task that somebody must agree to. */
  readonly consent?: Found
}

/** The files a visit keeps to itself, so that no task of another plan writes there meanwhile. */
export interface Reserves {
  /** The folder it works in, by its real path, relative to the state folder. */
  readonly root: string
  /** Patterns below `root`: those it declares, and where links lead, their real paths; absolute when they lead out of `root`. */
  readonly paths: readonly string[]
  /** How far the journal of all plans went when nobody else held them, before its files were captured. */
  readonly seen: number
  /** Plans one of whose tasks runs the process that drives this one, innermost first: what they hold is not in the way. */
  readonly within?: readonly PlanId[]
}

/** What a task would do, as it was found right before it begins. */
export interface Found {
  /** The hash of the definition it was found under; believed only while that is the plan's. */
  readonly from: Sha256
  /** Of the stored bytes that say all of it; whoever agrees has seen these. */
  readonly hash: Sha256
  /** The same as far as it was written, before its references could be resolved. */
  readonly written?: Sha256
  /** What is different from what was agreed to. */
  readonly changed?: string
}

/** Why an attempt with an unknown outcome is parked, for the person who decides. */
export interface Evidence {
  readonly reason: string
  readonly effect: EffectClass
  readonly startedAt: Millis
  readonly detail?: Json
}

/** What an attempt or a compensation is known to have changed; undefined when nobody looked. */
export function wroteIn(event: Event): Wrote | undefined {
  if ('result' in event) return event.result.wrote
  return event.type === 'attempt.lost' ? event.wrote : undefined
}

const NAMED_MAX = 5

const listed = (names: readonly string[], more = 0): string => {
  const rest = Math.max(0, names.length - NAMED_MAX) + more
  return `${names.slice(0, NAMED_MAX).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

/** What people should know about how it went, besides how it ended: one sentence each. */
export const resultNotes = (task: string, { beside, uncovered, cleared }: Result): readonly string[] => [
  ...(beside === undefined ? [] : besideSentences(task, beside)),
  ...(uncovered === undefined ? [] : [`not saved, so a rollback leaves it: ${uncoveredNames(uncovered)}`]),
  ...(cleared === undefined ? [] : [clearedSentence(cleared)]),
]

export const clearedSentence = (paths: readonly string[]): string =>
  `a sandboxed task may not leave setuid or setgid files: the bits were removed from ${listed(paths)}`

/** `data.bin (too big), pipe (special file) and 3 more` */
export const uncoveredNames = ({ paths, more }: Uncovered): string =>
  listed(
    paths.map(({ path, reason, gone }) => `${path} (${reason}${gone === true ? ', deleted' : ''})`),
    more,
  )

/** One sentence for what appeared, one for what changed. */
export function besideSentences(task: string, { appeared = [], changed = [], disclaimed }: Beside): readonly string[] {
  const unknown = disclaimed === true ? 'said not to be its work' : 'Planfold cannot tell by whom'
  return [
    ...(appeared.length === 0 ? [] : [`${listed(appeared)} appeared while ${task} ran; ${unknown}`]),
    ...(changed.length === 0
      ? []
      : [
          `${listed(changed)} changed while ${task} ran, although ${changed.length === 1 ? 'it is' : 'they are'} not in its \`write\`; ${unknown}`,
        ]),
  ]
}
