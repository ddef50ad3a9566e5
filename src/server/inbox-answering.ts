// An answer to something in the inbox, as an order. It holds only for the plan as it stood when the id was looked up; when the plan
// has moved, the id is looked up again, and when it waits no longer, what became of it is told.

import type { TaskName } from '../domain/id.ts'
import type { JsonObject } from '../domain/json.ts'
import { suggest } from '../domain/suggest.ts'
import type { InboxItem } from '../domain/views/inbox.ts'
import { VERDICTS } from '../domain/views/inbox-choices.ts'
import type { InboxEntry, Order, RollbackAsk } from '../engine/engine.ts'
import type { InboxAnswerBody } from '../format/wire/people.ts'
import { inOurWords } from './hint-words.ts'
import { isInScope } from './look-up.ts'
import { iso, onWire } from './on-wire.ts'
import { type Accepted, type Asking, submit } from './ordering.ts'
import { isProblem, notFound, type Problem, problem, refused, unfit } from './problem.ts'

const TRIES_MAX = 20

export async function answerInbox(
  call: Asking,
  id: string,
  body: InboxAnswerBody,
): Promise<{ readonly accepted: Accepted; readonly answer: string } | Problem> {
  const { engine } = call.rooms
  for (let tries = 1; ; tries++) {
    const waiting = await waitingItem(call, id)
    const fate = waiting === null ? await engine.ask({ type: 'inboxFate', id }) : null
    const item = waiting ?? fate?.item ?? null
    if (item === null || !(await isInScope(call, item.plan))) return unknown(id)
    // Answered already: only who asks again under the same key may get the same answer again.
    if (waiting === null && call.once === undefined) return over(item, fate?.by ?? null)
    const meant = meantBy(item, body)
    if (isProblem(meant)) return meant
    const submitted = await submit(call, item.plan, meant.order, {
      expectedVersion: item.version,
      ...(call.once === undefined ? {} : { once: call.once }),
    })
    if (submitted.ok) return { accepted: submitted, answer: meant.answer }
    if (waiting === null) return over(item, fate?.by ?? null)
    // Somebody moved the plan between the look and the answer: is the question still the same?
    const summary = await engine.ask({ type: 'summary', plan: item.plan })
    const hasMoved = submitted.refusal.code === 'conflict' && summary?.version !== item.version
    if (!hasMoved || tries >= TRIES_MAX) return refused(inOurWords(submitted.refusal, item.plan))
  }
}

async function waitingItem({ rooms }: Asking, id: string): Promise<InboxEntry | null> {
  const { items } = await rooms.engine.ask({ type: 'inbox' })
  return items.find(item => item.id === id) ?? null
}

function unknown(id: string): Problem {
  return notFound(`nothing waits under the id '${id.slice(0, 60)}', and nothing did`, 'list what waits: GET /inbox')
}

type By = { readonly version: number; readonly at: number; readonly actor: string; readonly text: string } | null

function over({ plan, name, task, asks }: InboxItem, by: By): Problem {
  const became = by === null ? 'it is gone' : `${by.text} (${by.actor}, entry ${by.version}, ${iso(by.at)})`
  return problem(
    409,
    'not-ready',
    `${task === null ? `'${name}'` : `'${task}' of '${name}'`} does not ask that any more: ${became}`,
    {
      hint: 'list what waits: GET /inbox; nothing was changed',
      more: { became: { plan_id: plan, name, task, asks: asks.type, by: onWire(by) } },
    },
  )
}

interface Meant {
  readonly answer: string
  readonly order: Order
}

export const hashOf = ({ asks }: Pick<InboxItem, 'asks'>): string | null =>
  'on' in asks ? asks.on : asks.type === 'proposal' ? asks.hash : null

function meantBy(item: InboxItem, body: InboxAnswerBody): Meant | Problem {
  const { asks } = item
  const words = item.answers.map(each => each.answer)
  const same = asks.type === 'proposal' ? SYNONYMS[body.answer] : undefined
  const isOption = asks.type === 'decision' && asks.options.some(option => option.id === body.answer)
  const answer = same ?? (isOption && !words.includes(body.answer) ? 'choose' : body.answer)
  if (!words.includes(answer)) {
    const near = suggest(answer, words)
    return unfit('body', [
      {
        path: 'answer',
        message: `'${answer}' is no answer to this`,
        hint: near === null ? `one of ${words.join(', ')}` : `did you mean '${near}'?`,
      },
    ])
  }
  const on = hashOf(item)
  if (body.hash !== undefined && body.hash !== on)
    return problem(409, 'conflict', 'it asks about something else by now', { hint: 'look at it again: GET /inbox' })
  const order = orderFor(item, answer, isOption ? { ...body, option: body.option ?? body.answer } : body)
  return isProblem(order) ? order : { answer, order }
}

/** A proposal is accepted or declined; whoever says it as at a gate is understood. */
const SYNONYMS: { readonly [word: string]: string } = { approve: 'accept', reject: 'decline' }

const lacking = (path: string, hint: string): Problem => unfit('body', [{ path, message: 'is missing', hint }])

function orderFor(item: InboxItem, answer: string, body: InboxAnswerBody): Order | Problem {
  const { asks } = item
  const { rationale } = body
  switch (asks.type) {
    case 'agent-question':
      return { type: 'answer', id: asks.id, answers: (body.answers ?? {}) as JsonObject }
    case 'proposal':
      if (answer === 'decline' && rationale === undefined) return lacking('rationale', 'to decline it, say why')
      return {
        type: 'judge',
        id: asks.id,
        hash: asks.hash,
        verdict: answer === 'accept' ? 'accepted' : 'declined',
        rationale: rationale ?? '',
      }
    case 'rollback':
      if (answer !== 'leave') return rollbackAgain(asks, answer)
      return rationale === undefined ? lacking('rationale', 'to leave it, say why') : { type: 'note', text: rationale }
    case 'work':
      return workOrder(item.task!, answer, body)
    default:
      return gateOrder(item, answer, body)
  }
}

function workOrder(task: TaskName, answer: string, { outputs, outcome, rationale }: InboxAnswerBody): Order | Problem {
  if (answer === 'claim') return { type: 'claim', task }
  if (answer === 'done')
    return {
      type: 'report',
      task,
      result: {
        status: 'succeeded',
        ...(outputs === undefined ? {} : { outputs: outputs as JsonObject }),
        ...(outcome === undefined ? {} : { outcome }),
      },
    }
  if (rationale === undefined) return lacking('rationale', 'a failure needs a reason')
  const failure = { class: 'logic', message: rationale, retryable: false } as const
  return { type: 'report', task, result: { status: 'failed', failure } }
}

function gateOrder(item: InboxItem, answer: string, body: InboxAnswerBody): Order | Problem {
  const { rationale, answers, to } = body
  const verdict = VERDICTS[answer]
  if (verdict === undefined) throw new Error(`bug: no verdict is called '${answer}'`)
  if (verdict === 'pushed-back' && rationale === undefined) return lacking('rationale', 'say what is to be changed')
  const option = item.asks.type === 'edits' && verdict === 'chosen' ? answer : body.option
  if (verdict === 'chosen' && option === undefined) return lacking('option', 'say which one is chosen')
  const on = hashOf(item)
  return {
    type: 'decide',
    task: item.task!,
    verdict,
    rationale: rationale ?? '',
    ...(on === null ? {} : { hash: on as never }),
    ...(option === undefined ? {} : { option }),
    ...(verdict === 'answered' ? { answers: (answers ?? {}) as JsonObject } : {}),
    ...(to === undefined ? {} : { to: to as TaskName }),
  }
}

/** The same rollback once more, bound to the same files and tasks. */
function rollbackAgain(asks: Extract<InboxItem['asks'], { readonly type: 'rollback' }>, answer: string): Order {
  const { kind, to, only } = asks
  const { paths, tasks, filesOnly, keepGit } = only
  const every: Pick<RollbackAsk, 'every'> =
    answer === 'mine' || answer === 'theirs' || answer === 'merge' ? { every: answer } : {}
  const git = keepGit === undefined ? {} : { keepGit }
  if (kind === 'undo') return { type: 'undo', ...git, ...every }
  return {
    type: 'rollback',
    to: String(to),
    ...git,
    ...every,
    ...(paths === undefined ? {} : { files: paths }),
    ...(tasks === undefined ? {} : { tasks }),
    ...(filesOnly === undefined ? {} : { filesOnly }),
  }
}
