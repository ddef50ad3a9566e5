// Runs a plan from a document, or as it is defined already, whatever its state:
//
//   no such plan ──► created       completed, cancelled, archived, or `again` ──► created again as a clone (`name-2`)
//   open, same document ──► resumed                        open, other document ──► revised
//   failed ──► continued, with the document as a revision if it differs: completed tasks stay completed

import type { UnsafeWork } from '../domain/command.ts'
import type { ImportedTask } from '../domain/event.ts'
import { advise, next } from '../domain/hint.ts'
import type { PlanId, PlanName, TaskName } from '../domain/id.ts'
import type { PlanDefinition, PlanSource } from '../domain/plan.ts'
import { keepItems } from '../domain/plan-rules/for-each.ts'
import { type Refusal, refuse } from '../domain/refusal.ts'
import { isOtherWork } from '../domain/rules/reopen.ts'
import { startOverText } from '../domain/rules/start-over.ts'
import { allTasks } from '../domain/state/task-index.ts'
import { ENDED, PLAN_ENDED, type PlanStatus, SATISFIES } from '../domain/status.ts'
import type { Card } from '../domain/views/board.ts'
import { keepAddedTasks } from '../domain/views/convergence.ts'
import type { Engine, Order, Submitted } from '../engine/engine.ts'
import { definitionHash } from '../format/plan/hash.ts'
import { keepWorker } from './agents/agent-worker.ts'
import type { PlanDocument } from './read-document.ts'

/** The part of a caller's engine that most use cases need. */
export type CallerEngine = Pick<Engine, 'ask' | 'submit'>

export interface RunAsk {
  readonly create: Extract<Order, { readonly type: 'create' }>
  readonly rationale: string
  /** Run an ended plan from the start, including completed work that is unsafe to repeat. */
  readonly again?: boolean
  readonly unsafe?: UnsafeWork
}

/** `since`: the version before the call; 0 for a new plan. */
export type PlanRun =
  | { readonly how: 'refused'; readonly refusal: Refusal }
  | ({ readonly how: 'made' | 'attached' } & Found)
  | ({ readonly how: 'afresh'; readonly was: { readonly name: string; readonly status: PlanStatus | null } } & Found)
  | ({ readonly how: 'revised'; readonly revised: Revised } & Found)
  | ({ readonly how: 'went-on' } & WentOn & Found)

interface Found {
  readonly plan: PlanId
  readonly name: string
  readonly since: number
}

export interface Revised {
  readonly from: number
  readonly before: PlanDefinition
  readonly after: PlanDefinition
}

export interface WentOn {
  readonly submitted: Extract<Submitted, { readonly ok: true }>
  /** Null if the definition is the same. */
  readonly revised: Revised | null
  readonly counts: OnwardCounts
}

export interface OnwardCounts {
  /** Completed and skipped tasks that stay so. */
  readonly stay: number
  readonly again: readonly TaskName[]
  readonly added: readonly TaskName[]
  /** Tasks that had not run when the plan failed. */
  readonly open: number
}

/** The order that creates a plan from a document, with its text and the tasks that had ended when it was written. */
export function createOrder(document: Pick<PlanDocument, 'definition' | 'text' | 'told'>): RunAsk['create'] {
  const imported = importedTasks(document)
  return {
    type: 'create',
    definition: document.definition,
    source: sourceOf(document),
    ...(imported.length === 0 ? {} : { imported }),
  }
}

export const sourceOf = ({ text, told }: Pick<PlanDocument, 'text' | 'told'>): PlanSource => ({
  dialect: told.dialect ?? 'planfold',
  text,
})

export const importedTasks = ({ told }: Pick<PlanDocument, 'told'>): readonly ImportedTask[] =>
  [...told.ended].map(([task, status]) => ({ task, status }))

const TRIES_MAX = 5

export async function runPlan(room: CallerEngine, ask: RunAsk): Promise<PlanRun> {
  const { create } = ask
  for (let tries = 1; ; tries++) {
    const latest = await latestOf(room, create.definition.name)
    const run = latest === null ? await make(room, create, null) : await takeUp(room, ask, latest)
    // Another process may have created or changed it in between; then use that plan.
    const isOvertaken = run.how === 'refused' && (run.refusal.code === 'conflict' || run.refusal.code === 'exists')
    if (!isOvertaken || tries >= TRIES_MAX) return run
  }
}

async function takeUp(room: CallerEngine, ask: RunAsk, latest: Omit<Found, 'since'>): Promise<PlanRun> {
  const { create, rationale } = ask
  const { plan, name } = latest
  const summary = await room.ask({ type: 'summary', plan })
  const current = await room.ask({ type: 'definition', plan })
  const goesOn = summary?.status === 'failed' && !summary.archived && ask.again !== true
  if (summary === null || current === null || (PLAN_ENDED.has(summary.status) && !goesOn))
    return await runAfresh(room, ask, latest, summary?.status ?? null)
  if (ask.again === true && summary.status !== 'draft')
    return {
      how: 'refused',
      refusal: refuse(
        'not-allowed',
        `plan '${name}' is not finished, so it cannot start over`,
        advise`leave out --again to continue it, or cancel it first: ${next('cancel', { plan: name })}`,
      ),
    }
  // A clone has another name; everything else decides whether it is the same plan. Items found at run time are in no text.
  const named: PlanDefinition = { ...create.definition, name: name as PlanName }
  const worked = keepWorker(current.definition, named)
  const wanted = keepAddedTasks(current.definition, keepItems(current.definition, worked))
  const found = { plan, name, since: summary.version }
  const renamed = ask.unsafe === 'repeat' ? null : await refuseRenamed(room, plan, current.definition, wanted)
  if (renamed !== null) return { how: 'refused', refusal: renamed }
  if (goesOn) {
    const onward = { definition: wanted, rationale, ...withSource(create.source), file: idsOf(named), ...unsafeOf(ask) }
    const went = await goOnWithPlan(room, plan, onward)
    return went.ok ? { how: 'went-on', ...went, ...found } : { how: 'refused', refusal: went.refusal }
  }
  if (current.hash === definitionHash(wanted)) return { how: 'attached', ...found }
  const submitted = await room.submit(plan, {
    type: 'revise',
    definition: wanted,
    rationale,
    ...withSource(create.source),
    file: idsOf(named),
    expectedRevision: current.revision,
  })
  if (!submitted.ok) return { how: 'refused', refusal: submitted.refusal }
  return { how: 'revised', revised: { from: current.revision, before: current.definition, after: wanted }, ...found }
}

const idsOf = ({ tasks }: PlanDefinition): readonly TaskName[] => tasks.map(({ id }) => id)

export interface GoOnAsk {
  /** The current one if absent. */
  readonly definition?: PlanDefinition
  readonly rationale: string
  readonly source?: PlanSource
  readonly file?: readonly TaskName[]
  /** What to do with completed work that is unsafe to repeat and would run again; without it the order is refused. */
  readonly unsafe?: UnsafeWork
  readonly once?: string
  readonly expectedVersion?: number
}

/** Continues a failed plan: completed tasks stay; failed, undone and changed ones run again. */
export async function goOnWithPlan(
  room: CallerEngine,
  plan: PlanId,
  ask: GoOnAsk,
): Promise<({ readonly ok: true } & WentOn) | { readonly ok: false; readonly refusal: Refusal }> {
  const summary = await room.ask({ type: 'summary', plan })
  const current = await room.ask({ type: 'definition', plan })
  const before = await room.ask({ type: 'board', plan })
  if (summary === null || current === null || before === null)
    return { ok: false, refusal: refuse('not-found', 'there is no such plan') }
  const wanted = ask.definition ?? current.definition
  const { rationale, source, file, unsafe = 'refuse', once, expectedVersion = summary.version } = ask
  const submitted = await room.submit(
    plan,
    {
      type: 'revise',
      definition: wanted,
      rationale,
      ...withSource(source),
      ...(file === undefined ? {} : { file }),
      goOn: unsafe,
    },
    { expectedVersion, once },
  )
  if (!submitted.ok) return submitted
  const isRevised = submitted.events.some(({ type }) => type === 'plan.revised')
  const revised = isRevised ? { from: current.revision, before: current.definition, after: wanted } : null
  return { ok: true, submitted, revised, counts: countsOf(before, (await room.ask({ type: 'board', plan })) ?? []) }
}

/** "3 tasks stay completed, 2 run again" and the like. */
export function continuationText({ stay, again, added, open }: OnwardCounts): string {
  const parts = [
    stay === 0 ? null : `${tasks(stay)} ${stay === 1 ? 'stays' : 'stay'} completed`,
    again.length === 0 ? null : `${counted(again.length, stay === 0)} ${again.length === 1 ? 'runs' : 'run'} again`,
    added.length === 0 ? null : `${added.length} ${added.length === 1 ? 'is' : 'are'} new`,
    open === 0 ? null : `${open} ${open === 1 ? 'has' : 'have'} not run yet`,
  ].filter(part => part !== null)
  return parts.length === 0 ? 'nothing is left to run' : parts.join(', ')
}

const tasks = (count: number): string => `${count} ${count === 1 ? 'task' : 'tasks'}`
const counted = (count: number, isFirst: boolean): string => (isFirst ? tasks(count) : `${count}`)

/** Groups count by their children, and the final checks are not a written task. */
const isWork = ({ action }: Card): boolean => !['group', 'items', 'verify'].includes(action)

function countsOf(before: readonly Card[], after: readonly Card[]): OnwardCounts {
  const visits = new Map(before.map(card => [card.name, card.visit]))
  const again: TaskName[] = []
  const added: TaskName[] = []
  let stay = 0
  let open = 0
  for (const { name, visit, status } of after.filter(isWork)) {
    const had = visits.get(name)
    if (had === undefined) added.push(name)
    else if (visit > had) again.push(name)
    else if (SATISFIES.has(status)) stay++
    else if (!ENDED.has(status)) open++
  }
  return { stay, again, added, open }
}

const withSource = (source: PlanSource | undefined): { readonly source?: PlanSource } =>
  source === undefined ? {} : { source }
const unsafeOf = ({ unsafe }: RunAsk): { readonly unsafe?: UnsafeWork } => (unsafe === undefined ? {} : { unsafe })

async function runAfresh(
  room: CallerEngine,
  ask: RunAsk,
  latest: Omit<Found, 'since'>,
  status: PlanStatus | null,
): Promise<PlanRun> {
  if (status === 'completed' && ask.unsafe !== undefined && ask.again !== true)
    return {
      how: 'refused',
      refusal: refuse(
        'not-allowed',
        `plan '${latest.name}' is completed: nothing is left to continue`,
        advise`to run everything again: ${next('run', { file: 'FILE', again: true })}`,
      ),
    }
  if (status !== null && status !== 'completed' && ask.again !== true) {
    const refusal = await refuseTwice(room, latest, status)
    if (refusal !== null) return { how: 'refused', refusal }
  }
  const made = await make(room, ask.create, latest.plan)
  return made.how === 'made' ? { ...made, how: 'afresh', was: { name: latest.name, status } } : made
}

/** Under another id the same work would count as new, and unsafe work would be repeated. */
async function refuseRenamed(
  room: CallerEngine,
  plan: PlanId,
  before: PlanDefinition,
  after: PlanDefinition,
): Promise<Refusal | null> {
  const had = new Map(allTasks(before).map(task => [task.id, task]))
  const has = new Map(allTasks(after).map(task => [task.id, task]))
  const added = [...has.values()].filter(task => !had.has(task.id))
  if (added.length === 0) return null
  const cards = (await room.ask({ type: 'board', plan })) ?? []
  for (const card of cards) {
    const was = had.get(card.name)
    if (was === undefined || has.has(card.name) || card.effect !== 'unsafe' || card.status !== 'completed') continue
    const twin = added.find(task => !isOtherWork(was, task))
    if (twin !== undefined)
      return refuse(
        'not-allowed',
        `task '${twin.id}' does the same as '${card.name}', which is completed and unsafe to repeat`,
        `keep the id '${card.name}', or run it again with --repeat`,
      )
  }
  return null
}

/** Completed work that is unsafe to repeat is not started again because a later task was given up. */
async function refuseTwice(
  room: CallerEngine,
  { plan, name }: Omit<Found, 'since'>,
  status: PlanStatus,
): Promise<Refusal | null> {
  const done = await unsafeDone(room, plan)
  if (done.length === 0) return null
  return refuse(
    'not-allowed',
    `plan '${name}' ${status === 'failed' ? 'failed' : `is ${status}`}, but ${done.map(card => `'${card.name}'`).join(', ')} completed and ${done.length === 1 ? 'is' : 'are'} unsafe to repeat`,
    advise`to run everything again: ${next('run', { file: 'FILE', again: true })}`,
  )
}

const unsafeDone = async (room: CallerEngine, plan: PlanId): Promise<readonly Card[]> =>
  ((await room.ask({ type: 'board', plan })) ?? []).filter(
    card => card.effect === 'unsafe' && card.status === 'completed',
  )

/** The hint for repeating a cancelled plan. */
export const howToStartOver = async (room: CallerEngine, plan: PlanId): Promise<string> =>
  startOverText((await unsafeDone(room, plan)).map(({ name }) => name))

async function make(room: CallerEngine, create: RunAsk['create'], origin: PlanId | null): Promise<PlanRun> {
  const made = await room.submit(null, { ...create, ...(origin === null ? {} : { origin, taken: 'number' }) })
  return made.ok
    ? { how: 'made', plan: made.plan, name: made.name, since: 0 }
    : { how: 'refused', refusal: made.refusal }
}

/** The plan of this name, or its latest clone. */
async function latestOf(room: CallerEngine, name: string): Promise<Omit<Found, 'since'> | null> {
  let latest = await room.ask({ type: 'find', reference: name })
  for (let number = 2; latest !== null; number++) {
    const next = await room.ask({ type: 'find', reference: `${name}-${number}` })
    if (next === null || !(await isClone(room, next.plan))) break
    latest = next
  }
  return latest
}

async function isClone(room: CallerEngine, plan: PlanId): Promise<boolean> {
  const entries = await room.ask({ type: 'entries', plan, after: 0, limit: 1 })
  const created = entries?.[0]?.events.find(event => event.type === 'plan.created')
  return created?.origin !== undefined
}
