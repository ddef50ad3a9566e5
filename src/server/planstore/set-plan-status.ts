// What a client means when it says what a plan's status shall be: which order that is, and what is allowed from here. To ask for what
// is so already changes nothing.
//
//   draft ─active→ (steps become tasks) start      active ⇄ paused      open ─completed|failed→ finish      open ─cancelled→ cancel

import type { PlanDefinition } from '../../domain/plan.ts'
import type { PlanStatus } from '../../domain/status.ts'
import type { AnswerOf, Order } from '../../engine/engine.ts'
import { planWord } from '../../format/wire/planstore-fields.ts'
import { isEmptyPlan, makeOutlineTasks } from '../../operations/outline-tasks.ts'

import { faulty } from '../documents/read-document.ts'
import { isProblem, type Problem, problem, refused } from '../problem.ts'
import { type Accepted, type Asking, gone, submit } from '../submit-order.ts'
import { given } from './patch.ts'

type Summary = NonNullable<AnswerOf<'summary'>>

const FROM: { readonly [status in PlanStatus]: readonly PlanStatus[] } = {
  draft: ['active', 'completed', 'failed', 'cancelled'],
  active: ['paused', 'completed', 'failed', 'cancelled'],
  blocked: ['paused', 'completed', 'failed', 'cancelled'],
  paused: ['active', 'completed', 'failed', 'cancelled'],
  completed: [],
  failed: [],
  cancelled: [],
}

/** Null when it may be asked for. */
export function refuseStatus(summary: Summary, definition: PlanDefinition, wanted: PlanStatus): Problem | null {
  const { name, status, archived } = summary
  const allowed = allowedFrom(summary, definition)
  if (isAlready(status, wanted) || allowed.includes(wanted)) return null
  const isBare = isEmptyPlan(definition)
  if (isBare && !archived && wanted === 'completed' && status === 'draft')
    return illegal(`'${name}' has no tasks, and an empty plan is never complete`, allowed, isBare)
  const isHere = archived ? 'is archived' : isBare ? 'has no tasks' : `is ${planWord(status)}`
  return illegal(`'${name}' ${isHere} and cannot become ${planWord(wanted)}`, allowed, isBare)
}

/** What would work now. */
function allowedFrom({ status, archived }: Summary, definition: PlanDefinition): readonly PlanStatus[] {
  if (archived) return []
  // Nothing is there that could begin, or be done.
  return isEmptyPlan(definition) ? FROM[status].filter(one => one !== 'active' && one !== 'completed') : FROM[status]
}

function illegal(detail: string, allowed: readonly PlanStatus[], isEmpty: boolean): Problem {
  const words = allowed.map(planWord)
  const ways = words.length === 0 ? 'it has ended; POST /plans makes a new one' : `it can become ${words.join(', ')}`
  const hint = isEmpty && words.length > 0 ? `add tasks to it (POST /tasks), or ${ways}` : ways
  return problem(409, 'illegal-transition', detail, { hint, allowed: words })
}

/** Null when there was nothing to do. */
export async function becomes(
  call: Asking,
  { id, status }: Summary,
  wanted: PlanStatus,
  reason: string | null,
): Promise<Accepted | null | Problem> {
  if (isAlready(status, wanted)) return null
  const said = reason === null ? {} : { reason }
  switch (wanted) {
    case 'active':
      return status === 'paused' ? await inWords(call, id, { type: 'resume' }) : await startPlan(call, id)
    case 'paused':
      return await inWords(call, id, { type: 'pause', ...said })
    case 'cancelled':
      return await inWords(call, id, { type: 'cancel', ...said })
    case 'completed':
    case 'failed': {
      const filled = status === 'draft' ? await withTasks(call, id) : null
      if (filled !== null && isProblem(filled)) return filled
      const left = filled === null ? call : unversioned(call)
      return await inWords(left, id, { type: 'finish', as: wanted, reason: reason ?? `said to be ${wanted}` })
    }
    default:
      return gone()
  }
}

/** A plan that is only an outline becomes the tasks of its steps first. That somebody else was quicker is as good. */
export async function startPlan(call: Asking, plan: string): Promise<Accepted | Problem> {
  const filled = await withTasks(call, plan)
  if (filled !== null && isProblem(filled)) return filled
  const wrong = await refuseFaulty(call, plan)
  if (wrong !== null) return wrong
  const started = await inWords(filled === null ? call : unversioned(call), plan, { type: 'start' })
  if (!isProblem(started) || (started.problem.status !== 409 && started.problem.status !== 422)) return started
  const now = await call.engine.ask({ type: 'summary', plan })
  const current = await call.engine.ask({ type: 'definition', plan })
  if (now === null || current === null) return gone()
  if (now.status === 'draft' && isEmptyPlan(current.definition))
    return illegal(`'${now.name}' has no tasks and cannot be started`, allowedFrom(now, current.definition), true)
  if (!isAlready(now.status, 'active')) return started
  return { ok: true, plan: now.id, name: now.name, version: now.version, events: [] }
}

/** A draft that cannot work is not started; what has left the draft is not looked at again. */
async function refuseFaulty({ engine, rooms: { documents } }: Asking, plan: string): Promise<Problem | null> {
  const summary = await engine.ask({ type: 'summary', plan })
  const current = summary?.status === 'draft' ? await engine.ask({ type: 'definition', plan }) : null
  if (current === null || current.definition.tasks.length === 0) return null
  const faults = await documents.runOn('check', { definition: current.definition })
  if (isProblem(faults)) return faults
  const [first] = faults
  if (first === undefined) return null
  const more = faults.length === 1 ? '' : ` (and ${faults.length - 1} more)`
  return problem(422, 'invalid-plan', `the plan cannot work: ${first.message}${more}`, {
    hint: first.hint,
    faults: faults.slice(0, FAULTS_MAX).map(({ task, key, at = [], message, hint }) => ({
      path: [...(task === undefined ? [] : ['tasks', task]), ...(key === undefined ? [] : [key, ...at])].join('.'),
      message,
      ...(hint === undefined ? {} : { hint }),
    })),
  })
}

const FAULTS_MAX = 100

/** Null when it has tasks, or no steps to make some of. */
async function withTasks(call: Asking, plan: string): Promise<Accepted | null | Problem> {
  const room = {
    engine: call.engine,
    submit: async (what: Order, expectedVersion: number) => await submit(call, plan, what, { expectedVersion }),
  }
  const made = await makeOutlineTasks(room, plan)
  switch (made.status) {
    case 'nothing':
      return null
    case 'made':
      return made.accepted
    case 'faulty':
      return faulty(made.diagnostics, 'its steps cannot be made into tasks: ')
    case 'refused':
      return refused(made.refusal, { plan })
    case 'gone':
      return gone()
    default:
      return made satisfies never
  }
}

/** What was seen has been changed by this very request. */
export const unversioned = <C extends Asking>(call: C): C => ({ ...call, expectedVersion: undefined })

/** What is allowed is told in the words of whoever asked. */
async function inWords(call: Asking, plan: string, what: Order): Promise<Accepted | Problem> {
  const { engine, expectedVersion } = call
  const once = call.once === undefined ? undefined : `${call.once}/${what.type}`
  const submitted = await submit(call, plan, what, given({ expectedVersion, once }))
  if (submitted.ok) return submitted
  const done = refused(submitted.refusal, { plan })
  if (done.problem.allowed === undefined) return done
  const summary = await engine.ask({ type: 'summary', plan })
  const current = await engine.ask({ type: 'definition', plan })
  // While its tasks are undone there is only the end of that, or its being cut short.
  const isUndoing = submitted.refusal.allowed?.includes('force-cancel') === true
  const ways = summary === null || current === null || isUndoing ? [] : allowedFrom(summary, current.definition)
  const allowed = ways.map(planWord).filter(word => word !== wordOf(what))
  const hint = isUndoing
    ? `wait for it, or cut it short: POST /plans/${summary?.name ?? plan}/cancel with "force": true`
    : allowed.length === 0
      ? 'see its tasks: GET /tasks?plan_id=…'
      : `it can become ${allowed.join(', ')}`
  return { ...done, problem: { ...done.problem, hint, allowed } }
}

const wordOf = (what: Order): string | undefined => (what.type === 'finish' ? what.as : undefined)

const isAlready = (status: PlanStatus, wanted: PlanStatus): boolean =>
  status === wanted || (status === 'blocked' && wanted === 'active') || (status === 'active' && wanted === 'blocked')
