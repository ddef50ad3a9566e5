// `planfold list --goals [GOAL]`: the goals there are, or one with its sub-goals and plans, and how far each has come.

import { answer, type Context, EXIT, notFound, withState } from '../../../cli/command.ts'
import { numberOf } from '../../../domain/phrases.ts'
import type { Engine } from '../../../engine/engine.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import type { GoalRow } from '../../../stores/store.ts'
import { type GoalProgress, goalProgress } from '../goals/goal-progress.ts'

const LISTED_MAX = 200
const DEPTH_MAX = 10

interface GoalView extends GoalRow {
  readonly progress: GoalProgress
  readonly plans: readonly { readonly id: string; readonly name: string; readonly status: string }[]
  readonly children: readonly GoalView[]
}

export async function goals(
  context: Context,
  id: string | undefined,
  { all = false }: { readonly all?: boolean },
): Promise<number> {
  return await withState(context, { create: false, reading: true }, async ({ engine }) => {
    if (id !== undefined) {
      const row = await engine.goals.get(id)
      if (row === null)
        throw notFound(`there is no goal '${id.slice(0, 100)}'`, 'list them: planfold list --goals --all')
      const view = await viewOf(engine, row, DEPTH_MAX)
      answer(context, view, () => [...lines(view, ''), ...criteriaLines(view)].map(line => escapeForTerminal(line)))
      return EXIT.done
    }
    const { items } = await engine.goals.list({ limit: LISTED_MAX, ...(all ? {} : { where: { status: 'open' } }) })
    const known = new Set(items.map(one => one.id))
    const tops = items.filter(({ parent }) => parent === null || !known.has(parent))
    const views: GoalView[] = []
    for (const row of tops) views.push(await viewOf(engine, row, 0))
    answer(context, { goals: views }, () =>
      views.length === 0
        ? 'no goals. Set one: planfold plan "GOAL" --split'
        : views.map(view => escapeForTerminal(headline(view))),
    )
    return EXIT.done
  })
}

async function viewOf(engine: Engine, row: GoalRow, depth: number): Promise<GoalView> {
  const progress = await goalProgress(engine, row.id, row.status)
  const { items: plans } = await engine.ask({ type: 'plans', goal: row.id, archived: false, limit: LISTED_MAX })
  const children: GoalView[] = []
  if (depth > 0) {
    const { items } = await engine.goals.list({ where: { parent: row.id }, limit: LISTED_MAX })
    for (const child of items) children.push(await viewOf(engine, child, depth - 1))
  }
  return { ...row, progress, plans: plans.map(({ id, name, status }) => ({ id, name, status })), children }
}

function headline({ id, title, status, progress }: GoalView): string {
  const { ratio, goals: parts, tasks, done } = progress
  const of = [...(parts === 0 ? [] : [numberOf(parts, 'sub-goal')]), `${done} of ${numberOf(tasks, 'task')} done`]
  return `${id}  ${Math.round(ratio * 100)} %  ${status}  ${title} (${of.join(', ')})`
}

const lines = (view: GoalView, indent: string): readonly string[] => [
  `${indent}${headline(view)}`,
  ...view.plans.map(({ name, status }) => `${indent}  plan ${name} (${status})`),
  ...view.children.flatMap(child => lines(child, `${indent}  `)),
]

const criteriaLines = ({ criteria }: GoalView): readonly string[] =>
  criteria.length === 0 ? [] : ['', 'Reached when', ...criteria.map(one => `  ${one}`)]
