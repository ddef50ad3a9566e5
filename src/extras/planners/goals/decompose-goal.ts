// Splits a goal into sub-goals, and drafts a plan for each. Repeatable: a goal with sub-goals is not split again, and one with a plan gets
// no second one.
//
//   goalParts: the goal ──split──→ sub-goals (or the goal itself, if it is a single wish) ──→ those without a plan
//   keepPart:  a proposal for one of them ──→ its draft

import { createHash } from 'node:crypto'
import type { PlanId } from '../../../domain/id.ts'
import { type Refusal, refuse } from '../../../domain/refusal.ts'
import type { Engine, EngineInProcess } from '../../../engine/engine.ts'
import { slug } from '../../../format/text/slug.ts'
import { createPlan } from '../../../operations/create-plan.ts'
import type { GoalRow } from '../../../stores/store.ts'
import { WISHES_MAX, type Wish } from '../planner.ts'
import { type DraftMade, type ProposedPlan, writtenBy } from './plan-goal.ts'

type GoalEngine = Pick<Engine, 'ask' | 'submit' | 'goals'>

export interface GoalPart {
  readonly goal: string
  readonly title: string
  readonly text: string
  readonly plan: { readonly id: PlanId; readonly name: string; readonly status: string } | null
  readonly before: number
}

export type GoalParts =
  | { readonly status: 'refused'; readonly refusal: Refusal }
  | { readonly status: 'found'; readonly parts: readonly GoalPart[] }

export async function goalParts(
  engine: GoalEngine,
  id: string,
  split: (text: string) => Promise<readonly Wish[]>,
): Promise<GoalParts> {
  const goal = await engine.goals.get(id)
  if (goal === null) return no('not-found', `there is no goal '${id.slice(0, 100)}'`)
  if (goal.status !== 'open')
    return no('illegal-transition', `the goal '${id}' is ${goal.status}`, 'open it again first')
  const existing = await subGoals(engine, id)
  // A goal that was planned as a whole stays whole.
  const own = existing.length === 0 ? await partOf(engine, goal) : null
  if (own !== null && own.plan !== null) return { status: 'found', parts: [own] }
  if (own === null) return { status: 'found', parts: await leavesOf(engine, existing) }
  const wishes = await split(textOf(goal))
  if (wishes.length < 2) return { status: 'found', parts: [own] }
  const made = await setSubGoals(engine, goal, wishes)
  if (made !== null) return { status: 'refused', refusal: made }
  return { status: 'found', parts: await leavesOf(engine, await subGoals(engine, id)) }
}

const no = (...words: Parameters<typeof refuse>): GoalParts => ({ status: 'refused', refusal: refuse(...words) })

/** Title and criteria, so that the planner sees the whole goal. */
const textOf = ({ title, criteria }: Pick<GoalRow, 'title' | 'criteria'>): string => [title, ...criteria].join('\n')

const SUB_GOALS_MAX = 200

/** Those made by splitting first, in order; then those added by hand. */
async function subGoals(engine: GoalEngine, parent: string): Promise<readonly GoalRow[]> {
  const { items } = await engine.goals.list({ where: { parent }, limit: SUB_GOALS_MAX })
  const places = new Map(Array.from({ length: WISHES_MAX }, (_, index) => [subGoalId(parent, index + 1), index]))
  const placeOf = ({ id }: GoalRow): number => places.get(id) ?? WISHES_MAX
  return [...items].sort((a, b) => placeOf(a) - placeOf(b))
}

/** The first is written last, so that its existence means all exist, also after a crash. */
async function setSubGoals(engine: GoalEngine, goal: GoalRow, wishes: readonly Wish[]): Promise<Refusal | null> {
  for (const [index, { title, criteria }] of [...wishes.entries()].reverse()) {
    const { priority } = goal
    const event = { type: 'goal.set', title, parent: goal.id, priority, criteria } as const
    const set = await engine.goals.append(subGoalId(goal.id, index + 1), [event], { expectedVersion: 0 })
    // A concurrent split of the same goal has set this one; its words stay.
    if (!set.ok && set.refusal.code !== 'conflict') return set.refusal
  }
  return null
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Deterministic; a UUID if the parent is one. */
function subGoalId(parent: string, number: number): string {
  if (!UUID.test(parent)) return `${parent.slice(0, 190)}.${number}`
  const hex = createHash('sha256').update(`${parent}.${number}`).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

async function leavesOf(engine: GoalEngine, goals: readonly GoalRow[]): Promise<readonly GoalPart[]> {
  const parts: GoalPart[] = []
  for (const goal of goals) {
    if (goal.status !== 'open' || (await subGoals(engine, goal.id)).length > 0) continue
    parts.push(await partOf(engine, goal))
  }
  return parts
}

async function partOf(engine: GoalEngine, goal: GoalRow): Promise<GoalPart> {
  const { items } = await engine.ask({ type: 'plans', goal: goal.id, limit: SUB_GOALS_MAX })
  const found = items.find(({ status, archived }) => status !== 'cancelled' && !archived)
  const plan = found === undefined ? null : { id: found.id, name: found.name, status: found.status }
  return { goal: goal.id, title: goal.title, text: textOf(goal), plan, before: items.length }
}

/** Keeps a proposal as the draft for its goal. Concurrent calls get the same draft. */
export async function keepPart(
  engine: GoalEngine & Pick<EngineInProcess, 'caller'>,
  { goal, before }: Pick<GoalPart, 'goal' | 'before'>,
  { definition, source }: Pick<ProposedPlan, 'definition' | 'source'>,
): Promise<DraftMade> {
  const key = `decompose/${createHash('sha256').update(goal).digest('hex').slice(0, 32)}/${before}`
  const made = await createPlan(
    engine,
    { type: 'create', definition, goal, taken: 'number', source, written: writtenBy({ definition }) },
    { submit: { once: key, asked: { decompose: goal, before } } },
  )
  if (made.status === 'refused') return made
  const { plan, name, version } = made.made
  return { status: 'made', plan, name, version }
}

const NAMES_MAX = 1_000
const PRIORITY = 5
const LINES_MAX = 100

/** Creates a goal from free text, named by its first words. */
export async function setGoal(
  engine: Pick<Engine, 'goals'>,
  text: string,
): Promise<{ readonly ok: true; readonly id: string } | { readonly ok: false; readonly refusal: Refusal }> {
  const [title = '', ...criteria] = text
    .trim()
    .split('\n')
    .filter(line => line.trim() !== '')
    .slice(0, LINES_MAX)
  const stem = slug(title) ?? 'goal'
  for (let number = 1; number <= NAMES_MAX; number++) {
    const id = number === 1 ? stem : `${stem}-${number}`
    const event = { type: 'goal.set', title, parent: null, priority: PRIORITY, criteria } as const
    const set = await engine.goals.append(id, [event], { expectedVersion: 0 })
    if (set.ok) return { ok: true, id }
    if (set.refusal.code !== 'conflict') return set
  }
  return { ok: false, refusal: refuse('limit', `no free name was found for the goal '${stem}'`, 'choose another name') }
}
