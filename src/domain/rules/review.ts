// What follows from a review. `pass` completes the reviewer, and what needs the work goes on. `fail` sends the work back with the findings;
// when that was done often enough, the review fails, and a person decides with both texts before them. Nothing passes because time is up.

import type { Feedback } from '../event.ts'
import { advise, quoted } from '../hint.ts'
import type { Json } from '../json.ts'
import { loopsUsedUp } from '../recovery/breaker.ts'
import { wordsIn } from '../recovery/explanation.ts'
import { abort, brokenOf } from '../recovery/follow-recovery.ts'
import type { Failed, Result, Succeeded } from '../result.ts'
import type { PlanState, TaskState } from '../state/state.ts'
import { type DecisionDraft, emit } from './decision.ts'
import { reopen } from './routing.ts'

/** The outcome of a review that asks for changes. */
export const FAIL = 'fail'
/** The failure code of a review that may not send the work back any more. */
const CAPPED = 'review:capped'

/** The failure of a review that asks for changes once too often; null for any other result. */
export function whyCapped(state: PlanState, task: TaskState, result: Succeeded): Failed | null {
  const { reviews } = task.definition
  if (reviews === undefined || result.outcome !== FAIL || task.visit - task.goneBack <= reviews.times) return null
  const { id, recover } = task.definition
  const work = state.tasks.get(reviews.of)
  const said = wordsIn(work?.result ?? null)
  const answer = said === null ? '' : `; '${reviews.of}' says: ${said.slice(0, SAID_MAX)}`
  const { outcome: _, status: __, checkpoint: ___, ...rest } = result
  return {
    ...rest,
    status: 'failed',
    failure: {
      class: 'logic',
      code: CAPPED,
      message: `the review still asks for changes in run ${work?.visit ?? 1} of '${reviews.of}': ${findingsIn(result).replaceAll('\n', '; ')}${answer}`,
      hint: recover?.some(rule => rule.do.type === 'ask')
        ? advise`accept the work as it is: ${quoted('skip', { plan: state.definition.name, task: id, reason: 'why' })}; send it back once more: ${quoted('retry', { plan: state.definition.name, task: id })}; or ${quoted('reject', { plan: state.definition.name, task: id, reason: 'why' })}`
        : 'raise `times` of its review, or do the rest by hand',
      retryable: false,
    },
  }
}

const SAID_MAX = 2_000

/** Sends the work back, in the same conversation where the agent can. True: nothing else follows. */
export function sendBack(draft: DecisionDraft, task: TaskState, result: Succeeded): boolean {
  const { reviews, id } = task.definition
  if (reviews === undefined) return false
  const work = draft.state.tasks.get(reviews.of)
  for (const text of textsIn(result.outputs?.notes)) emit(draft, { type: 'note.added', text, task: reviews.of })
  if (work === undefined || result.outcome !== FAIL) return false
  const cap = loopsUsedUp(draft.state)
  if (cap !== null) abort(draft, cap, undefined, work.definition.id)
  else reopen(draft, brokenOf(draft.state, work), `'${id}' asks for changes`, asked(task, findingsIn(result)))
  return true
}

/** A person sends the work back once more, and may add to what the review says. False: it is not about a review. */
export function sendBackAgain(draft: DecisionDraft, task: TaskState, by: string, words: string): boolean {
  const { reviews, id } = task.definition
  const work = reviews === undefined ? undefined : draft.state.tasks.get(reviews.of)
  const { result } = task
  if (work === undefined || result?.status !== 'failed' || result.failure.code !== CAPPED) return false
  const text = [words, findingsIn(result)].filter(part => part !== '').join('\n')
  reopen(draft, brokenOf(draft.state, work), `'${id}' asks for changes`, { ...asked(task, text), by })
  return true
}

const asked = ({ definition: { id } }: TaskState, text: string): Feedback => ({ from: id, by: id, text, review: true })

const findingsIn = ({ outputs = {} }: Result): string =>
  typeof outputs.feedback === 'string' ? outputs.feedback : 'it gives no reason'

const textsIn = (value: Json | undefined): readonly string[] =>
  Array.isArray(value) ? value.filter(one => typeof one === 'string') : []
