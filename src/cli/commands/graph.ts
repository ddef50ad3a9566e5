// `planfold graph PLAN|FILE`: who needs whom, as text, Mermaid or Graphviz. A file is only read.

import type { PlanDefinition } from '../../domain/plan.ts'
import type { TaskStatus } from '../../domain/status.ts'
import { escapeForTerminal } from '../../safety/terminal.ts'
import { answer } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { EXIT } from '../exit.ts'
import { dot, mermaid, text } from '../graph-text.ts'
import { meantPlan } from '../meant.ts'
import { isFile, readPlanFile } from '../plan-file.ts'

export interface GraphOptions {
  readonly mermaid?: boolean
  readonly dot?: boolean
}

export async function graph(context: Context, word: string | undefined, options: GraphOptions): Promise<number> {
  const { definition, statuses } = await graphed(context, word)
  const edges = definition.tasks.flatMap(task =>
    (task.needs ?? []).map(need => ({ from: need, to: task.id, on: null as string | null })),
  )
  const outcomes = definition.tasks.flatMap(task =>
    Object.entries(task.on ?? {}).flatMap(([on, targets]) => targets.map(to => ({ from: task.id, to, on }))),
  )
  const nodes = definition.tasks.map(task => ({
    name: task.id,
    action: task.action.type,
    status: statuses.get(task.id) ?? null,
  }))
  answer(context, { name: definition.name, nodes, edges: [...edges, ...outcomes] }, () => {
    if (options.mermaid === true) return escapeForTerminal(mermaid(definition, statuses), { keepLines: true })
    if (options.dot === true) return escapeForTerminal(dot(definition, statuses), { keepLines: true })
    return text(definition, statuses, context.paint)
  })
  return EXIT.done
}

async function graphed(
  context: Context,
  word: string | undefined,
): Promise<{ definition: PlanDefinition; statuses: ReadonlyMap<string, TaskStatus> }> {
  if (word !== undefined && (await isFile(context, word)))
    return { definition: (await readPlanFile(context, word)).definition, statuses: new Map() }
  return await withState(context, { create: false }, async ({ engine }) => {
    const { plan } = await meantPlan(engine, word)
    const current = await engine.ask({ type: 'definition', plan })
    const board = (await engine.ask({ type: 'board', plan })) ?? []
    if (current === null) throw new Error(`the plan ${plan} has gone`)
    return { definition: current.definition, statuses: new Map(board.map(card => [card.name, card.status])) }
  })
}
