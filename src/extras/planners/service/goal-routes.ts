// Goals: set, changed, closed, listed, and shown with their sub-goals, plans and progress.

import { createHash } from 'node:crypto'
import type { Sha256 } from '../../../domain/id.ts'
import { defined, type JsonObject } from '../../../domain/json.ts'
import type { Engine } from '../../../engine/engine.ts'
import { canonicalJson } from '../../../format/plan/hash.ts'
import type { DecomposedGoal, Goal, GoalItem } from '../../../format/wire/answers/goals.ts'
import * as wire from '../../../format/wire/goals.ts'
import type { DraftChoice } from '../../../operations/agents/plan-drafts.ts'
import { inTokenWords } from '../../../server/auth/denial-text.ts'
import { planItem } from '../../../server/plans/show-plan.ts'
import { invalidRequest, isProblem, notFound, type Problem, problem, refused } from '../../../server/problem.ts'
import type { Call } from '../../../server/request.ts'
import { type Answer, created, ok, route } from '../../../server/route.ts'
import { iso } from '../../../server/wire-names.ts'
import type { GoalEvent, GoalRow } from '../../../stores/store.ts'
import { goalParts, keepPart } from '../goals/decompose-goal.ts'
import { goalProgress } from '../goals/goal-progress.ts'
import { proposeFor, splitFor } from './propose-plan.ts'

const PRIORITY_DEFAULT = 5
const SHOWN_MAX = 100
const PARENTS_MAX = 1_000

export const goalRoutes = [
  route({
    method: 'POST',
    path: '/goals',
    right: 'operate',
    about: 'Sets a goal.',
    body: wire.newGoal,
    answers: { 201: { about: 'the goal', body: 'Goal', tag: true } },
    handle: async call => {
      const { id, title, parent_id, priority = PRIORITY_DEFAULT, success_criteria: criteria = [] } = call.body
      const refusal = await refuseParent(call.engine, id ?? null, parent_id ?? null)
      if (refusal !== null) return refusal
      const once = onceOf(call)
      const made = id ?? newId(call)
      const event: GoalEvent = { type: 'goal.set', title, parent: parent_id ?? null, priority, criteria }
      const set = await call.engine.goals.append(made, [event], {
        expectedVersion: 0,
        ...once,
      })
      if (!set.ok) {
        const isThere = set.refusal.code === 'conflict' && id !== undefined
        if (!isThere || (await call.engine.goals.get(id)) === null) return refused(inTokenWords(call.who, set.refusal))
        return problem(409, 'exists', `there is a goal '${id}' already`, { hint: 'PATCH it, or leave the id out' })
      }
      const shown = await showGoal(call, set.id)
      return isProblem(shown) ? shown : created(shown, `/goals/${set.id}`, shown.version)
    },
  }),
  route({
    method: 'GET',
    path: '/goals',
    right: 'read',
    about: 'Goals, newest first.',
    query: wire.listQuery,
    answers: { 200: { about: 'a page of them', body: 'GoalPage' } },
    handle: async call => {
      const { status, parent_id: parent, limit, cursor } = call.query
      const page = await call.engine.goals.list({
        where: defined({ status, parent }),
        ...defined({ limit, cursor }),
      })
      return ok({ items: page.items.map(goalItem), next: page.next })
    },
  }),
  route({
    method: 'GET',
    path: '/goals/:goal',
    right: 'read',
    about: 'One goal, with its sub-goals, its plans and how far they have come.',
    answers: { 200: { about: 'the goal', body: 'Goal', tag: true } },
    handle: async call => {
      const shown = await showGoal(call, call.params.goal!)
      return isProblem(shown) ? shown : ok(shown, shown.version)
    },
  }),
  route({
    method: 'PATCH',
    path: '/goals/:goal',
    right: 'operate',
    about: 'Changes a goal; a status closes it or opens it again.',
    body: wire.goalPatch,
    answers: { 200: { about: 'the goal as it is now', body: 'Goal', tag: true } },
    handle: change,
  }),
  route({
    method: 'POST',
    path: '/goals/:goal/decompose',
    right: 'operate',
    about:
      'Splits a goal into sub-goals, and drafts a plan for each. Existing sub-goals and drafts are kept: a repeated request continues where the last one ended.',
    body: wire.decompose,
    answers: { 200: { about: 'the goal, with its parts and their plans', body: 'DecomposedGoal', tag: true } },
    handle: decompose,
  }),
  route({
    method: 'GET',
    path: '/goals/:goal/plans',
    right: 'read',
    about: 'The plans of a goal, newest first; also of one that nobody has set.',
    query: wire.plansQuery,
    answers: { 200: { about: 'a page of them', body: 'GoalPlans' } },
    handle: async call => {
      const { engine } = call
      const goal = call.params.goal!
      const { limit, cursor } = call.query
      const page = await engine.ask({ type: 'plans', goal, archived: false, ...defined({ limit, cursor }) })
      // A token with a scope sees the plans of a goal, but not the goal.
      const isKnown = page.items.length > 0 || cursor !== undefined || engine.caller.scope !== null
      if (!isKnown && (await engine.goals.get(goal)) === null) return unknown(goal)
      return ok({ items: page.items.map(planItem), next: page.next })
    },
  }),
]

async function showGoal({ engine }: Pick<Call, 'engine'>, id: string): Promise<Goal | Problem> {
  const row = await engine.goals.get(id)
  const plans = await engine.ask({ type: 'plans', goal: id, archived: false, limit: SHOWN_MAX })
  if (row === null && plans.items.length === 0) return unknown(id)
  const children = row === null ? [] : (await engine.goals.list({ where: { parent: id }, limit: SHOWN_MAX })).items
  return {
    ...(row === null ? unset(id) : goalItem(row)),
    known: row !== null,
    children: children.map(goalItem),
    plans: plans.items.map(({ id: plan, name, status }) => ({
      id: plan,
      name,
      status,
      state: status,
    })),
    progress: await goalProgress(engine, id, row?.status ?? 'open'),
  }
}

function goalItem({ id, title, parent, priority, status, criteria, version, createdAt, updatedAt }: GoalRow): GoalItem {
  return {
    id,
    title,
    parent_id: parent,
    priority,
    status,
    success_criteria: [...criteria],
    version,
    created_at: iso(createdAt),
    updated_at: iso(updatedAt),
  }
}

const unset = (id: string): GoalItem => ({
  id,
  title: null,
  parent_id: null,
  priority: PRIORITY_DEFAULT,
  status: 'open',
  success_criteria: [],
  version: 0,
  created_at: null,
  updated_at: null,
})

type DecomposeCall = Call<undefined, DraftChoice>

class Stopped extends Error {
  readonly why: Problem

  constructor(why: Problem) {
    super(why.problem.detail)
    this.why = why
  }
}

async function decompose(call: DecomposeCall): Promise<Answer> {
  try {
    return await decomposed(call)
  } catch (error) {
    if (error instanceof Stopped) return error.why
    throw error
  }
}

async function decomposed(call: DecomposeCall): Promise<Answer> {
  const { engine, body: choice } = call
  const id = call.params.goal!
  const must = <T extends object>(value: T | Problem): T => {
    if (isProblem(value)) throw new Stopped(value)
    return value
  }
  const found = await goalParts(engine, id, async text => must(await splitFor(call, text, choice)))
  if (found.status === 'refused') return refused(inTokenWords(call.who, found.refusal))
  const parts: DecomposedGoal['parts'][number][] = []
  for (const part of found.parts) {
    const of = { goal_id: part.goal, title: part.title }
    if (part.plan !== null) {
      parts.push({ ...of, plan_id: part.plan.id, name: part.plan.name, state: part.plan.status, made: false })
      continue
    }
    const kept = await keepPart(engine, part, must(await proposeFor(call, part.text, choice)))
    if (kept.status === 'refused') return refused(inTokenWords(call.who, kept.refusal))
    parts.push({ ...of, plan_id: kept.plan, name: kept.name, state: 'draft', made: true })
  }
  const shown = await showGoal(call, id)
  return isProblem(shown) ? shown : ok({ ...shown, parts }, shown.version)
}

type PatchCall = Call<undefined, wire.GoalPatch>

async function change(call: PatchCall): Promise<Answer> {
  const { engine } = call
  const id = call.params.goal!
  const row = await engine.goals.get(id)
  if (row === null) return unknown(id)
  const { title, parent_id, priority, success_criteria, status, reason = '', expected_version } = call.body
  const expectedVersion = expected_version ?? call.expectedVersion
  const refusal = parent_id === undefined ? null : await refuseParent(engine, id, parent_id)
  if (refusal !== null) return refusal
  const changes = defined({ title, parent: parent_id, priority, criteria: success_criteria }) as JsonObject
  const events: GoalEvent[] = []
  if (status === 'open' && row.status !== 'open')
    events.push({
      type: 'goal.set',
      title: row.title,
      parent: row.parent,
      priority: row.priority,
      criteria: row.criteria,
    })
  if (Object.keys(changes).length > 0) events.push({ type: 'goal.changed', changes })
  if (status !== undefined && status !== 'open' && status !== row.status)
    events.push({ type: 'goal.closed', status, reason })
  const done = await engine.goals.append(id, events, defined({ expectedVersion }))
  if (!done.ok) return refused(done.refusal)
  const shown = await showGoal(call, id)
  return isProblem(shown) ? shown : ok(shown, shown.version)
}

/** A goal must not become its own ancestor. */
async function refuseParent(engine: Engine, id: string | null, parent: string | null): Promise<Problem | null> {
  const path = id === null ? [] : [id]
  for (let at = parent; at !== null; ) {
    if (path.includes(at))
      return problem(422, 'cycle', `a goal cannot be a part of itself: ${[...path, at].join(' → ')}`, {
        hint: 'choose another parent',
      })
    path.push(at)
    const row: GoalRow | null = await engine.goals.get(at)
    if (row === null && at === parent)
      return invalidRequest('body', [
        { path: 'parent_id', message: `there is no goal '${at.slice(0, 100)}'`, hint: 'set it first' },
      ])
    if (path.length > PARENTS_MAX)
      return problem(422, 'limit', 'goals are nested too deeply', { hint: 'choose another parent' })
    at = row?.parent ?? null
  }
  return null
}

function onceOf({ once, text }: Pick<Call<unknown, unknown>, 'once' | 'text'>): {
  readonly once?: { key: string; hash: Sha256 }
} {
  if (once === undefined) return {}
  const hash = createHash('sha256')
    .update(canonicalJson(JSON.parse(text === '' ? '{}' : text)))
    .digest('hex') as Sha256
  return { once: { key: once, hash } }
}

function newId({ rooms }: Pick<Call<unknown, unknown>, 'rooms'>): string {
  const hex = Buffer.from(rooms.random(16)).toString('hex')
  const variant = '89ab'[Number.parseInt(hex[16]!, 16) & 3]
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`
}

const unknown = (id: string): Problem => notFound(`there is no goal '${id.slice(0, 100)}'`, 'list them: GET /goals')
