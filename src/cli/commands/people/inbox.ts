// `planfold inbox`: everything that waits for a person; `planfold inbox answer`: answers one of them by its id.

import type { Composed } from '../../../compose.ts'
import { isFor } from '../../../domain/views/inbox.ts'
import { sentence, visibleEvents } from '../../../domain/views/timeline.ts'
import type { InboxEntry } from '../../../engine/engine.ts'
import {
  answerInbox as giveAnswer,
  type InboxAnswer,
  type InboxAnswered,
  type LackingFor,
  matchAnswer,
  rollbackAgain,
} from '../../../operations/answer-inbox.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, CliError, type Context, EXIT, notFound, printNote, refused, usage, withState } from '../../command.ts'
import { remarkHowToGoOn } from '../../order.ts'
import { ago } from '../../terminal/elapsed-time.ts'
import { commandText, wordsFor } from '../../text/hint-text.ts'
import { inboxLines } from '../../text/inbox-text.ts'
import { setBackLines } from '../../text/wait-text.ts'
import { type ChoiceOptions, goBack } from '../undo/go-back.ts'
import { type DoneOptions, outputsOf } from './claim.ts'
import { valuesFor } from './form-values.ts'

export async function inbox(context: Context, options: { readonly for?: string }): Promise<number> {
  return await withState(context, { create: false }, async ({ engine }) => {
    const { items: all, restored, unreadable } = await engine.ask({ type: 'inbox' })
    const items = options.for === undefined ? all : all.filter(item => isFor(item, options.for!))
    const { paint } = context
    const { consentLines } = await import('../../text/consent-text.ts')
    const asked = await Promise.all(items.map(async item => await consentLines(context, engine, item)))
    answer(context, { items, restored, unreadable }, () => [
      ...(items.length === 0 ? ['nothing waits for a person'] : []),
      ...items.flatMap((item, at) => [...(at === 0 ? [] : ['']), ...inboxLines(item, context.now(), paint, asked[at])]),
      ...[...new Set(restored.map(({ name }) => name))].flatMap(name =>
        setBackLines({ name, restored: restored.filter(one => one.name === name) }, paint),
      ),
      ...unreadable.map(
        ({ name, why }) => `${paint.red('✖')} ${escapeForTerminal(name)} cannot be read: ${escapeForTerminal(why)}`,
      ),
    ])
    if (items.length > 0)
      printNote(context, "answer with one of these commands, or: planfold inbox answer ID ANSWER -m 'why'")
    return EXIT.done
  })
}

// `planfold inbox answer ID ANSWER`: answers one request by its id. The order is for the version of the plan in which the id was
// found. If the plan has changed, the id is looked up again; if the request is gone, the error says what became of it.

export interface InboxAnswerOptions extends Pick<DoneOptions, 'output' | 'outputs' | 'outcome'> {
  readonly message?: string
  readonly hash?: string
  readonly to?: string
}

/** `word` is the answer; `more` is what it needs: the option that is chosen, the fields of a form. */
export async function answerInbox(
  context: Context,
  id: string,
  word: string,
  options: InboxAnswerOptions,
  more: readonly string[] = [],
): Promise<number> {
  const outputs = await outputsOf(context, options)
  const found = await withState(context, { create: false }, async composed => {
    const said = (item: Pick<InboxEntry, 'asks' | 'answers'>): InboxAnswer => ({
      ...answerIn(item, word, more),
      rationale: options.message,
      hash: options.hash,
      unseen: options.hash === undefined ? true : undefined,
      outcome: options.outcome,
      to: options.to,
      outputs: outputs ?? undefined,
    })
    const passOn = ({ asks }: InboxEntry, answer: string): boolean =>
      (asks.type === 'work' && answer === 'claim') || (asks.type === 'rollback' && answer !== 'leave')
    const done = await giveAnswer(composed.engine, id, said, { passOn })
    if (done.status === 'passed-on')
      return done.item.asks.type === 'work' ? done.item : await again(context, composed, done.item, done.answer)
    if (done.status !== 'answered') throw unanswered(context, id, options, done)
    const { plan, name, version, events } = done.accepted
    answer(context, { id, answer: done.answer, plan, name, version, events }, () =>
      visibleEvents(events).map(event => escapeForTerminal(sentence(event, wordsFor(name)))),
    )
    await remarkHowToGoOn(context, composed, plan)
    return done.unaccepted === null ? EXIT.done : EXIT.failed
  })
  if (typeof found === 'number') return found
  const { claim } = await import('./claim.ts')
  return await claim(context, found.plan, found.task ?? undefined, {})
}

function answerIn(
  item: Pick<InboxEntry, 'asks' | 'answers'>,
  word: string,
  more: readonly string[],
): Pick<InboxAnswer, 'answer' | 'option' | 'answers'> {
  const { asks } = item
  const words = item.answers.map(each => each.answer)
  if ('form' in asks && words.includes('answer')) {
    if (word === 'answer') return { answer: word, answers: valuesFor(asks.form, more) }
    if (!words.includes(word)) return { answer: 'answer', answers: valuesFor(asks.form, [word, ...more]) }
  }
  const target = matchAnswer(item, word)
  if (target === 'choose' && word !== 'choose') return { answer: word }
  const wanted = word === 'choose' ? 1 : 0
  if (words.includes(target) && more.length !== wanted)
    throw usage(
      wanted === 1 ? 'missing option' : `'${more.join(' ')}' is not expected here`,
      asks.type === 'decision' ? `one of ${asks.options.map(option => option.id).join(', ')}` : "say why with -m 'why'",
    )
  return { answer: word, ...(wanted === 1 ? { option: more[0] } : {}) }
}

function unanswered(
  context: Context,
  id: string,
  { hash = '' }: InboxAnswerOptions,
  done: Exclude<InboxAnswered, { readonly status: 'answered' | 'passed-on' }>,
): CliError {
  const { near } = 'near' in done ? done : { near: null }
  const guess = near === null ? null : `did you mean '${near}'?`
  switch (done.status) {
    case 'unknown':
      return notFound(`there is no request with the id '${id}'`, guess ?? 'planfold inbox lists all requests')
    case 'ambiguous':
      return new CliError(
        EXIT.refused,
        'conflict',
        `two questions have the id '${id}'`,
        `use: ${commandText(done.items[0]!.answers[0]!.step)}`,
      )
    case 'over': {
      const { item, by } = done
      const became =
        by === null ? 'it is gone' : `${by.text} (${by.actor}, entry ${by.version}, ${ago(by.at, context.now())})`
      return new CliError(
        EXIT.refused,
        'not-ready',
        `${whatOf(item)} does not ask that any more: ${became}`,
        'planfold inbox lists all requests; nothing was changed',
        [],
        { became: { plan: item.plan, name: item.name, task: item.task, asks: item.asks.type, by } },
      )
    }
    case 'no-answer':
      return usage(
        `'${done.answer}' is not an answer to this request`,
        `${guess ?? `one of ${done.words.join(', ')}`}: planfold inbox answer ${id} ${near ?? done.words[0]}`,
      )
    case 'other-hash':
      return new CliError(
        EXIT.refused,
        'conflict',
        done.on === null
          ? `'${id}' has no hash`
          : `'${id}' asks about ${done.on.slice(0, 12)}, not about ${hash.slice(0, 12)}`,
        'look at it again with `planfold inbox`; nothing was changed',
      )
    case 'lacking':
      return usage(...LACKING[done.to])
    case 'refused':
      return refused(done.refusal)
    default:
      return done satisfies never
  }
}

const LACKING: { readonly [what in LackingFor]: readonly [message: string, hint: string] } = {
  decline: ['to decline it, say why', "add -m 'why'"],
  leave: ['to leave it, say why', "add -m 'why'"],
  fail: ['a failure needs a reason', "add -m 'what went wrong'"],
  'push-back': ['to send it back, say what is to be changed', "add -m 'what to change'"],
  choose: ['missing option', 'name one of the options'],
}

function whatOf({ asks, task, name }: Pick<InboxEntry, 'asks' | 'task' | 'name'>): string {
  switch (asks.type) {
    case 'rollback':
      return `the rollback of '${name}'`
    case 'agent-question':
      return `'${asks.id}' of '${name}'`
    case 'proposal':
      return `the proposal '${asks.id}' for '${name}'`
    default:
      return `'${task}' of '${name}'`
  }
}

/** The same rollback once more, bound to the same files and tasks. */
async function again(context: Context, composed: Composed, item: InboxEntry, word: string): Promise<number> {
  if (item.asks.type !== 'rollback') throw new Error('bug: only a rollback can be tried again here')
  const choice: ChoiceOptions = word === 'keep' || word === 'take' || word === 'merge' ? { [word]: ['all'] } : {}
  return await goBack(context, composed, {
    plan: item.plan,
    name: item.name,
    ...rollbackAgain(item.asks),
    command: commandText(item.answers[0]!.step).split(' ').slice(1),
    options: choice,
  })
}
