// Lint rules about files and networks: scopes that cannot be captured, files outside the scope of their task, hosts that the policy does
// not allow, and tasks that cannot run in parallel because their scopes overlap.

import { actionFacts } from '../actions/actions.ts'
import { changesData, dbRequest } from '../actions/db-action.ts'
import { isForeign, PRICE_CURRENCY } from '../budget/amounts.ts'
import type { Budget, PlanDefinition, TaskDefinition } from '../plan.ts'
import { heldScope, literalOf } from '../plan-rules/effect.ts'
import { networkOf, reachedBeyond, readNetwork } from '../plan-rules/network.ts'

import type { Finding } from './finding.ts'
import type { Ground, Look } from './lint-input.ts'
import { ScopeIndex } from './scope-index.ts'
import { isUndoing } from './work-graph.ts'

export function* patterns({ graph, options }: Ground): Iterable<Finding> {
  const allowed = graph.definition.policy?.write?.map(literalOf)
  for (const task of graph.tasks) {
    for (const pattern of task.write ?? []) {
      const fault = options.scopes?.fault(pattern) ?? null
      const about = { task: task.id, key: 'write' } as const
      const literal = literalOf(pattern)
      if (fault !== null) {
        yield {
          ...about,
          code: 'scope-unusable',
          severity: 'error',
          message: `'${task.id}' wants to write '${short(pattern)}', which ${fault}`,
          hint: 'Planfold can only restore files inside the workspace: use a path below it',
        }
      } else if (literal.length === 0 && /^(\.\/)?\*/.test(pattern)) {
        yield {
          ...about,
          code: 'scope-whole',
          severity: 'warning',
          message: `'${task.id}' may write '${short(pattern)}': everything, so everything is captured before it runs`,
          hint: 'name the folders it really writes',
        }
      } else if (allowed?.every(each => each.length > literal.length) === true) {
        yield {
          ...about,
          code: 'scope-too-wide',
          severity: 'warning',
          message: `'${task.id}' may write '${short(pattern)}', which is wider than the plan's policy.write`,
          hint: 'a task may narrow the policy, never widen it',
        }
      }
    }
  }
}

/** A file that a task names and writes, outside its scope or against the policy, would fail the task at run time. */
export function* edits({ graph, options: { scopes } }: Ground): Iterable<Finding> {
  if (scopes === undefined) return
  const allowed = graph.definition.policy?.write
  for (const task of graph.tasks) {
    const { fileWords, keepsToScope } = actionFacts(task.action)
    if (fileWords === undefined) continue
    const { does, key } = fileWords
    for (const file of filesOf(task)) {
      const fault = scopes.fileFault(file)
      const outside =
        fault ??
        (task.write !== undefined && !scopes.holds(task.write, file) ? "is not in the task's own `write`" : null) ??
        (keepsToScope !== true && task.write === undefined && allowed === undefined ? 'is in no write scope' : null) ??
        (allowed !== undefined && !scopes.holds(allowed, file) ? "is not in the plan's policy.write" : null)
      if (outside === null) continue
      yield {
        code: 'edit-outside',
        severity: 'error',
        task: task.id,
        key,
        message: `'${task.id}' ${does} '${short(file)}', which ${outside}`,
        hint: fault === null ? 'add the file to `write`, or name another' : 'name a file inside the workspace',
      }
    }
  }
}

/** The folder must be inside the workspace; whether it exists is checked at run time. */
export function* folders({ graph, options: { scopes } }: Ground): Iterable<Finding> {
  if (scopes === undefined) return
  for (const { id, cwd } of graph.tasks) {
    if (cwd === undefined || cwd.includes('${{')) continue
    const fault = scopes.folderFault(cwd)
    if (fault === null) continue
    yield {
      code: 'cwd-outside',
      severity: 'error',
      task: id,
      key: 'cwd',
      message: `'${id}' runs in '${short(cwd)}', which ${fault}`,
      hint: "write a folder relative to the workspace, for instance 'packages/core'",
    }
  }
}

/** Variables that decide which code runs, or that the engine sets itself, are refused when a task begins. */
export function* environment({ graph, options: { environment: allowed } }: Ground): Iterable<Finding> {
  if (allowed === undefined) return
  for (const { id, env } of graph.tasks) {
    for (const name of Object.keys(env ?? {})) {
      const fault = allowed.fault(name)
      if (fault === null) continue
      yield {
        code: 'reserved-variable',
        severity: 'error',
        task: id,
        key: 'env',
        at: [name],
        message: `'${id}' sets the environment variable '${short(name)}', which ${fault}`,
        hint: 'use another name, or set it inside a script, where everybody sees it',
      }
    }
  }
}

/** Only kinds with `takesSecrets` receive secrets: commands in their environment, requests in headers and body. */
export function* secrets({ graph, options: { environment: allowed } }: Ground): Iterable<Finding> {
  for (const { id, secrets: names = [], env = {}, action } of graph.tasks) {
    if (names.length > 0 && actionFacts(action).takesSecrets !== true)
      yield {
        code: 'secret-without-command',
        severity: 'error',
        task: id,
        key: 'secrets',
        message: `'${id}' names secrets, and only a command (run) or a request (http) gets them`,
        hint: 'name them on the task that runs the command or sends the request',
      }
    for (const name of names) {
      const fault = Object.hasOwn(env, name) ? 'it sets in env as well' : (allowed?.fault(name) ?? null)
      if (fault === null) continue
      yield {
        code: 'secret-name',
        severity: 'error',
        task: id,
        key: 'secrets',
        message: `'${id}' names the secret '${short(name)}', which ${fault}`,
        hint: 'use another name',
      }
    }
  }
}

export function* networks({ graph }: Ground): Iterable<Finding> {
  const limit = networkOf(graph.definition, {})
  for (const task of graph.tasks) {
    if (task.network === undefined) continue
    const beyond = reachedBeyond(limit, readNetwork(task.network))
    if (beyond === null) continue
    yield {
      code: 'network-beyond',
      severity: 'error',
      task: task.id,
      key: 'network',
      message: `'${task.id}' wants to reach '${short(beyond)}', which the plan's policy.network does not allow`,
      hint: 'a task may narrow the policy, never widen it',
    }
  }
}

/** Money limits in a currency that cannot be counted. `validate` and `analyze` report them; at run time a person is asked. */
export function uncountedLimits({ policy, tasks }: PlanDefinition): readonly string[] {
  const budgets = [policy?.budget, ...tasks.flatMap(budgetsIn)]
  return budgets.flatMap(budget =>
    budget?.cost === undefined || !isForeign(budget) ? [] : [`${budget.cost.amount} ${budget.cost.currency}`],
  )
}

const budgetsIn = ({ budget, action }: TaskDefinition): readonly (Budget | undefined)[] =>
  action.type === 'subplan' ? [budget, ...action.tasks.flatMap(budgetsIn)] : [budget]

export function* recordedOnly({ graph }: Look): Iterable<Finding> {
  for (const limit of uncountedLimits(graph.definition))
    yield {
      code: 'not-enforced',
      severity: 'info',
      key: 'policy',
      message: `a limit of ${limit} cannot be counted: prices of models are known in ${PRICE_CURRENCY}`,
      hint: `write it in ${PRICE_CURRENCY}; otherwise you are asked at the first call of a model`,
    }
}

/** One finding, with two examples, for each path that several tasks write in parallel. */
export function* overlaps({ graph, ancestry, scopes }: Look): Iterable<Finding> {
  const index = new ScopeIndex()
  for (const [task, paths] of scopes.entries()) index.add(task, paths)
  const reported = new Set<string>()
  for (const { here, around } of index.held()) {
    const pair = unorderedPair(here, around)
    if (pair === null || reported.has(pair.join())) continue
    reported.add(pair.join())
    const [one, other] = pair.map(task => graph.tasks[task]!.id) as readonly string[]
    const more = new Set([...here, ...around]).size - 2
    yield {
      code: 'scope-overlap',
      severity: 'warning',
      task: graph.tasks[pair[1]]!.id,
      key: 'write',
      message: `'${one}' and '${other}'${more > 0 ? ` (and ${more} more)` : ''} could run at once but write the same files${where(heldScope(graph.definition, graph.tasks[pair[1]]!))}; they will be run one after the other`,
      hint: 'let one need the other, or narrow what they write',
    }
  }

  /** Checks neighbours in wave order: if all of them are ordered, all pairs are. */
  function unorderedPair(here: readonly number[], around: readonly number[]): readonly [number, number] | null {
    const sorted = here.toSorted((a, b) => ancestry.wave(a) - ancestry.wave(b) || a - b)
    for (let at = 1; at < sorted.length; at++)
      if (ancestry.ordered(sorted[at - 1]!, sorted[at]!) === false) return pairOf(sorted[at - 1]!, sorted[at]!)
    for (const one of around)
      for (const other of sorted.slice(0, COMPARED_MAX))
        if (ancestry.ordered(one, other) === false) return pairOf(one, other)
    return null
  }
}

const COMPARED_MAX = 16

const pairOf = (a: number, b: number): readonly [number, number] => (a < b ? [a, b] : [b, a])

function where(scope: readonly string[]): string {
  return scope.length === 0 ? '' : ` (${short(scope[0]!)}${scope.length > 1 ? ', …' : ''})`
}

/** Reverting files does not revert a committed change of data, so it needs a compensation. */
export function* databases({ graph }: Ground): Iterable<Finding> {
  for (const [at, task] of graph.tasks.entries()) {
    const request = dbRequest(task.action)
    if (request === null || !changesData(request) || task.compensate !== undefined || isUndoing(graph, at)) continue
    yield {
      code: 'no-compensation',
      severity: 'error',
      task: task.id,
      key: 'db',
      message: `'${task.id}' changes '${short(request.file)}' and does not say how to undo that`,
      hint: "add 'compensate:', for example `{ db: { url: sqlite:app.db, execute: … } }`",
    }
  }
}

/** A computed name is known only at run time. */
const filesOf = (task: TaskDefinition): readonly string[] =>
  (actionFacts(task.action).files?.(task) ?? []).filter(file => !file.includes('${{'))

const short = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text)
