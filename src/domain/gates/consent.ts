// What somebody agrees to, as stored bytes: everything that decides what a task does, and nothing that does not. An approval is for
// the hash of these bytes, and what a person sees is made from them, so nothing else can be approved than what was shown.

import type { PlanId, Sha256, TaskName } from '../id.ts'
import type { Json, JsonObject } from '../json.ts'
import type { Approvers, EffectClass, GateType, GitAction, Impact } from '../plan-values.ts'

/** The code of a failure that happened before anything was touched, because nobody had agreed to it as it then was. */
export const CONSENT = 'consent'

export type Shown = ShownTask | ShownGate

/** One visit of one task. */
export interface ShownTask {
  readonly type: 'task'
  readonly plan: PlanId
  readonly name: string
  readonly definition: Sha256
  readonly policy: Sha256
  readonly approvers: Approvers | null
  readonly task: TaskName
  readonly visit: number
  readonly impact: Impact | null
  readonly effect: EffectClass
  /** Why not all of it is known yet; then `does` is as it was written, with its references. */
  readonly open: string | null
  /** Approved as written: references that earlier tasks fill in without another question. Absent: all must be known. */
  readonly filledLater?: readonly string[]
  readonly does: ShownAction
  readonly inputs: JsonObject
  /** What the references in a script stand for, by the name under which it finds them. */
  readonly values: { readonly [name: string]: string }
  /** Names of variables the plan sets, with hashes of their values: values may be secret. */
  readonly env: { readonly [name: string]: Sha256 }
  readonly feedback: string | null
  /** Relative to the folder the plan works in. */
  readonly cwd: string
  /** The program that is found for the first word; null for an edit, or when there is none. */
  readonly program: string | null
  /** Files that the command names, as they stand. */
  readonly files: readonly ShownFile[]
  readonly remotes: { readonly [name: string]: string }
  /** Of a push, where there is a repository. */
  readonly push?: ShownPush
  /** All that the plan had written when its changes were reviewed; null when nobody reviews them. */
  readonly reviewed: readonly ShownChange[] | null
  /** What else is run for it: to judge it, to find out after a crash whether it happened, to undo it. As it was written. */
  readonly besides: readonly string[]
  /** It runs in a sandbox: what it may write and reach is enforced. Absent: whoever wrote the plan is trusted. */
  readonly sandbox?: true
  /** Patterns of what it may write; null when it does not say. */
  readonly write: readonly string[] | null
  /** Places it says it reaches; null when it does not say. */
  readonly network: readonly string[] | null
  /** It does not say, and others wrote it: it reaches only what the person's own rules allow. */
  readonly rules?: 'own'
  /** A person is asked about any other place, while it runs. */
  readonly unknown?: 'ask'
  readonly hosts: readonly string[]
  readonly cost: string
  /** Written by whoever wrote the plan; nothing of it is checked. */
  readonly words: ShownWords
}

export type ShownAction =
  | { readonly type: 'argv'; readonly argv: readonly string[]; readonly stdin: string | null }
  | { readonly type: 'script'; readonly script: string; readonly stdin: string | null }
  | { readonly type: 'edit'; readonly diff: string }
  | { readonly type: 'git'; readonly git: GitAction }
  /** A request, such as one to a server or a database, as lines; `to` is the kind of the action. */
  | { readonly type: 'request'; readonly to: string; readonly lines: readonly string[] }
  /** An agent is started; nobody can bind it to the words, but what it may write and reach is enforced. */
  | { readonly type: 'agent'; readonly agent: Json; readonly instruction: string | null }
  /** Done by whoever claims it, an agent or a person; nobody can bind them to the words. */
  | { readonly type: 'external'; readonly instruction: string | null }

export interface ShownFile {
  readonly path: string
  readonly sha256: Sha256
  readonly bytes: number
}

export interface ShownPush {
  readonly commits: { readonly [ref: string]: string }
  /** Settings of git that decide what is pushed, and where to. */
  readonly config: { readonly [key: string]: string }
  /** Is run by git before anything is sent. */
  readonly hook: ShownFile | null
}

export interface ShownChange {
  readonly path: string
  /** Before the plan; null where nothing stood, or what is no file. */
  readonly before: Sha256 | null
  /** What stands there now: the hash of a file, else what it is. */
  readonly now: string | null
}

export interface ShownWords {
  readonly title?: string
  readonly description?: string
  readonly rationale?: string
  readonly risks?: readonly string[]
}

/** A gate, and everything that an approval there lets go on. */
export interface ShownGate {
  readonly type: 'gate'
  readonly plan: PlanId
  readonly name: string
  readonly definition: Sha256
  readonly policy: Sha256
  readonly approvers: Approvers | null
  readonly gate: GateType
  readonly task: TaskName
  readonly visit: number
  readonly show: readonly string[]
  readonly tasks: readonly ShownTask[]
  /** Of a decision: where each of its options leads. */
  readonly leads?: readonly { readonly outcome: string; readonly to: readonly TaskName[] }[]
  /** After it as well, and asked about again because it cannot be told yet what they would do. */
  readonly later: readonly TaskName[]
  readonly reviewed: readonly ShownChange[] | null
  /** What changed outside the scopes of the tasks while they were at work, in sentences. It is not counted as the plan's. */
  readonly beside?: readonly string[]
  readonly words: ShownWords
}
