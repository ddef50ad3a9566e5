// `planfold ask [PLAN] [TASK] QUESTION`: a question in the middle of somebody's work, with a form. It waits in the inbox; whoever asked
// goes on with something else, or waits for the answer here. `--id` waits for the answer to one that was asked before.

import type { Composed } from '../../compose.ts'
import type { PlanId, TaskName } from '../../domain/id.ts'
import type { Field } from '../../domain/plan.ts'
import type { AskedQuestion } from '../../engine/engine.ts'
import { escapeForTerminal } from '../../safety/terminal.ts'
import { answer, remark } from '../answer.ts'
import { endedUnanswered } from '../asked-too-late.ts'
import { type Context, withState } from '../context.ts'
import { EXIT, notFound, usage } from '../exit.ts'
import { fieldOf, formFrom } from '../field-words.ts'
import { answerLines } from '../inbox-words.ts'
import { Follower } from '../live/follower.ts'
import { meantPlan, meantPlanAndTask } from '../meant.ts'
import { submit, tellPeople } from '../order.ts'

export interface AskOptions {
  readonly field?: readonly string[]
  readonly form?: string
  readonly wait?: boolean
  /** Milliseconds. */
  readonly timeout?: number
  /** Keeps a claim alive meanwhile. */
  readonly token?: string
  readonly id?: string
}

/** A question without a form wants a text. */
const PLAIN: readonly Field[] = [{ name: 'answer', type: 'text' }]

export async function ask(context: Context, words: readonly string[], options: AskOptions): Promise<number> {
  if (options.field !== undefined && options.form !== undefined)
    throw usage('--field and --form say two different things', 'give the form as fields or as a file')
  const form =
    options.form === undefined ? (options.field?.map(fieldOf) ?? PLAIN) : await formFrom(context, options.form)
  return await withState(context, { create: false }, async composed => {
    const asked =
      options.id === undefined
        ? await askNow(composed, words, form)
        : await askedBefore(composed, words[0], words.length, options.id)
    const { plan, name, question } = asked
    const ended = await endedUnanswered(composed.engine, asked)
    if (ended !== null) throw ended
    if (options.wait !== true || question.answer !== null) {
      tell(context, asked)
      if (question.answer === null)
        remark(context, `it waits in the inbox; wait for the answer: planfold ask ${name} --id ${question.id} --wait`)
      await tellPeople(composed, plan)
      return EXIT.done
    }
    remark(context, `${question.id} waits in the inbox: planfold answer ${name} ${question.id} NAME=VALUE`)
    const stop = new AbortController()
    const telling = composed.worker.tell(plan, { stop: stop.signal })
    try {
      return await waitFor(context, composed, asked, options)
    } finally {
      stop.abort()
      await telling
    }
  })
}

interface Asked {
  readonly plan: PlanId
  readonly name: string
  readonly question: AskedQuestion
  /** The answer comes behind this entry. */
  readonly version: number
}

async function askNow(composed: Composed, words: readonly string[], form: readonly Field[]): Promise<Asked> {
  const text = words.at(-1)
  if (text === undefined || words.length > 3)
    throw usage('what is the question?', "planfold ask PLAN [TASK] 'which one?' --field one:text")
  const { plan, name, task } = await meantPlanAndTask(
    composed.engine,
    words[words.length - 3] ?? words[words.length - 2],
    words.length === 3 ? words[1] : undefined,
  )
  const order = { type: 'ask', text, form, ...(task === null ? {} : { task: task as TaskName }) } as const
  const { events, version } = await submit(composed, plan, order)
  const event = events.find(one => one.type === 'question.asked')
  if (event === undefined) throw new Error('bug: a question was accepted and not asked')
  const { type: _, ...question } = event
  return { plan, name, version, question: { ...question, since: composed.now(), answer: null } }
}

async function askedBefore(composed: Composed, word: string | undefined, words: number, id: string): Promise<Asked> {
  if (words > 1) throw usage('with --id only the plan is named', `planfold ask PLAN --id ${id} --wait`)
  const { plan, name } = await meantPlan(composed.engine, word)
  const version = (await composed.engine.ask({ type: 'summary', plan }))?.version ?? 0
  const [question] = (await composed.engine.ask({ type: 'questions', plan, id })) ?? []
  if (question === undefined)
    throw notFound(`nothing was asked in '${name}' under the id '${id}'`, 'planfold inbox lists what waits')
  return { plan, name, question, version }
}

/** Until it is answered, the plan has ended, the time is over, or somebody stops us. The question stays. */
async function waitFor(context: Context, composed: Composed, asked: Asked, options: AskOptions): Promise<number> {
  const { plan, name, version, question } = asked
  const { id, task } = question
  type End = 'answered' | 'ended' | 'late' | 'stopped'
  let resolve: (how: End) => void = () => {}
  const ended = new Promise<End>(resolved => {
    resolve = resolved
  })
  let found = question
  const follower = new Follower(composed.engine, plan, version, ({ events, now }) => {
    for (const event of events) {
      if (event.type === 'question.answered' && event.id === id) {
        found = { ...question, answer: { answers: event.answers, by: event.by, at: now } }
        resolve('answered')
      } else if (event.type === 'plan.finished') resolve('ended')
    }
  })
  const { token, timeout } = options
  const beat = async () => {
    if (token !== undefined && task !== undefined)
      await composed.engine.submit(plan, { type: 'heartbeat', task, token }, composed.actor)
  }
  const beating = setInterval(() => void beat().catch(() => {}), HEARTBEAT_MS)
  const timer = timeout === undefined ? undefined : setTimeout(() => resolve('late'), timeout)
  const unlisten = context.onSignal(() => resolve('stopped'))
  try {
    await beat()
    const how = await ended
    const over = how === 'ended' ? await endedUnanswered(composed.engine, { ...asked, question: found }) : null
    if (over !== null) throw over
    tell(context, { ...asked, question: found })
    if (how === 'answered') return EXIT.done
    const why = how === 'stopped' ? 'interrupted' : 'nobody has answered yet'
    remark(context, `${why}; the question stays: planfold ask ${name} --id ${id} --wait`)
    return how === 'stopped' ? EXIT.interrupted : EXIT.waits
  } finally {
    clearInterval(beating)
    clearTimeout(timer)
    unlisten()
    await follower.close()
  }
}

/** Often enough for the shortest claim anybody sensible makes. */
const HEARTBEAT_MS = 15_000

function tell(context: Context, { plan, name, question }: Asked): void {
  answer(context, { plan, name, ...question }, () =>
    question.answer === null ? escapeForTerminal(question.id) : answerLines(question.answer.answers),
  )
}
