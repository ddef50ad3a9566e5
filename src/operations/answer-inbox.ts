// An answer to one question in the inbox, by its id, and to no other: what is ordered holds only for the plan as it stood when the id
// was looked up. When the plan has moved, the id is looked up again; when it waits no longer, what became of it is told and nothing
// is ordered.

import type { TaskName } from '../domain/id.ts'
import { defined, type JsonObject } from '../domain/json.ts'
import { suggest } from '../domain/phrases.ts'
import type { Refusal } from '../domain/refusal.ts'
import { type Unaccepted, unacceptedIn } from '../domain/views/board.ts'
import { VERDICTS } from '../domain/views/gate-answers.ts'
import type { EngineInProcess, InboxEntry, InboxFate, Order, RollbackAsk, Submitted } from '../engine/engine.ts'
import { ANSWER_RIGHTS } from '../engine/permissions/inbox-answers.ts'
import { denyWithout } from '../engine/roles.ts'
import { isSeen, sightUnsaid } from './decide-gate.ts'
import { reportOrder } from './report-task.ts'
import type { CallerEngine } from './run-plan.ts'

export interface InboxAnswer {
  /** One of its answers, or the option of a decision. */
  readonly answer: string
  readonly rationale?: string | undefined
  /** Of what was seen; its first digits will do. */
  readonly hash?: string | undefined
  /** Approved without having seen it. */
  readonly unseen?: true | undefined
  readonly option?: string | undefined
  readonly answers?: JsonObject | undefined
  /** Of `done`: what was made, and how it ended. */
  readonly outputs?: JsonObject | undefined
  readonly outcome?: string | undefined
  readonly to?: string | undefined
}

export type InboxAnswered =
  | {
      readonly status: 'answered'
      readonly item: InboxEntry
      readonly answer: string
      readonly accepted: Extract<Submitted, { readonly ok: true }>
      /** Work was said to be done, and its criteria say otherwise. */
      readonly unaccepted: Unaccepted | null
    }
  /** Nothing waits under this id, and nothing did. */
  | { readonly status: 'unknown'; readonly near: string | null }
  /** Two questions have this id. */
  | { readonly status: 'ambiguous'; readonly items: readonly InboxEntry[] }
  /** It waits no longer. */
  | { readonly status: 'over'; readonly item: InboxFate['item']; readonly by: InboxFate['by'] }
  /** The face answers it itself. */
  | { readonly status: 'passed-on'; readonly item: InboxEntry; readonly answer: string }
  | { readonly status: 'refused'; readonly item: Asked; readonly refusal: Refusal }
  | AnswerFault

/** Why an answer cannot be one. */
export type AnswerFault =
  | {
      readonly status: 'no-answer'
      readonly answer: string
      readonly words: readonly string[]
      readonly near: string | null
    }
  /** It asks about something else than was seen; `on` is null when it is bound to no hash. */
  | { readonly status: 'other-hash'; readonly on: string | null }
  | { readonly status: 'lacking'; readonly field: 'rationale' | 'option'; readonly to: LackingFor }

/** What needs more than a word. */
export type LackingFor = 'decline' | 'leave' | 'fail' | 'push-back' | 'choose'

type Asked = InboxFate['item']

export interface AnswerOptions {
  /** An idempotency key: who asks again under it gets the same answer again. */
  readonly once?: string | undefined
  /** Not answered here: the face does more than give an order. */
  readonly passOn?: (item: InboxEntry, answer: string) => boolean
}

const TRIES_MAX = 20

/** `said` may look at what is asked first, to read the answer as its form says. */
export async function answerInbox(
  engine: CallerEngine & Pick<EngineInProcess, 'caller'>,
  id: string,
  said: (item: Asked) => InboxAnswer,
  { once, passOn = () => false }: AnswerOptions = {},
): Promise<InboxAnswered> {
  for (let tries = 1; ; tries++) {
    const { items } = await engine.ask({ type: 'inbox' })
    const [waiting, ...others] = items.filter(item => item.id === id)
    if (waiting !== undefined && others.length > 0) return { status: 'ambiguous', items: [waiting, ...others] }
    const fate = waiting === undefined ? await engine.ask({ type: 'inboxFate', id }) : null
    const item = waiting ?? fate?.item
    if (item === undefined) {
      const ids = items.map(one => one.id)
      return { status: 'unknown', near: suggest(id, ids) }
    }
    const over = { status: 'over', item, by: fate?.by ?? null } as const
    // Answered already: only who asks again under the same key may get the same answer again.
    if (waiting === undefined && once === undefined) return over
    const denial = denyWithout(engine.caller, ANSWER_RIGHTS[item.asks.type])
    if (denial !== null) return { status: 'refused', item, refusal: denial }
    const given = said(item)
    const answer = answerMeant(item, given.answer)
    const fault = answerFault(item, answer, given)
    if (fault !== null) return fault
    const unsaid = YES.includes(answer) ? sightUnsaid(`'${item.task ?? item.name}'`, hashOf(item), given) : null
    if (unsaid !== null) return { status: 'refused', item, refusal: unsaid }
    if (waiting !== undefined && passOn(waiting, answer)) return { status: 'passed-on', item: waiting, answer }
    const order = orderFor(item, answer, given)
    if ('status' in order) return order
    const submitted = await engine.submit(item.plan, order, {
      expectedVersion: item.version,
      once,
    })
    if (submitted.ok) {
      const isDoneWork = item.asks.type === 'work' && answer === 'done'
      const unaccepted = isDoneWork ? unacceptedIn(submitted.events) : null
      return { status: 'answered', item: { ...item, id }, answer, accepted: submitted, unaccepted }
    }
    if (waiting === undefined) return over
    // Somebody moved the plan between the look and the answer: is the question still the same?
    const hasMoved =
      submitted.refusal.code === 'conflict' &&
      (await engine.ask({ type: 'summary', plan: item.plan }))?.version !== item.version
    if (!hasMoved || tries >= TRIES_MAX) return { status: 'refused', item, refusal: submitted.refusal }
  }
}

/** The answer that is meant: a decision may name its option alone, and a plain yes or no does where there are only two answers. */
export function answerMeant({ asks, answers }: Pick<Asked, 'asks' | 'answers'>, word: string): string {
  const words = answers.map(each => each.answer)
  if (words.includes(word)) return word
  const same = asks.type === 'proposal' ? SYNONYMS[word] : undefined
  if (same !== undefined) return same
  const [yes, no] = [YES, NO].map(list => list.find(one => words.includes(one)))
  const meant = { yes, no }[word.toLowerCase()]
  if (yes !== undefined && no !== undefined && meant !== undefined) return meant
  const isOption = asks.type === 'decision' && asks.options.some(option => option.id === word)
  return isOption ? 'choose' : word
}

const YES: readonly string[] = ['approve', 'accept']
const NO: readonly string[] = ['reject', 'decline']

const SYNONYMS: { readonly [word: string]: string } = { approve: 'accept', reject: 'decline' }

function answerFault(item: Asked, answer: string, { hash }: InboxAnswer): AnswerFault | null {
  const words = item.answers.map(each => each.answer)
  if (!words.includes(answer)) return { status: 'no-answer', answer, words, near: suggest(answer, words) }
  const on = hashOf(item)
  return isSeen(hash, on) ? null : { status: 'other-hash', on }
}

/** Of what it asks about; null when it is bound to none. */
export const hashOf = ({ asks }: Pick<Asked, 'asks'>) =>
  'on' in asks ? asks.on : asks.type === 'proposal' ? asks.hash : null

const lacking = (to: LackingFor, field: 'rationale' | 'option' = 'rationale') =>
  ({ status: 'lacking', field, to }) as const

type Lacking = Extract<AnswerFault, { readonly status: 'lacking' }>

function orderFor(item: Asked, answer: string, said: InboxAnswer): Order | Lacking {
  const { asks } = item
  const { rationale } = said
  switch (asks.type) {
    case 'agent-question':
      return { type: 'answer', id: asks.id, answers: said.answers ?? {} }
    case 'proposal': {
      if (answer === 'decline' && rationale === undefined) return lacking('decline')
      const verdict = answer === 'accept' ? 'accepted' : 'declined'
      const sight = said.unseen === true ? { unseen: said.unseen } : {}
      return { type: 'judge', id: asks.id, hash: asks.hash, verdict, rationale: rationale ?? '', ...sight }
    }
    case 'rollback':
      if (answer !== 'leave') return rollbackOrder(asks, answer)
      return rationale === undefined ? lacking('leave') : { type: 'note', text: rationale }
    case 'work':
      return workOrder(item.task!, answer, said)
    default:
      return gateOrder(item, answer, said)
  }
}

function workOrder(task: TaskName, answer: string, { outputs, outcome, rationale }: InboxAnswer): Order | Lacking {
  if (answer === 'claim') return { type: 'claim', task }
  if (answer === 'done') return reportOrder(task, { status: 'done', outputs, outcome: outcome || undefined })
  if (rationale === undefined) return lacking('fail')
  return reportOrder(task, { status: 'failed', why: { message: rationale } })
}

function gateOrder(item: Asked, answer: string, said: InboxAnswer): Order | Lacking {
  const verdict = VERDICTS[answer]
  if (verdict === undefined) throw new Error(`bug: no verdict is called '${answer}'`)
  const { rationale, to } = said
  if (verdict === 'pushed-back' && rationale === undefined) return lacking('push-back')
  const named = said.option ?? (answer === said.answer ? undefined : said.answer)
  const option = item.asks.type === 'edits' && verdict === 'chosen' ? answer : named
  if (verdict === 'chosen' && option === undefined) return lacking('choose', 'option')
  const on = hashOf(item)
  return {
    type: 'decide',
    task: item.task!,
    verdict,
    rationale: rationale ?? '',
    ...(on === null ? {} : { hash: on }),
    ...((said.unseen === true || (verdict === 'chosen' && said.hash === undefined)) && { unseen: true as const }),
    option,
    ...(verdict === 'answered' ? { answers: said.answers ?? {} } : {}),
    to: to === undefined ? undefined : (to as TaskName),
  }
}

type RollbackAsks = Extract<Asked['asks'], { readonly type: 'rollback' }>

/** The same rollback once more, bound to the same files and tasks. */
export function rollbackAgain({ kind, to, only }: RollbackAsks): {
  readonly kind: 'rollback' | 'undo'
  readonly ask: RollbackAsk
} {
  if (kind === 'adopt') throw new Error('bug: only a rollback can be tried again here')
  const { paths, tasks, filesOnly, keepGit, includeUnclaimed } = only
  const git = {
    ...defined({ keepGit, includeUnclaimed }),
  }
  if (kind === 'undo') return { kind, ask: git }
  return {
    kind,
    ask: {
      to: String(to),
      ...git,
      files: paths,
      tasks,
      filesOnly,
    },
  }
}

function rollbackOrder(asks: RollbackAsks, answer: string): Order {
  const { kind, ask } = rollbackAgain(asks)
  const every: Pick<RollbackAsk, 'every'> =
    answer === 'keep' || answer === 'take' || answer === 'merge' ? { every: answer } : {}
  return kind === 'undo' ? { type: kind, ...ask, ...every } : { type: kind, ...ask, ...every }
}
