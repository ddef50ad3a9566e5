// How an attempt ended. Made once, in `engine/attempts/classify-outcome`, and journaled; nothing classifies it again.

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
  /** Hash and size of the complete output, sealed when the attempt settled. */
  readonly log?: { readonly sha256: Sha256; readonly bytes: number }
  readonly verdicts?: readonly Verdict[]
  /** For a command that serves as a baseline. */
  readonly tests?: TestRun
  /** SHA-256 of the resolved action, inputs, environment and folder, when references were resolved. */
  readonly inputHash?: Sha256
  readonly wrote?: Wrote
  readonly uncovered?: Uncovered
  /** Files in its scope that lost their setuid and setgid bits, because it ran in the sandbox; at most a hundred. */
  readonly cleared?: readonly string[]
  readonly beside?: OutsideChanges
  /** There was no sandbox, so it ran with the person's permissions. */
  readonly unheld?: true
  readonly git?: readonly GitOperation[]
  readonly model?: ModelUse
  /** The programs of the machine that are not as recorded before, by an earlier attempt of any task. */
  readonly programs?: Programs
}

export interface Succeeded extends Ended {
  readonly status: 'succeeded'
  /** The outcome edge to take: `success`, or the choice of a decision. Absent means `success`. */
  readonly outcome?: string
  readonly checkpoint?: WorkspaceStamp
}

export interface Failed extends Ended {
  readonly status: 'failed'
  readonly failure: Failure
  readonly mode?: string
}

/** Changes outside the scope of a person's own task in the sandbox, or of a claimed task; at most a hundred names. */
export interface OutsideChanges {
  readonly appeared?: readonly string[]
  readonly changed?: readonly string[]
  readonly more?: number
  /** For a claimed task: a person said that these are not its work. */
  readonly disclaimed?: true
}

export interface LostOutput {
  readonly task: TaskName
  readonly visit: number
  readonly output: string
  readonly file: string
  readonly what: 'missing' | 'changed'
}

/** What a visit changed in the workspace, by comparison before and after. */
export interface Wrote {
  /** The blob with all paths and their content before and after; null when nothing changed. */
  readonly changes: Sha256 | null
  readonly paths: number
  /** How many paths could not be read, so that their changes are unknown. */
  readonly left?: number
  readonly snapshot?: Sha256
  readonly git?: GitStanding
  /** Those that overwrote edits made since the previous visit or, in the first visit, between attempts. At most a hundred. */
  readonly overwrote?: { readonly paths: readonly string[]; readonly more?: number }
}

/** Changes that could not be stored, so that a rollback leaves them. At most a hundred paths. */
export interface Uncovered {
  readonly paths: readonly UncoveredPath[]
  readonly more?: number
}

export interface UncoveredPath {
  /** Or the patterns of the whole scope, if that could not be read. */
  readonly path: string
  readonly reason: string
  readonly gone?: true
}

export interface WorkspaceStamp {
  /** Absent when the files could not be stored; `lacks` says why. */
  readonly snapshot?: Sha256
  readonly files?: number
  readonly left?: number
  readonly lacks?: string
  readonly git?: GitStanding
  /** The versions of Planfold and Node, and the platform. */
  readonly about?: string
}

export interface GitStanding {
  readonly head: string | null
  readonly branch: string | null
  /** SHA-256 of the index file; null when there is none yet. */
  readonly index: string | null
  readonly dirty: number
}

export interface Failure {
  readonly class: FailureClass
  readonly message: string
  readonly hint?: Hint
  readonly retryable: boolean
  /** The evidence: `exit:75`, `signal:SIGKILL`, `timeout`, `http:429`, `errno:ENOSPC`, … */
  readonly code?: string
  /** The engine's own work lacked this on the machine. Never set for a task's own command. */
  readonly shortage?: ShortageKind
  /** The delay that the other side asked for. */
  readonly retryAfterMs?: number
}

export type FailureClass =
  /** Timeouts, EAGAIN, exit 75. */
  | 'transient'
  | 'logic'
  | 'policy'
  | 'resource'
  | 'cancelled'
  /** It is unknown whether it happened. */
  | 'unknown'

/** A verdict on a criterion, by an expression or a command in the engine, or by a person. */
export interface Verdict {
  readonly criterion: string
  readonly holds: boolean | null
  readonly evidence?: string
  readonly stage?: Exclude<Stage, 'acceptance'>
  /** For a check: the last lines of its output, and the complete output by hash and size. */
  readonly said?: string
  readonly log?: { readonly sha256: Sha256; readonly bytes: number }
  readonly tests?: TestRun
}

export interface TestRun {
  readonly command: string
  readonly results: Sha256
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly baseline?: TaskName
  /** A new test had to fail; its failing tests must pass in the end. */
  readonly isRed?: true
  readonly changed?: TestChanges
}

/** Names of tests. At most twenty of each; `more` counts the rest. */
export interface TestChanges {
  readonly failing?: readonly string[]
  readonly passing?: readonly string[]
  readonly new?: readonly string[]
  readonly gone?: readonly string[]
  /** Failed, then passed when repeated. */
  readonly flaky?: readonly string[]
  readonly more?: number
}

export type Stage = 'precondition' | 'acceptance' | 'postcondition' | 'effects'

/** The preparation of an attempt. Recorded facts, because `decide` reads nothing outside. */
export interface Prepared {
  readonly when?: boolean
  /** The verdicts on the preconditions; `holds` is null for text that only a person can judge. */
  readonly preconditions?: readonly Verdict[]
  /** The evaluation failed, or a precondition does not hold: the task fails with this. */
  readonly failure?: Failure
  readonly mode?: string
  /** In the state: a person approved the text preconditions of this visit. */
  readonly approved?: true
  /** In the state: all preconditions of this visit hold. */
  readonly cleared?: true
  /** The manifest of the declared write scope before the first attempt of this visit. */
  readonly preimage?: Sha256
  readonly before?: Sha256
  /** For a claimed task with a scope: a snapshot of all files before it. */
  readonly around?: Sha256
  /** In the state: a person's answer about changes outside the scope, by path: part of the task or not. */
  readonly outside?: Readonly<Record<string, 'task' | 'other'>>
  /** Why there is no snapshot before it, although there should be. */
  readonly unwatched?: string
  readonly reserves?: Reserves
  readonly checkpoint?: WorkspaceStamp
  /** A person's edits that a restore would revert, so nothing was restored. `shown` is the stored list of all of them. */
  readonly edits?: EditedPaths & { readonly shown: Sha256 }
  /** In the state: the choices about the edits listed in `shown`. */
  readonly chosen?: { readonly shown: Sha256; readonly every: EditChoice; readonly choices?: EditChoices }
  /** Paths that changed since the last attempt of this visit, for a task around which all files are compared. */
  readonly edited?: readonly string[]
  /** In the state: the attempt did not begin, because its preparation failed. */
  readonly idle?: true
  /** In the state: how the last attempt of this visit ended. Changes after `at` are not its work. */
  readonly ended?: { readonly how: 'failed' | 'interrupted' | 'lost'; readonly at?: Millis }
  readonly inputHash?: Sha256
  /** What it would do, for a task that needs an approval. */
  readonly consent?: Found
}

/** The reserved files of a visit, where no task of another plan may write meanwhile. */
export interface Reserves {
  /** Its workspace: the real path of the folder relative to the state folder; in a store of several machines an id. */
  readonly root: string
  /** Patterns below `root`: those declared, and the real paths behind links; absolute outside `root`. */
  readonly paths: readonly string[]
  /** The position of the store when no other plan held the files, before they were captured. */
  readonly seen: number
  /** Plans whose tasks run the process that drives this plan, innermost first: their reservations do not conflict. */
  readonly within?: readonly PlanId[]
}

/** What a task would do, determined directly before it begins. */
export interface Found {
  /** The hash of the definition at that time; ignored unless it is still the plan's. */
  readonly from: Sha256
  /** The hash of the stored description, which the approver sees. */
  readonly hash: Sha256
  /** The hash of the same description with its references unresolved. */
  readonly written?: Sha256
  /** The difference from what was approved. */
  readonly changed?: string
}

/** Why an attempt with an unknown outcome is parked, for the person who decides. */
export interface Evidence {
  readonly reason: string
  readonly effect: EffectClass
  readonly startedAt: Millis
  readonly detail?: Json
}

/** The known changes of an attempt or a compensation; undefined when they were not measured. */
export function wroteIn(event: Event): Wrote | undefined {
  if ('result' in event) return event.result.wrote
  return event.type === 'attempt.lost' ? event.wrote : undefined
}

const NAMED_MAX = 5

const listed = (names: readonly string[], more = 0): string => {
  const rest = Math.max(0, names.length - NAMED_MAX) + more
  return `${names.slice(0, NAMED_MAX).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

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

/** One sentence for new files, one for changed ones. */
export function besideSentences(
  task: string,
  { appeared = [], changed = [], disclaimed }: OutsideChanges,
): readonly string[] {
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

// The programs with which an attempt ran: node, python, git, sandbox, and `agent NAME`.

export interface UsedProgram {
  readonly path: string
  /** Null if it does not say it. */
  readonly version: string | null
  /** For an agent: the model it was instructed to ask. */
  readonly model?: string
}

/** Null: not found any more. */
export interface Programs {
  readonly [name: string]: UsedProgram | null
}

export const agentProgram = (name: string): string => `agent ${name}`

/** Those that differ from what is recorded; undefined if none does. */
export function changedPrograms(recorded: Programs | null, now: Programs): Programs | undefined {
  const changed = Object.entries(now).filter(([name, program]) => !isSame(recorded?.[name] ?? null, program))
  return changed.length === 0 ? undefined : Object.fromEntries(changed)
}

const isSame = (a: UsedProgram | null, b: UsedProgram | null): boolean =>
  a?.path === b?.path && a?.version === b?.version && a?.model === b?.model

/** `python 3.11.2 (/usr/bin/python3)` */
export function programWords(name: string, program: UsedProgram | null): string {
  if (program === null) return `no ${name}`
  const { path, version, model } = program
  return `${name} ${version ?? '(version unknown)'} (${path})${model === undefined ? '' : ` with the model ${model}`}`
}
