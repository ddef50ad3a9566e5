// `planfold inbox`: everything that waits for a person; `planfold inbox answer`: answers one of them by its id.

import type { Composed } from '../../../compose.ts'
import type { TaskName } from '../../../domain/id.ts'
import type { JsonObject } from '../../../domain/json.ts'
import { suggest } from '../../../domain/phrases.ts'
import { unacceptedIn } from '../../../domain/views/board.ts'
import { isFor, VERDICTS } from '../../../domain/views/inbox.ts'
import { sentence, toldOf } from '../../../domain/views/timeline.ts'
import type { InboxEntry, Order } from '../../../engine/engine.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, remark } from '../../answer.ts'
import { type Context, withState } from '../../context.ts'
import { Complaint, EXIT, notFound, refused, usage } from '../../exit.ts'
import { remarkHowToGoOn } from '../../order.ts'
import { ago } from '../../terminal/elapsed-time.ts'
import { setBackLines } from '../../text/edited-paths.ts'
import { commandText, wordsFor } from '../../text/hint-text.ts'
import { inboxLines } from '../../text/inbox-text.ts'
import { type ChoiceOptions, goBack } from '../undo/go-back.ts'
import { type DoneOptions, outputsOf } from './claim.ts'
import { valuesFor } from './form-values.ts'

// `planfold inbox`: everything that waits for a person, in all plans, oldest first, each with an id and the commands that answer
// it.

export interface InboxOptions {
  readonly for?: string
}

export async function inbox(context: Context, options: InboxOptions): Promise<number> {
  return await withState(context, { create: false }, async ({ engine }) => {
    const { items: all, restored, unreadable } = await engine.ask({ type: 'inbox' })
    const items = options.for === undefined ? all : all.filter(item => isFor(item, options.for!))
    const { paint } = context
    const { consentLines } = await import('../../text/consent-text.ts')
    const asked = await Promise.all(
      items.map(async item => (item.asks.type === 'edits' ? [] : await consentLines(context, engine, item))),
    )
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
    if (items.length > 0) remark(context, "answer with the commands, or: planfold inbox answer ID ANSWER -m 'why'")
    return EXIT.done
  })
}

// `planfold inbox answer ID ANSWER`: answers one question by its id, and no other: what is ordered holds only for the plan as it
// stood when the id was looked up. When the plan has moved, the id is looked up again; when it waits no longer, what became of it
// is told and nothing is ordered.

export interface InboxAnswerOptions extends Pick<DoneOptions, 'output' | 'outputs' | 'outcome'> {
  readonly message?: string
  /** Of what was seen. */
  readonly hash?: string
  /** Of `push-back`: the task that is done again. */
  readonly to?: string
}

const TRIES_MAX = 20

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
    for (let tries = 1; ; tries++) {
      const item = await waitingItem(context, composed, id)
      const said = saidTo(item, word, more)
      demandSeen(item, options.hash)
      if (item.asks.type === 'work' && said.word === 'claim') return item
      if (item.asks.type === 'rollback' && said.word !== 'leave') return await again(context, composed, item, said.word)
      const order = orderFor(item, said, options, outputs)
      const submitted = await composed.engine.submit(item.plan, order, {
        expectedVersion: item.version,
      })
      if (submitted.ok) {
        const { plan, name, version, events } = submitted
        answer(context, { id, answer: said.word, plan, name, version, events }, () =>
          toldOf(events).map(event => escapeForTerminal(sentence(event, wordsFor(name)))),
        )
        await remarkHowToGoOn(context, composed, plan)
        return order.type === 'report' && said.word === 'done' && unacceptedIn(events) !== null
          ? EXIT.failed
          : EXIT.done
      }
      // Somebody moved the plan between the look and the answer: is the question still the same?
      const moved = submitted.refusal.code === 'conflict' && (await versionOf(composed, item)) !== item.version
      if (!moved || tries >= TRIES_MAX) throw refused(submitted.refusal)
    }
  })
  if (typeof found === 'number') return found
  const { claim } = await import('./claim.ts')
  return await claim(context, found.plan, found.task ?? undefined, {})
}

const versionOf = async ({ engine }: Composed, { plan }: InboxEntry): Promise<number | null> =>
  (await engine.ask({ type: 'summary', plan }))?.version ?? null

async function waitingItem(context: Context, { engine }: Composed, id: string): Promise<InboxEntry> {
  const { items } = await engine.ask({ type: 'inbox' })
  const found = items.filter(item => item.id === id)
  if (found.length > 1)
    throw new Complaint(
      EXIT.refused,
      'conflict',
      `two questions have the id '${id}'`,
      `use: ${commandText(found[0]!.answers[0]!.step)}`,
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
  const what = whatOf(item)
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

interface SaidTo {
  readonly word: string
  readonly more: readonly string[]
}

/** A form may be filled in without a word before it; a decision may name its option alone. */
function saidTo(
  { answers, asks }: Pick<InboxEntry, 'answers' | 'asks'>,
  word: string,
  more: readonly string[],
): SaidTo {
  const words = answers.map(each => each.answer)
  const all = [word, ...more]
  const same = asks.type === 'proposal' ? SYNONYMS[word] : undefined
  if (same !== undefined) return saidTo({ answers, asks }, same, more)
  if (words.includes('answer') && !words.includes(word) && 'form' in asks) return { word: 'answer', more: all }
  if (asks.type === 'decision' && !words.includes(word) && asks.options.some(option => option.id === word))
    return { word: 'choose', more: all }
  if (!words.includes(word)) {
    const near = suggest(word, words)
    throw usage(
      `'${word}' is no answer to this`,
      near === null ? `one of ${words.join(', ')}` : `did you mean '${near}'?`,
    )
  }
  const wanted = word === 'choose' ? 1 : 0
  if (word !== 'answer' && more.length !== wanted)
    throw usage(
      wanted === 1 ? 'which option is chosen?' : `'${more.join(' ')}' says nothing to this`,
      asks.type === 'decision' ? `one of ${asks.options.map(option => option.id).join(', ')}` : "say why with -m 'why'",
    )
  return { word, more }
}

/** A proposal is accepted or declined; whoever says it as at a gate is understood. */
const SYNONYMS: { readonly [word: string]: string } = { approve: 'accept', reject: 'decline' }

/** Whoever names the hash of what was seen answers to nothing else. */
function demandSeen({ asks, id }: InboxEntry, hash: string | undefined): void {
  if (hash === undefined) return
  const on = 'on' in asks ? asks.on : asks.type === 'proposal' ? asks.hash : null
  if (hash.length >= HASH_MIN && on?.startsWith(hash) === true) return
  throw new Complaint(
    EXIT.refused,
    'conflict',
    on === null ? `'${id}' has no hash` : `'${id}' asks about ${on.slice(0, 12)}, not about ${hash.slice(0, 12)}`,
    'look at it again with `planfold inbox`; nothing was changed',
  )
}

const HASH_MIN = 8

function orderFor(
  { asks, task }: InboxEntry,
  { word, more }: SaidTo,
  { message, outcome, to }: InboxAnswerOptions,
  outputs: Awaited<ReturnType<typeof outputsOf>>,
): Order {
  switch (asks.type) {
    case 'agent-question':
      return { type: 'answer', id: asks.id, answers: valuesFor(asks.form, more) }
    case 'proposal': {
      const verdict = word === 'accept' ? 'accepted' : 'declined'
      if (verdict === 'declined' && message === undefined) throw usage('to decline it, say why', "add -m 'why'")
      return { type: 'judge', id: asks.id, hash: asks.hash, verdict, rationale: message ?? '' }
    }
    case 'rollback':
      if (message === undefined) throw usage('to leave it, say why', "add -m 'why'")
      return { type: 'note', text: message }
    case 'work':
      return report(task!, word, message, {
        ...(outcome === undefined ? {} : { outcome }),
        ...(outputs && { outputs }),
      })
    default: {
      const verdict = VERDICTS[word]
      if (verdict === undefined) throw new Error(`bug: no verdict is called '${word}'`)
      if (verdict === 'pushed-back' && message === undefined)
        throw usage('to send it back, say what is to be changed', "add -m 'what to change'")
      return {
        type: 'decide',
        task: task!,
        verdict,
        rationale: message ?? '',
        ...(asks.on === null ? {} : { hash: asks.on }),
        ...(word === 'choose'
          ? { option: more[0]! }
          : asks.type === 'edits' && verdict === 'chosen'
            ? { option: word }
            : {}),
        ...(asks.type === 'question' && word === 'answer' ? { answers: valuesFor(asks.form, more) } : {}),
        ...(to === undefined ? {} : { to: to as TaskName }),
      }
    }
  }
}

function report(
  task: TaskName,
  word: string,
  message: string | undefined,
  told: { readonly outcome?: string; readonly outputs?: JsonObject },
): Order {
  if (word === 'done') return { type: 'report', task, result: { status: 'succeeded', ...told } }
  if (message === undefined) throw usage('a failure needs a reason', "add -m 'what went wrong'")
  return { type: 'report', task, result: { status: 'failed', failure: { class: 'logic', message, retryable: false } } }
}

/** The same rollback once more, bound to the same files and tasks. */
async function again(context: Context, composed: Composed, item: InboxEntry, word: string): Promise<number> {
  if (item.asks.type !== 'rollback' || item.asks.kind === 'adopt')
    throw new Error('bug: only a rollback can be tried again here')
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
  const command = commandText(item.answers[0]!.step).split(' ').slice(1)
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
