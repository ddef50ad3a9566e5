// From a goal to a draft: a planner proposes a plan, it is checked like every plan, and kept as an unapproved draft. Comments are recorded
// in its journal and answered by the next draft, which is shown as a diff.

import type { PlanId, TaskName } from '../../../domain/id.ts'
import { type Json, type JsonObject, mapOf } from '../../../domain/json.ts'
import { chosenLessons, lessonHead } from '../../../domain/memory/lesson.ts'
import type { PlanDefinition, PlanSource } from '../../../domain/plan.ts'
import type { Refusal } from '../../../domain/refusal.ts'
import { type SemanticDiff, semanticDiff, summarise } from '../../../domain/revisions/semantic-diff.ts'
import type { WrittenBy } from '../../../engine/engine.ts'
import { printYaml } from '../../../format/plan/print.ts'
import { createPlan } from '../../../operations/create-plan.ts'
import { type PlanDocument, readOwn } from '../../../operations/read-document.ts'
import { type CallerEngine, createOrder, sourceOf } from '../../../operations/run-plan.ts'
import type {
  GoalAnalysis,
  Looked,
  PastPlan,
  PlanComment,
  Planner,
  PlanProposal,
  PlanRequest,
  RepositoryView,
} from '../planner.ts'
import { manifestsOf, withManifests } from './existing-drafts.ts'

export interface PlanningRooms {
  readonly planner: Planner
  readonly repository: RepositoryView
  readonly past?: readonly PastPlan[]
  readonly learnt?: PlanRequest['learnt']
}

/** A proposal that passed all checks, with its document. */
export interface CheckedProposal {
  readonly proposal: PlanProposal
  readonly document: PlanDocument
}

const PAST_MAX = 200

export async function pastPlans(engine: Pick<CallerEngine, 'ask'>): Promise<readonly PastPlan[]> {
  const { items } = await engine.ask({ type: 'plans', limit: PAST_MAX })
  return items.flatMap(({ name, goal, status }) => (goal === null ? [] : [{ name, goal, status }]))
}

/** Lessons are looked up only for a planner that asks for them. */
export const earlierPlans = async (
  engine: Pick<CallerEngine, 'ask'>,
): Promise<Required<Pick<PlanningRooms, 'past' | 'learnt'>>> => ({
  past: await pastPlans(engine),
  learnt: async paths => {
    const files = new Set(paths)
    const found = chosenLessons(await engine.ask({ type: 'lessons' }), path => files.has(path))
    return found.map(one => `${lessonHead(one)}: ${one.text}`)
  },
})

/** Options of single planners: the model or template, the earlier draft, a person who answers at once. */
export type PlanningChoices = Pick<
  PlanRequest,
  | 'model'
  | 'agent'
  | 'template'
  | 'draft'
  | 'looked'
  | 'progress'
  | 'runCheck'
  | 'drafts'
  | 'ask'
  | 'budget'
  | 'more'
  | 'tell'
  | 'signal'
> & {
  readonly finish?: (definition: PlanDefinition) => PlanDefinition
}

/** A goal that names nothing to work on gives a useless plan, so a person is asked first. */
export async function isUnclear({ planner, repository }: PlanningRooms, goal: string): Promise<boolean> {
  if (planner.name !== 'heuristic') return false
  const { isUnclearGoal } = await import('../heuristic-planner.ts')
  return await isUnclearGoal(goal, repository)
}

/** Throws `PlanningFailure` if the planner has no plan. */
export async function proposePlan(
  { planner, repository, past = [], learnt }: PlanningRooms,
  goal: string,
  comments: readonly PlanComment[] = [],
  choices: PlanningChoices = {},
): Promise<CheckedProposal> {
  const { finish = definition => definition, ...asked } = choices
  const drafted = await planner.propose({ ...asked, goal, repository, comments, past, learnt, check: faultsIn })
  const definition = withManifests(finish(drafted.definition), await manifestsOf(repository))
  const proposal = { ...drafted, definition }
  const read = readOwn(printYaml(proposal.definition))
  if (read.ok) return { proposal, document: read.document }
  const [fault] = read.diagnostics
  throw new Error(
    `bug: the planner '${planner.name}' proposed a plan that cannot work: ${fault?.message ?? 'no reason'}`,
  )
}

/** Printed and parsed again, like a plan from elsewhere. */
function faultsIn(definition: PlanDefinition): readonly string[] {
  const read = readOwn(printYaml(definition))
  return read.ok
    ? []
    : read.diagnostics.map(({ message, hint }) => (hint === undefined ? message : `${message} (${hint})`))
}

export function rememberedProposal(definition: PlanDefinition): PlanProposal {
  const planning = mapOf(definition.extra?.planning)
  const list = (key: string): readonly string[] =>
    Array.isArray(planning[key]) ? (planning[key] as Json[]).filter(one => typeof one === 'string') : []
  const text = (key: string): string => (typeof planning[key] === 'string' ? (planning[key] as string) : '')
  const { files = [], tests = [], commands = {}, looked } = planning
  return {
    planner: text('planner'),
    definition,
    kind: text('kind'),
    rationale: text('rationale'),
    assumptions: list('assumptions'),
    risks: list('risks'),
    questions: list('questions'),
    irreversible: [],
    estimate: { workMs: 0, cost: null },
    analysis: {
      languages: list('languages'),
      packageManagers: [],
      ...({ files, tests, commands } as unknown as Pick<GoalAnalysis, 'files' | 'tests' | 'commands'>),
      ...(looked === undefined ? {} : { looked: looked as unknown as Looked }),
      mentions: { quoted: [], files: [], symbols: [], errors: [], frames: [] },
      limits: list('limits'),
    },
    unfollowed: [],
  }
}

export interface ProposedPlan {
  readonly proposal: PlanProposal
  readonly definition: PlanDefinition
  readonly source: PlanSource | undefined
}

/** Like `proposePlan`, for plans that are created elsewhere. */
export async function proposedPlan(
  rooms: PlanningRooms,
  goal: string,
  { comments = [], ...choices }: PlanningChoices & Pick<PlanRequest, 'comments'> = {},
): Promise<ProposedPlan> {
  const { proposal, document } = await proposePlan(rooms, goal, comments, choices)
  const { definition, source } = createOrder(document)
  return { proposal, definition, source }
}

export type DraftMade =
  | { readonly status: 'refused'; readonly refusal: Refusal }
  | { readonly status: 'made'; readonly plan: PlanId; readonly name: string; readonly version: number }

/** Keeps the proposal as a draft. If the name is taken, the next free one is used. */
export async function saveDraft(engine: CallerEngine, { document }: CheckedProposal): Promise<DraftMade> {
  const made = await createPlan(engine, { ...createOrder(document), taken: 'number', written: writtenBy(document) })
  if (made.status === 'refused') return made
  const { plan, name, version } = made.made
  return { status: 'made', plan, name, version }
}

export type DraftChanged =
  | { readonly status: 'refused'; readonly refusal: Refusal }
  | {
      readonly status: 'changed' | 'same'
      readonly definition: PlanDefinition
      readonly diff: SemanticDiff
      readonly summary: string
    }

/** Replaces the document of the draft, which keeps its name. The diff leaves out what it `hides`. */
export async function changeDraft(
  engine: CallerEngine,
  plan: PlanId,
  document: PlanDocument,
  rationale: string,
  {
    hides = 'recording',
    written,
  }: { readonly hides?: 'recording' | 'planning'; readonly written?: WrittenBy | undefined } = {},
): Promise<DraftChanged> {
  const current = await engine.ask({ type: 'definition', plan })
  if (current === null) throw new Error(`the plan ${plan} has gone`)
  const definition = { ...document.definition, name: current.definition.name }
  const shown = hides === 'planning' ? withoutPlanning : withoutRecording
  const diff = semanticDiff(shown(current.definition), shown(definition))
  const revised = await engine.submit(plan, {
    type: 'revise',
    definition,
    rationale,
    source: sourceOf(document),
    expectedRevision: current.revision,
    ...(written === undefined ? { file: definition.tasks.map(({ id }) => id) } : { written }),
  })
  if (!revised.ok) return { status: 'refused', refusal: revised.refusal }
  return { status: revised.events.length === 0 ? 'same' : 'changed', definition, diff, summary: summarise(diff) }
}

/** Approving a draft made without a model makes it the person's own; with a model or template, only what was shown. */
export function writtenBy({ definition }: Pick<PlanDocument, 'definition'>): WrittenBy {
  const { planner } = mapOf(definition.extra?.planning)
  return isByOthers(planner) ? 'others' : 'planner'
}

/** Made by a model, an agent, or the author of a template. */
export const isByOthers = (planner: unknown): boolean => ['model', 'agent', 'template'].includes(String(planner))

/** The recorded exchange with the model is stored, but not shown in a diff. */
export function withoutRecording(definition: PlanDefinition): PlanDefinition {
  const { planning, ...extra } = definition.extra ?? {}
  if (planning === null || typeof planning !== 'object' || !('recording' in planning)) return definition
  const { recording: _, ...rest } = planning as JsonObject
  return { ...definition, extra: { ...extra, planning: rest } }
}

/** How a draft was made differs each time, and does not change what it does. */
export function withoutPlanning(definition: PlanDefinition): PlanDefinition {
  const { planning: _, ...extra } = definition.extra ?? {}
  return { ...definition, extra }
}

/** Records comments in the journal of the draft, each at its task. */
export async function keepComments(
  engine: CallerEngine,
  plan: PlanId,
  comments: readonly PlanComment[],
): Promise<Refusal | null> {
  for (const { task, text, place } of comments) {
    const kept = await engine.submit(plan, {
      type: 'note',
      text,
      ...(task === null ? {} : { task: task as TaskName }),
      place,
    })
    if (!kept.ok) return kept.refusal
  }
  return null
}
