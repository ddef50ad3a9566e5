// `planfold plan GOAL --split` and `planfold plan --goal ID`: a goal becomes sub-goals, each with a draft of its own. The drafts are kept;
// each is approved on its own.

import { answer, type CliError, type Context, EXIT, notFound, refused, usage, withState } from '../../../cli/command.ts'
import { numberOf } from '../../../domain/phrases.ts'
import type { PlanDefinition } from '../../../domain/plan.ts'
import type { Refusal } from '../../../domain/refusal.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { type GoalPart, goalParts, keepPart, setGoal } from '../goals/decompose-goal.ts'
import { earlierPlans, type PlanningChoices, type PlanningRooms, proposedPlan } from '../goals/plan-goal.ts'
import { planningIn } from '../open-planners.ts'
import type { PlanProposal, Wish } from '../planner.ts'
import { type PlanOptions, plannerFor, roomsWithoutState, whileDrafting } from './plan.ts'

interface DraftedPart {
  readonly goal: string | null
  readonly title: string
  readonly plan: string | null
  readonly name: string
  readonly status: string
  /** False when it had this plan before. */
  readonly made: boolean
  readonly tasks?: readonly string[]
  readonly kind?: string
  readonly questions?: readonly string[]
  readonly irreversible?: PlanProposal['irreversible']
}

export async function decompose(context: Context, text: string, options: PlanOptions): Promise<number> {
  if (options.yes === true)
    throw usage(
      'several plans cannot be approved at once',
      'leave out --yes, look at each draft, then planfold run NAME',
    )
  if (options.dryRun === true) return await preview(context, text, options)
  return await withState(context, { create: options.goal === undefined }, async composed => {
    const { engine } = composed
    const { planners, repository } = planningIn(composed, context.environment)
    const planner = plannerFor(planners, options)
    const rooms = { planner, repository, ...(await earlierPlans(engine)) }
    const goal = options.goal ?? (await setGoalFor(engine, text))
    const drafted = await whileDrafting(context, rooms, options, async choices => {
      const found = await goalParts(engine, goal, async wanted => await split(rooms, wanted, choices))
      if (found.status === 'refused') throw refusedWithHint(found.refusal)
      const parts: DraftedPart[] = []
      for (const part of found.parts) {
        const { plan: had } = part
        if (had !== null) {
          parts.push({ ...of(part), plan: had.id, name: had.name, status: had.status, made: false })
          continue
        }
        const proposed = await proposedPlan(rooms, part.text, choices)
        const kept = await keepPart(engine, part, proposed)
        if (kept.status === 'refused') throw refused(kept.refusal)
        const { plan, name } = kept
        parts.push({ ...of(part), plan, name, status: 'draft', made: true, ...about(proposed) })
      }
      return parts
    })
    tell(context, goal, drafted)
    return EXIT.done
  })
}

const refusedWithHint = (refusal: Refusal): CliError =>
  refusal.code === 'not-found' ? notFound(refusal.message, 'list them: planfold list --goals') : refused(refusal)

async function preview(context: Context, text: string, options: PlanOptions): Promise<number> {
  if (options.goal !== undefined) throw usage('--dry-run and --goal cannot be used together', 'use one of them')
  const rooms = roomsWithoutState(context, options)
  const drafted = await whileDrafting(context, rooms, options, async choices => {
    const parts: DraftedPart[] = []
    for (const { title, criteria } of await split(rooms, text, choices)) {
      const proposed = await proposedPlan(rooms, [title, ...criteria].join('\n'), choices)
      const { name } = proposed.definition
      parts.push({ goal: null, title, plan: null, name, status: 'proposed', made: false, ...about(proposed) })
    }
    return parts
  })
  tell(context, null, drafted)
  return EXIT.done
}

async function split(
  { planner, repository }: PlanningRooms,
  goal: string,
  { model, budget, more, signal }: PlanningChoices,
): Promise<readonly Wish[]> {
  return await planner.split({
    goal,
    repository,
    model,
    budget,
    more,
    signal,
  })
}

async function setGoalFor(engine: Parameters<typeof setGoal>[0], text: string): Promise<string> {
  const set = await setGoal(engine, text)
  if (!set.ok) throw refused(set.refusal)
  return set.id
}

const of = ({ goal, title }: GoalPart) => ({ goal, title })

const about = ({
  definition,
  proposal: { kind, questions, irreversible },
}: {
  readonly definition: PlanDefinition
  readonly proposal: PlanProposal
}) => ({ tasks: definition.tasks.map(({ id }) => id), kind, questions, irreversible })

function tell(context: Context, goal: string | null, parts: readonly DraftedPart[]): void {
  answer(context, { goal, parts }, () => {
    const isWhole = parts.length === 1 && (parts[0]!.goal === goal || goal === null)
    const head = isWhole ? 'one piece of work' : numberOf(parts.length, 'sub-goal')
    return [
      `${goal === null ? 'This goal' : `Goal ${escapeForTerminal(goal)}`}: ${head}`,
      ...parts.flatMap((part, at) => ['', ...partLines(part, at)]),
      '',
      ...(goal === null
        ? ['Nothing was kept.']
        : [
            `Next: planfold run NAME approves and starts one; planfold list --goals ${escapeForTerminal(goal)} shows progress`,
          ]),
    ]
  })
}

function partLines(part: DraftedPart, at: number): readonly string[] {
  const { title, goal, name, status, made, tasks = [], kind, questions = [], irreversible = [] } = part
  const said = [
    ...(kind === undefined ? [] : [`taken for: ${kind}`]),
    ...(tasks.length === 0 ? [] : [`tasks: ${tasks.join(', ')}`]),
    ...questions.map(question => `asks: ${question}`),
    ...irreversible.map(({ task, why }) => `irreversible: ${task} (${why}); a person approves it first`),
  ]
  const place = goal === null ? '' : ` (${goal})`
  const plan =
    status === 'proposed' ? `plan ${name}` : made ? `draft ${name}` : `plan ${name}, there before (${status})`
  return [`${at + 1}. ${title}${place}`, `   ${plan}`, ...said.map(line => `   ${line}`)].map(line =>
    escapeForTerminal(line),
  )
}
