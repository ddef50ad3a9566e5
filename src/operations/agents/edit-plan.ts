// Several changes of a plan in one call: tasks added, changed, removed or reordered. They become one revision, so all are made or none. A
// preview only shows what would change.

import { stepsIn } from '../../domain/hint.ts'
import type { PlanId, TaskName } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import { suggest } from '../../domain/phrases.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import type { Fate } from '../../domain/revisions/merge.ts'
import { allTasks } from '../../domain/state/task-index.ts'
import type { SubmitOptions, Submitted } from '../../engine/engine.ts'
import { type DefinitionFault as Fault, readDefinition } from '../../format/wire/definition.ts'
import { type CurrentPlan, type PreparedRevision, prepareRevision, readCurrentPlan } from '../revise-plan.ts'
import type { CallerEngine } from '../run-plan.ts'

export interface PlanEdits {
  /** Task documents of the plan format. An existing id changes the keys that are given; a new id adds a task. */
  readonly tasks?: readonly JsonObject[]
  readonly remove?: readonly string[]
  /** These first, in this order; the others follow in the order they had. */
  readonly order?: readonly string[]
}

export interface EditOptions {
  readonly rationale?: string | undefined
  /** Refused if the plan has another revision by then; without it the edits apply to the current one. */
  readonly expectedRevision?: number | undefined
  readonly preview?: boolean
  readonly submit?: SubmitOptions
}

export type PlanEdited =
  | { readonly status: 'edited'; readonly done: Extract<Submitted, { readonly ok: true }>; readonly what: Changed }
  | { readonly status: 'preview' | 'unchanged'; readonly what: Changed }
  /** The caller may not make the change, so it was proposed to a person. `why` says which part needs that. */
  | { readonly status: 'proposed'; readonly what: Changed; readonly why: string }
  | { readonly status: 'refused'; readonly refusal: Refusal }
  | { readonly status: 'unsound'; readonly faults: readonly Fault[] }

export interface Changed {
  readonly summary: string
  readonly fates: readonly Fate[]
}

/** The plan may be revised between reading and ordering; then try again. */
const TRIES_MAX = 64

export async function editPlan(
  engine: CallerEngine,
  plan: PlanId,
  edits: PlanEdits,
  options: EditOptions = {},
): Promise<PlanEdited> {
  for (let tries = 1; ; tries++) {
    const current = await readCurrentPlan(engine, plan)
    if (current === null) return { status: 'refused', refusal: refuse('not-found', 'there is no such plan') }
    const { expectedRevision } = options
    if (expectedRevision !== undefined && expectedRevision !== current.revision)
      return { status: 'refused', refusal: moved(expectedRevision, current.revision) }
    const prepared = prepare(current, edits)
    if ('status' in prepared) return prepared
    const what = { summary: prepared.summary, fates: prepared.fates }
    if (options.preview === true) return { status: 'preview', what }
    if (prepared.hash === current.hash) return { status: 'unchanged', what }
    const done = await engine.submit(
      plan,
      {
        type: 'revise',
        definition: prepared.definition,
        rationale: options.rationale ?? prepared.summary,
        expectedRevision: current.revision,
      },
      options.submit,
    )
    if (done.ok) return { status: 'edited', done, what }
    if (isProposable(done.refusal)) {
      const rationale = options.rationale ?? prepared.summary
      const order = { type: 'propose', definition: prepared.definition, rationale } as const
      const asked = await engine.submit(plan, { ...order, expectedRevision: current.revision }, options.submit)
      if (asked.ok) return { status: 'proposed', what, why: done.refusal.message }
      return { status: 'refused', refusal: asked.refusal.code === 'not-allowed' ? asked.refusal : done.refusal }
    }
    const isOvertaken = done.refusal.code === 'conflict' && expectedRevision === undefined
    if (!isOvertaken || tries === TRIES_MAX) return { status: 'refused', refusal: done.refusal }
  }
}

const isProposable = ({ code, hint }: Refusal): boolean =>
  code === 'not-allowed' && hint !== undefined && stepsIn(hint).some(step => step.next === 'propose')

const moved = (expected: number, revision: number): Refusal =>
  refuse(
    'conflict',
    `the plan is at revision ${revision}, not ${expected}: somebody changed it since you read it`,
    'read the plan below, and repeat the change with its revision if it still makes sense',
  )

type Prepared = PreparedRevision | Extract<PlanEdited, { readonly status: 'refused' | 'unsound' }>

function prepare(current: CurrentPlan, { tasks = [], remove = [], order = [] }: PlanEdits): Prepared {
  const known = allTasks(current.definition).map(({ id }) => id)
  const added = new Set(tasks.map(({ id }) => String(id)))
  const refusal =
    twice(
      'tasks',
      tasks.map(({ id }) => String(id)),
    ) ??
    twice('order', order) ??
    both(remove, added) ??
    unknown('remove', remove, known) ??
    unknown(
      'order',
      order,
      [...known, ...added].filter(name => !remove.includes(name)),
    )
  if (refusal !== null) return { status: 'refused', refusal }
  let written: Parameters<typeof prepareRevision>[1]['written']
  if (tasks.length > 0) {
    const read = readDefinition({ name: current.definition.name, tasks: inOrder(tasks, known) }, known)
    if (!read.ok) return { status: 'unsound', faults: read.faults }
    written = {
      definition: { name: read.value.name, tasks: read.value.tasks },
      ended: new Map(),
      mode: 'merge',
      by: 'id',
    }
  }
  const made = prepareRevision(current, {
    written,
    remove: remove.length === 0 ? undefined : remove.join(','),
    order: order.length === 0 ? undefined : order.join(','),
  })
  if (made.status === 'prepared') return made.revision
  if (made.status === 'refused') return made
  const faults = made.diagnostics.map(({ path = '', message, hint }) => ({ path, message, hint }))
  return { status: 'unsound', faults }
}

/** Existing tasks keep their places, so that changing two of them moves neither; new ones come last. */
function inOrder(tasks: readonly JsonObject[], known: readonly string[]): JsonObject[] {
  const place = ({ id }: JsonObject): number => {
    const at = known.indexOf(String(id))
    return at === -1 ? known.length : at
  }
  return tasks.toSorted((a, b) => place(a) - place(b))
}

function twice(where: string, names: readonly string[]): Refusal | null {
  const name = names.find((one, at) => names.indexOf(one) !== at)
  if (name === undefined) return null
  return refuse('invalid', `'${name}' is listed twice in ${where}`, 'name each task once')
}

function both(remove: readonly string[], changed: ReadonlySet<string>): Refusal | null {
  const name = remove.find(one => changed.has(one))
  if (name === undefined) return null
  return refuse('invalid', `'${name}' is in tasks and in remove`, 'change it or remove it')
}

function unknown(where: string, names: readonly string[], known: readonly (string | TaskName)[]): Refusal | null {
  const name = names.find(one => !known.includes(one))
  if (name === undefined) return null
  const near = suggest(name, known)
  const hint = near === null ? `the tasks are: ${known.slice(0, 30).join(', ')}` : `did you mean '${near}'?`
  return refuse('unknown-reference', `${where}: the plan has no task '${name}'`, hint)
}
