// Plans that change: their status, what a client keeps beside them, their outline, the order of their tasks; and their end.

import { outlinedBy, type PlanChanges } from '../../domain/changed-task.ts'
import type { PlanId, TaskName } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import type { Card } from '../../domain/views/board.ts'
import * as wire from '../../format/wire/plans.ts'
import { planWord } from '../../format/wire/store-words.ts'
import { archivePlan } from '../archiving.ts'
import type { Call } from '../call.ts'
import { given } from '../given.ts'
import { type FoundPlan, findPlan } from '../look-up.ts'
import { clientSaid, type News, newsIn, takenFrom, withoutEcho } from '../news.ts'
import { type Asking, gone, order, submit } from '../ordering.ts'
import { becomes, refuseStatus } from '../plan-status.ts'
import { isProblem, type Problem, problem } from '../problem.ts'
import { type Answer, nothing, ok, route } from '../route.ts'
import { planBody, showPlan } from '../show-plan.ts'
import { stale, unsaid } from '../stale.ts'

export const planChangeRoutes = [
  route({
    method: 'PATCH',
    path: '/plans/:plan',
    right: 'operate',
    noun: 'plans',
    about:
      'Changes a plan. A status is asked for as an order; keys nobody knows are kept beside it, and null takes one away.',
    body: wire.planPatch,
    answers: { 200: { about: 'the plan as it is now', body: wire.plan, tag: true } },
    handle: async call => {
      const found = await findPlan(call, call.params.plan!)
      if (isProblem(found)) return found
      const refusal = await change(call, found.plan)
      if (refusal !== null) return refusal
      const shown = await showPlan(call, found.plan)
      return shown === null ? gone() : ok(shown.body, shown.version)
    },
  }),
  route({
    method: 'DELETE',
    path: '/plans/:plan',
    right: 'operate',
    noun: 'plans',
    about: 'Archives a plan and its tasks; one that is open is cancelled first. Its history stays.',
    query: wire.deleteQuery,
    answers: { 204: { about: 'it is archived' } },
    handle: async call => {
      const found = await findPlan(call, call.params.plan!)
      if (isProblem(found)) return found
      if (call.query.purge === true) return refusePurge(call, found)
      return (await archivePlan(call, found.plan)) ?? nothing
    },
  }),
  route({
    method: 'DELETE',
    path: '/plans',
    right: 'operate',
    noun: 'plans',
    about: 'Archives several plans, and says of each what became of it.',
    body: wire.manyPlans,
    answers: { 200: { about: 'what was done', body: wire.archivedPlans } },
    handle: async call => {
      const archived: string[] = []
      const missing: string[] = []
      const refused: { id: string; detail: string; hint: string | null }[] = []
      for (const id of new Set(call.body.ids)) {
        const found = await findPlan(call, id)
        if (isProblem(found)) {
          missing.push(id)
          continue
        }
        const refusal = await archivePlan({ ...call, expectedVersion: undefined }, found.plan)
        if (refusal === null) archived.push(id)
        else refused.push({ id, detail: refusal.problem.detail, hint: refusal.problem.hint ?? null })
      }
      return ok({ archived, missing, refused })
    },
  }),
  route({
    method: 'POST',
    path: '/plans/:plan/reorder',
    right: 'operate',
    noun: 'plans',
    about: 'Puts the tasks of a plan in another order, as a revision. What needs what stays as it is.',
    body: wire.newOrder,
    answers: { 200: { about: 'the order as it is now', body: wire.planOrdered, tag: true } },
    handle: async call => {
      const found = await findPlan(call, call.params.plan!)
      return isProblem(found) ? found : await reorder(call, found.plan)
    },
  }),
]

type PatchCall = Call<undefined, wire.PlanPatch>

const KNOWN = {
  fields: new Set([
    'status',
    'current_step',
    'started_at',
    'completed_at',
    'title',
    'description',
    'owner',
    'labels',
    'plan_type',
    'steps',
    'reason',
    'expected_revision',
  ]),
  // Whoever says a status or a step means it, whatever is so now.
  always: new Set(['status', 'current_step', 'reason', 'expected_revision']),
}

/** Whatever can be refused is looked at before anything is written. */
async function change(call: PatchCall, plan: PlanId): Promise<Problem | null> {
  const { engine } = call.rooms
  const [summary, current] = [
    await engine.ask({ type: 'summary', plan }),
    await engine.ask({ type: 'definition', plan }),
  ]
  if (summary === null || current === null) return gone()
  const shown = planBody(summary, current.definition)
  const body = withoutEcho(call.body, shown, planWord)
  const news = newsIn(body, shown, KNOWN)
  if (isProblem(news)) return news
  const { status, reason, expected_revision } = body
  const outline = outlineOf(current.definition, news)
  const definition = outline === null ? current.definition : outlinedBy(current.definition, outline)
  const refusal =
    stale(call, summary, expected_revision) ?? (status === undefined ? null : refuseStatus(summary, definition, status))
  if (refusal !== null) return refusal
  let { expectedVersion } = call
  if (outline !== null) {
    const said = { rationale: reason ?? 'changed by a client', ...given({ expectedRevision: expected_revision }) }
    const revised = await submit(call, plan, { type: 'outline', ...outline, ...said }, given({ expectedVersion }))
    if (!revised.ok) return unsaid(revised.refusal)
    expectedVersion = undefined
  }
  const set = annotated(summary.annotations, news)
  if (Object.keys(set).length > 0) {
    const kept = await submit(call, plan, { type: 'annotate', set }, given({ expectedVersion }))
    if (!kept.ok) return unsaid(kept.refusal)
    expectedVersion = undefined
  }
  if (status === undefined) return null
  const moved = await becomes({ ...call, expectedVersion }, summary, status, reason ?? null)
  return moved !== null && isProblem(moved) ? moved : null
}

/** What is new of its definition; null when nothing is. */
function outlineOf(
  definition: PlanDefinition,
  { fields, others }: News<wire.PlanPatch>,
): { readonly set: PlanChanges; readonly extra: JsonObject } | null {
  const { title, description: goal, owner, labels, plan_type, steps } = fields
  const set = given({ title, goal, owner, labels })
  const extra = { ...given({ plan_type, steps }), ...takenFrom(definition.extra, others) } as JsonObject
  return Object.keys(set).length + Object.keys(extra).length === 0 ? null : { set, extra }
}

/** What is kept beside it. */
function annotated(before: JsonObject, { fields, others }: News<wire.PlanPatch>): JsonObject {
  const { current_step, started_at, completed_at } = fields
  return { ...others, ...given({ current_step }), ...clientSaid(before, { started_at, completed_at }) } as JsonObject
}

function refusePurge({ who: { role } }: Asking, { name }: FoundPlan): Problem {
  if (role !== 'admin')
    return problem(403, 'not-allowed', `a ${role} may not take the history of a plan away`, {
      hint: 'ask somebody with the role admin; DELETE without purge archives it',
    })
  return problem(501, 'not-supported', `the history of '${name}' alone cannot be taken away yet`, {
    hint: 'archive it, then run `planfold prune` on the server: it takes away what was archived long ago',
  })
}

type ReorderCall = Call<
  undefined,
  { readonly order: readonly string[]; readonly expected_revision?: number | undefined }
>

async function reorder(call: ReorderCall, plan: PlanId): Promise<Answer> {
  const { engine } = call.rooms
  const [summary, board] = [await engine.ask({ type: 'summary', plan }), await engine.ask({ type: 'board', plan })]
  if (summary === null || board === null) return gone()
  const old = stale(call, summary, call.body.expected_revision)
  if (old !== null) return old
  const wanted = meantBy(call.body.order, board)
  if (isProblem(wanted)) return wanted
  const done = await order(call, plan, { type: 'reorder', order: wanted })
  if (isProblem(done)) return done
  const current = await engine.ask({ type: 'definition', plan })
  if (current === null) return gone()
  const names = current.definition.tasks.map(({ id }) => id)
  return ok({ plan_id: plan, revision: current.revision, version: done.version, order: names }, done.version)
}

/** The tasks that are meant, by id or name; everything that is wrong with the list is told at once. */
function meantBy(words: readonly string[], board: readonly Card[]): readonly TaskName[] | Problem {
  const names = new Map<string, TaskName>(board.flatMap(({ id, name }) => [[id, name] as const, [name, name] as const]))
  const unknown = words.filter(word => !names.has(word))
  const seen = new Set<TaskName>()
  const faults = words.flatMap((word, index) => {
    const name = names.get(word)
    const path = `order[${index}]`
    if (name === undefined)
      return [{ path, message: `there is no task '${word.slice(0, 100)}'`, hint: 'see GET /tasks?plan_id=…' }]
    if (seen.has(name)) return [{ path, message: `'${word}' is there twice`, hint: 'name each task once' }]
    seen.add(name)
    return []
  })
  const [first] = faults
  if (first === undefined) return [...seen]
  return problem(422, unknown.length > 0 ? 'unknown-reference' : 'duplicate', first.message, {
    hint: 'nothing was changed; name tasks of this plan, each once',
    faults,
    more: { unknown },
  })
}
