// Translates a requested plan status into orders, and says what is allowed. Requesting the current status changes nothing.
//
//   draft ─active→ (steps become tasks) start      active ⇄ paused      open ─completed|failed→ finish      open ─cancelled→ cancel

import type { PlanId } from '../../domain/id.ts'
import { defined } from '../../domain/json.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import type { Refusal } from '../../domain/refusal.ts'
import type { PlanStatus } from '../../domain/status.ts'

import type { Order } from '../../engine/engine.ts'
import type { DefinitionFault } from '../../format/plan/parse.ts'
import { fillOutline, type NotStarted, type Summary, startPlan as start } from '../../operations/start-plan.ts'
import { isEmptyPlan } from '../../operations/steps-to-tasks.ts'
import { faulty } from '../documents/read-document.ts'
import { isProblem, type Problem, problem, refused } from '../problem.ts'
import { type Accepted, type Asking, engineOf, gone, submit } from '../submit-order.ts'

const FROM: { readonly [status in PlanStatus]: readonly PlanStatus[] } = {
  draft: ['active', 'completed', 'failed', 'cancelled'],
  active: ['paused', 'completed', 'failed', 'cancelled'],
  blocked: ['paused', 'completed', 'failed', 'cancelled'],
  paused: ['active', 'completed', 'failed', 'cancelled'],
  completed: [],
  failed: [],
  cancelled: [],
}

export function refuseStatus(summary: Summary, definition: PlanDefinition, wanted: PlanStatus): Problem | null {
  const { name, status, archived } = summary
  const allowed = allowedFrom(summary, definition)
  if (isAlready(status, wanted) || allowed.includes(wanted)) return null
  const isBare = isEmptyPlan(definition)
  if (isBare && !archived && wanted === 'completed' && status === 'draft')
    return illegal(`'${name}' has no tasks, and an empty plan is never complete`, allowed, isBare)
  const isHere = archived ? 'is archived' : isBare ? 'has no tasks' : `is ${status}`
  return illegal(`'${name}' ${isHere} and cannot become ${wanted}`, allowed, isBare)
}

function allowedFrom({ status, archived }: Summary, definition: PlanDefinition): readonly PlanStatus[] {
  if (archived) return []
  return isEmptyPlan(definition) ? FROM[status].filter(one => one !== 'active' && one !== 'completed') : FROM[status]
}

function illegal(detail: string, allowed: readonly PlanStatus[], isEmpty: boolean): Problem {
  const ways =
    allowed.length === 0 ? 'it has ended; POST /plans makes a new one' : `it can become ${allowed.join(', ')}`
  const hint = isEmpty && allowed.length > 0 ? `add tasks to it (POST /tasks), or ${ways}` : ways
  return problem(409, 'illegal-transition', detail, { hint, allowed })
}

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
      const filled = status === 'draft' ? await fillOutline(engineOf(call), id) : NOTHING
      if (filled.status !== 'made' && filled.status !== 'nothing') return await notStarted(call, id, filled)
      const left = filled.status === 'made' ? unversioned(call) : call
      return await inWords(left, id, {
        type: 'finish',
        as: wanted,
        reason: reason ?? `a client marked the plan as ${wanted}`,
      })
    }
    default:
      return gone()
  }
}

const NOTHING = { status: 'nothing' } as const

/** An outline is first converted to tasks. If another caller did that first, the result is the same. */
export async function startPlan(call: Asking, plan: PlanId): Promise<Accepted | Problem> {
  const { check, problem: found } = checker(call)
  const { once, expectedVersion } = call
  const done = await start(engineOf(call), plan, { check, once, expectedVersion })
  if (done.status === 'started') return done.accepted
  if (done.status !== 'under-way') return found() ?? (await notStarted(call, plan, done))
  const { id, name, version } = done.plan
  return { ok: true, plan: id, name, version, events: [] }
}

export function checker({ rooms: { documents } }: Asking) {
  let found: Problem | null = null
  return {
    check: async (definition: PlanDefinition) => {
      const faults = await documents.runOn('check', { definition })
      if (!isProblem(faults)) return faults
      found = faults
      return null
    },
    problem: (): Problem | null => found,
  }
}

export async function notStarted(call: Asking, plan: PlanId, done: NotStarted): Promise<Problem> {
  switch (done.status) {
    case 'gone':
      return gone()
    case 'faulty-steps':
      return faulty(done.diagnostics, 'its steps cannot be made into tasks: ')
    case 'unsound':
      return unsound(done.faults)
    case 'unchecked':
      throw new Error('bug: a plan was not checked, and nobody said why')
    case 'empty': {
      const allowed = allowedFrom(done.plan, done.definition)
      return illegal(`'${done.plan.name}' has no tasks and cannot be started`, allowed, true)
    }
    case 'refused':
      return done.order === 'start' ? await inTheirWords(call, plan, done.refusal) : refused(done.refusal, { plan })
    default:
      return done satisfies never
  }
}

export function unsound(faults: readonly DefinitionFault[]): Problem {
  const [first, ...others] = faults
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`
  return problem(422, 'invalid-plan', `the plan cannot work: ${first?.message}${more}`, {
    hint: first?.hint,
    faults: faults.slice(0, FAULTS_MAX).map(({ task, key, at = [], message, hint }) => ({
      path: [...(task === undefined ? [] : ['tasks', task]), ...(key === undefined ? [] : [key, ...at])].join('.'),
      message,
      hint,
    })),
  })
}

const FAULTS_MAX = 100

/** Drops the expected version: this request itself has changed it. */
export const unversioned = <C extends Asking>(call: C): C => ({ ...call, expectedVersion: undefined })

async function inWords(call: Asking, plan: PlanId, what: Order): Promise<Accepted | Problem> {
  const { expectedVersion } = call
  const once = call.once === undefined ? undefined : `${call.once}/${what.type}`
  const submitted = await submit(call, plan, what, defined({ expectedVersion, once }))
  return submitted.ok ? submitted : await inTheirWords(call, plan, submitted.refusal, wordOf(what))
}

async function inTheirWords({ engine }: Asking, plan: PlanId, refusal: Refusal, asked?: string): Promise<Problem> {
  const done = refused(refusal, { plan })
  if (done.problem.allowed === undefined) return done
  const summary = await engine.ask({ type: 'summary', plan })
  const current = await engine.ask({ type: 'definition', plan })
  // During compensation, the only choices are to wait for its end or to force it.
  const isUndoing = refusal.allowed?.includes('force-cancel') === true
  const ways = summary === null || current === null || isUndoing ? [] : allowedFrom(summary, current.definition)
  const allowed = ways.filter(word => word !== asked)
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
