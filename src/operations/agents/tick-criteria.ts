// Marks criteria of a task as met, with evidence. This is a statement of the caller; Planfold checks what it can when the task is reported.

import type { PlanId, TaskName } from '../../domain/id.ts'
import { criterionText } from '../../domain/plan-rules/criterion-text.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import type { Briefing } from '../../domain/views/board.ts'
import { type Ticked as Marks, type TickMark, tickedIn, timesTicked } from '../../domain/views/ticked-checks.ts'
import type { Engine, SubmitOptions } from '../../engine/engine.ts'
import { escapeForTerminal } from '../../safety/text/terminal.ts'
import type { CallerEngine } from '../run-plan.ts'

export type Ticked =
  /** `criteria`: those ticked now. `done` of `all` are ticked in total. */
  | { readonly status: 'ticked'; readonly criteria: readonly string[]; readonly done: number; readonly all: number }
  | { readonly status: 'refused'; readonly refusal: Refusal }

/** Each write contains all ticked criteria, so after a concurrent one it is repeated. */
const TRIES_MAX = 64

/** Criteria by text, or by number in the order of the briefing. All are ticked, or none. */
export async function tickCriteria(
  engine: CallerEngine & { readonly caller: { readonly actor: string } },
  { plan, task }: { readonly plan: PlanId; readonly task: TaskName },
  wanted: readonly string[],
  { evidence = '', submit = {} }: { readonly evidence?: string | undefined; readonly submit?: SubmitOptions } = {},
): Promise<Ticked> {
  for (let tries = 1; ; tries++) {
    const version = (await engine.ask({ type: 'summary', plan }))?.version
    const found = await criteriaOf(engine, plan, task)
    if (version === undefined || found === null) return refused(refuse('not-found', `there is no task '${task}'`))
    const { all, ticked } = found
    const names: string[] = []
    for (const word of wanted) {
      const name = findCriterion(all, word)
      if (name === undefined) return refused(unknownCriterion(task, word, all))
      names.push(name)
    }
    const mark: TickMark = { by: engine.caller.actor, evidence, time: timesTicked(ticked) + 1 }
    const set = { ticked: { ...ticked, ...Object.fromEntries(names.map(name => [name, { ...mark }])) } }
    const order = { type: 'annotate', task, set } as const
    const done = await engine.submit(plan, order, { expectedVersion: version, ...submit })
    if (done.ok) return { status: 'ticked', criteria: names, done: Object.keys(set.ticked).length, all: all.length }
    const hasMoved =
      done.refusal.code === 'conflict' && (await engine.ask({ type: 'summary', plan }))?.version !== version
    if (!hasMoved || tries === TRIES_MAX || submit.expectedVersion !== undefined) return refused(done.refusal)
  }
}

export const findCriterion = (all: readonly string[], word: string): string | undefined =>
  all.find(one => isSameText(one, word)) ?? (/^\d{1,4}$/.test(word) ? all[Number(word) - 1] : undefined)

const refused = (refusal: Refusal): Ticked => ({ status: 'refused', refusal })

function unknownCriterion(task: string, word: string, all: readonly string[]): Refusal {
  const hint = all.length === 0 ? 'it has none' : `one of: ${all.join('; ')}`
  return refuse('unknown-reference', `'${task}' has no acceptance check '${word}'`, hint)
}

/** The criteria of a task, and which are ticked; null if there is no such task. */
export async function criteriaOf(
  engine: Pick<Engine, 'ask'>,
  plan: PlanId,
  task: TaskName,
): Promise<{ readonly all: readonly string[]; readonly ticked: Marks } | null> {
  const briefing = await engine.ask({ type: 'briefing', plan, task })
  const card = await engine.ask({ type: 'task', plan, task })
  if (briefing === null || card === null) return null
  return { all: criteriaIn(briefing), ticked: tickedIn(card) }
}

const criteriaIn = ({ preconditions, accept, postconditions }: Briefing): readonly string[] =>
  [...preconditions, ...accept, ...postconditions].map(criterionText)

/** Compares with the text as it was shown: on one line, escaped, and cut if it was long. */
function isSameText(criterion: string, word: string): boolean {
  const [shown, given] = [criterion, word].map(text => escapeForTerminal(text).trim()) as [string, string]
  return shown === given || (given.length > CUT_MIN && given.endsWith('…') && shown.startsWith(given.slice(0, -1)))
}

const CUT_MIN = 100
