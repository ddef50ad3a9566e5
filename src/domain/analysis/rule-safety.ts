// Lint rules about safety: what cannot be undone needs an approval; what changes needs a check and a compensation.

import { actionFacts } from '../actions/actions.ts'
import type { EffectClass, TaskDefinition } from '../plan.ts'
import { effectOf } from '../plan-rules/effect.ts'
import { dangersOf, demandsGate, IMPACT_WORDS, isActing, isAskedAbout, isGated } from '../plan-rules/impact.ts'
import { isGroupEnd } from './estimates.ts'
import type { Finding } from './finding.ts'
import type { Ground, Look } from './lint-input.ts'
import { isUndoing } from './work-graph.ts'

const CHANGING: ReadonlySet<EffectClass> = new Set(['workspace', 'idempotent', 'probed', 'unsafe'])
/** Kinds whose result is a judgement itself, so that it needs none. */
const JUDGING = /^(validat|verif|test|check|review|baseline|research|analy|plan|read|document)/i

/** A command has at least its exit code; a report has only the word of its author. */
export function* accepted({ graph }: Look): Iterable<Finding> {
  for (const [at, task] of graph.tasks.entries()) {
    const isJudged = (task.accept?.length ?? 0) > 0 || task.expect !== undefined
    if (isJudged || isGroupEnd(graph, at) || isUndoing(graph, at) || JUDGING.test(task.kind ?? '')) continue
    const isReported = task.action.type === 'external'
    if (!isReported && !changes(graph.definition, task)) continue
    yield {
      code: 'no-acceptance',
      severity: isReported ? 'warning' : 'info',
      task: task.id,
      key: 'id',
      message: isReported
        ? `'${task.id}' has no acceptance check: a report is taken as it is`
        : `'${task.id}' has no acceptance check: only its exit code counts`,
      hint: "add 'accept:', for example `- check: npm test`",
    }
  }
}

/** Files are reverted automatically; effects elsewhere need a declared compensation. */
export function* rolledBack({ graph }: Look): Iterable<Finding> {
  for (const [at, task] of graph.tasks.entries()) {
    if (task.compensate !== undefined || (task.rollback ?? '') !== '') continue
    if (isGroupEnd(graph, at) || isUndoing(graph, at)) continue
    if (!changes(graph.definition, task) || effectOf(graph.definition, task) === 'workspace') continue
    yield {
      code: 'no-rollback',
      severity: 'warning',
      task: task.id,
      key: 'id',
      message: `'${task.id}' may change external systems and does not say how to undo that`,
      hint: "add 'compensate:' with what undoes it, or 'rollback:' with how a person would; 'effect: pure' if it only reads",
    }
  }
}

function changes(plan: Look['graph']['definition'], task: TaskDefinition): boolean {
  const { acts, changesFiles } = actionFacts(task.action)
  return acts === true && changesFiles === true && CHANGING.has(effectOf(plan, task))
}

// What cannot be undone should be approved first. A task counts as gated when there is a gate anywhere before it.

export function* gates(look: Ground): Iterable<Finding> {
  const gated = gatedTasks(look)
  const isDemanded = demandsGate(look.graph.definition.extra)
  for (const [at, task] of look.graph.tasks.entries()) {
    const dangers = dangersOf(task)
    const danger = dangers.find(one => isGated(look.graph.definition, one)) ?? dangers[0]
    // Tasks without a wave never run, and have a finding of their own.
    if (danger === undefined || gated[at] || isGroupEnd(look.graph, at) || look.waves.waveOf[at] === -1) continue
    const does = `'${task.id}' ${IMPACT_WORDS[danger]}`
    const about = { task: task.id, key: 'id' } as const
    if (isDemanded && danger === 'deploy')
      yield {
        ...about,
        code: 'gate-required',
        severity: 'error',
        message: `${does}, and the policy wants a gate before that`,
        hint: "let it need a task with 'gate: approval'",
      }
    else if (isAskedAbout(task) && isGated(look.graph.definition, danger))
      yield {
        ...about,
        code: 'ungated',
        severity: 'info',
        message: `${does}, so a person is asked ${isActing(task) ? 'right before it begins' : 'before it can be claimed'}`,
        hint: "to be asked earlier, let it need a task with 'gate: approval'",
      }
    else
      yield {
        ...about,
        code: 'ungated',
        severity: 'warning',
        message: `${does}, and no approval is asked for${isAskedAbout(task) ? ': policy.gates.before leaves it out' : ''}`,
        hint: "let it need a task with 'gate: approval'",
      }
  }
}

/** In wave order, so that predecessors come first. */
function gatedTasks({ graph, waves }: Ground): readonly boolean[] {
  const gated = graph.tasks.map(() => false)
  const isGate = (task: number): boolean => graph.tasks[task]!.action.type === 'gate'
  for (const task of waves.order) {
    const by = waves.wokenBy[task]!
    gated[task] =
      graph.needs[task]!.some(need => isGate(need) || gated[need]!) || (by !== -1 && (isGate(by) || gated[by]!))
  }
  return gated
}
