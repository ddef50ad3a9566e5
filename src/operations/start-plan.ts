// Starts, resumes or attaches to a plan, depending on its state. Repeated and concurrent calls never run it twice.
//
//   draft ──► (steps become tasks, checked) started          paused ──► resumed          active, blocked ──► attached
//   failed ──► retries what failed, if `goOn` is given       anything else has ended

import type { UnsafeWork } from '../domain/command.ts'
import type { PlanId } from '../domain/id.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { AnswerOf, Order, Submitted } from '../engine/engine.ts'
import type { DefinitionFault } from '../format/plan/parse.ts'
import type { Diagnostic } from '../format/text/diagnostic.ts'
import { type CallerEngine, goOnWithPlan, type WentOn } from './run-plan.ts'

export type Summary = NonNullable<AnswerOf<'summary'>>
type Accepted = Extract<Submitted, { readonly ok: true }>

export interface StartOptions {
  /**
   * Finds errors of the plan; null if that is impossible now, and then a draft is not started. 'checked': the document was just checked.
   */
  readonly check?: 'checked' | ((definition: PlanDefinition) => Promise<readonly DefinitionFault[] | null>)
  /** An idempotency key; each order derives its own from it. */
  readonly once?: string | undefined
  readonly expectedVersion?: number | undefined
  /** What was shown to the person who approves the draft; see the order. */
  readonly approval?: Omit<Extract<Order, { readonly type: 'start' }>, 'type'> | undefined
}

export type PlanStart =
  | { readonly status: 'started'; readonly accepted: Accepted }
  /** Another caller started it first. */
  | { readonly status: 'under-way'; readonly plan: Summary }
  | NotStarted

export type NotStarted =
  | { readonly status: 'gone' }
  | { readonly status: 'faulty-steps'; readonly diagnostics: readonly Diagnostic[] }
  | { readonly status: 'unsound'; readonly faults: readonly DefinitionFault[] }
  | { readonly status: 'unchecked' }
  /** Neither tasks, nor steps to make tasks from. */
  | { readonly status: 'empty'; readonly plan: Summary; readonly definition: PlanDefinition; readonly refusal: Refusal }
  | { readonly status: 'refused'; readonly order: Order['type']; readonly refusal: Refusal }

/** Starts a draft. An outline's steps become tasks first. */
export async function startPlan(engine: CallerEngine, plan: PlanId, options: StartOptions = {}): Promise<PlanStart> {
  const made = await fillOutline(engine, plan)
  if (made.status !== 'nothing' && made.status !== 'made') return made
  const fault = options.check === 'checked' ? null : await findFaults(engine, plan, options.check)
  if (fault !== null) return fault
  // Making tasks from steps changed what was shown, so the approval is dropped.
  const seen = made.status === 'made' ? { once: options.once } : options
  const started = await submitKeyed(engine, plan, { type: 'start', ...options.approval }, seen)
  if (started.ok) return { status: 'started', accepted: started }
  const refused = { status: 'refused', order: 'start', refusal: started.refusal } as const
  if (FINAL.has(started.refusal.code)) return refused
  const now = await engine.ask({ type: 'summary', plan })
  const current = await engine.ask({ type: 'definition', plan })
  if (now === null || current === null) return { status: 'gone' }
  const { isEmptyPlan } = await import('./steps-to-tasks.ts')
  if (now.status === 'draft' && isEmptyPlan(current.definition))
    return { status: 'empty', plan: now, definition: current.definition, refusal: started.refusal }
  return now.status === 'active' || now.status === 'blocked' ? { status: 'under-way', plan: now } : refused
}

/** Retrying would give the same refusal. */
const FINAL: ReadonlySet<string> = new Set(['not-allowed', 'not-found', 'not-supported'])

export interface GoingOptions extends StartOptions {
  /** For a failed plan: what to do with completed work that is unsafe to repeat. Without it the plan stays ended. */
  readonly goOn?: { readonly rationale: string; readonly unsafe?: UnsafeWork }
}

export type PlanGoing =
  | { readonly status: 'started' | 'resumed'; readonly accepted: Accepted }
  | { readonly status: 'attached'; readonly accepted: Accepted }
  | { readonly status: 'went-on'; readonly plan: Summary; readonly went: WentOn }
  /** Or archived. */
  | { readonly status: 'ended'; readonly plan: Summary }
  | { readonly status: 'moved'; readonly plan: Summary }
  | NotStarted

export async function setGoing(engine: CallerEngine, plan: PlanId, options: GoingOptions = {}): Promise<PlanGoing> {
  const summary = await engine.ask({ type: 'summary', plan })
  if (summary === null) return { status: 'gone' }
  const before = summary.status === 'draft' ? null : await startedBefore(engine, plan, options)
  if (before !== null) return before
  const { expectedVersion } = options
  if (expectedVersion !== undefined && expectedVersion !== summary.version) return { status: 'moved', plan: summary }
  if (summary.status === 'draft') {
    const started = await startPlan(engine, plan, options)
    if (started.status === 'under-way') return { status: 'attached', accepted: unchanged(started.plan) }
    if (started.status === 'started') return attachedOr('started', started.accepted)
    // If it is no draft any more, another caller started it, and this call continues like a later one.
    if ((await engine.ask({ type: 'summary', plan }))?.status === 'draft') return started
  }
  const resumed = await submitKeyed(engine, plan, { type: 'resume' }, { once: options.once })
  if (resumed.ok) return attachedOr('resumed', resumed)
  if (resumed.refusal.code !== 'illegal-transition')
    return { status: 'refused', order: 'resume', refusal: resumed.refusal }
  return await goOnAfterEnd(engine, plan, options)
}

const attachedOr = <S extends 'started' | 'resumed'>(status: S, accepted: Accepted) => ({
  status: accepted.events.length === 0 ? ('attached' as const) : status,
  accepted,
})

async function goOnAfterEnd(engine: CallerEngine, plan: PlanId, options: GoingOptions): Promise<PlanGoing> {
  const ended = await engine.ask({ type: 'summary', plan })
  if (ended === null) return { status: 'gone' }
  const { goOn, once, expectedVersion = ended.version } = options
  if (goOn === undefined || ended.status !== 'failed' || ended.archived) return { status: 'ended', plan: ended }
  const key = once === undefined ? {} : { once: `${once}/go-on` }
  const went = await goOnWithPlan(engine, plan, { ...goOn, expectedVersion, ...key })
  return went.ok
    ? { status: 'went-on', plan: ended, went }
    : { status: 'refused', order: 'revise', refusal: went.refusal }
}

/** Repeats the answer of an earlier start under this key, whatever the plan's state is now. Null if it was started otherwise. */
async function startedBefore(engine: CallerEngine, plan: PlanId, { once }: StartOptions): Promise<PlanGoing | null> {
  if (once === undefined) return null
  // A started plan cannot be started again: this returns the first answer, or does nothing.
  const started = await submitKeyed(engine, plan, { type: 'start' }, { once })
  if (started.ok) return attachedOr('started', started)
  return started.refusal.code === 'conflict' ? { status: 'refused', order: 'start', refusal: started.refusal } : null
}

/** Start and resume use different keys. */
async function submitKeyed(
  engine: CallerEngine,
  plan: PlanId,
  order: Order,
  { once, expectedVersion }: StartOptions,
): Promise<Submitted> {
  return await engine.submit(plan, order, {
    once: once === undefined ? undefined : `${once}/${order.type}`,
    expectedVersion,
  })
}

const unchanged = ({ id, name, version }: Summary): Accepted => ({ ok: true, plan: id, name, version, events: [] })

export type FilledOutline =
  | { readonly status: 'nothing' }
  | { readonly status: 'made'; readonly accepted: Accepted }
  | Extract<NotStarted, { readonly status: 'gone' | 'faulty-steps' | 'refused' }>

export async function fillOutline(engine: CallerEngine, plan: PlanId): Promise<FilledOutline> {
  const current = await engine.ask({ type: 'definition', plan })
  if (current === null) return { status: 'gone' }
  if (current.definition.tasks.length > 0) return { status: 'nothing' }
  const { makeOutlineTasks } = await import('./steps-to-tasks.ts')
  const submit = (order: Order, expectedVersion: number) => engine.submit(plan, order, { expectedVersion })
  const made = await makeOutlineTasks({ engine, submit }, plan)
  if (made.status === 'faulty') return { status: 'faulty-steps', diagnostics: made.diagnostics }
  return made.status === 'refused' ? { ...made, order: 'revise' } : made
}

/** Null if there are none. A plan that is no draft any more is not checked again. */
async function findFaults(
  engine: CallerEngine,
  plan: PlanId,
  check: Exclude<StartOptions['check'], 'checked'>,
): Promise<Extract<NotStarted, { readonly status: 'unsound' | 'unchecked' }> | null> {
  const summary = await engine.ask({ type: 'summary', plan })
  const current = summary?.status === 'draft' ? await engine.ask({ type: 'definition', plan }) : null
  if (current === null || current.definition.tasks.length === 0) return null
  const faults =
    check === undefined
      ? (await import('./check-plan.ts')).checkPlan(current.definition)
      : await check(current.definition)
  if (faults === null) return { status: 'unchecked' }
  return faults.length === 0 ? null : { status: 'unsound', faults }
}
