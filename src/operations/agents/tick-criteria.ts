// Marks criteria of a task as met, with evidence. It is a claim of whoever says so, kept beside the task: Planfold checks what it can
// check when the task is reported.

import type { PlanId, TaskName } from '../../domain/id.ts'
import type { Json } from '../../domain/json.ts'
import { criterionText } from '../../domain/plan-rules/criterion-text.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import type { Briefing, Card } from '../../domain/views/board.ts'
import type { Engine, SubmitOptions } from '../../engine/engine.ts'
import { escapeForTerminal } from '../../safety/text/terminal.ts'
import type { CallerEngine } from '../run-plan.ts'

export type Ticked =
  /** `criteria`: those that were ticked now. `done` of `all` are ticked by now. */
  | { readonly status: 'ticked'; readonly criteria: readonly string[]; readonly done: number; readonly all: number }
  | { readonly status: 'refused'; readonly refusal: Refusal }

/** Each is named by its text, or by its number in the order in which a briefing lists them. All are ticked, or none. */
export async function tickCriteria(
  engine: CallerEngine & { readonly caller: { readonly actor: string } },
  { plan, task }: { readonly plan: PlanId; readonly task: TaskName },
  wanted: readonly string[],
  { evidence = '', submit }: { readonly evidence?: string | undefined; readonly submit?: SubmitOptions } = {},
): Promise<Ticked> {
  const found = await criteriaOf(engine, plan, task)
  if (found === null) return refused(refuse('not-found', `there is no task '${task}'`))
  const { all, ticked } = found
  const names: string[] = []
  for (const word of wanted) {
    const name = all.find(one => isMeant(one, word)) ?? (/^\d{1,4}$/.test(word) ? all[Number(word) - 1] : undefined)
    if (name === undefined) return refused(unknownCriterion(task, word, all))
    names.push(name)
  }
  const mark = { by: engine.caller.actor, evidence }
  const set = { ticked: { ...ticked, ...Object.fromEntries(names.map(name => [name, mark])) } }
  const done = await engine.submit(plan, { type: 'annotate', task, set }, submit)
  if (!done.ok) return refused(done.refusal)
  return { status: 'ticked', criteria: names, done: Object.keys(set.ticked).length, all: all.length }
}

const refused = (refusal: Refusal): Ticked => ({ status: 'refused', refusal })

function unknownCriterion(task: string, word: string, all: readonly string[]): Refusal {
  const hint = all.length === 0 ? 'it has none' : `one of: ${all.join('; ')}`
  return refuse('unknown-reference', `'${task}' has no criterion '${word}'`, hint)
}

/** What a task must meet, and what somebody has ticked of it; null where there is no such task. */
export async function criteriaOf(
  engine: Pick<Engine, 'ask'>,
  plan: PlanId,
  task: TaskName,
): Promise<{ readonly all: readonly string[]; readonly ticked: { readonly [criterion: string]: Json } } | null> {
  const briefing = await engine.ask({ type: 'briefing', plan, task })
  const card = await engine.ask({ type: 'task', plan, task })
  if (briefing === null || card === null) return null
  return { all: criteriaIn(briefing), ticked: tickedIn(card) }
}

const criteriaIn = ({ preconditions, accept, postconditions }: Briefing): readonly string[] =>
  [...preconditions, ...accept, ...postconditions].map(criterionText)

export function tickedIn({ annotations: { ticked } }: Pick<Card, 'annotations'>): { readonly [name: string]: Json } {
  return ticked !== null && typeof ticked === 'object' && !Array.isArray(ticked)
    ? (ticked as { [name: string]: Json })
    : {}
}

/** As it was shown: on one line, escaped, and cut where it was long. */
function isMeant(criterion: string, word: string): boolean {
  const [shown, said] = [criterion, word].map(text => escapeForTerminal(text).trim()) as [string, string]
  return shown === said || (said.length > CUT_MIN && said.endsWith('…') && shown.startsWith(said.slice(0, -1)))
}

const CUT_MIN = 100
