// Tasks: added to a plan one by one or as a batch, listed, shown, with what they need.

import type { PlanId, TaskName } from '../../domain/id.ts'
import { SATISFIES } from '../../domain/status.ts'
import { idFault, nameSaid, taskFromStore } from '../../format/wire/from-store.ts'
import { taskWord } from '../../format/wire/store-words.ts'
import * as wire from '../../format/wire/tasks.ts'
import type { Fault } from '../../format/wire/wire.ts'
import type { TaskRow } from '../../stores/store.ts'
import { inOrder, type Ordered } from '../batch-order.ts'
import type { Call } from '../call.ts'
import { given } from '../given.ts'
import { findPlan, findTask } from '../look-up.ts'
import { DRAWS_MAX, namesFor } from '../mark.ts'
import { needsMeant } from '../needs.ts'
import { gone, order } from '../ordering.ts'
import { isProblem, type Problem, problem, unfit } from '../problem.ts'
import { type Answer, created, ok, route } from '../route.ts'
import { pageInScope } from '../scope.ts'
import { showTask, showTasks } from '../show-task.ts'

export const taskRoutes = [
  route({
    method: 'POST',
    path: '/tasks',
    right: 'operate',
    noun: 'tasks',
    about: 'Adds a task to a plan, or several: then all of them or none. Somebody claims it and reports.',
    body: wire.newTasks,
    answers: { 201: { about: 'the task; a list when several were sent', body: wire.tasksMade, tag: true } },
    handle: async call => await addTasks(call),
  }),
  route({
    method: 'GET',
    path: '/tasks',
    right: 'read',
    noun: 'tasks',
    about: 'Tasks of a plan by their sequence; of all plans, those that came last first.',
    query: wire.listQuery,
    answers: { 200: { about: 'a page of them', body: wire.tasks } },
    handle: async call => await listTasks(call),
  }),
  route({
    method: 'GET',
    path: '/tasks/:task',
    right: 'read',
    noun: 'tasks',
    about: 'One task, by id or as `plan:task`.',
    answers: { 200: { about: 'the task', body: wire.task, tag: true } },
    handle: async call => {
      const found = await findTask(call, call.params.task!)
      if (isProblem(found)) return found
      const shown = await showTask(call, found.plan, found.task)
      return shown === null ? gone() : ok(shown.body, shown.version)
    },
  }),
  route({
    method: 'GET',
    path: '/tasks/:task/dependencies',
    right: 'read',
    noun: 'tasks',
    about: 'What a task needs, how that stands, and who needs it.',
    answers: { 200: { about: 'both', body: wire.dependencies } },
    handle: async call => {
      const found = await findTask(call, call.params.task!)
      return isProblem(found) ? found : await showDependencies(call, found.plan, found.task)
    },
  }),
]

type AddCall = Call<undefined, wire.NewTasks>

async function addTasks(call: AddCall): Promise<Answer> {
  const { list, outer, isBatch } = sent(call.body)
  const references = new Set(list.map(one => one.plan_id ?? outer))
  const [reference] = references
  if (reference === undefined || references.size > 1) {
    const message = reference === undefined ? 'is missing' : 'tasks of one request belong to one plan'
    return unfit('body', [{ path: 'plan_id', message, hint: 'say plan_id, the same for all' }])
  }
  const found = await findPlan(call, reference)
  if (isProblem(found)) return found
  const needs = await needsOf(call, found.plan, list, index => (isBatch ? `[${index}].` : ''))
  if (isProblem(needs)) return needs
  const names = await added(call, found.plan, list, needs)
  if (isProblem(names)) return names
  const shown = await showTasks(call, found.plan, names)
  const [first] = shown?.bodies ?? []
  if (shown === null || first === undefined) return gone()
  return created(
    isBatch ? shown.bodies : first,
    isBatch ? `/tasks?plan_id=${found.plan}` : `/tasks/${first.id}`,
    shown.version,
  )
}

/**
 * The names under which they were added. A name of ours that is taken is made again. Under a key the rounds make the same names each
 * time, and which of them was answered only the key knows: it refuses the others as something else.
 */
async function added(
  call: AddCall,
  plan: PlanId,
  list: readonly wire.NewTask[],
  needs: readonly (readonly TaskName[])[],
): Promise<readonly TaskName[] | Problem> {
  const said = list.flatMap(one => nameSaid(one) ?? [])
  let first: Problem | null = null
  for (let round = 0; ; round++) {
    const nameFor = namesFor(call, said, round)
    const tasks = list.map((one, index) => taskFromStore(one, needs[index]!, stem => nameFor(stem, index)))
    const ordered = inOrder(tasks)
    if (!ordered.ok) return unordered(ordered, index => `[${index}].name`)
    const made = await order(call, plan, { type: 'add', tasks: ordered.tasks })
    const names = tasks.map(({ id }) => id)
    if (!isProblem(made)) return names
    first ??= made
    const isLast = said.length === list.length || round === DRAWS_MAX - 1
    const isOther = isOf(made, 'conflict') && call.once !== undefined
    const isTaken = isOf(made, 'duplicate') && !isLast && (await hasOneOf(call, plan, unsaid(names, said)))
    if (isLast || !(isOther || isTaken)) return isOther ? first : made
  }
}

const isOf = ({ problem: { type } }: Problem, code: string): boolean => type === `urn:planfold:problem:${code}`

const unsaid = (names: readonly TaskName[], said: readonly TaskName[]): readonly TaskName[] => {
  const known = new Set(said)
  return names.filter(name => !known.has(name))
}

const hasOneOf = async ({ rooms }: AddCall, plan: PlanId, tasks: readonly TaskName[]): Promise<boolean> =>
  ((await rooms.engine.ask({ type: 'records', plan, tasks }))?.tasks.length ?? 0) > 0

function unordered(fault: Extract<Ordered, { readonly ok: false }>, at: (index: number) => string): Problem {
  if ('cycle' in fault)
    return problem(422, 'cycle', `these tasks need each other: ${fault.cycle.join(' → ')}`, {
      hint: 'leave one of these needs out',
      more: { cycle: fault.cycle },
    })
  const [first, second] = fault.at
  const message = `there is a '${fault.duplicate}' already, at ${at(first)}`
  return problem(422, 'duplicate', `two tasks of the request are called '${fault.duplicate}'`, {
    hint: 'give each a name of its own',
    faults: [{ path: at(second), message, hint: 'give each a name of its own' }],
  })
}

interface Sent {
  readonly list: readonly wire.NewTask[]
  readonly outer?: string | undefined
  readonly isBatch: boolean
}

function sent(body: wire.NewTasks): Sent {
  if (Array.isArray(body)) return { list: body, isBatch: true }
  const { tasks, plan_id: outer } = body as { readonly tasks?: readonly wire.NewTask[]; readonly plan_id?: string }
  return tasks === undefined ? { list: [body as wire.NewTask], isBatch: false } : { list: tasks, outer, isBatch: true }
}

/** What each of them needs, or everything that is wrong with what was sent. */
async function needsOf(
  call: AddCall,
  plan: PlanId,
  list: readonly wire.NewTask[],
  at: (index: number) => string,
): Promise<readonly (readonly TaskName[])[] | Problem> {
  const found: (readonly TaskName[])[] = []
  const faults: Fault[] = []
  for (const [index, one] of list.entries()) {
    const key = one.depends_on == null ? 'dependencies' : 'depends_on'
    const { needs, faults: wrong } = await needsMeant(call, plan, one[key], `${at(index)}${key}`)
    faults.push(...wrong)
    const twoNames = idFault(one)
    if (twoNames !== null) faults.push({ ...twoNames, path: `${at(index)}id` })
    if (one.status != null && one.status !== 'pending')
      faults.push({
        path: `${at(index)}status`,
        message: `a task cannot begin as '${taskWord(one.status)}'`,
        hint: 'add it, then PATCH its status',
      })
    found.push(needs)
  }
  return faults.length === 0 ? found : unfit('body', faults)
}

async function listTasks(call: Call<wire.TaskList>): Promise<Answer> {
  const { plan_id, agent_id: assignee, status: statuses, limit, cursor } = call.query
  const plan = plan_id === undefined ? null : await findPlan(call, plan_id)
  if (plan !== null && isProblem(plan)) return plan
  const where =
    plan === null ? ({ order: 'recent', archived: false } as const) : ({ order: 'sequence', plan: plan.plan } as const)
  const query = { ...where, limit, ...given({ assignee, statuses }) }
  const { items, next } = await pageInScope(
    call,
    cursor,
    (row: TaskRow) => row.plan,
    from => call.rooms.engine.ask({ type: 'tasks', ...query, ...given({ cursor: from }) }),
  )
  return ok({ items: await wholeTasks(call, items), next })
}

/** Rows are for finding; what is shown is the whole task, asked for plan by plan. */
async function wholeTasks(call: Pick<Call, 'rooms'>, rows: readonly TaskRow[]) {
  const byPlan = new Map<PlanId, TaskName[]>()
  for (const { plan, name } of rows) byPlan.set(plan, [...(byPlan.get(plan) ?? []), name])
  const shown = new Map<string, unknown>()
  for (const [plan, names] of byPlan) {
    const found = await showTasks(call, plan, names)
    for (const body of found?.bodies ?? []) shown.set(body.id, body)
  }
  return rows.flatMap(({ id }) => shown.get(id) ?? [])
}

async function showDependencies({ rooms }: Pick<Call, 'rooms'>, plan: PlanId, task: TaskName): Promise<Answer> {
  const of = async (tasks: readonly string[]) => (await rooms.engine.ask({ type: 'records', plan, tasks }))?.tasks ?? []
  const [own] = await of([task])
  if (own === undefined) return gone()
  const show = ({ card: { id, name, status } }: typeof own) => ({ id, name, status: taskWord(status), state: status })
  const needed = await of(own.card.needs)
  return ok({
    task_id: own.card.id,
    name: own.card.name,
    depends_on: needed.map(show),
    needed_by: (await of(own.neededBy)).map(show),
    unmet: needed.filter(({ card }) => !SATISFIES.has(card.status)).map(({ card }) => card.name),
  })
}
