// `run --dry-run`: what would run, wave by wave, with resolved commands, the diffs of edits, who would be asked and what would be
// judged; and nothing written in the project. A file is looked at through a state folder among the temporary files, thrown
// away afterwards; not even `.planfold` is made.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Composed } from '../compose.ts'
import { analyze } from '../domain/analysis/analyze.ts'
import { ledFrom } from '../domain/decisions/consenting.ts'
import { effectOf } from '../domain/effect.ts'
import { expandTasks } from '../domain/expand.ts'
import type { TaskName } from '../domain/id.ts'
import { gatedImpact, isAskedAbout } from '../domain/impact.ts'
import type { Criterion, Impact, PlanDefinition, TaskDefinition } from '../domain/plan.ts'
import { allTasks } from '../domain/task-graph.ts'
import { answer, remark } from './answer.ts'
import { refuseRepository } from './commands/run.ts'
import type { SetOptions } from './commands/template-values.ts'
import { type Context, withState } from './context.ts'
import { dryRunLines } from './dry-run-lines.ts'
import { EXIT } from './exit.ts'
import { gateWords } from './gate-words.ts'
import { meantPlan } from './meant.ts'
import { submit } from './order.ts'
import { isFile } from './plan-file.ts'

/** One task, as it would go. */
export interface Would {
  readonly task: TaskName
  readonly title: string | null
  readonly action: string
  readonly effect: string
  readonly needs: readonly TaskName[]
  /** Counted from 1; null for what is never reached, or judged at the very end. */
  readonly wave: number | null
  /** Its status, when it is a task of a plan that is there already. */
  readonly status: string | null
  /** A condition under which it is skipped. */
  readonly when: string | null
  /** Only when an outcome leads to it. */
  readonly conditional: boolean
  /** The command or diff; null when there is none to show. */
  readonly preview: string | null
  /** Who is asked by a gate, or expected to do it; empty for the engine. */
  readonly asks: readonly string[]
  /** What the answer of a gate alone releases. */
  readonly releases: readonly TaskName[]
  /** What stands behind a gate and waits for others as well that do not come before the gate. */
  readonly alsoWaits: readonly AlsoWaits[]
  /** What a gate does; null for all others. */
  readonly gate: string | null
  /** What it does that is hard to take back, so that somebody is asked right before it begins. */
  readonly gated: Impact | null
  /** What must hold before and after. */
  readonly preconditions: readonly Criterion[]
  readonly checks: readonly Criterion[]
  readonly accept: readonly Criterion[]
  readonly postconditions: readonly Criterion[]
  /** What it may change; null when it does not say. */
  readonly effects: readonly string[] | null
}

export async function dryRun(context: Context, word: string, set: SetOptions = {}): Promise<number> {
  if (!(await isFile(context, word))) {
    return await withState(
      context,
      { create: false },
      async composed => await show(context, composed, (await meantPlan(composed.engine, word)).plan),
    )
  }
  const file = await (await import('./commands/template-new.ts')).readFilledIn(context, word, set)
  const { definition, told } = file
  for (const why of told.sketch) remark(context, `a sketch, which can be looked at but not run: ${why}`)
  return await withScratchState(context, async composed => {
    await refuseRepository(composed, file)
    const { plan } = await submit(composed, null, { type: 'create', definition })
    return await show(context, composed, plan)
  })
}

/** A state folder among the temporary files, thrown away afterwards: the project is only looked at. */
export async function withScratchState<T>(context: Context, body: (composed: Composed) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), 'planfold-dry-run-'))
  try {
    return await withState(context, { create: true, dir }, body)
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

async function show(context: Context, composed: Composed, plan: string): Promise<number> {
  const { engine } = composed
  const current = await engine.ask({ type: 'definition', plan })
  if (current === null) throw new Error(`the plan ${plan} has gone`)
  const { definition } = current
  const statuses = new Map(((await engine.ask({ type: 'board', plan })) ?? []).map(card => [card.name, card.status]))
  const isDraft = [...statuses.values()].every(status => status === 'pending')
  const would: Would[] = []
  const ordered = inOrder(definition)
  for (const [at, { task, wave, conditional }] of ordered.entries()) {
    const earlier = earlierEdits(ordered.slice(0, at), task, wave)
    const preview = await engine.ask({ type: 'preview', plan, task: task.id, earlier })
    would.push({
      task: task.id,
      title: task.title ?? null,
      action: task.action.type,
      effect: effectOf(definition, task),
      needs: task.needs ?? [],
      wave,
      status: isDraft ? null : (statuses.get(task.id) ?? null),
      when: task.when ?? null,
      conditional,
      preview: preview?.text ?? (task.action.type === 'decide' ? `decides by ${task.action.expression}` : null),
      asks: askedBy(definition, task),
      ...(task.action.type === 'gate' ? releasedBy(definition, task.id) : { releases: [], alsoWaits: [] }),
      gate: task.action.type === 'gate' ? gateWords(task.action, askedBy(definition, task).join(', ')) : null,
      gated: isAskedAbout(task) ? gatedImpact(definition, task) : null,
      preconditions: task.preconditions ?? [],
      checks: task.action.type === 'gate' ? (task.action.checks ?? []) : [],
      accept: task.accept ?? [],
      postconditions: task.postconditions ?? [],
      effects: task.effects ?? null,
    })
  }
  answer(context, { dryRun: true, tasks: would }, () => [
    ...dryRunLines(would, context.paint),
    'dry run: nothing was written',
  ])
  return EXIT.done
}

interface Ordered {
  readonly task: TaskDefinition
  readonly wave: number | null
  readonly conditional: boolean
}

/** By waves; then what has none, and the definition of done at the end. */
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

/** The tasks of earlier waves that edit files this one edits too, in their order: it will find what they left. */
function earlierEdits(before: readonly Ordered[], task: TaskDefinition, wave: number | null): readonly TaskName[] {
  const files = new Set(filesOf(task))
  if (files.size === 0) return []
  const names: TaskName[] = []
  for (const other of before.toReversed()) {
    if (other.wave === null || other.conditional || (wave !== null && other.wave >= wave)) continue
    const touched = filesOf(other.task)
    if (!touched.some(file => files.has(file))) continue
    names.unshift(other.task.id)
    // What was moved here has a history under its old name.
    for (const file of touched) files.add(file)
    if (names.length >= EARLIER_MAX) break
  }
  return names
}

const EARLIER_MAX = 1_000

const filesOf = ({ action }: TaskDefinition): readonly string[] =>
  action.type === 'edit'
    ? action.edits.flatMap(edit => (edit.type === 'move' ? [edit.file, edit.to] : [edit.file]))
    : []

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

function releasedBy(definition: PlanDefinition, gate: TaskName): Pick<Would, 'releases' | 'alsoWaits'> {
  const tasks = expandTasks(definition)
  const byName = new Map(tasks.map(task => [task.id, task]))
  const own = byName.get(gate)
  const led = new Set(own === undefined ? [] : ledFrom(own).flatMap(({ to }) => to))
  // When the gate asks, all of these have ended.
  const before = new Set<TaskName>([gate])
  for (const name of before) for (const need of byName.get(name)?.needs ?? []) before.add(need)
  const behind = tasks.filter(task => task.needs?.includes(gate) === true || led.has(task.id))
  const waits = behind.map(({ id, needs = [] }) => ({ task: id, for: needs.filter(need => !before.has(need)) }))
  return {
    releases: waits.filter(each => each.for.length === 0).map(({ task }) => task),
    alsoWaits: waits.filter(each => each.for.length > 0),
  }
}

interface AlsoWaits {
  readonly task: TaskName
  readonly for: readonly TaskName[]
}
