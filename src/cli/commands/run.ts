// `planfold run FILE|PLAN`: makes the plan, or finds it again, starts it and drives it to its end.

import type { Composed } from '../../compose.ts'
import type { PlanId } from '../../domain/id.ts'
import { PLAN_ENDED, type PlanStatus } from '../../domain/status.ts'
import { answer, remark } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { drive } from '../drive.ts'
import { Complaint, EXIT, refused, usage } from '../exit.ts'
import { meantPlan } from '../meant.ts'
import type { MirrorOption } from '../mirror.ts'
import { submit } from '../order.ts'
import { isFile, type PlanFile } from '../plan-file.ts'
import { stoppedRollback } from '../rollback-words.ts'
import { thrownShort } from '../shortage-words.ts'
import type { SetOptions } from './template-values.ts'

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
  if (options.dryRun === true) return await (await import('../dry-run.ts')).dryRun(context, word, options)
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
        await (await import('../take-up.ts')).goOn(context, composed, { plan, name }, options)
      return await startAndDrive(context, composed, { plan, name, since }, options)
    })
  }
  // Read and judged before anything is opened: a bad plan leaves nothing behind.
  const { refuseSketch } = await import('../plan-file.ts')
  const { readFilledIn } = await import('./template-new.ts')
  const file = await readFilledIn(context, word, options)
  refuseSketch(file)
  if (file.warnings.length > 0) {
    const { printDiagnostics } = await import('../diagnostics.ts')
    for (const line of printDiagnostics(context.paint, file.warnings)) remark(context, line)
  }
  if (file.definition.policy?.gates !== undefined) {
    const { unaskedLines } = await import('../unasked-words.ts')
    for (const line of unaskedLines(file.definition)) remark(context, line)
  }
  return await withState(context, { create: true }, async composed => {
    tellWarnings(context, composed)
    await refuseRepository(composed, file)
    const { takeUp } = await import('../take-up.ts')
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
  const { gitFaults, usesGit } = await import('../../operations/check-git-base.ts')
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
  { engine, actor }: Composed,
  { plan, name }: { readonly plan: string; readonly name: string },
): Promise<void> {
  if ((await engine.ask({ type: 'summary', plan }))?.progress.total !== 0) return
  const { makeOutlineTasks } = await import('../../operations/outline-tasks.ts')
  const made = await makeOutlineTasks(
    { engine, submit: async (what, expectedVersion) => await engine.submit(plan, what, actor, { expectedVersion }) },
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
  const { checkStoredPlan } = await import('../../operations/check-plan.ts')
  const faults = await checkStoredPlan(engine, plan)
  const [first] = faults
  if (first === undefined) return
  const more = faults.length === 1 ? '' : ` (and ${faults.length - 1} more)`
  throw new Complaint(
    EXIT.usage,
    'invalid-plan',
    `plan '${name}' cannot work: ${first.message}${more}`,
    `${first.hint === undefined ? '' : `${first.hint}; `}planfold analyze ${name} tells all of it, planfold revise ${name} FILE mends it`,
  )
}

export async function versionOf(composed: Composed, plan: string): Promise<number> {
  return (await composed.engine.ask({ type: 'summary', plan }))?.version ?? 0
}
