// Rules about care: whoever changes something should say how it is known to be right, and how it is undone.

import type { EffectClass, TaskDefinition } from '../plan.ts'
import { effectOf } from '../plan-rules/effect.ts'
import { joins } from './estimates.ts'
import type { Finding } from './finding.ts'
import type { Look } from './lint-input.ts'
import { isUndoing } from './work-graph.ts'

const CHANGING: ReadonlySet<EffectClass> = new Set(['workspace', 'idempotent', 'probed', 'unsafe'])
/** Their result is a judgement already. */
const JUDGING = /^(validat|verif|test|check|review|baseline|research|analy|plan|read|document)/i

/** A command at least has its exit code; a report has nobody's word but its author's. */
export function* accepted({ graph }: Look): Iterable<Finding> {
  for (const [at, task] of graph.tasks.entries()) {
    const isJudged = (task.accept?.length ?? 0) > 0 || task.expect !== undefined
    if (isJudged || joins(graph, at) || isUndoing(graph, at) || JUDGING.test(task.kind ?? '')) continue
    const isReported = task.action.type === 'external'
    if (!isReported && !changes(graph.definition, task)) continue
    yield {
      code: 'no-acceptance',
      severity: isReported ? 'warning' : 'info',
      task: task.id,
      key: 'id',
      message: isReported
        ? `nothing checks what is reported about '${task.id}'`
        : `'${task.id}' changes something, and only its exit code says whether it is right`,
      hint: "add 'accept:' with a command, an expression or a sentence to judge",
    }
  }
}

/** Files go back by themselves; what a task did elsewhere only its own word can undo. */
export function* rolledBack({ graph }: Look): Iterable<Finding> {
  for (const [at, task] of graph.tasks.entries()) {
    if (task.compensate !== undefined || (task.rollback ?? '') !== '') continue
    if (joins(graph, at) || isUndoing(graph, at)) continue
    if (!changes(graph.definition, task) || effectOf(graph.definition, task) === 'workspace') continue
    yield {
      code: 'no-rollback',
      severity: 'warning',
      task: task.id,
      key: 'id',
      message: `'${task.id}' may change the world outside its files and does not say how that is undone`,
      hint: "add 'compensate:' with what undoes it, or 'rollback:' with how a person would; 'effect: pure' if it only reads",
    }
  }
}

function changes(plan: Look['graph']['definition'], task: TaskDefinition): boolean {
  const { type } = task.action
  return (type === 'run' || type === 'edit') && CHANGING.has(effectOf(plan, task))
}
