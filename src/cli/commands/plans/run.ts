// `planfold run FILE`: makes a plan or goes on with it, and drives it; `--dry-run` shows what it would do.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Composed } from '../../../compose.ts'
import { analyze } from '../../../domain/analysis/analyze.ts'
import { ledFrom } from '../../../domain/gates/consent-rules.ts'
import type { PlanId, TaskName } from '../../../domain/id.ts'
import type { Criterion, Impact, PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import { effectOf } from '../../../domain/plan-rules/effect.ts'
import { expandTasks } from '../../../domain/plan-rules/expand.ts'
import { gatedImpact, isAskedAbout } from '../../../domain/plan-rules/impact.ts'
import { allTasks } from '../../../domain/state/task-index.ts'
import { PLAN_ENDED, type PlanStatus } from '../../../domain/status.ts'
import {
  goOnWithPlan,
  onwardWords,
  type Revised,
  type RunRoom,
  runPlan,
  type WentOn,
} from '../../../operations/run-plan.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, remark } from '../../answer.ts'
import { type Context, withState } from '../../context.ts'
import { drive } from '../../drive.ts'
import { Complaint, EXIT, refused, usage } from '../../exit.ts'
import { meantPlan, submit } from '../../order.ts'
import { createOrder, isFile, type PlanFile } from '../../plan-file.ts'
import type { MirrorOption } from '../../plan-mirror.ts'
import { dryRunLines } from '../../text/dry-run-text.ts'
import { hintText } from '../../text/hint-text.ts'
import { gateWords } from '../../text/inbox-text.ts'
import { stoppedRollback } from '../../text/rollback-result.ts'
import { thrownShort } from '../../text/shortage-text.ts'
import type { SetOptions } from '../formats/template-new.ts'

// `planfold run FILE|PLAN`: makes the plan, or finds it again, starts it and drives it to its end.

export interface RunOptions extends SetOptions {
  /** Run an ended plan afresh although something in it happened that may not happen twice. */
  readonly again?: boolean
  /** Of a plan that failed and goes on: do once more, or leave done, what is unsafe to repeat and would run again. */
  readonly repeat?: boolean
  readonly keepDone?: boolean
  readonly dryRun?: boolean
  readonly wait?: boolean
  /** False with --no-start. */
  readonly start: boolean
  readonly mirror?: MirrorOption
}

export async function run(context: Context, word: string, options: RunOptions): Promise<number> {
  if (options.dryRun === true) return await (await import('./run.ts')).dryRun(context, word, options)
  if (!(await isFile(context, word))) {
    if ((options.set ?? options.setFile) !== undefined)
      throw usage(
        `'${word}' is a plan that is there already: its parameters were set when it was made`,
        'name the file of its template',
      )
    return await withState(context, { create: false }, async composed => {
      tellWarnings(context, composed)
      const { plan, name } = await meantPlan(composed.engine, word)
      const since = await versionOf(composed, plan)
      const summary = await composed.engine.ask({ type: 'summary', plan })
      if (summary?.status === 'failed' && !summary.archived && options.again !== true)
        await (await import('./run.ts')).goOn(context, composed, { plan, name }, options)
      return await startAndDrive(context, composed, { plan, name, since }, options)
    })
  }
  // Read and judged before anything is opened: a bad plan leaves nothing behind.
  const { refuseSketch } = await import('../../plan-file.ts')
  const { readFilledIn } = await import('../formats/template-new.ts')
  const file = await readFilledIn(context, word, options)
  refuseSketch(file)
  if (file.warnings.length > 0) {
    const { printDiagnostics } = await import('../../text/diagnostics.ts')
    for (const line of printDiagnostics(context.paint, file.warnings)) remark(context, line)
  }
  if (file.definition.policy?.gates !== undefined) {
    const { unaskedLines } = await import('../../text/inbox-text.ts')
    for (const line of unaskedLines(file.definition)) remark(context, line)
  }
  return await withState(context, { create: true }, async composed => {
    tellWarnings(context, composed)
    await refuseRepository(composed, file)
    const { takeUp } = await import('./run.ts')
    const taken = await takeUp(context, composed, file, options)
    if (options.start) return await startAndDrive(context, composed, { ...taken, checked: true }, options)
    const status = (await composed.engine.ask({ type: 'summary', plan: taken.plan }))?.status ?? 'draft'
    answer(context, { plan: taken.plan, name: taken.name, status }, () =>
      status === 'draft'
        ? `${taken.name} is there, not started; start it with: planfold run ${taken.name}`
        : `${taken.name} is ${status}; drive it with: planfold resume ${taken.name}`,
    )
    return EXIT.done
  })
}

/** Told at its place in the file, before the plan is made. A plan that is there already has begun where it was to begin. */
export async function refuseRepository({ engine, git }: Composed, file: PlanFile): Promise<void> {
  const { gitFaults, usesGit } = await import('../../../operations/check-git-base.ts')
  if (!usesGit(file.definition)) return
  if ((await engine.ask({ type: 'summary', plan: file.definition.name })) !== null) return
  const told = (await gitFaults(git, file.definition)).map(file.locate)
  const [first] = told
  if (first === undefined) return
  const message = `${first.file}:${first.line}:${first.column}: ${first.message}`
  throw new Complaint(EXIT.usage, 'invalid-plan', message, first.hint, told)
}

/** What in the environment is not followed. */
export function tellWarnings(context: Context, { warnings }: Composed): void {
  for (const warning of warnings) remark(context, `warning: ${warning}`)
}

interface Moved {
  readonly plan: string
  readonly name: string
  /** Its document has just been checked. */
  readonly checked?: true
}

/** Whatever state the plan is in, brings it to move, if it may. */
export async function startAndDrive(
  context: Context,
  composed: Composed,
  plan: Moved & { readonly plan: PlanId; readonly since: number },
  options: { readonly wait?: boolean; readonly plain?: boolean; readonly mirror?: MirrorOption },
): Promise<number> {
  const statusNow = async () => (await composed.engine.ask({ type: 'summary', plan: plan.plan }))?.status ?? 'draft'
  const status = await statusNow()
  try {
    // Going on may end it at once, when nothing is left to do; then only that is told.
    const isOver = PLAN_ENDED.has(status) && (await versionOf(composed, plan.plan)) > plan.since
    if (!isOver) await setMoving(composed, plan, status)
  } catch (error) {
    // Another process may have been quicker; then it is as if we had come later.
    const since = await statusNow()
    if (since === status) throw thrownShort(plan.name, error) ?? error
    await setMoving(composed, plan, since)
  }
  return await drive(context, composed, {
    ...plan,
    wait: options.wait === true,
    plain: options.plain === true,
    ...(options.mirror === undefined ? {} : { mirror: options.mirror }),
  })
}

export async function setMoving(composed: Composed, { plan, name, checked }: Moved, status: PlanStatus): Promise<void> {
  switch (status) {
    case 'draft':
      await fillOutline(composed, { plan, name })
      if (checked !== true) await refuseFaulty(composed, plan, name)
      await submit(composed, plan, { type: 'start' })
      return
    case 'paused':
      await submit(composed, plan, { type: 'resume' })
      return
    case 'active':
    case 'blocked':
      return
    case 'completed':
    case 'failed':
    case 'cancelled':
      // Whoever drove it may have died before anybody was told of its end.
      await composed.worker.tell(plan as PlanId)
      if ((await stoppedRollback(composed.engine, plan as PlanId)) !== null)
        throw new Complaint(
          EXIT.refused,
          'ended',
          `plan '${name}' has ended: ${status}; its rollback was stopped and asks what becomes of it`,
          'planfold inbox tells what can be answered',
        )
      throw new Complaint(
        EXIT.refused,
        'ended',
        `plan '${name}' has ended: ${status}`,
        status === 'failed'
          ? `planfold run ${name} goes on with it; planfold retry ${name} TASK tries one task again; planfold run FILE --again starts afresh`
          : 'planfold run FILE starts it afresh as a new plan',
      )
    default:
      status satisfies never
  }
}

/** What a client sent as steps, and nobody has started yet, is run as the tasks of these steps. */
async function fillOutline(
  { engine }: Composed,
  { plan, name }: { readonly plan: string; readonly name: string },
): Promise<void> {
  if ((await engine.ask({ type: 'summary', plan }))?.progress.total !== 0) return
  const { makeOutlineTasks } = await import('../../../operations/outline-tasks.ts')
  const made = await makeOutlineTasks(
    { engine, submit: async (what, expectedVersion) => await engine.submit(plan, what, { expectedVersion }) },
    plan,
  )
  if (made.status === 'refused') throw refused(made.refusal)
  if (made.status !== 'faulty') return
  const [first] = made.diagnostics
  throw new Complaint(
    EXIT.usage,
    'invalid-plan',
    `the steps of '${name}' cannot be made into tasks: ${first?.message ?? 'they are no plan'}`,
    first?.hint,
  )
}

/** A draft that cannot work is not started: nothing of it would be done, or worse, half of it. */
async function refuseFaulty({ engine }: Composed, plan: string, name: string): Promise<void> {
  const { checkStoredPlan } = await import('../../../operations/check-plan.ts')
  const faults = await checkStoredPlan(engine, plan)
  const [first] = faults
  if (first === undefined) return
  const more = faults.length === 1 ? '' : ` (and ${faults.length - 1} more)`
  throw new Complaint(
    EXIT.usage,
    'invalid-plan',
    `plan '${name}' cannot work: ${first.message}${more}`,
    `${first.hint === undefined ? '' : `${hintText(first.hint)}; `}planfold analyze ${name} tells all of it, planfold revise ${name} FILE mends it`,
  )
}

export async function versionOf(composed: Composed, plan: string): Promise<number> {
  return (await composed.engine.ask({ type: 'summary', plan }))?.version ?? 0
}

// `run --dry-run`: what would run, wave by wave, with resolved commands, the diffs of edits, who would be asked and what would be
// judged; and nothing written in the project. A file is looked at through a state folder among the temporary files, thrown
// away afterwards; not even `.planfold` is made.

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
  const file = await (await import('../formats/template-new.ts')).readFilledIn(context, word, set)
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

// `run FILE` again, told to whoever typed it; what happens is decided in operations/run-plan.ts.

export interface TakenUp {
  readonly plan: PlanId
  readonly name: string
  /** The version before we did anything to it; 0 for a new plan. */
  readonly since: number
}

/** What becomes of a plan that has ended, and of what happened in it and may not happen twice. */
export interface TakeUpOptions {
  readonly again?: boolean
  readonly repeat?: boolean
  readonly keepDone?: boolean
}

export async function takeUp(
  context: Context,
  composed: Composed,
  file: PlanFile,
  options: TakeUpOptions = {},
): Promise<TakenUp> {
  const run = await runPlan(roomOf(composed), {
    create: createOrder(file),
    rationale: `run ${file.path}`,
    ...(options.again === true ? { again: true } : {}),
    ...unsafeOf(options),
  })
  switch (run.how) {
    case 'refused':
      throw refused(run.refusal)
    case 'afresh': {
      const { name, status } = run.was
      remark(context, `${name} has ended${status === null ? '' : ` (${status})`}; running it afresh as ${run.name}`)
      break
    }
    case 'revised':
      await tellRevision(context, `${file.path} has changed; ${run.name}`, run.revised)
      break
    case 'went-on':
      await tellOnward(context, run.name, run, file.path)
      break
    case 'made':
    case 'attached':
      break
    default:
      run satisfies never
  }
  const { plan, name, since } = run
  return { plan, name, since }
}

/** A plan that failed goes on as it is; says so. */
export async function goOn(
  context: Context,
  composed: Composed,
  { plan, name }: Pick<TakenUp, 'plan' | 'name'>,
  options: TakeUpOptions = {},
): Promise<void> {
  const went = await goOnWithPlan(roomOf(composed), plan, { rationale: `run ${name}`, ...unsafeOf(options) })
  if (!went.ok) throw refused(went.refusal)
  await tellOnward(context, name, went, null)
}

const roomOf = ({ engine }: Composed): RunRoom => ({
  ask: query => engine.ask(query),
  submit: (plan, order, options) => engine.submit(plan, order, options),
})

function unsafeOf({ repeat, keepDone }: TakeUpOptions): { readonly unsafe?: 'repeat' | 'keep' } {
  if (repeat === true && keepDone === true)
    throw usage('--repeat and --keep-done contradict each other', 'say one of them')
  return repeat === true ? { unsafe: 'repeat' } : keepDone === true ? { unsafe: 'keep' } : {}
}

async function tellOnward(context: Context, name: string, { revised, counts }: WentOn, path: string | null) {
  if (revised !== null) await tellRevision(context, `${path ?? 'it'} has changed; ${name}`, revised)
  remark(context, `plan ${name} failed; going on with it: ${onwardWords(counts)}`)
}

async function tellRevision(context: Context, what: string, { from, before, after }: Revised): Promise<void> {
  const { diffDefinitions, printDiff } = await import('../../../format/plan/diff-text.ts')
  remark(context, `${what} becomes revision ${from + 1}:`)
  remark(
    context,
    escapeForTerminal(printDiff(diffDefinitions(before, after)), { keepLines: true }).replace(/^/gm, '  '),
  )
}
