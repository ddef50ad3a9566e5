// Other people's ways of writing a plan, as the extra of dialects reads and prints them. A dialect recognises its own by shape, says the same as a
// canonical document, and may print a definition back. What it reads but we have no word for is kept in `extra`, so nothing is
// lost. It never guesses a shell command, never throws, and never makes a task look finished that is not.

import type { Hint } from '../../domain/hint.ts'
import type { TaskName } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { ENDED, type TaskStatus } from '../../domain/status.ts'
import type { Diagnostic, DocumentFault } from '../text/diagnostic.ts'
import type { Source } from '../text/source.ts'
import type { Trace } from '../text/source-map.ts'

export interface Dialect {
  /** Short, for `--from` and `--to`: `plan-nodes`, `task-master`, … */
  readonly name: string
  /** One line for people. */
  readonly about: string
  /** Looks at the shape only. The first dialect of the list that says yes reads the text. */
  recognises(source: Source): boolean
  read(source: Source): Reading
  /** Absent when it can only be read. */
  readonly print?: (definition: PlanDefinition, status: StatusOf) => Printed
  /** Of a format that is a folder: the files of a text; null for a text that is one file. */
  readonly files?: (text: string) => Files | null
}

/** All that this build can read beside our own format. */
export interface Dialects {
  /** In the order in which they are asked: the first that recognises a text reads it. */
  readonly DIALECTS: readonly Dialect[]
  /** Why none of them recognised a text, where that can be told better than by the rules of our own format. */
  whyUnrecognised(source: Source): Diagnostic | null
  /** A Markdown file whose code blocks show plans, and which is none itself. */
  isOnlyQuoted(source: Source, ours: RegExp): boolean
}

export type Files =
  | { readonly ok: true; readonly files: readonly { readonly name: string; readonly text: string }[] }
  | { readonly ok: false; readonly message: string }

/** What a text of a dialect says. */
export type Reading =
  | {
      readonly ok: true
      /** The canonical document, as if somebody had typed it; checked like any other afterwards. */
      readonly plan: JsonObject
      /** From places in that document to places in the text. */
      readonly trace: Trace
      /** Warnings of the dialect itself; paths are those of the canonical document. */
      readonly warnings: readonly DocumentFault[]
      /** Why this is a sketch, which can be looked at but not run: placeholders, enum alternatives, ways that lead outside. */
      readonly sketch: readonly DocumentFault[]
      /** Tasks that have ended already, by their canonical names. */
      readonly ended: ReadonlyMap<TaskName, EndedStatus>
      /** Tasks that somebody was working on, by their canonical names. */
      readonly underWay: ReadonlySet<TaskName>
    }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] }

export type EndedStatus = Extract<TaskStatus, 'completed' | 'failed' | 'skipped' | 'abandoned' | 'cancelled'>

/** The status an imported task has reached for good; null for one that is still to be done. */
export const endedStatus = (status: TaskStatus): EndedStatus | null =>
  ENDED.has(status) ? (status as EndedStatus) : null

/** The status of a task of the plan being printed; `pending` for a plan that was never run. */
export type StatusOf = (task: TaskName) => TaskStatus

export interface Printed {
  readonly text: string
  /** What the dialect has no words for, e.g. `task 'a': retry`. Empty when reading it back gives the same definition. */
  readonly lost: readonly string[]
  /** Why the text is not this plan at all, so that nobody should take it for one. */
  readonly refused?: { readonly message: string; readonly hint: Hint }
}
