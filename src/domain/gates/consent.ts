// What a person approves, as stored bytes: everything that determines what a task does, and nothing else. An approval covers the hash of
// these bytes, and pages are rendered from them, so only what was shown can be approved.

import type { PlanId, Sha256, TaskName } from '../id.ts'
import type { Json, JsonObject } from '../json.ts'
import type { Approvers, EffectClass, GateType, GitAction, Impact } from '../plan-values.ts'

/** The failure code of a task that did not begin because its approval was void. */
export const CONSENT = 'consent'

export type Shown = ShownTask | ShownGate

interface ShownBefore {
  readonly plan: PlanId
  readonly name: string
  readonly definition: Sha256
  readonly policy: Sha256
  readonly approvers: Approvers | null
  readonly task: TaskName
  readonly visit: number
  /** Everything the plan had written when its changes were reviewed; null without a review. */
  readonly reviewed: readonly ShownChange[] | null
  /** The words of the plan's author, which are not verified. */
  readonly words: ShownWords
}

export interface ShownTask extends ShownBefore {
  readonly type: 'task'
  readonly impact: Impact | null
  readonly effect: EffectClass
  /** Why some of it is still unknown; then `does` is unresolved, with its references. */
  readonly open: string | null
  /** References that are approved unresolved, for earlier tasks to fill in. Absent: all must be known. */
  readonly filledLater?: readonly string[]
  readonly does: ShownAction
  readonly inputs: JsonObject
  /** The values of references in a script, by the variable that carries each. */
  readonly values: { readonly [name: string]: string }
  /** Variables that the plan sets, with hashes of their values, which may be secret. */
  readonly env: { readonly [name: string]: Sha256 }
  readonly feedback: string | null
  /** Relative to the folder the plan works in. */
  readonly cwd: string
  /** The program that the first word resolves to; null for an edit, or when there is none. */
  readonly program: string | null
  /** Files that the command names, as they are now. */
  readonly files: readonly ShownFile[]
  readonly remotes: { readonly [name: string]: string }
  readonly push?: ShownPush
  /** Other commands that run for it: its checks, the probe after a crash, the compensation. Unresolved. */
  readonly besides: readonly string[]
  /** It runs in a sandbox, which enforces what it may write and reach. Absent: its author is trusted. */
  readonly sandbox?: true
  /** Patterns of what it may write; null when it declares nothing. */
  readonly write: readonly string[] | null
  /** Addresses that it declares; null when it declares nothing. */
  readonly network: readonly string[] | null
  /** No address declared, and written by others: it reaches only what the user's own rules allow. */
  readonly rules?: 'own'
  /** A person is asked about any other address at run time. */
  readonly unknown?: 'ask'
  readonly hosts: readonly string[]
  readonly cost: string
}

export type ShownAction =
  | { readonly type: 'argv'; readonly argv: readonly string[]; readonly stdin: string | null }
  | { readonly type: 'script'; readonly script: string; readonly stdin: string | null }
  | { readonly type: 'edit'; readonly diff: string }
  | { readonly type: 'git'; readonly git: GitAction }
  /** A request, e.g. to a server or a database, as lines; `to` is the kind of the action. */
  | { readonly type: 'request'; readonly to: string; readonly lines: readonly string[] }
  /** Starts an agent. It is not bound to the words, but what it may write and reach is enforced. */
  | { readonly type: 'agent'; readonly agent: Json; readonly instruction: string | null }
  /** Done by an agent or a person after a claim, who are not bound to the words. */
  | { readonly type: 'external'; readonly instruction: string | null }

export interface ShownFile {
  readonly path: string
  readonly sha256: Sha256
  readonly bytes: number
}

export interface ShownPush {
  readonly commits: { readonly [ref: string]: string }
  /** The git settings that determine what is pushed, and where. */
  readonly config: { readonly [key: string]: string }
  /** Run by git before a push. */
  readonly hook: ShownFile | null
}

export interface ShownChange {
  readonly path: string
  /** Before the plan; null for no file. */
  readonly before: Sha256 | null
  /** Now: the hash of a file, else its type; null for nothing. */
  readonly now: string | null
}

export interface ShownWords {
  readonly title?: string
  readonly description?: string
  readonly rationale?: string
  readonly risks?: readonly string[]
}

/** A gate, and everything that its approval releases. */
export interface ShownGate extends ShownBefore {
  readonly type: 'gate'
  readonly gate: GateType
  readonly show: readonly string[]
  readonly tasks: readonly ShownTask[]
  /** For a decision: the tasks behind each option. */
  readonly leads?: readonly { readonly outcome: string; readonly to: readonly TaskName[] }[]
  /** Also behind the gate, but unknown so far and asked about later. */
  readonly later: readonly TaskName[]
  /** Changes outside the scopes of the tasks while they ran, in sentences. They do not count as the plan's. */
  readonly beside?: readonly string[]
}
