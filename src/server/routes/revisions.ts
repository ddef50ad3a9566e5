// Revisions of a plan over HTTP: list, show, compare, create.

import type { Event } from '../../domain/event.ts'
import type { PlanId } from '../../domain/id.ts'
import { isMap, type Json } from '../../domain/json.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import type { Fate, MergeMode } from '../../domain/revisions/merge.ts'
import { semanticDiff, summarise } from '../../domain/revisions/semantic-diff.ts'

import type { Order } from '../../engine/engine.ts'
import { raisePlan } from '../../format/plan/definition-to-document.ts'
import { explainDiff } from '../../format/plan/diff-text.ts'
import type { Revision } from '../../format/plan/revisions.ts'
import type { Plan } from '../../format/wire/answers/plans.ts'
import * as plans from '../../format/wire/plans.ts'
import * as wire from '../../format/wire/revisions.ts'
import { readRevisions } from '../../operations/read-journal.ts'
import { type PreparedRevision, readCurrentPlan } from '../../operations/revise-plan.ts'
import type { ReadDocument } from '../documents/read-document.ts'
import { findPlan } from '../find-plan.ts'
import { LIMITS } from '../limits.ts'
import { showPlan } from '../plans/show-plan.ts'
import { invalidRequest, isProblem, notFound, type Problem, problem, refused } from '../problem.ts'
import { options } from '../request.ts'
import { type Answer, type AnyRoute, created, ok } from '../route.ts'
import { type Accepted, type Asking, answerOf, gone, planRoute, submit, withNewer } from '../submit-order.ts'
import { iso, onWire } from '../wire-names.ts'

// Rewrites a plan over the wire: reads the document in any format and applies it to the current plan.

interface Rewritten extends Pick<ReadDocument, 'source'>, PreparedRevision {
  /** The revision it is based on, and the plan's version then. */
  readonly from: number
  readonly version: number
}

export async function readRevision(
  call: Asking,
  reference: string,
  document: Json,
  mode: MergeMode,
): Promise<Rewritten | Problem> {
  const { engine } = call
  const found = await findPlan(call, reference)
  if (isProblem(found)) return found
  const current = await readCurrentPlan(engine, found.plan)
  if (current === null) return gone()
  const { definition, revision: from, status, version, standings } = current
  const text = textOf(document)
  const revised = await call.rooms.documents.run(
    'revise',
    { text, current: definition, status, standings: [...standings], mode },
    Math.max(text.length, standings.size * TASK_LENGTH),
  )
  return isProblem(revised) ? revised : { ...revised, from, version }
}

/** Approximate length of a serialised task: applying even a short document to a large plan takes long. */
const TASK_LENGTH = 100

export const textOf = (document: Json): string =>
  typeof document === 'string' ? document : `${JSON.stringify(document, null, 2)}\n`

const TRIES_MAX = 5

/** Submits the revision; if the plan changed meanwhile, it is read and merged again. */
export async function orderRevised(
  call: Asking,
  plan: PlanId,
  { document, mode }: { readonly document: Json; readonly mode: MergeMode },
  orderOf: (made: Rewritten) => Order,
): Promise<{ readonly done: Accepted; readonly made: Rewritten } | Problem> {
  const { engine } = call
  for (let tries = 1; ; tries++) {
    const made = await readRevision(call, plan, document, mode)
    if (isProblem(made)) return made
    const submitted = await submit(call, plan, orderOf(made), {
      ...options(call),
      expectedVersion: call.expectedVersion ?? made.version,
    })
    if (submitted.ok) return { done: submitted, made }
    const now = (await engine.ask({ type: 'summary', plan }))?.version
    const hasMoved = call.expectedVersion === undefined && submitted.refusal.code === 'conflict' && now !== made.version
    if (!hasMoved || tries >= TRIES_MAX) return refused(submitted.refusal, { plan })
  }
}

export const revisionRoutes: readonly AnyRoute[] = [
  planRoute({
    method: 'GET',
    path: '/plans/:plan/revisions',
    right: 'read',
    about: 'Every revision of the plan, the first first.',
    answers: { 200: { about: 'the revisions', body: 'RevisionPage' } },
    handle: async (call, { plan }) => {
      const all = await readRevisions(call.engine, plan)
      const items = all.map((one, at) => ({ ...shown(one), summary: changed(all[at - 1], one) }))
      return ok({ items, next: null })
    },
  }),
  planRoute({
    method: 'GET',
    path: '/plans/:plan/revisions/:revision',
    right: 'read',
    about: 'One revision, with its document.',
    answers: { 200: { about: 'the revision', body: 'Revision' } },
    handle: async (call, { plan, name }) => {
      const one = numbered(await readRevisions(call.engine, plan), Number(call.params.revision))
      if (one === undefined) return unknown(name, call.params.revision!)
      const { definition, source } = one
      return ok({ ...shown(one), plan_id: plan, document: raisePlan(definition), text: source?.text ?? null })
    },
  }),
  planRoute({
    method: 'GET',
    path: '/plans/:plan/diff',
    right: 'read',
    about: 'What two revisions have in difference: by meaning, not by line.',
    query: wire.diffQuery,
    answers: { 200: { about: 'what differs', body: 'Diff' } },
    handle: async (call, { plan, name }) => {
      const all = await readRevisions(call.engine, plan)
      const to = call.query.to ?? all.at(-1)?.revision ?? 1
      const from = call.query.from ?? Math.max(1, to - 1)
      const [before, after] = [numbered(all, from), numbered(all, to)]
      if (before === undefined || after === undefined) return unknown(name, String(before === undefined ? from : to))
      const diff = semanticDiff(before.definition, after.definition)
      return ok({ plan_id: plan, from, to, summary: summarise(diff), diff: onWire(diff), text: explainDiff(diff) })
    },
  }),
  planRoute({
    method: 'POST',
    path: '/plans/:plan/revisions',
    right: 'operate',
    about: 'Makes the next revision of a whole document, or of one that is merged into the plan.',
    body: wire.newRevision,
    bodyMaxBytes: LIMITS.planBytes,
    answers: {
      200: { about: 'nothing was written: it was a dry run, or changes nothing', body: 'Revised', tag: true },
      201: { about: 'the plan has a new revision', body: 'Revised', tag: true },
    },
    handle: async (call, { plan, name }) => {
      const { document, rationale = 'revised over HTTP', expected_revision, merge, dry_run, go_on, unsafe } = call.body
      const mode = merge === true ? ('merge' as const) : ('replace' as const)
      if (dry_run === true) {
        const made = await readRevision(call, plan, document, mode)
        if (isProblem(made)) return made
        const summary = await call.engine.ask({ type: 'summary', plan })
        if (summary === null) return gone()
        const { version, status: state } = summary
        return ok({
          revision: made.from,
          changed: false,
          dry_run: true,
          ...changesBody(made),
          plan_id: plan,
          name,
          state,
          version,
        })
      }
      const ordered = await orderRevised(call, plan, { document, mode }, ({ definition, source }) => ({
        type: 'revise',
        definition,
        rationale,
        source,
        expectedRevision: expected_revision,
        ...(go_on === true ? { goOn: unsafe ?? ('refuse' as const) } : {}),
      }))
      if (isProblem(ordered)) return await withNewer(call, plan, ordered)
      const { done, made } = ordered
      const event = done.events.find(one => one.type === 'plan.revised')
      const moved = await answerOf(call, done)
      // A repeat returns the changes of the first time.
      const was =
        event === undefined ? null : await call.engine.ask({ type: 'definition', plan, revision: event.revision - 1 })
      const diff = event === undefined || was === null ? made.diff : semanticDiff(was.definition, event.definition)
      const { notes } = done.replayed === true ? { notes: [] } : made
      const fates = done.replayed === true ? [] : withReopened(made.fates, done.events)
      const body = {
        revision: event?.revision ?? made.from,
        changed: event !== undefined,
        dry_run: false,
        ...changesBody({ summary: summarise(diff), diff, notes, fates }),
        ...moved,
      }
      return event === undefined
        ? ok(body, moved.version)
        : created(body, `/plans/${plan}/revisions/${event.revision}`, moved.version)
    },
  }),
  planRoute({
    method: 'PUT',
    path: '/plans/:plan',
    right: 'operate',
    about:
      'Replaces the document of a plan by one in any format, as its next revision. It cannot say that work is done.',
    body: plans.planBody,
    texts: ['application/yaml', 'application/x-yaml', 'text/yaml', 'text/markdown'],
    bodyMaxBytes: LIMITS.planBytes,
    answers: { 200: { about: 'the plan as it is now', body: 'Plan', tag: true } },
    handle: async (call, { plan }) => await replaceDocument(call, plan, call.body as Json),
  }),
]

async function replaceDocument(call: Asking, plan: PlanId, body: Json): Promise<Answer> {
  const [before, current] = [await showPlan(call, plan), await call.engine.ask({ type: 'definition', plan })]
  if (before === null || current === null) return gone()
  const { id, name } = before.body
  if (isMap(body) && body.id !== undefined && body.id !== id && body.id !== name)
    return invalidRequest('body', [{ path: 'id', message: 'is the id of another plan', hint: 'leave it out' }])
  const document = documentIn(body, before.body, current.definition)
  const read = await readRevision(call, plan, document, 'replace')
  if (isProblem(read)) return read
  const claim = read.notes.find(({ code }) => code === 'status')
  if (claim !== undefined)
    return problem(409, 'status', claim.message, {
      hint: `nothing was written; report the work first: PATCH /tasks/${name}:${claim.task} {"status": "completed"}`,
    })
  const ordered = await orderRevised(call, plan, { document, mode: 'replace' }, ({ definition, source }) => ({
    type: 'revise',
    definition,
    rationale: 'replaced over HTTP',
    source,
  }))
  if (isProblem(ordered)) return await withNewer(call, plan, ordered)
  const shown = await showPlan(call, plan)
  return shown === null ? gone() : ok(shown.body, shown.version)
}

const OWN_WORDS: ReadonlySet<string> = new Set(['name', 'title', 'description', 'owner', 'steps'])

/** Clients send a plan back as it was shown: fields that only the service computes are dropped. */
function documentIn(body: Json, shown: Plan, { extra: written = {} }: PlanDefinition): Json {
  if (!isMap(body) || !Array.isArray(body.steps)) return body
  const { extra, ...fields } = body
  const isShown = (key: string, value: Json): boolean =>
    JSON.stringify(value) === JSON.stringify(shown[key as keyof Plan])
  const own = Object.entries(fields).filter(([key, value]) => {
    if (key === 'plan_type') return Object.hasOwn(written, key) || !isShown(key, value)
    if (key === 'labels') return !isShown(key, value) || shown.labels.length > 0
    return value !== null && (OWN_WORDS.has(key) || !(key in shown))
  })
  return { ...(isMap(extra) ? extra : {}), ...Object.fromEntries(own) }
}

/** Resuming a plan reopens more tasks than a revision alone does. */
function withReopened(fates: readonly Fate[], events: readonly Event[]): readonly Fate[] {
  if (!events.some(({ type }) => type === 'plan.reopened')) return fates
  const again = new Set(events.flatMap(event => (event.type === 'task.reopened' ? event.tasks : [])))
  return fates.map(fate =>
    again.has(fate.task) ? { ...fate, fate: 'again', why: 'runs again: continuing after the failure' } : fate,
  )
}

const numbered = (all: readonly Revision[], number: number): Revision | undefined =>
  all.find(({ revision }) => revision === number)

const unknown = (name: string, number: string) =>
  notFound(`plan '${name}' has no revision ${number.slice(0, 20)}`, `list them: GET /plans/${name}/revisions`)

function shown({ revision, hash, verified, actor, at, version, rationale, definition, source }: Revision) {
  return {
    revision,
    hash,
    verified,
    by: actor,
    at: iso(at),
    version,
    rationale,
    tasks: definition.tasks.length,
    format: source?.dialect ?? null,
  }
}

const changed = (before: Revision | undefined, after: Revision): string =>
  before === undefined ? 'made' : summarise(semanticDiff(before.definition, after.definition))

const changesBody = ({ summary, diff, notes, fates }: Pick<Rewritten, 'summary' | 'diff' | 'notes' | 'fates'>) => ({
  summary,
  diff: onWire(diff),
  notes: onWire(notes),
  fates: onWire(fates),
})
