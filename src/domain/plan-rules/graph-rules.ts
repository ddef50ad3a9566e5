// Graph rules: names are unique, references exist, `needs` has no cycle. Every fault names the task; a cycle includes its path. Iterative,
// because a chain of 20,000 tasks must not exhaust the stack and a bad graph must not loop for ever.

import { actionFacts } from '../actions/actions.ts'
import { gitOf, mergedBy } from '../actions/git-action.ts'
import type { TaskName } from '../id.ts'
import { isMap, type Json } from '../json.ts'
import { suggest } from '../phrases.ts'
import type { PlanDefinition, RecoveryRule, TaskDefinition } from '../plan.ts'
import { tasksHint, tasksMax } from '../recovery/breaker.ts'
import { triesFault } from '../tries/tries.ts'
import { scopesOverlap } from './effect.ts'
import { compensatorOf, expandTasks, isMultiplied, remediesOf, remedyIn, resolveTarget, type Scope } from './expand.ts'
import { reviewerOf } from './reviewers.ts'
import { type GraphFault, structureFaults, type Written, writtenTasks } from './structure.ts'
import { baselineFaults, comesAfter } from './tests-criteria.ts'

// Rules for `recover`: a remedy that is the task itself, or comes after it, would wait for ever; tasks that a rule adds must fit into the
// plan.

type ByName = ReadonlyMap<TaskName, TaskDefinition>

/** Whether a remedy exists is checked with the other references. */
function remedyFaults(
  tasks: readonly Written[],
  byName: ByName,
  known: (name: TaskName) => boolean,
): readonly GraphFault[] {
  return tasks.flatMap(one => (one.task.recover ?? []).flatMap((rule, at) => [...ofRule(one, rule, at)]))

  function* ofRule({ name, scope }: Written, rule: RecoveryRule, at: number): Generator<GraphFault> {
    const named = remedyIn(rule)
    const full = named === null ? null : resolveTarget(named, scope, known)
    if (full !== null) yield* ofRemedy(name, full, rule.do.type as 'alternate' | 'repair', at)
    const added = rule.do.type === 'replan' ? (rule.do.add ?? []) : []
    const fresh = new Set(added.map(({ id }) => id))
    for (const [index, { id, needs = [] }] of added.entries()) {
      const place = [at, 'replan', 'add', index]
      // A task that exists already, perhaps added by this rule, is numbered when it is added.
      if (added.findIndex(one => one.id === id) < index)
        yield {
          ...remedyFault(name, [...place, 'id'], `task '${name}' would add '${id}' twice`),
          hint: 'give it an id of its own',
        }
      const missing = needs.find(need => !fresh.has(need) && !known(need))
      if (missing !== undefined)
        yield {
          ...remedyFault(
            name,
            [...place, 'needs'],
            `'${id}', which '${name}' would add, needs '${missing}', which does not exist`,
          ),
          code: 'unknown-reference',
          hint: 'name a task of this plan, or one that is added with it',
        }
    }
  }

  function* ofRemedy(task: TaskName, remedy: TaskName, key: 'alternate' | 'repair', at: number): Generator<GraphFault> {
    const verb = key === 'alternate' ? 'take the place of' : 'repair'
    if (remedy === task || comesAfter(remedy, task, byName))
      yield {
        ...remedyFault(
          task,
          [at, key],
          remedy === task
            ? `task '${task}' would ${key === 'alternate' ? 'take its own place' : 'repair itself'}`
            : `'${remedy}' would ${verb} '${task}', but needs it`,
        ),
        hint:
          remedy === task
            ? "name another task; to try again, write 'retry:'"
            : `remove what it needs of '${task}': it is woken when that has failed`,
      }
  }
}

function remedyFault(task: TaskName, at: readonly (string | number)[], message: string): GraphFault {
  return { code: 'structure', message, task, key: 'recover', at }
}

// Rules for compensating tasks. They are dormant until they are needed, so nothing may order them: no `needs` and no outcome edges, from
// them or to them.

/** Whether they exist is checked with the other references. */
function compensatorFaults(tasks: readonly Written[], known: (name: TaskName) => boolean): readonly GraphFault[] {
  /** By full names. */
  const compensated = new Map<TaskName, TaskName>()
  for (const { task, name, scope } of tasks) {
    const by = compensatorOf(task)
    const found = by === null ? null : resolveTarget(by, scope, known)
    if (found !== null) compensated.set(found, name)
  }
  if (compensated.size === 0) return []
  const faults: GraphFault[] = []
  for (const one of tasks) {
    const compensates = compensated.get(one.name)
    if (compensates !== undefined) faults.push(...ownFaults(one, compensates))
    faults.push(...leadFaults(one))
  }
  return faults

  function* leadFaults({ task, name, scope }: Written): Generator<GraphFault> {
    for (const need of task.needs ?? []) {
      const compensates = compensated.get(`${scope.prefix}${need}` as TaskName)
      if (compensates !== undefined)
        yield {
          ...fault(
            name,
            'needs',
            `task '${name}' needs '${need}', which sleeps until '${compensates}' is to be undone`,
          ),
          hint: `remove it from 'needs', or let another task compensate '${compensates}'`,
        }
    }
    const led = [
      ...Object.values(task.on ?? {}).map(names => ['on', names] as const),
      ...(task.failureModes ?? []).map(mode => ['failure_modes', mode.recover ?? []] as const),
      ['recover', remediesOf(task)] as const,
    ]
    for (const [key, names] of led) {
      for (const target of names) {
        const full = resolveTarget(target, scope, known)
        const compensates = full === null ? undefined : compensated.get(full)
        if (compensates !== undefined)
          yield {
            ...fault(
              name,
              key,
              `an outcome of '${name}' leads to '${target}', which sleeps until '${compensates}' is to be undone`,
            ),
            hint: `lead to another task, or let another one compensate '${compensates}'`,
          }
      }
    }
  }
}

function* ownFaults({ task, name }: Written, compensates: TaskName): Generator<GraphFault> {
  const { action, needs, on, failureModes, compensate } = task
  if (name === compensates) {
    yield {
      ...fault(name, 'compensate', `task '${name}' would compensate itself`),
      hint: "name another task, or say what undoes it: 'run:' or 'edit:'",
    }
    return
  }
  const who = `'${name}' compensates '${compensates}'`
  if (isMultiplied(task) || action.type === 'subplan') {
    const key = task.matrix !== undefined ? 'matrix' : task.forEach !== undefined ? 'for_each' : 'subplan'
    yield {
      ...fault(name, key, `${who} and is several tasks itself`),
      hint: 'let one task do it, with run, edit or git',
    }
  } else if (action.type !== 'run' && action.type !== 'edit' && gitOf(action) === null)
    yield {
      ...fault(name, 'id', `${who} and has the action '${action.type}'`),
      hint: 'give it run, edit or git: nobody is asked while something is undone',
    }
  if ((needs?.length ?? 0) > 0)
    yield {
      ...fault(name, 'needs', `${who} and needs others`),
      hint: `remove its 'needs': it is woken when '${compensates}' is to be undone`,
    }
  const leads = on !== undefined ? 'on' : remediesOf(task).length > 0 ? 'recover' : 'failure_modes'
  if (leads !== 'failure_modes' || failureModes?.some(mode => mode.recover !== undefined))
    yield {
      ...fault(name, leads, `${who} and leads on to others`),
      hint: 'remove its outcome edges: nothing follows when something is undone',
    }
  if (compensate !== undefined)
    yield { ...fault(name, 'compensate', `${who} and has a 'compensate' of its own`), hint: 'remove one of them' }
}

function fault(task: TaskName, key: GraphFault['key'] & string, message: string): GraphFault {
  return { code: 'structure', message, task, key }
}

// Rules for `review`: there is work to look at, and a task of the plan reviews one other.

function* reviewFaults(flat: readonly TaskDefinition[], byName: ByName): Generator<GraphFault> {
  const reviewed = new Map<TaskName, TaskName>()
  for (const task of flat) {
    const { id, review, action } = task
    if (review === undefined) continue
    const by = reviewerOf(task, name => byName.has(name))
    const { isStructure, isFree } = actionFacts(action)
    const of = by === null ? undefined : reviewed.get(by)
    if (by !== null) reviewed.set(by, id)
    if (isStructure === true || isFree === true)
      yield {
        ...fault(id, 'review', `task '${id}' does no work that could be reviewed`),
        hint: 'put `review` on the task that does the work',
      }
    else if (by === null)
      yield {
        ...fault(
          id,
          'review',
          namedIn(review.by) === id
            ? `task '${id}' would review itself`
            : `task '${id}' is reviewed by '${namedIn(review.by)}', which does not exist`,
        ),
        hint: 'write by: model, by: PROVIDER/NAME, the name of an agent, or { task: NAME }',
      }
    else if (of !== undefined)
      yield { ...fault(id, 'review', `'${by}' reviews '${of}' already`), hint: 'give each task a reviewer of its own' }
    else if (byName.get(by)?.action.type === 'group')
      yield {
        ...fault(id, 'review', `'${by}', which reviews '${id}', is several tasks`),
        hint: 'let one task give the verdict',
      }
  }
}

const namedIn = (by: Json): string =>
  typeof by === 'string' ? by : isMap(by) && typeof by.task === 'string' ? by.task : JSON.stringify(by)

export const DONE_TASK = 'done' as TaskName

/** Finding the nearest name is slow, and nobody reads the hundredth hint. */
const SUGGESTIONS_MAX = 20

export function checkGraph(definition: PlanDefinition): readonly GraphFault[] {
  if (definition.tasks.length === 0) {
    return [
      {
        code: 'empty',
        message: 'the plan has no tasks',
        hint: 'add at least one task: an empty plan is never complete',
      },
    ]
  }
  const max = tasksMax(definition)
  if (definition.tasks.length > max) {
    return [
      {
        code: 'limit',
        message: `the plan has ${definition.tasks.length} tasks, more than ${max}`,
        hint: tasksHint(definition),
      },
    ]
  }
  const misshapen = structureFaults(definition)
  if (misshapen.length > 0) return misshapen
  const faults: GraphFault[] = []
  const flat = expandTasks(definition)
  const byName = new Map<TaskName, TaskDefinition>(flat.map(task => [task.id, task]))
  const written = flat === definition.tasks ? null : [...writtenTasks(definition)]
  // A name below a list that is still empty is valid.
  const below = new Set(written?.map(({ name }) => name))
  const known = (name: TaskName) => byName.has(name) || below.has(name)
  let [compensates, recovers] = [false, false]
  checkNames()
  for (const one of written ?? []) checkStranger(one)
  for (const one of written ?? writtenTasks(definition)) checkReferences(one)
  if (definition.policy?.write !== undefined)
    for (const { task, name } of written ?? writtenTasks(definition)) checkScope(task, name)
  if (compensates) faults.push(...compensatorFaults(written ?? [...writtenTasks(definition)], known))
  if (recovers) faults.push(...remedyFaults(written ?? [...writtenTasks(definition)], byName, known))
  faults.push(...reviewFaults(flat, byName))
  const cycle = findCycle(flat, byName)
  if (cycle !== null) {
    faults.push({
      code: 'cycle',
      message: `dependency cycle: ${cycle.join(' → ')}`,
      hint: 'remove one of these `needs`; to go back on an outcome, use `on:`',
      task: cycle[0]!,
      key: 'needs',
      path: cycle,
    })
  } else faults.push(...baselineFaults(definition, flat, byName))
  return faults

  function checkNames(): void {
    const seen = new Set<TaskName>()
    const reported = new Set<TaskName>()
    for (const { id } of flat) checkName(id)
    for (const name of namesBelow()) checkName(name)

    function checkName(name: TaskName): void {
      if (seen.has(name) && !(reported.has(name) && written !== null)) {
        reported.add(name)
        faults.push({
          code: 'duplicate',
          message: `two tasks are called '${name}'`,
          hint: 'give one of them another id',
          task: name,
          key: 'id',
        })
      }
      seen.add(name)
      if (name === DONE_TASK && (definition.done?.length ?? 0) > 0) {
        faults.push({
          code: 'duplicate',
          message: "a task is called 'done', which is the task made from the plan's `done` list",
          hint: 'rename the task',
          task: name,
          key: 'id',
        })
      }
    }
  }

  /** Only the children of a group may have its name as a prefix. */
  function checkStranger({ task, name }: Written): void {
    const end = task.id.lastIndexOf('/')
    const group = end < 0 ? undefined : byName.get(name.slice(0, name.lastIndexOf('/')) as TaskName)
    if (group?.action.type !== 'group') return
    faults.push({
      code: 'structure',
      message: `'${name}' is called like a child of '${group.id}', and is none`,
      hint: 'give it an id of its own',
      task: name,
      key: 'id',
    })
  }

  function namesBelow(): readonly TaskName[] {
    return written === null ? [] : written.flatMap(({ name }) => (byName.has(name) ? [] : [name]))
  }

  function checkReferences({ task, name, scope, siblings }: Written): void {
    for (const [at, need] of task.needs === undefined ? NONE : task.needs.entries()) {
      if (!known(`${scope.prefix}${need}` as TaskName)) unknown(name, 'needs', need, siblings, [at])
    }
    // Avoids allocations: a plan of 20,000 tasks is checked inside a commit.
    for (const [outcome, targets] of task.on === undefined ? NONE : Object.entries(task.on))
      for (const [at, target] of targets.entries())
        if (resolveTarget(target, scope, known) === null) unknown(name, 'on', target, siblings, [outcome, at])
    for (const [mode, { recover }] of task.failureModes === undefined ? NONE : task.failureModes.entries())
      for (const [at, target] of recover === undefined ? NONE : recover.entries())
        if (resolveTarget(target, scope, known) === null)
          unknown(name, 'failure_modes', target, siblings, [mode, 'recover', at])
    for (const [at, rule] of task.recover === undefined ? NONE : task.recover.entries()) {
      recovers = true
      const target = remedyIn(rule)
      if (target !== null && resolveTarget(target, scope, known) === null)
        unknown(name, 'recover', target, siblings, [at, rule.do.type])
    }
    const untried = task.tries === undefined ? null : triesFault(definition, task)
    if (untried !== null) faults.push({ code: 'structure', ...untried, task: name, key: 'tries' })
    const by = compensatorOf(task)
    if (by !== null) compensates = true
    if (by !== null && resolveTarget(by, scope, known) === null) unknown(name, 'compensate', by, siblings)
    const merged = mergedBy(task.action)
    if (merged !== null) checkMerged(name, merged, scope, siblings)
  }

  /** Only a single task's branch can be merged; the children of a group have one each. */
  function checkMerged(task: TaskName, name: TaskName, scope: Scope, siblings: readonly TaskDefinition[]): void {
    const full = resolveTarget(name, scope, known)
    if (full === null) return unknown(task, 'git', name, siblings)
    const type = byName.get(full)?.action.type
    if (full !== task && type !== 'group') return
    faults.push({
      code: 'structure',
      message:
        full === task ? `task '${task}' merges itself` : `task '${task}' merges '${name}', which is several tasks`,
      hint: full === task ? 'name the task whose branch it merges' : 'merge each of them, beside it in its subplan',
      task,
      key: 'git',
    })
  }

  function checkScope(task: TaskDefinition, name: TaskName): void {
    const allowed = definition.policy?.write
    const beyond = allowed === undefined ? undefined : task.write?.find(pattern => !scopesOverlap([pattern], allowed))
    if (beyond === undefined) return
    faults.push({
      code: 'policy',
      message: `task '${name}' wants to write '${beyond}', which the plan's policy.write does not allow`,
      hint: 'a task may narrow the policy, never widen it',
      task: name,
      key: 'write',
    })
  }

  function unknown(
    task: TaskName,
    key: keyof typeof VERBS,
    name: TaskName,
    siblings: readonly TaskDefinition[],
    at?: GraphFault['at'],
  ): void {
    const near =
      faults.length < SUGGESTIONS_MAX
        ? suggest(
            name,
            siblings.flatMap(({ id }) => (key === 'needs' && id === task ? [] : [id])),
          )
        : null
    const outside = key === 'needs' && siblings !== definition.tasks && byName.has(name)
    faults.push({
      code: 'unknown-reference',
      message: `task '${task}' ${VERBS[key]} '${name}', which does not exist${siblings === definition.tasks ? '' : ' beside it'}`,
      hint: outside
        ? `let the task around it need '${name}'`
        : near === null
          ? 'name a task of this plan'
          : `did you mean '${near}'?`,
      task,
      key,
      at,
    })
  }
}

const NONE: readonly never[] = []

const VERBS = {
  needs: 'needs',
  on: 'routes to',
  failure_modes: 'recovers by',
  recover: 'recovers by',
  compensate: 'is compensated by',
  git: 'merges',
} as const

/** Kahn's algorithm; the rest contains a cycle, found by walking `needs` inside it. */
function findCycle(tasks: readonly TaskDefinition[], byName: ReadonlyMap<TaskName, TaskDefinition>): TaskName[] | null {
  const unmet = new Map<TaskName, number>()
  const dependants = new Map<TaskName, TaskName[]>()
  for (const task of byName.values()) {
    if (task.needs === undefined || task.needs.length === 0) {
      unmet.set(task.id, 0)
      continue
    }
    const needs = new Set(task.needs.filter(need => byName.has(need)))
    unmet.set(task.id, needs.size)
    for (const need of needs) {
      const list = dependants.get(need)
      if (list === undefined) dependants.set(need, [task.id])
      else list.push(task.id)
    }
  }
  const free = tasks.filter(task => unmet.get(task.id) === 0).map(task => task.id)
  while (free.length > 0) {
    const name = free.pop()!
    if (!unmet.delete(name)) continue
    for (const dependant of dependants.get(name) ?? []) {
      const left = (unmet.get(dependant) ?? 0) - 1
      unmet.set(dependant, left)
      if (left === 0) free.push(dependant)
    }
  }
  const start = tasks.find(task => unmet.has(task.id))
  if (start === undefined) return null
  const seen = new Map<TaskName, number>()
  const path: TaskName[] = []
  for (let name = start.id; ; ) {
    const at = seen.get(name)
    if (at !== undefined) {
      const circle = path.slice(at).reverse()
      return [...circle, circle[0]!]
    }
    seen.set(name, path.length)
    path.push(name)
    name = byName.get(name)!.needs!.find(need => unmet.has(need))!
  }
}
