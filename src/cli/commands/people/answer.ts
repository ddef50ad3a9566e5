// `planfold answer`: answers a question, chooses an option, sends work back, or decides all pending approvals of a plan at once.

import type { Composed } from '../../../compose.ts'
import type { EditChoices } from '../../../domain/event.ts'
import type { PlanId, TaskName } from '../../../domain/id.ts'
import type { Field } from '../../../domain/plan.ts'
import { gateAnswers } from '../../../domain/views/gate-answers.ts'
import type { Engine, OpenReview, Order } from '../../../engine/engine.ts'
import { decideReview } from '../../../operations/decide-gate.ts'
import { lookUpTaskWords, type PlanTarget } from '../../../operations/find-target.ts'
import { shellWord } from '../../../safety/text/terminal.ts'
import { answer, CliError, type Context, EXIT, printNote, refused, usage, withState } from '../../command.ts'
import { findPlan, findTask } from '../../find-target.ts'
import { answerGate, type GateOptions, orderAndTell, printAccepted, remarkHowToGoOn } from '../../order.ts'
import { elapsed } from '../../terminal/elapsed-time.ts'
import { hintText } from '../../text/hint-text.ts'
import { endedUnanswered, fieldWords, inboxLines, optionWords } from '../../text/inbox-text.ts'
import { valuesFor } from './form-values.ts'

interface AnswerOptions extends GateOptions {
  readonly all?: boolean
  readonly approve?: boolean
  readonly reject?: boolean
  readonly pushBack?: boolean
  readonly to?: string
  readonly keep?: readonly string[]
  readonly take?: readonly string[]
  readonly merge?: readonly string[]
}

/** `words`: the plan, which may be left out for a task, then task or question, then the answer. */
export async function answerAny(context: Context, words: readonly string[], options: AnswerOptions): Promise<number> {
  const [first, second, ...more] = words
  if (options.all === true) {
    if (second !== undefined) throw usage('--all is for a whole plan', 'name only the plan')
    return await review(context, first, options)
  }
  if (options.approve === true || options.reject === true)
    throw usage('--approve and --reject need --all', 'for one request: planfold approve PLAN TASK')
  if (first === undefined)
    throw usage(
      'name a task: planfold answer [plan] <task-or-question> [answer...]',
      '`planfold inbox` lists what waits for you',
    )
  const { message = '' } = options
  if (options.pushBack === true) {
    if (message.trim() === '') throw usage('to send it back, say what is to be changed', "add -m 'what to change'")
    if (more.length > 0) throw usage(`'${more.join(' ')}' is not expected here`, 'name only the plan and the task')
    return await pushBack(context, first, second, options)
  }
  if (options.to !== undefined) throw usage('--to needs --push-back', 'add --push-back')
  const form = await findForm(context, words)
  if (form !== null) return await answerQuestion(context, form.plan, form.question, form.words, options)
  if (more.length > 1) throw usage(`'${more.slice(1).join(' ')}' is not expected here`, 'name one option')
  return await choose(context, words, options)
}

/** A question of an agent or of a task; null where an option is chosen instead. */
async function findForm(context: Context, [first = '', second, ...more]: readonly string[]) {
  return await withState(context, { create: false }, async ({ engine }) => {
    const asksIn = async (plan: PlanId, task: string) =>
      (await engine.ask({ type: 'summary', plan }))?.waiting.find(waiting => waiting.task === task)?.asks.type ?? null
    const found = second === undefined ? null : await engine.ask({ type: 'find', reference: first })
    if (found !== null && second !== undefined) {
      const { plan } = found
      const form = { plan: first, question: second, words: more }
      const questions = (await engine.ask({ type: 'questions', plan, id: second })) ?? []
      if (questions.length > 0 || (await asksIn(plan, second)) === 'question') return form
      const isTask = (await engine.ask({ type: 'task', plan, task: second })) !== null
      // `answerQuestion` says that there is no such task or question.
      if (!isTask && !(await lookUpTaskWords(engine, first, undefined)).ok) return form
    }
    const looked = await lookUpTaskWords(engine, first, undefined)
    if (!looked.ok || (await asksIn(looked.target.plan, looked.target.task)) !== 'question') return null
    return {
      plan: looked.target.name,
      question: looked.target.task,
      words: second === undefined ? [] : [second, ...more],
    }
  })
}

export async function pushBack(
  context: Context,
  first: string,
  second: string | undefined,
  options: GateOptions & { readonly to?: string },
): Promise<number> {
  const { to } = options
  return await answerGate(context, first, second, options, () => ({
    verdict: 'pushed-back',
    to: to === undefined ? undefined : (to as TaskName),
  }))
}

export async function review(context: Context, word: string | undefined, options: AnswerOptions): Promise<number> {
  if (options.approve === true && options.reject === true)
    throw usage('--approve and --reject cannot be used together', 'use one of them')
  if (options.reject === true && (options.message ?? '').trim() === '')
    throw usage('a rejection needs a reason', "add -m 'why'")
  return await withState(context, { create: false }, async composed => {
    const target = await findPlan(composed.engine, word)
    if (options.approve === true || options.reject === true) return await decide(context, composed, target, options)
    const [open, ...later] = (await composed.engine.ask({ type: 'reviews', plan: target.plan })) ?? []
    await show(context, composed, target.name, open, later.length)
    return EXIT.done
  })
}

async function show(
  context: Context,
  { engine }: Composed,
  name: string,
  open: OpenReview | undefined,
  later: number,
): Promise<void> {
  const now = context.now()
  const { consentLines } = await import('../../text/consent-text.ts')
  const shown = await Promise.all(
    (open?.items ?? []).map(async item => await consentLines(context, engine, item, { all: true, short: true })),
  )
  answer(context, { review: open ?? null, later }, () =>
    open === undefined
      ? ['nothing waits for approval']
      : [
          ...open.items.flatMap((item, at) => [...inboxLines(item, now, context.paint, shown[at]), '']),
          `${open.items.length} in this review ${open.hash.slice(0, 12)}${windowWords(open, now)}`,
          ...(later === 0 ? [] : [`${later} more after it`]),
        ],
  )
  if (open !== undefined)
    printNote(
      context,
      `Next: planfold answer ${name} --all --approve -m 'why' --hash ${open.hash.slice(0, 12)}, or --reject`,
    )
}

function windowWords({ closesAt, closed }: OpenReview, now: number): string {
  if (closesAt === null || closed) return ''
  return `; more requests may join for ${elapsed(closesAt - now)}`
}

async function decide(
  context: Context,
  composed: Composed,
  { plan, name }: PlanTarget,
  { approve, message = '', hash }: AnswerOptions,
): Promise<number> {
  const verdict = approve === true ? ('approved' as const) : ('rejected' as const)
  const said = { verdict, rationale: message, ...(hash === undefined && { unseen: true as const }) }
  const done = await decideReview(composed.engine, plan, said, { hash })
  switch (done.status) {
    case 'nothing':
      throw new CliError(EXIT.refused, 'not-ready', `nothing in '${name}' waits for approval`, 'see `planfold inbox`')
    case 'other-review':
      throw new CliError(
        EXIT.refused,
        'conflict',
        'the review has changed since you looked',
        `look at it again: planfold answer ${name} --all`,
      )
    case 'refused':
      throw done.refusal.code === 'conflict'
        ? new CliError(
            EXIT.refused,
            'conflict',
            'the plan has changed meanwhile; nothing was decided',
            `look again: planfold answer ${name} --all`,
          )
        : refused(done.refusal)
    case 'decided':
      printAccepted(context, done.accepted)
      await remarkHowToGoOn(context, composed, plan)
      return EXIT.done
    default:
      return done satisfies never
  }
}

/** `words`: plan, task and option, or task and option of the only open plan. Without an option they are listed. */
export async function choose(context: Context, words: readonly string[], options: AnswerOptions): Promise<number> {
  if (await listOptions(context, words, options)) return EXIT.done
  const [first = '', second] = words.slice(0, -1)
  const choices: EditChoices = {
    ...each(options.keep, 'keep'),
    ...each(options.take, 'take'),
    ...each(options.merge, 'merge'),
  }
  const said = Object.keys(choices).length === 0 ? {} : { choices }
  return await answerGate(context, first, second, options, () => ({
    verdict: 'chosen',
    option: words.at(-1) ?? '',
    ...said,
  }))
}

/** Lists the options if none is given. Two words are a plan and its task if there is such a task, else a task and its option. */
async function listOptions(context: Context, words: readonly string[], single: AnswerOptions): Promise<boolean> {
  const [first = '', second, option] = words
  if (option !== undefined) return false
  return await withState(context, { create: false }, async ({ engine }) => {
    if (second !== undefined) {
      const found = await engine.ask({ type: 'find', reference: first })
      const card = found === null ? null : await engine.ask({ type: 'task', plan: found.plan, task: second })
      if (card === null) return false
    }
    const { plan, name, task } = await findTask(engine, first, second)
    const summary = await engine.ask({ type: 'summary', plan })
    const asks = summary?.waiting.find(waiting => waiting.task === task)?.asks
    if (asks?.type !== 'decision' && asks?.type !== 'edits')
      throw new CliError(
        EXIT.refused,
        'illegal-transition',
        `task '${task}' does not wait for a choice`,
        `planfold show ${name} ${task}`,
      )
    const named = (['keep', 'take', 'merge'] as const).flatMap(choice =>
      (single[choice] ?? []).map(path => `--${choice} ${shellWord(path)}`),
    )
    if (asks.type === 'edits' && named.length > 0) {
      const others = single.keep === undefined ? 'keep' : 'take'
      throw usage(
        'nothing was chosen for the other files',
        `planfold answer ${shellWord(name)} ${shellWord(task)} ${others} ${named.join(' ')}`,
      )
    }
    const edits = gateAnswers('edits', { plan: name, task, mayGoBack: false }).filter(
      ({ step }) => step.next === 'choose',
    )
    const ids = asks.type === 'decision' ? asks.options.map(({ id }) => id) : edits.map(({ answer }) => answer)
    const words =
      asks.type === 'decision'
        ? asks.options.map(optionWords)
        : edits.map(({ answer, means }) => `${answer}: ${hintText(means)}`)
    answer(
      context,
      { plan, name, task, options: asks.type === 'decision' ? asks.options : ids.map(id => ({ id })) },
      () => [`options of '${task}':`, ...words.map(line => `  ${line}`)],
    )
    printNote(context, `Next: planfold answer ${name} ${task} ${shellWord(ids[0] ?? 'OPTION')} -m 'why'`)
    return true
  })
}

const each = (paths: readonly string[] = [], choice: 'keep' | 'take' | 'merge'): EditChoices =>
  Object.fromEntries(paths.map(path => [path, choice]))

export async function answerQuestion(
  context: Context,
  first: string,
  second: string,
  words: readonly string[],
  options: GateOptions,
): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const { engine } = composed
    const { plan, name } = await findPlan(engine, first)
    const [question] = (await engine.ask({ type: 'questions', plan, id: second })) ?? []
    if (question !== undefined) {
      const { id, form, answer } = question
      if (answer !== null)
        throw new CliError(
          EXIT.refused,
          'not-ready',
          `${answer.by} already answered '${id}'`,
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
  { message = '', hash }: GateOptions,
): Promise<Order> {
  const { task, name } = await findTask(engine, first, second, 'task or question')
  const asks = (await engine.ask({ type: 'summary', plan }))?.waiting.find(each => each.task === task)?.asks
  if (asks?.type !== 'question')
    throw new CliError(
      EXIT.refused,
      'not-ready',
      `task '${task}' of '${name}' asks no question`,
      'planfold inbox lists all requests',
    )
  demandWords(asks.form, words)
  return {
    type: 'decide',
    task,
    verdict: 'answered',
    rationale: message,
    answers: valuesFor(asks.form, words),
    hash: hash === undefined ? undefined : (hash as never),
  }
}

/** A form needs an answer, unless all of its fields are optional. */
function demandWords(form: readonly Field[], words: readonly string[]): void {
  if (words.length > 0 || form.every(field => field.optional === true || field.default !== undefined)) return
  throw usage('missing answer', `write NAME=VALUE; fields: ${form.map(fieldWords).join('; ')}`)
}
