// All kinds of actions a plan file can contain, in document order. A new kind needs a row here, its facts in `domain/actions`,
// and a runner.

import { z } from 'zod'
import type { FieldContent } from '../../domain/actions/action-facts.ts'
import { actionFacts } from '../../domain/actions/actions.ts'
import { type Action, type ActionType, LATER_ACTIONS, type TaskDefinition } from '../../domain/plan.ts'
import type { Path } from '../text/diagnostic.ts'
import type { ActionFormat, Marked, Place, Raw, TaskKeys } from './action-format.ts'
import { AGENT } from './agent-action.ts'
import { CHECKPOINT } from './checkpoint-action.ts'
import { DB } from './db-action.ts'
import { DECIDE } from './decide-action.ts'
import { EDIT } from './edit-action.ts'
import { GATE } from './gate-action.ts'
import { GIT } from './git-action.ts'
import { HTTP } from './http-action.ts'
import { MODEL } from './model-action.ts'
import { RUN } from './run-action.ts'
import { RUNNER } from './runner-action.ts'
import { EXTERNAL, GROUP, ITEMS, RESEARCH, SUBPLAN, VERIFY } from './structure-actions.ts'
import { WAIT } from './wait-action.ts'

const FORMATS: { readonly [T in ActionType]: ActionFormat<Extract<Action, { readonly type: T }>> } = {
  run: RUN,
  edit: EDIT,
  decide: DECIDE,
  gate: GATE,
  git: GIT,
  checkpoint: CHECKPOINT,
  model: MODEL,
  http: HTTP,
  wait: WAIT,
  db: DB,
  agent: AGENT,
  runner: RUNNER,
  research: RESEARCH,
  subplan: SUBPLAN,
  external: EXTERNAL,
  verify: VERIFY,
  group: GROUP,
  items: ITEMS,
}

const formatOf = ({ type }: Pick<Action, 'type'>): ActionFormat => FORMATS[type]

export interface WrittenAction extends ActionFormat {
  readonly type: ActionType
  readonly key: string
  readonly names: readonly string[]
}

const someTask = z.any() as z.ZodType<TaskDefinition>
const keysOf = ({ keys }: ActionFormat, task = someTask) => (typeof keys === 'function' ? keys(task) : keys)

export const WRITTEN_ACTIONS: readonly WrittenAction[] = (Object.keys(FORMATS) as readonly ActionType[]).flatMap(
  type => {
    const format = formatOf({ type })
    const names = Object.keys(keysOf(format))
    return names[0] === undefined ? [] : [{ ...format, type, key: names[0], names }]
  },
)

export const ACTION_KEYS: readonly string[] = WRITTEN_ACTIONS.map(({ key }) => key)

/** The schemas of all action keys, each optional; `task` is the schema of nested tasks. */
export const actionKeys = (task: z.ZodType<TaskDefinition>): { readonly [key: string]: z.ZodType } =>
  optionally(WRITTEN_ACTIONS.flatMap(format => Object.entries(keysOf(format, task))))

export const UNDO_ACTIONS: readonly WrittenAction[] = WRITTEN_ACTIONS.filter(({ undo }) => undo !== undefined)
export const undoKeys: { readonly [key: string]: z.ZodType } = optionally(
  UNDO_ACTIONS.flatMap(format => Object.entries(keysOf(format)).filter(([key]) => format.undo!.includes(key))),
)

function optionally(keys: readonly (readonly [string, z.ZodType])[]): { readonly [key: string]: z.ZodType } {
  return Object.fromEntries(keys.map(([key, schema]) => [key, schema.optional()]))
}

/** Reads the action from the keys of a task. Without an action key the task is external. */
export function readAction(values: TaskKeys): Action {
  const format = WRITTEN_ACTIONS.find(({ key }) => values[key] !== undefined)
  return format === undefined ? { type: 'external' } : format.read(values)
}

export const printAction = (action: Action): TaskKeys => formatOf(action).print(action)

export const actionWords = (action: Action, marked: Marked): string =>
  formatOf(action).words?.(action, marked) ?? action.type

/** Keys whose texts are templates, resolved when the task starts. */
export const RESOLVED_KEYS: readonly string[] = WRITTEN_ACTIONS.flatMap(({ type, contents, names }) =>
  LATER_ACTIONS.some(later => later === type) ? [] : names.filter(key => isText(contents[key])),
)

function isText(content: FieldContent | undefined): boolean {
  return content !== undefined && content !== 'expression' && content !== 'criteria'
}

export function* actionPlaces(task: Raw, path: Path): Generator<Place> {
  for (const { names, contents, places } of WRITTEN_ACTIONS)
    if (places !== undefined) yield* places(task, path)
    else
      for (const key of names) {
        const content = contents[key]
        if (content !== undefined) yield { value: task[key], content, path: [...path, key] }
      }
}

/** The fields of an action that have a value, with the key each is written under. */
export function actionFields(action: Action): readonly ActionField[] {
  const key = Object.keys(formatOf(action).contents)[0] ?? action.type
  const fields = action as { readonly [field: string]: unknown }
  const contents = (actionFacts(action).fields ?? {}) as { readonly [field: string]: FieldContent }
  return Object.entries(contents).flatMap(([field, content]) => {
    const value = fields[field]
    return value === undefined ? [] : [{ key, field, content, value }]
  })
}

export interface ActionField {
  readonly key: string
  readonly field: string
  readonly content: FieldContent
  readonly value: unknown
}
