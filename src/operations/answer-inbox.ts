// Answers one inbox item by its id. The order is bound to the version of the plan at look-up; if the plan has changed, the id is looked up
// again. If the item is settled, its outcome is returned and nothing is ordered.

import type { TaskName } from '../domain/id.ts'
import { defined, type JsonObject } from '../domain/json.ts'
import { suggest } from '../domain/phrases.ts'
import type { Refusal } from '../domain/refusal.ts'
import { type Unaccepted, unacceptedIn } from '../domain/views/board.ts'
import { VERDICTS } from '../domain/views/gate-answers.ts'
import type { EngineInProcess, InboxEntry, InboxFate, Order, RollbackAsk, Submitted } from '../engine/engine.ts'
import { ANSWER_RIGHTS } from '../engine/permissions/inbox-answers.ts'
import { denyWithout } from '../engine/roles.ts'
import { isSeen, missingSight } from './decide-gate.ts'
import { reportOrder } from './report-task.ts'
import type { CallerEngine } from './run-plan.ts'

export interface InboxAnswer {
  /** One of the offered answers, or the option of a decision. */
  readonly answer: string
  readonly rationale?: string | undefined
  /** The hash of what was seen, or its first digits. */
  readonly hash?: string | undefined
  readonly unseen?: true | undefined
  readonly option?: string | undefined
  readonly answers?: JsonObject | undefined
  /** For `done`: the outputs, and how it ended. */
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
      /** Reported as done, but criteria do not hold. */
      readonly unaccepted: Unaccepted | null
    }
  /** Nothing waits or ever waited under this id. */
  | { readonly status: 'unknown'; readonly near: string | null }
  | { readonly status: 'ambiguous'; readonly items: readonly InboxEntry[] }
  /** It no longer waits; `by` settled it, if that is known. */
  | { readonly status: 'over'; readonly item: InboxFate['item']; readonly by: InboxFate['by'] }
  | { readonly status: 'passed-on'; readonly item: InboxEntry; readonly answer: string }
  | { readonly status: 'refused'; readonly item: Asked; readonly refusal: Refusal }
  | AnswerFault

export type AnswerFault =
  | {
      readonly status: 'no-answer'
      readonly answer: string
      readonly words: readonly string[]
      readonly near: string | null
    }
  /** Something else is asked than was seen; `on` is null if the question has no hash. */
  | { readonly status: 'other-hash'; readonly on: string | null }
  | { readonly status: 'lacking'; readonly field: 'rationale' | 'option'; readonly to: LackingFor }

/** Answers that need more than a word. */
export type LackingFor = 'decline' | 'leave' | 'fail' | 'push-back' | 'choose'

type Asked = InboxFate['item']

export interface AnswerOptions {
  /** An idempotency key: a repeated request gets the same answer. */
  readonly once?: string | undefined
  /** Answers that are more than an order, for the face to handle. */
  readonly passOn?: (item: InboxEntry, answer: string) => boolean
}

const TRIES_MAX = 20

/** `read` may use the question to parse the answer by its form. */
export async function answerInbox(
  engine: CallerEngine & Pick<EngineInProcess, 'caller'>,
  id: string,
  read: (item: Asked) => InboxAnswer,
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
    // Already settled; only a repeated request under the same key may be answered.
    if (waiting === undefined && once === undefined) return over
    const denial = denyWithout(engine.caller, ANSWER_RIGHTS[item.asks.type])
    if (denial !== null) return { status: 'refused', item, refusal: denial }
    const given = read(item)
    const answer = matchAnswer(item, given.answer)
    const fault = answerFault(item, answer, given)
    if (fault !== null) return fault
    const missing = YES.includes(answer) ? missingSight(`'${item.task ?? item.name}'`, hashOf(item), given) : null
    if (missing !== null) return { status: 'refused', item, refusal: missing }
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
    // The plan changed between look-up and answer: is the question still the same?
    const hasMoved =
      submitted.refusal.code === 'conflict' &&
      (await engine.ask({ type: 'summary', plan: item.plan }))?.version !== item.version
    if (!hasMoved || tries >= TRIES_MAX) return { status: 'refused', item, refusal: submitted.refusal }
  }
}

/** Matches a word to an answer. A decision accepts the bare option; what can be approved and rejected also accepts yes and no. */
export function matchAnswer({ asks, answers }: Pick<Asked, 'asks' | 'answers'>, word: string): string {
  const words = answers.map(each => each.answer)
  if (words.includes(word)) return word
  const same = asks.type === 'proposal' ? SYNONYMS[word] : undefined
  if (same !== undefined) return same
  const [yes, no] = [YES, NO].map(list => list.find(one => words.includes(one)))
  const found = { yes, no }[word.toLowerCase()]
  if (yes !== undefined && no !== undefined && found !== undefined) return found
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

/** The hash of the question; null if it has none. */
export const hashOf = ({ asks }: Pick<Asked, 'asks'>) =>
  'on' in asks ? asks.on : asks.type === 'proposal' ? asks.hash : null

const lacking = (to: LackingFor, field: 'rationale' | 'option' = 'rationale') =>
  ({ status: 'lacking', field, to }) as const

type Lacking = Extract<AnswerFault, { readonly status: 'lacking' }>

function orderFor(item: Asked, answer: string, given: InboxAnswer): Order | Lacking {
  const { asks } = item
  const { rationale } = given
  switch (asks.type) {
    case 'agent-question':
      return { type: 'answer', id: asks.id, answers: given.answers ?? {} }
    case 'proposal': {
      if (answer === 'decline' && rationale === undefined) return lacking('decline')
      const verdict = answer === 'accept' ? 'accepted' : 'declined'
      const sight = given.unseen === true ? { unseen: given.unseen } : {}
      return { type: 'judge', id: asks.id, hash: asks.hash, verdict, rationale: rationale ?? '', ...sight }
    }
    case 'rollback':
      if (answer !== 'leave') return rollbackOrder(asks, answer)
      return rationale === undefined ? lacking('leave') : { type: 'note', text: rationale }
    case 'work':
      return workOrder(item.task!, answer, given)
    default:
      return gateOrder(item, answer, given)
  }
}

function workOrder(task: TaskName, answer: string, { outputs, outcome, rationale }: InboxAnswer): Order | Lacking {
  if (answer === 'claim') return { type: 'claim', task }
  if (answer === 'done') return reportOrder(task, { status: 'done', outputs, outcome: outcome || undefined })
  if (rationale === undefined) return lacking('fail')
  return reportOrder(task, { status: 'failed', why: { message: rationale } })
}

function gateOrder(item: Asked, answer: string, given: InboxAnswer): Order | Lacking {
  const verdict = VERDICTS[answer]
  if (verdict === undefined) throw new Error(`bug: no verdict is called '${answer}'`)
  const { rationale, to } = given
  if (verdict === 'pushed-back' && rationale === undefined) return lacking('push-back')
  const named = given.option ?? (answer === given.answer ? undefined : given.answer)
  const option = item.asks.type === 'edits' && verdict === 'chosen' ? answer : named
  if (verdict === 'chosen' && option === undefined) return lacking('choose', 'option')
  const on = hashOf(item)
  return {
    type: 'decide',
    task: item.task!,
    verdict,
    rationale: rationale ?? '',
    ...(on === null ? {} : { hash: on }),
    ...((given.unseen === true || (verdict === 'chosen' && given.hash === undefined)) && { unseen: true as const }),
    option,
    ...(verdict === 'answered' ? { answers: given.answers ?? {} } : {}),
    to: to === undefined ? undefined : (to as TaskName),
  }
}

type RollbackAsks = Extract<Asked['asks'], { readonly type: 'rollback' }>

/** The same rollback again, for the same files and tasks. */
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
