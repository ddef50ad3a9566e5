// What the rest of the program asks about a kind of action: one row for each kind, in a file of its own in this folder. A row is data and
// pure functions of the task; nobody else branches on kinds. An absent fact means no.

import type { ShownAction } from '../gates/consent.ts'
import type { Json, JsonObject } from '../json.ts'
import type { Danger } from '../plan-rules/known-commands.ts'
import type { CommandLine, Edit, EffectClass, Network, OutputSource, SandboxMode } from '../plan-values.ts'

/** What a row may look at of a task. The rows know no whole task, since the types of a plan are made of theirs. */
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

/** What it may look at of the plan. */
export interface PlanAround {
  readonly policy?: { readonly write?: readonly string[]; readonly network?: Network; readonly sandbox?: SandboxMode }
}

export interface AnyAction {
  readonly type: string
}

/** Kept as it was written; what it asks is read from it by the file of its kind, and plans of earlier releases may hold anything there. */
export interface SpecAction<T extends string> {
  readonly type: T
  readonly spec: Json
}

export interface ActionFacts<A extends AnyAction = AnyAction> {
  /** What may be done after an outcome nobody knows, when the task does not declare it. */
  effect(task: TaskWith<A>, plan: PlanAround): EffectClass

  // What it does to the world.

  /** The engine itself does something to the world for it. */
  readonly acts?: true
  /** Bookkeeping of ours: it starts no process and asks no model, so a budget counts nothing of it. */
  readonly isFree?: true
  /** Made of other tasks, or made for them; nothing is done by it. */
  readonly isStructure?: true
  /** It runs commands, its own or those of an agent, in a sandbox where there is one. */
  readonly runsCommands?: true
  /** The same, when it is a single command. */
  command?(action: A): CommandLine | null
  /** Its purpose is to change files of the workspace, by the engine or by whoever claims it. */
  readonly changesFiles?: true
  readonly writes?: true
  /** It writes nothing in the workspace but its scope, which is captured before it. */
  readonly keepsToScope?: true
  /** A later attempt goes on with the work of the one before. */
  readonly continuesWork?: true
  /** Nobody knows what it writes when it declares nothing: all files are looked at around it. */
  readonly watched?: true
  /** The files that it names and writes; null when it names none. */
  files?(task: Pick<TaskWith<A>, 'action' | 'outputs'>): readonly string[] | null
  /** What becomes of a file of `files`, and the key of the document that says so. */
  readonly fileWords?: { readonly does: string; readonly key: string }
  edits?(action: A): readonly Edit[]
  /** What stands when it is done becomes a checkpoint. */
  readonly takesCheckpoint?: true
  /** `open`: anything, when neither the task nor the plan says what it may reach. `declared`: only what they say. Absent: nothing. */
  readonly network?: 'open' | 'declared'
  /** The address that the engine itself asks for it. */
  address?(action: A): string | null
  readonly takesSecrets?: true
  readonly prompts?: true
  /** What leaves this machine by it, as `policy.data` calls it. */
  readonly sends?: 'models'
  /** What it does that is hard to take back. */
  dangers?(task: TaskWith<A>): readonly Danger[]
  /** It runs code that cannot be read from the plan. */
  isUnreadable?(action: A): boolean
  /** It may write outside the workspace, whatever its scope says. */
  isUnconfined?(task: TaskWith<A>, plan: PlanAround): boolean

  // How it is carried out.

  /** It waits: how long counts from the first attempt that nobody has judged, whoever was stopped or killed meanwhile. */
  readonly waits?: true

  /** Nothing has to be done: what counts is judged, or taken, afterwards. */
  readonly isDoneAtOnce?: true
  /** False: it was stored by an earlier release, and says nothing that can be carried out. */
  isUnderstood?(action: A): boolean
  /** What stands in its fields, where `${{ … }}` or an expression may stand. */
  readonly fields?: { readonly [K in Exclude<keyof A, 'type'>]?: FieldContent }
  /** Outputs it makes besides those that are declared; null when it may make any. Absent: nobody knows. */
  outputs?(task: TaskWith<A>): readonly string[] | null
  /** Outputs that its `expect` also knows by their short names. */
  readonly answers?: readonly string[]
  /** All outcomes it can have; absent: any. */
  outcomes?(action: A): readonly string[]

  // How it is told.

  /** What a person agrees to. Of edits the engine makes a diff. */
  agreed?(task: TaskWith<A>): ShownAction
  /** Of what is agreed to as a request: what is done with its lines. */
  readonly asks?: string
  /** Files that what is agreed to names: those, or whatever its words name. */
  named?(action: A): readonly string[] | 'words'
  /** One line; null when there is nothing to say. */
  line?(task: TaskWith<A>, who: Workers): string
  /** A few words for where there is little room; its type when absent. */
  readonly words?: string
  /** What proves it when it declares nothing. */
  readonly proof?: string
  /** As a page shows it. */
  shown?(action: A): ShownParts | null
  /** As the audit tells it. */
  audited?(action: A): JsonObject
}

/**
 * `text`: resolved to text. `texts`: a structure in which every text is. `values`: one that may also take values over. `request`: the
 * same, but secrets stay names in headers and body. `expression`, `criteria`: judged, not resolved.
 */
export type FieldContent = 'command' | 'text' | 'texts' | 'values' | 'request' | 'expression' | 'criteria'

/** Who works what names nobody. */
export interface Workers {
  /** Tasks that anybody may claim; null: whoever claims them. */
  readonly worker: string | null
  /** The plan's default agent. */
  readonly agent: string | undefined
}

export type ShownParts = { readonly head: string } & (
  | { readonly argv: readonly string[] }
  | { readonly lines: readonly string[] }
  | { readonly rows: readonly (readonly [string, string])[] }
)

/** What a command, an edit or a request can end in. */
export const PLAIN_OUTCOMES: readonly string[] = ['success', 'failure', 'rejected']

/** The first sentence of what a task is told to do. */
export function firstSentence({ instruction, description, title, id }: Omit<TaskWith<AnyAction>, 'action'>): string {
  const text = (instruction ?? description ?? title ?? id).trim()
  return /^.*?[.!?](?=\s|$)/.exec(text)?.[0] ?? text.split('\n')[0]!
}
