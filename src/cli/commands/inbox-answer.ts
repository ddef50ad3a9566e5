// `planfold inbox answer ID ANSWER`: answers one question by its id, and no other: what is ordered holds only for the plan as it
// stood when the id was looked up. When the plan has moved, the id is looked up again; when it waits no longer, what became of it
// is told and nothing is ordered.

import type { Composed } from '../../compose.ts'
import { suggest } from '../../domain/suggest.ts'
import { sentence } from '../../domain/views/timeline.ts'
import type { InboxEntry, Order } from '../../engine/engine.ts'
import { escapeForTerminal } from '../../safety/terminal.ts'
import { answer } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { ago } from '../elapsed.ts'
import { Complaint, EXIT, notFound, refused, usage } from '../exit.ts'
import { type ChoiceOptions, goBack } from '../go-back.ts'
import { remarkHowToGoOn } from '../order.ts'
import { type DoneOptions, outputsOf } from './done.ts'

export interface InboxAnswerOptions extends Pick<DoneOptions, 'output' | 'outputs' | 'outcome'> {
  readonly message?: string
}

const TRIES_MAX = 20

export async function answerInbox(
  context: Context,
  id: string,
  word: string,
  options: InboxAnswerOptions,
): Promise<number> {
  const outputs = await outputsOf(context, options)
  const found = await withState(context, { create: false }, async composed => {
    for (let tries = 1; ; tries++) {
      const item = await waitingItem(context, composed, id)
      demandAnswer(item, word)
      if (item.asks.type === 'work' && word === 'claim') return item
      if (item.asks.type === 'rollback' && word !== 'leave') return await again(context, composed, item, word)
      const order = orderFor(item, word, options, outputs)
      const submitted = await composed.engine.submit(item.plan, order, composed.actor, {
        expectedVersion: item.version,
      })
      if (submitted.ok) {
        const { plan, name, version, events } = submitted
        answer(context, { id, answer: word, plan, name, version, events }, () =>
          events.map(event => escapeForTerminal(sentence(event))),
        )
        await remarkHowToGoOn(context, composed, plan)
        return order.type === 'report' && word === 'done' && events.some(({ type }) => type === 'attempt.failed')
          ? EXIT.failed
          : EXIT.done
      }
      if (submitted.refusal.code !== 'conflict' || tries >= TRIES_MAX) throw refused(submitted.refusal)
    }
  })
  if (typeof found === 'number') return found
  const { claim } = await import('./claim.ts')
  return await claim(context, found.plan, found.task ?? undefined, {})
}

async function waitingItem(context: Context, { engine }: Composed, id: string): Promise<InboxEntry> {
  const { items } = await engine.ask({ type: 'inbox' })
  const found = items.filter(item => item.id === id)
  if (found.length > 1)
    throw new Complaint(
      EXIT.refused,
      'conflict',
      `two questions have the id '${id}'`,
      `use: ${found[0]!.answers[0]!.command}`,
    )
  if (found[0] !== undefined) return found[0]
  const fate = await engine.ask({ type: 'inboxFate', id })
  if (fate === null) {
    const near = suggest(
      id,
      items.map(item => item.id),
    )
    throw notFound(
      `nothing waits under the id '${id}', and nothing did`,
      near === null ? 'planfold inbox lists what waits' : `did you mean '${near}'?`,
    )
  }
  const { item, by } = fate
  const what = item.task === null ? `the rollback of '${item.name}'` : `'${item.task}' of '${item.name}'`
  const became =
    by === null ? 'it is gone' : `${by.text} (${by.actor}, entry ${by.version}, ${ago(by.at, context.now())})`
  throw new Complaint(
    EXIT.refused,
    'not-ready',
    `${what} does not ask that any more: ${became}`,
    'planfold inbox lists what waits; nothing was changed',
    [],
    { became: { plan: item.plan, name: item.name, task: item.task, asks: item.asks.type, by } },
  )
}

function demandAnswer({ answers }: InboxEntry, word: string): void {
  const words = answers.map(each => each.answer)
  if (words.includes(word)) return
  const near = suggest(word, words)
  throw usage(
    `'${word}' is no answer to this`,
    near === null ? `one of ${words.join(', ')}` : `did you mean '${near}'?`,
  )
}

function orderFor(
  { asks, task }: InboxEntry,
  word: string,
  { message, outcome }: InboxAnswerOptions,
  outputs: Awaited<ReturnType<typeof outputsOf>>,
): Order {
  if (task === null) {
    if (message === undefined) throw usage('to leave it, say why', "add -m 'why'")
    return { type: 'note', text: message }
  }
  if (asks.type !== 'work') {
    const verdict =
      word === 'approve' ? 'approved' : word === 'reject' ? 'rejected' : word === 'done' ? 'done' : 'again'
    return { type: 'decide', task, verdict, rationale: message ?? '' }
  }
  if (word === 'done') {
    const told = { ...(outcome === undefined ? {} : { outcome }), ...(outputs === null ? {} : { outputs }) }
    return { type: 'report', task, result: { status: 'succeeded', ...told } }
  }
  if (message === undefined) throw usage('a failure needs a reason', "add -m 'what went wrong'")
  return { type: 'report', task, result: { status: 'failed', failure: { class: 'logic', message, retryable: false } } }
}

/** The same rollback once more, bound to the same files and tasks. */
async function again(context: Context, composed: Composed, item: InboxEntry, word: string): Promise<number> {
  if (item.asks.type !== 'rollback') throw new Error('bug: only a rollback can be tried again here')
  const { kind, to, only } = item.asks
  const { paths, tasks, filesOnly, keepGit } = only
  const choice: ChoiceOptions =
    word === 'mine'
      ? { keepMine: ['all'] }
      : word === 'theirs'
        ? { takeTheirs: ['all'] }
        : word === 'merge'
          ? { merge: ['all'] }
          : {}
  const command = item.answers[0]!.command.split(' ').slice(1)
  const bounds = {
    ...(paths === undefined ? {} : { files: paths }),
    ...(tasks === undefined ? {} : { tasks }),
    ...(filesOnly === undefined ? {} : { filesOnly }),
    ...(keepGit === undefined ? {} : { keepGit }),
  }
  return await goBack(context, composed, {
    plan: item.plan,
    name: item.name,
    kind,
    ask: kind === 'undo' ? (keepGit === undefined ? {} : { keepGit }) : { to: String(to), ...bounds },
    command,
    options: choice,
  })
}
