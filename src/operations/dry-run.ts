// What a plan would do, wave by wave: resolved commands, diffs of edits, questions and criteria. Nothing is run or written. For an existing
// plan also the current state.

import { actionFacts } from '../domain/actions/actions.ts'
import { analyze } from '../domain/analysis/analyze.ts'
import { approvedTargets } from '../domain/gates/consent-rules.ts'
import type { PlanId, TaskName } from '../domain/id.ts'
import type { Criterion, GateAction, Impact, PlanDefinition, RunMode, TaskDefinition } from '../domain/plan.ts'
import { effectOf } from '../domain/plan-rules/effect.ts'
import { expandTasks } from '../domain/plan-rules/expand.ts'
import { isAskedAbout } from '../domain/plan-rules/impact.ts'
import { gatedIn } from '../domain/policy/policy-in-state.ts'
import { allTasks } from '../domain/state/task-index.ts'
import type { Briefing } from '../domain/views/board.ts'
import type { Engine } from '../engine/engine.ts'

type Briefed = 'task' | 'title' | 'preconditions' | 'accept' | 'postconditions' | 'effects'

export interface DryRunTask extends Pick<Briefing, Briefed> {
  readonly action: string
  readonly effect: string
  /** Null if it runs no command. */
  readonly runs: RunMode | null
  readonly needs: readonly TaskName[]
  /** From 1; null for a task that is never reached, or is judged at the very end. */
  readonly wave: number | null
  /** Null while the plan has not begun. */
  readonly status: string | null
  readonly when: string | null
  readonly conditional: boolean
  /** The command or diff; null if there is none to show. */
  readonly preview: string | null
  /** The expression of a task that only decides. */
  readonly decides: string | null
  /** Who is asked by a gate, or expected to do it; empty for the engine. */
  readonly asks: readonly string[]
  readonly releases: readonly TaskName[]
  /** Tasks behind a gate that also wait for tasks not before the gate. */
  readonly alsoWaits: readonly AlsoWaits[]
  readonly gate: GateAction | null
  /** The irreversible effect for which a person is asked right before it starts. */
  readonly gated: Impact | null
  readonly checks: readonly Criterion[]
}

interface AlsoWaits {
  readonly task: TaskName
  readonly for: readonly TaskName[]
}

export async function dryRun(engine: Pick<Engine, 'ask'>, plan: PlanId): Promise<readonly DryRunTask[] | null> {
  const current = await engine.ask({ type: 'definition', plan })
  if (current === null) return null
  const { definition } = current
  const cards = new Map(((await engine.ask({ type: 'board', plan })) ?? []).map(card => [card.name, card]))
  const isDraft = [...cards.values()].every(({ status }) => status === 'pending')
  const tasks: DryRunTask[] = []
  const ordered = inOrder(definition)
  for (const [at, { task, wave, conditional }] of ordered.entries()) {
    const { action } = task
    const earlier = earlierEdits(ordered.slice(0, at), task, wave)
    const preview = await engine.ask({ type: 'preview', plan, task: task.id, earlier })
    tasks.push({
      task: task.id,
      title: task.title ?? null,
      action: action.type,
      effect: effectOf(definition, task),
      runs: cards.get(task.id)?.runs ?? null,
      needs: task.needs ?? [],
      wave,
      status: isDraft ? null : (cards.get(task.id)?.status ?? null),
      when: task.when ?? null,
      conditional,
      preview: preview?.text ?? null,
      decides: action.type === 'decide' ? action.expression : null,
      asks: askedBy(definition, task),
      ...(action.type === 'gate' ? releasedBy(definition, task.id) : { releases: [], alsoWaits: [] }),
      gate: action.type === 'gate' ? action : null,
      gated: isAskedAbout(task) ? gatedIn({ definition, layers: [] }, task) : null,
      preconditions: task.preconditions ?? [],
      checks: action.type === 'gate' ? (action.checks ?? []) : [],
      accept: task.accept ?? [],
      postconditions: task.postconditions ?? [],
      effects: task.effects ?? null,
    })
  }
  return tasks
}

interface Ordered {
  readonly task: TaskDefinition
  readonly wave: number | null
  readonly conditional: boolean
}

/** By wave; then tasks without one, and the definition of done at the end. */
function inOrder(definition: PlanDefinition): readonly Ordered[] {
  const { waves, unplaced, conditional, compensating } = analyze(definition)
  const asleep = new Set([...conditional, ...compensating])
  const byName = new Map(expandTasks(definition).map(task => [task.id, task]))
  const ordered = (names: readonly TaskName[], wave: number | null): readonly Ordered[] =>
    names.map(name => ({ task: byName.get(name)!, wave, conditional: asleep.has(name) }))
  const done = allTasks({ ...definition, tasks: [] })
  return [
    ...waves.flatMap((names, at) => ordered(names, at + 1)),
    ...ordered(unplaced, null),
    ...ordered(compensating, null),
    ...done.map(task => ({ task, wave: null, conditional: false })),
  ]
}

/** Tasks of earlier waves that edit the same files, in order: this one finds their results. */
function earlierEdits(before: readonly Ordered[], task: TaskDefinition, wave: number | null): readonly TaskName[] {
  const files = new Set(filesOf(task))
  if (files.size === 0) return []
  const names: TaskName[] = []
  for (const other of before.toReversed()) {
    if (other.wave === null || other.conditional || (wave !== null && other.wave >= wave)) continue
    const touched = filesOf(other.task)
    if (!touched.some(file => files.has(file))) continue
    names.unshift(other.task.id)
    // A moved file has its history under the old name.
    for (const file of touched) files.add(file)
    if (names.length >= EARLIER_MAX) break
  }
  return names
}

const EARLIER_MAX = 1_000

function filesOf(task: TaskDefinition): readonly string[] {
  const { edits, files } = actionFacts(task.action)
  return edits === undefined ? [] : (files?.(task) ?? [])
}

function askedBy(definition: PlanDefinition, task: TaskDefinition): readonly string[] {
  const { type } = task.action
  if (type !== 'gate' && type !== 'external') return []
  const role = task.action.type === 'gate' ? task.action.approvers?.role : undefined
  if (role !== undefined) return [role]
  const own = [task.assignee, task.owner].filter(name => name !== undefined)
  if (own.length > 0) return [...new Set(own)]
  if (type === 'external') return []
  return [
    ...new Set([...(definition.stakeholders ?? []), ...(definition.owner === undefined ? [] : [definition.owner])]),
  ]
}

function releasedBy(definition: PlanDefinition, gate: TaskName): Pick<DryRunTask, 'releases' | 'alsoWaits'> {
  const tasks = expandTasks(definition)
  const byName = new Map(tasks.map(task => [task.id, task]))
  const own = byName.get(gate)
  const led = new Set(own === undefined ? [] : approvedTargets(own).flatMap(({ to }) => to))
  // All of these have ended when the gate asks.
  const before = new Set<TaskName>([gate])
  for (const name of before) for (const need of byName.get(name)?.needs ?? []) before.add(need)
  const behind = tasks.filter(task => task.needs?.includes(gate) === true || led.has(task.id))
  const waits = behind.map(({ id, needs = [] }) => ({ task: id, for: needs.filter(need => !before.has(need)) }))
  return {
    releases: waits.filter(each => each.for.length === 0).map(({ task }) => task),
    alsoWaits: waits.filter(each => each.for.length > 0),
  }
}
