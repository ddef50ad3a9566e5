// Everything the rest of the program asks about a kind of action. Each kind has one row, in its own file in this folder: data and pure
// functions of the task. Other code asks for a fact instead of branching on kinds (architecture.test.ts counts the files that still do).
// An absent fact means no, unless its comment says otherwise.

import type { ShownAction } from '../gates/consent.ts'
import type { Json, JsonObject } from '../json.ts'
import type { Danger } from '../plan-rules/known-commands.ts'
import type { CommandLine, Edit, EffectClass, Network, OutputSource, SandboxMode } from '../plan-values.ts'

/** The part of a task that rows read. Rows cannot use `TaskDefinition`, because its type is derived from them. */
export interface TaskWith<A> {
  readonly id: string
  readonly title?: string
  readonly description?: string
  readonly action: A
  readonly instruction?: string
  readonly outputs?: { readonly [name: string]: OutputSource }
  readonly write?: readonly string[]
  readonly network?: Network
  readonly sandbox?: 'off'
  readonly effect?: EffectClass
}

export interface PlanAround {
  readonly policy?: { readonly write?: readonly string[]; readonly network?: Network; readonly sandbox?: SandboxMode }
}

export interface AnyAction {
  readonly type: string
}

export interface SpecAction<T extends string> {
  readonly type: T
  readonly spec: Json
}

export interface ActionFacts<A extends AnyAction = AnyAction> {
  /** The default effect class, for a task that does not declare one. */
  effect(task: TaskWith<A>, plan: PlanAround): EffectClass

  // Effects

  /** The engine itself does something outside the journal for it: runs a command, touches files, sends a request. */
  readonly acts?: true
  /** It only decides or organises other tasks, so no budget counts its attempts. */
  readonly isFree?: true
  /** It consists of other tasks, or was derived from one, and does no work itself. */
  readonly isStructure?: true
  /** It runs commands in the sandbox, its own or those of an agent. */
  readonly runsCommands?: true
  /** The command that policies judge; for `git`, the one equivalent to what the engine does. */
  command?(action: A): CommandLine | null
  /** Its purpose is to change files, made by the engine or by the one who claims it. */
  readonly changesFiles?: true
  /** The engine writes files for it, so tasks with overlapping scopes do not run together. */
  readonly writes?: true
  /** It writes nothing in the workspace outside its scope, which is captured before it. */
  readonly keepsToScope?: true
  /** A later attempt continues the work of the previous one. */
  readonly continuesWork?: true
  /** Its writes are unknown, so all files are compared before and after it, unless its scope is captured. */
  readonly watched?: true
  /** The files to write that it names one by one; null when it names none. */
  files?(task: Pick<TaskWith<A>, 'action' | 'outputs'>): readonly string[] | null
  /** The verb and the document key for `files`, for messages. */
  readonly fileWords?: { readonly does: string; readonly key: string }
  edits?(action: A): readonly Edit[]
  readonly takesCheckpoint?: true
  /**
   * Default network access. `open`: everything, unless the task or the plan restricts it. `declared`: only what they list. Absent: none.
   */
  readonly network?: 'open' | 'declared'
  /** The address to which the engine itself sends a request. */
  address?(action: A): string | null
  readonly takesSecrets?: true
  /** Its instruction is the prompt of a model. */
  readonly prompts?: true
  /** The kind of data that leaves this machine, as `policy.data` calls it. */
  readonly sends?: 'models'
  dangers?(task: TaskWith<A>): readonly Danger[]
  /** The plan does not show what its code will do. */
  isUnreadable?(action: A): boolean
  /** It may write outside the workspace, despite its scope. */
  isUnconfined?(task: TaskWith<A>, plan: PlanAround): boolean

  // Execution

  /** The time it waits counts from its first attempt since the last failure: a stop or a crash does not start the wait again. */
  readonly waits?: true
  /** No runner is called. Its criteria are judged, or its checkpoint is taken, afterwards. */
  readonly isDoneAtOnce?: true
  /** False for an action that cannot be run: stored by an earlier release, or reserved for a later one. */
  isSupported?(action: A): boolean
  /** The content of its fields in which `${{ … }}` or an expression may appear. */
  readonly fields?: { readonly [K in Exclude<keyof A, 'type'>]?: FieldContent }
  /** Outputs besides the declared ones; null: any. Absent: unknown. */
  outputs?(task: TaskWith<A>): readonly string[] | null
  /** Outputs that its `expect` also knows by short names. */
  readonly answers?: readonly string[]
  /** Absent: any. */
  outcomes?(action: A): readonly string[]

  // Presentation

  /** What a person approves. For edits the engine makes a diff. */
  agreed?(task: TaskWith<A>): ShownAction
  /** For approvals of a request: the words before its lines, such as 'sends this request'. */
  readonly asks?: string
  /** The files that an approval covers with their content; `words`: those that its command names. */
  named?(action: A): readonly string[] | 'words'
  line?(task: TaskWith<A>, who: Workers): string
  /** For the nodes of the graph; absent: its type. */
  readonly words?: string
  /** The proof of a task that declares none. */
  readonly proof?: string
  shown?(action: A): ShownParts | null
  audited?(action: A): JsonObject
}

/**
 * `text`: resolved to text. `texts`: a structure whose strings are all resolved. `values`: a structure that may also copy whole values.
 * `request`: like `texts`, its `json` like `values`, but secrets in headers and body stay names. `expression`, `criteria`: evaluated, not resolved.
 */
export type FieldContent = 'command' | 'text' | 'texts' | 'values' | 'request' | 'expression' | 'criteria'

export interface Workers {
  /** For tasks that anyone may claim; null: whoever claims them. */
  readonly worker: string | null
  /** The plan's default agent. */
  readonly agent: string | undefined
}

export type ShownParts = { readonly head: string } & (
  | { readonly argv: readonly string[] }
  | { readonly lines: readonly string[] }
  | { readonly rows: readonly (readonly [string, string])[] }
)

export const PLAIN_OUTCOMES: readonly string[] = ['success', 'failure', 'rejected']

export function firstSentence({ instruction, description, title, id }: Omit<TaskWith<AnyAction>, 'action'>): string {
  const text = (instruction ?? description ?? title ?? id).trim()
  return /^.*?[.!?](?=\s|$)/.exec(text)?.[0] ?? text.split('\n')[0]!
}
