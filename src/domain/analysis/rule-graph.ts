// Lint rules about the graph: errors that prevent a start, unreachable tasks, impossible outcomes, loops bounded only by default, and large
// plans without milestones.

import { VISITS_DEFAULT } from '../limits.ts'
import { choiceHint, suggest } from '../phrases.ts'
import { checkGraph } from '../plan-rules/graph-rules.ts'
import { circles } from './cycles.ts'
import type { Finding } from './finding.ts'
import type { Ground, Look } from './lint-input.ts'
import { isFailureMode, outcomes } from './outcomes.ts'
import { isUndoing } from './work-graph.ts'

export const TOP_LEVEL_MAX = 7
export const TOP_LEVEL_MIN = 3
/** A single word is a name, not a description. */
const CLEAR_WORDS_MIN = 2
const NAMES_MAX = 3

export function* graphFaults({ graph }: Ground): Iterable<Finding> {
  for (const { code, message, hint, task, key, at } of checkGraph(graph.definition)) {
    yield {
      code,
      severity: 'error',
      message,
      hint: hint ?? 'correct it and try again',
      task,
      key,
      at,
    }
  }
}

export function* unreachable({ graph, waves }: Look): Iterable<Finding> {
  if (waves.order.length === graph.tasks.length) return
  const stuck = circles(graph.needs).behind
  for (const [task, { id }] of graph.tasks.entries()) {
    if (waves.waveOf[task] !== -1 || stuck[task] || isUndoing(graph, task)) continue
    const sleeps = graph.dormant[task]
    yield {
      code: 'unreachable',
      severity: 'warning',
      task: id,
      key: sleeps ? 'id' : 'needs',
      message: sleeps
        ? `'${id}' waits for an outcome that never leads to it`
        : `'${id}' needs ${some(graph.needs[task]!.filter(need => waves.waveOf[need] === -1).map(need => graph.tasks[need]!.id))}, which nothing leads to`,
      hint: sleeps
        ? 'give it `needs`, or correct the outcome that leads here'
        : 'it would be skipped; let it need something that runs',
    }
  }
}

export function* impossibleOutcomes({ graph, options: { decided } }: Ground): Iterable<Finding> {
  for (const task of graph.tasks) {
    // The edges of a task that computes its items belong to its future children.
    if (task.on === undefined || task.action.type === 'items') continue
    const decisions = task.action.type === 'decide' ? (decided?.(task.action.expression) ?? null) : null
    const known = decisions === null ? outcomes(task) : [...decisions, 'default', 'failure', 'rejected']
    for (const outcome of Object.keys(task.on)) {
      if (known === null || known.includes(outcome) || isFailureMode(task, outcome)) continue
      const near = suggest(outcome.slice(0, 100), known)
      yield {
        code: 'impossible-outcome',
        severity: 'error',
        task: task.id,
        key: 'on',
        at: [outcome],
        message: `'${task.id}' has no outcome '${outcome.slice(0, 100)}'`,
        hint: `${choiceHint(outcome, known)}${near === null && decisions === null ? "; for others, add a 'decide' task after it" : ''}`,
      }
    }
  }
}

/** Loops are always bounded; these rely on the default bound. */
export function* loops({ graph }: Look): Iterable<Finding> {
  if (graph.leads.every(leads => leads.length === 0)) return
  const onwards = graph.tasks.map((_, task) => [...graph.dependants[task]!, ...graph.leads[task]!.map(({ to }) => to)])
  const { circleOf } = circles(onwards)
  for (const lead of graph.leads.flat()) {
    const [source, target] = [graph.tasks[lead.from]!, graph.tasks[lead.to]!]
    const isBack = lead.from === lead.to || (circleOf[lead.from] !== -1 && circleOf[lead.from] === circleOf[lead.to])
    // Report only the edge that closes the cycle: the one against document order.
    if (
      !isBack ||
      lead.remedy === true ||
      lead.to > lead.from ||
      source.visits !== undefined ||
      target.visits !== undefined
    )
      continue
    yield {
      code: 'default-visits',
      severity: 'info',
      task: source.id,
      key: 'on',
      message: `'${lead.outcome.slice(0, 100)}' leads back to '${target.id}', and nothing says how often; ${VISITS_DEFAULT} visits are the default`,
      hint: `say it: 'visits:' on '${target.id}'`,
    }
  }
}

export function* size({ graph, options }: Look): Iterable<Finding> {
  const max = options.topLevelMax ?? TOP_LEVEL_MAX
  const { tasks } = graph.definition
  if (tasks.length > 0 && graph.tasks.length < TOP_LEVEL_MIN)
    yield {
      code: 'too-few-tasks',
      severity: 'info',
      key: 'tasks',
      message: `${tasks.length === 1 ? 'one task is' : `${tasks.length} tasks are`} few for a plan; ${TOP_LEVEL_MIN} to ${TOP_LEVEL_MAX} are usual`,
      hint: 'split the work into steps whose results can be checked',
    }
  if (tasks.length <= max || tasks.some(task => task.milestone !== undefined)) return
  yield {
    code: 'too-many-tasks',
    severity: 'warning',
    key: 'tasks',
    message: `${tasks.length} tasks on the top level are hard to follow; use at most ${max}`,
    hint: 'give them `milestone:`, or gather some into a `subplan`',
  }
}

/** Agents that share a plan need to coordinate; most plans are better with one. */
export function* agents({ graph }: Look): Iterable<Finding> {
  const assigned = graph.tasks.filter(({ action, assignee }) => action.type === 'external' && assignee !== undefined)
  const names = [...new Set(assigned.map(({ assignee }) => assignee!))]
  if (names.length < 2) return
  yield {
    code: 'several-agents',
    severity: 'warning',
    key: 'tasks',
    message: `${names.length} agents share this plan: ${some(names)}`,
    hint: 'one agent for each plan is easier to follow; give the others plans of their own, or leave the names out',
  }
}

/** An agent that claims a task knows only its description. */
export function* clarity({ graph }: Look): Iterable<Finding> {
  for (const { id, action, title, description, instruction } of graph.tasks) {
    if (action.type !== 'external') continue
    const text = [title, description, instruction].filter(text => text !== undefined).join(' ')
    if (
      text.trim().split(/\s+/).length >= CLEAR_WORDS_MIN ||
      (text === '' && id.split(/[-_./]/).length > CLEAR_WORDS_MIN)
    )
      continue
    yield {
      code: 'unclear-task',
      severity: 'warning',
      task: id,
      key: title === undefined ? 'id' : 'title',
      message: `'${id}' does not say what is to be done${text === '' ? '' : ` beyond '${text.slice(0, 40)}'`}`,
      hint: "add 'description:' or 'instruction:' with what to do and what shall come out",
    }
  }
}

function some(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX).map(name => `'${name}'`)
  return shown.join(', ') + (names.length > NAMES_MAX ? ` and ${names.length - NAMES_MAX} more` : '')
}
