// Lint rules about decisions and recovery: unassigned roles, approvals that can never complete, options without an edge, unreachable
// recovery rules, and plans without any gate.

import { suggest } from '../phrases.ts'
import type { Approvers, Escalation, FailureKind, PlanDefinition, RecoveryRule, TaskDefinition } from '../plan.ts'
import { scopesOverlap } from '../plan-rules/effect.ts'
import { remediesOf } from '../plan-rules/expand.ts'
import { membersOf, rolesOf } from '../policy/plan-roles.ts'
import { circles } from './cycles.ts'
import type { Finding } from './finding.ts'
import type { Ground, Look } from './lint-input.ts'

export function* roles({ graph }: Ground): Iterable<Finding> {
  const { policy } = graph.definition
  yield* ofApprovers(graph.definition, policy?.gates?.approvers, { key: 'policy' })
  yield* ofEscalation(graph.definition, policy?.escalate, { key: 'policy' })
  for (const { id, action } of graph.tasks) {
    if (action.type !== 'gate') continue
    yield* ofApprovers(graph.definition, action.approvers, { task: id, key: 'gate' })
    yield* ofEscalation(graph.definition, action.escalate, { task: id, key: 'gate' })
  }
  for (const { id, recover } of graph.tasks) {
    for (const { do: way } of recover ?? []) {
      if (way.type !== 'ask' || way.to === undefined || isKnown(graph.definition, way.to)) continue
      yield unknownRole(graph.definition, way.to, { task: id, key: 'recover' }, 'is asked')
    }
  }
}

type About = Pick<Finding, 'task' | 'key'>

function* ofApprovers(plan: PlanDefinition, approvers: Approvers | undefined, about: About): Iterable<Finding> {
  if (approvers?.role === undefined) return
  const { role, count = 1 } = approvers
  const people = membersOf(plan, role)
  if (people === null) {
    yield unknownRole(plan, role, about, 'decides')
    return
  }
  const able = new Set(people).size
  if (able < count)
    yield {
      ...about,
      code: 'quorum-impossible',
      severity: 'error',
      message: `${count} people with the role '${role}' must approve, and only ${able} ${able === 1 ? 'has' : 'have'} it`,
      hint: 'name more people in policy.roles, or lower `count`',
    }
}

function* ofEscalation(plan: PlanDefinition, escalate: Escalation | undefined, about: About): Iterable<Finding> {
  if (escalate !== undefined && !isKnown(plan, escalate.to)) yield unknownRole(plan, escalate.to, about, 'is called')
}

/** A role, or a person who has one. Without declared roles any name is valid. */
function isKnown(plan: PlanDefinition, name: string): boolean {
  const known = rolesOf(plan)
  return known === undefined || Object.hasOwn(known, name) || Object.values(known).some(people => people.includes(name))
}

function unknownRole(plan: PlanDefinition, role: string, about: About, does: string): Finding {
  const near = suggest(role, Object.keys(rolesOf(plan) ?? {}))
  return {
    ...about,
    code: 'unknown-role',
    severity: 'warning',
    message: `'${role.slice(0, 100)}' ${does}, and policy.roles does not say who that is`,
    hint: near === null ? `add it: roles: { ${role.slice(0, 40)}: [name] }` : `did you mean '${near}'?`,
  }
}

/** By default, Planfold asks before anything that cannot be undone. */
export function* gatesOff({ graph }: Look): Iterable<Finding> {
  if (graph.definition.policy?.gates?.before?.length !== 0) return
  yield {
    code: 'gates-off',
    severity: 'warning',
    key: 'policy',
    message: 'no approval is asked for before a push, deployment, deletion or migration',
    hint: "write 'gates: default', or name what is gated: gates: { before: [deploy, delete] }",
  }
}

export function* options({ graph }: Look): Iterable<Finding> {
  for (const { id, action, on = {} } of graph.tasks) {
    if (action.type !== 'gate' || action.gate !== 'decision') continue
    if (Object.hasOwn(on, 'default') || Object.hasOwn(on, 'success')) continue
    const idle = (action.options ?? []).filter(option => !Object.hasOwn(on, option.id))
    if (idle.length === 0) continue
    yield {
      code: 'option-without-edge',
      severity: 'info',
      task: id,
      key: 'gate',
      message: `choosing ${idle.map(option => `'${option.id}'`).join(' or ')} at '${id}' leads nowhere of its own`,
      hint: 'add an edge: on: { <option>: <task> }; else only the tasks that need the gate continue',
    }
  }
}

/** After a rule that ends the plan, later rules for the same failures never apply. */
export function* deadRules({ graph }: Look): Iterable<Finding> {
  for (const { id, recover, failureModes } of graph.tasks) {
    const ended = new Set<string>()
    for (const [at, rule] of (recover ?? []).entries()) {
      if (isDead(rule, ended, failureModes))
        yield {
          code: 'dead-rule',
          severity: 'warning',
          task: id,
          key: 'recover',
          message: `rule ${at + 1} of 'recover' of '${id}' is never reached: a rule before it ends the plan`,
          hint: "put it before the rule that says 'abort', or narrow that one with 'on:'",
        }
      if (rule.do.type === 'abort') for (const name of rule.on ?? KINDS) ended.add(name)
    }
  }
}

/** A task that has failed cannot be the remedy of its own remedy. Each cycle is reported once, at its first task. */
export function* remedyCircles({ graph }: Look): Iterable<Finding> {
  if (graph.tasks.every(({ recover }) => recover === undefined)) return
  const helpers = graph.tasks.map(task =>
    remediesOf(task).flatMap(name => (name === task.id ? [] : (graph.at.get(name) ?? []))),
  )
  const { circleOf } = circles(helpers)
  const reported = new Set<number>()
  for (const [at, circle] of circleOf.entries()) {
    if (circle === -1 || reported.has(circle)) continue
    reported.add(circle)
    const { id } = graph.tasks[at]!
    const others = graph.tasks.filter((_, other) => other !== at && circleOf[other] === circle)
    const named = others.slice(0, 3).map(task => `'${task.id}'`)
    yield {
      code: 'remedy-circle',
      severity: 'warning',
      task: id,
      key: 'recover',
      message: `'${id}' and ${named.join(', ')}${others.length > 3 ? ', …' : ''} would recover by each other: whichever fails second finds the first failed already`,
      hint: 'end the circle: let the last of them ask, abort, or recover by another task',
    }
  }
}

const KINDS: readonly FailureKind[] = ['transient', 'logic', 'policy', 'resource', 'cancelled', 'unknown']

function isDead(rule: RecoveryRule, ended: ReadonlySet<string>, modes: TaskDefinition['failureModes']): boolean {
  if (ended.size === 0) return false
  const all = KINDS.every(kind => ended.has(kind))
  if (rule.on === undefined) return all
  return rule.on.every(name => {
    const kind = modes?.find(mode => mode.name === name)?.class
    return all || ended.has(name) || (kind !== undefined && ended.has(kind))
  })
}

export function* effects({ graph, options: given }: Ground): Iterable<Finding> {
  for (const { id, effects: expected = [], write } of graph.tasks) {
    for (const pattern of expected) {
      const fault = given.scopes?.fault(pattern) ?? null
      const beyond = write !== undefined && !scopesOverlap([pattern], write)
      if (fault === null && !beyond) continue
      yield {
        code: 'effects-beyond',
        severity: fault === null ? 'warning' : 'error',
        task: id,
        key: 'effects',
        message: `'${id}' is expected to change '${pattern.slice(0, 100)}', which ${fault ?? 'is not in its `write`'}`,
        hint:
          fault === null
            ? "add it to 'write:', or remove it from 'effects:'"
            : 'name files or folders of the workspace',
      }
    }
  }
}
