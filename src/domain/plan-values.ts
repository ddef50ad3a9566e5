// Values that stand in the fields of a plan and know nothing of its tasks: commands, criteria, edits, impacts, who decides.

import type { TaskName } from './id.ts'

/** Who may decide: anybody when no role is said; so many different people must approve, one can reject. */
export interface Approvers {
  readonly role?: string
  readonly count?: number
}

/** Whom to call when nobody has answered for so long. */
export interface Escalation {
  readonly afterMs: number
  /** A role of `policy.roles`, or a name. */
  readonly to: string
}

/** One change to one file. `sha256` pins the content it was written against; checked immediately before the rename. */
export type Edit = { readonly sha256?: string } & (
  | {
      readonly type: 'create'
      readonly file: string
      readonly content: string
      readonly mode?: number
      /** Also where the file exists with other content. */
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

/** What is hard or impossible to take back, by the names `policy.gates.before` has for it. */
export type GatedImpact =
  | 'push'
  | 'deploy'
  | 'delete'
  | 'migrate'
  | 'spend'
  | 'send'
  | 'data'
  | 'outside'
  | 'instructions'

/** `unknown`: it runs code that cannot be read from the plan, and may do any of these. `command`: `policy.commands` asks about it. */
export type Impact = GatedImpact | 'unknown' | 'command'

/** The classes of failures, as a definition may name them; see result.ts. */
export type FailureKind = 'transient' | 'logic' | 'policy' | 'resource' | 'cancelled' | 'unknown'

/** A list is argv; a script is text for `sh -eu`. */
export type CommandLine = { readonly argv: readonly string[] } | { readonly script: string }

export type GateType = 'approval' | 'diff' | 'decision' | 'question' | 'schema' | 'invariant' | 'tests' | 'budget'

/** What a `git` task does, on the plan's own branch; it never pushes. */
export type GitAction =
  /** All that the plan has written and not committed yet, or these paths of it. */
  | { readonly do: 'commit'; readonly message: string; readonly paths?: readonly string[] }
  | { readonly do: 'tag'; readonly name: string; readonly message?: string }
  /** The branch of a task that worked in a worktree of its own goes into the plan's. */
  | { readonly do: 'merge'; readonly task: TaskName; readonly message?: string }

export type OutputSource =
  | { readonly from: 'file'; readonly file: string }
  | { readonly from: 'stdout'; readonly as: 'json' | 'text' }
  /** Whoever carries out an external task must report it; `type` is theirs to read, e.g. `list[url]`. */
  | { readonly from: 'report'; readonly type?: string; readonly retention?: string }

/** `text` is how somebody put it in words, when a command or an expression was made of it. */
export type Criterion =
  | { readonly type: 'check'; readonly command: CommandLine; readonly text?: string }
  | { readonly type: 'expect'; readonly expression: string; readonly text?: string }
  | TestsCriterion
  /** Only a person or a critic can judge it. */
  | { readonly type: 'prose'; readonly text: string }

export interface Retry {
  /** How many attempts in all, the first included. */
  readonly attempts: number
  readonly backoffMs: { readonly min: number; readonly max: number }
}

/** Rules as `plan-rules/network-rule.ts` reads them: a list of what may be reached, or also what is done about all else. */
export type Network = readonly string[] | { readonly allow: readonly string[]; readonly unknown: 'ask' | 'deny' }

/** `required`: no command runs without one. `preferred`: where there is one, it is used. `off`: commands run with the person's rights. */
export type SandboxMode = 'required' | 'preferred' | 'off'

export type EffectClass = 'pure' | 'workspace' | 'idempotent' | 'probed' | 'model' | 'unsafe'
export const EFFECT_CLASSES: readonly EffectClass[] = ['pure', 'workspace', 'idempotent', 'probed', 'model', 'unsafe']

/** A command that runs tests, judged test by test against what it printed before. */
export interface TestsCriterion {
  readonly type: 'tests'
  readonly command: CommandLine
  /** Where a new test is: a path or pattern of files, or a part of its name. */
  readonly new?: string
  /** The task that recorded how the tests were; the plan's own first run of the command when absent. */
  readonly baseline?: TaskName
  /** The new test must fail, and nothing else may have changed. */
  readonly red?: true
  /** Tests may be removed or skipped. */
  readonly fewer?: 'allowed'
  readonly text?: string
}
