// `planfold answer PLAN TASK|ID NAME=VALUE…`: fills in the form of a question gate, or of a question that an agent asked under an id.

import type { PlanId } from '../../domain/id.ts'
import type { Field } from '../../domain/plan.ts'
import type { Engine, Order } from '../../engine/engine.ts'
import { endedUnanswered } from '../asked-too-late.ts'
import { type Context, withState } from '../context.ts'
import { Complaint, EXIT, usage } from '../exit.ts'
import { valuesFor } from '../form-values.ts'
import { fieldWords } from '../inbox-words.ts'
import { meantPlan, meantTask } from '../meant.ts'
import { orderAndTell } from '../order.ts'

export interface AnswerOptions {
  readonly message?: string
  /** Of what was seen; refused when something else is asked by now. */
  readonly hash?: string
}

export async function answerQuestion(
  context: Context,
  first: string,
  second: string,
  words: readonly string[],
  options: AnswerOptions,
): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const { engine } = composed
    const { plan, name } = await meantPlan(engine, first)
    const [question] = (await engine.ask({ type: 'questions', plan, id: second })) ?? []
    if (question !== undefined) {
      const { id, form, answer } = question
      if (answer !== null)
        throw new Complaint(
          EXIT.refused,
          'not-ready',
          `${answer.by} has answered '${id}' already`,
          `see it with: planfold ask ${name} --id ${id}`,
        )
      const ended = await endedUnanswered(engine, { plan, name, question })
      if (ended !== null) throw ended
      demandWords(form, words)
      await orderAndTell(context, composed, plan, { type: 'answer', id, answers: valuesFor(form, words) })
      return EXIT.done
    }
    await orderAndTell(context, composed, plan, await gateOrder(engine, plan, first, second, words, options))
    return EXIT.done
  })
}

async function gateOrder(
  engine: Engine,
  plan: PlanId,
  first: string,
  second: string,
  words: readonly string[],
  { message = '', hash }: AnswerOptions,
): Promise<Order> {
  const { task, name } = await meantTask(engine, first, second)
  const asks = (await engine.ask({ type: 'summary', plan }))?.waiting.find(each => each.task === task)?.asks
  if (asks?.type !== 'question')
    throw new Complaint(
      EXIT.refused,
      'not-ready',
      `'${task}' of '${name}' asks no question`,
      'planfold inbox lists what waits for a person',
    )
  demandWords(asks.form, words)
  return {
    type: 'decide',
    task,
    verdict: 'answered',
    rationale: message,
    answers: valuesFor(asks.form, words),
    ...(hash === undefined ? {} : { hash: hash as never }),
  }
}

/** Without a word, what may be said is told; a form whose fields may all be left out can be sent empty with `--`. */
function demandWords(form: readonly Field[], words: readonly string[]): void {
  if (words.length > 0 || form.every(field => field.optional === true || field.default !== undefined)) return
  throw usage('what is the answer?', `NAME=VALUE, with ${form.map(fieldWords).join('; ')}`)
}
