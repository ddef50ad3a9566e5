// Values in the fields of a plan that do not refer to its tasks: commands, criteria, edits, impacts, approvers.

import type { ArtifactKind } from './artifacts/output-type.ts'
import type { TaskName } from './id.ts'
import { type Json, wordList } from './json.ts'

/** Who may decide; anyone when no role is given. So many different people must approve; one can reject. */
export interface Approvers {
  readonly role?: string
  readonly count?: number
}

export interface Escalation {
  readonly afterMs: number
  /** A role of `policy.roles`, or a name. */
  readonly to: string
}

/** One change of one file. `sha256` is the expected content, checked immediately before the rename. */
export type Edit = { readonly sha256?: string } & (
  | {
      readonly type: 'create'
      readonly file: string
      readonly content: string
      readonly mode?: number
      /** Even if the file exists with other content. */
      readonly overwrite?: true
    }
  | {
      readonly type: 'replace'
      readonly file: string
      readonly find: string
      readonly replace: string
      readonly all?: true
    }
  | { readonly type: 'patch'; readonly file: string; readonly diff: string }
  | { readonly type: 'move'; readonly file: string; readonly to: string }
  | { readonly type: 'delete'; readonly file: string }
  | { readonly type: 'chmod'; readonly file: string; readonly mode: number }
)

/** What is hard or impossible to undo, as `policy.gates.before` names it. */
export const GATED_IMPACTS = wordList('push deploy delete migrate spend send data outside instructions')
export type GatedImpact = (typeof GATED_IMPACTS)[number]

/** `unknown`: it runs code that does not appear in the plan, and may do any of these. `command`: `policy.commands` asks about it. */
export type Impact = GatedImpact | 'unknown' | 'command'

/** The classes of failures in a definition; see result.ts. */
export const FAILURE_KINDS = wordList('transient logic policy resource cancelled unknown')
export type FailureKind = (typeof FAILURE_KINDS)[number]

/** A list is argv; a script is text for `sh -eu`. */
export type CommandLine = { readonly argv: readonly string[] } | { readonly script: string }

/** An attempt with `tries` runs several times, each in a folder of its own; see tries/race.ts. */
export interface Tries {
  /** The agents, one try each; or how often the task's own agent or command is tried. */
  readonly with: number | readonly NonNullable<Json>[]
  /** The first one that passes ends the others. */
  readonly first?: true
  /** Who decides between tries that pass equally well; absent: the smaller difference wins. */
  readonly judge?: TriesJudge
  /** Runs in the folder of each try before it begins, and makes what the ignore rules match. */
  readonly prepare?: CommandLine
  /** So often all begin again from the best one; 1 when absent. */
  readonly rounds?: number
}

export interface TriesJudge {
  /** As read by plan-rules/judge.ts; never a task. */
  readonly by: NonNullable<Json>
  readonly instruction?: string
}

export const GATE_TYPES = wordList('approval diff decision question schema invariant tests budget')
export type GateType = (typeof GATE_TYPES)[number]

/** The operation of a `git` task on the plan's own branch; it never pushes. */
export type GitAction =
  /** Everything the plan has written and not committed, or these paths of it. */
  | { readonly do: 'commit'; readonly message: string; readonly paths?: readonly string[] }
  | { readonly do: 'tag'; readonly name: string; readonly message?: string }
  /** Merges the branch of a task with its own worktree. */
  | { readonly do: 'merge'; readonly task: TaskName; readonly message?: string }

export type OutputSource = (
  | { readonly from: 'file'; readonly file: string }
  | { readonly from: 'stdout'; readonly as: 'json' | 'text' }
  /** Reported for an external task. */
  | { readonly from: 'report' }
) &
  OutputTraits

export interface OutputTraits {
  readonly kind?: ArtifactKind
  /** Checked if it is a type of `artifacts/output-type.ts`, e.g. `list[url]`; other words are information. */
  readonly type?: string
  /** `plan`, `forever`, or a duration; other words are information. */
  readonly retention?: string
  /** Its links are the sources of the work. */
  readonly cites?: true
}

/** `text` is the original wording of a criterion that became a command or an expression. */
export type Criterion =
  | { readonly type: 'check'; readonly command: CommandLine; readonly text?: string }
  | { readonly type: 'expect'; readonly expression: string; readonly text?: string }
  | TestsCriterion
  /** Only a person or a critic can judge it. */
  | { readonly type: 'prose'; readonly text: string }

export interface Retry {
  /** All attempts, including the first. */
  readonly attempts: number
  readonly backoffMs: { readonly min: number; readonly max: number }
}

/** Rules as in `plan-rules/network-rule.ts`: a list of allowed addresses, and optionally what happens with others. */
export type Network = readonly string[] | { readonly allow: readonly string[]; readonly unknown: 'ask' | 'deny' }

/**
 * `required`: no command runs without a sandbox. `preferred`: it is used where available. `off`: commands run with the person's
 * permissions.
 */
export type SandboxMode = 'required' | 'preferred' | 'off'

export type EffectClass = 'pure' | 'workspace' | 'idempotent' | 'probed' | 'model' | 'unsafe'
export const EFFECT_CLASSES: readonly EffectClass[] = ['pure', 'workspace', 'idempotent', 'probed', 'model', 'unsafe']

/** A command that runs tests, compared test by test with an earlier run. */
export interface TestsCriterion {
  readonly type: 'tests'
  readonly command: CommandLine
  /** The new test: a path or pattern of files, or a part of its name. */
  readonly new?: string
  /** The task with the baseline; when absent, the plan's own first run of the command. */
  readonly baseline?: TaskName
  /** The new test must fail, and no other test may have changed. */
  readonly red?: true
  /** Tests may be removed or skipped. */
  readonly fewer?: 'allowed'
  readonly text?: string
}
