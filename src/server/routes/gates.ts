// Gates over HTTP: list the open decisions of a plan, and decide. The token's name is recorded as the decider.

import type { GateAsks } from '../../domain/event.ts'
import type { TaskName } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { Card } from '../../domain/views/board.ts'
import { gateAnswers, VERDICTS } from '../../domain/views/gate-answers.ts'
import type { Waiting } from '../../domain/views/summary.ts'
import { budgetMore } from '../../format/wire/budget.ts'
import { answerBody, approveBody, chooseBody, decideBody, pushBackBody } from '../../format/wire/people.ts'
import type { Schema } from '../../format/wire/wire.ts'
import { decideGate, type GateAnswer } from '../../operations/decide-gate.ts'
import type { TaskTarget } from '../../operations/find-target.ts'
import { raiseOrder } from '../../operations/policy/raise-budget.ts'
import { findTask } from '../find-plan.ts'
import { LIMITS } from '../limits.ts'
import { isProblem, refused } from '../problem.ts'
import { options } from '../request.ts'
import { type Answer, type AnyRoute, ok, route } from '../route.ts'
import { type Asking, answerOf, engineOf, gone, order, planRoute } from '../submit-order.ts'
import { iso, onWire } from '../wire-names.ts'
import { readRevision } from './revisions.ts'

interface Decision extends GateAnswer {
  readonly hash: string | undefined
}

const APPROVE = 'Yes: to a gate, go on; to criteria, they hold. With the `hash` of what was shown, or `unseen: true`.'

export const gateRoutes: readonly AnyRoute[] = [
  planRoute({
    method: 'GET',
    path: '/plans/:plan/gates',
    right: 'read',
    about: 'What waits for a decision in the plan, with everything an answer is bound to.',
    answers: { 200: { about: 'the gates that are open', body: 'GateList', tag: true } },
    handle: async (call, { plan }) => {
      const { engine } = call
      const [summary, board] = [await engine.ask({ type: 'summary', plan }), await engine.ask({ type: 'board', plan })]
      if (summary === null || board === null) return gone()
      const cards = new Map(board.map(card => [card.name, card]))
      const items = summary.waiting.map(waiting => gateItem(plan, waiting, cards.get(waiting.task) ?? null))
      return ok({ items, next: null }, summary.version)
    },
  }),
  answering('approve', approveBody, APPROVE, async (call, body) => {
    const { rationale = '', hash, unseen, until, document } = body
    const edits = document === undefined ? null : await editsOf(call, document)
    if (edits !== null && isProblem(edits)) return edits
    const sight = { hash, ...(unseen === true && { unseen }) }
    return { verdict: 'approved', rationale, ...sight, until, ...(edits === null ? {} : { edits }) }
  }),
  answering('reject', decideBody, 'No.', async (_, { rationale = '', hash }) => ({
    verdict: 'rejected',
    rationale,
    hash,
  })),
  answering(
    'push-back',
    pushBackBody,
    'Sends work back to an earlier task, with what is to be changed.',
    async (_, body) => {
      const { rationale, hash, to } = body
      return { verdict: 'pushed-back', rationale, hash, to: to === undefined ? undefined : (to as TaskName) }
    },
  ),
  answering('choose', chooseBody, 'Takes one of the options.', async (_, body) => ({
    verdict: 'chosen',
    rationale: body.rationale ?? '',
    hash: body.hash,
    option: body.option,
    choices: body.choices,
  })),
  answering('answer', answerBody, 'Fills in the form of a question.', async (_, { rationale = '', hash, answers }) => ({
    verdict: 'answered',
    rationale,
    hash,
    answers: answers as JsonObject,
  })),
  answering('done', decideBody, 'Of a task whose outcome nobody knows: it happened.', async (_, body) => ({
    verdict: 'done',
    rationale: body.rationale ?? '',
    hash: body.hash,
  })),
  answering(
    'again',
    decideBody,
    'Of a task that failed, or whose outcome nobody knows: try it again.',
    async (_, body) => ({
      verdict: 'again',
      rationale: body.rationale ?? '',
      hash: body.hash,
    }),
  ),
  answering('skip', decideBody, 'Of a task that failed: go on without it.', async (_, body) => ({
    verdict: 'skipped',
    rationale: body.rationale ?? '',
    hash: body.hash,
  })),
]

export const gateItem = (
  plan: string,
  { task, asks, since, hash, ...more }: Waiting,
  card: Pick<Card, 'id' | 'title'> | null,
) => ({
  gate: task,
  plan_id: plan,
  task_id: card?.id ?? '',
  title: card?.title ?? null,
  asks: asks.type,
  asked: onWire(asks),
  answers: routesFor(asks.type, { plan, task }),
  since: iso(since),
  hash: hash ?? null,
  ...(onWire(more) as object),
})

/** The last path segment of each route that may answer the gate; all options of a decision share one route. */
function routesFor(type: GateAsks['type'], of: { readonly plan: string; readonly task: TaskName }): readonly string[] {
  const ways = gateAnswers(type, { ...of, mayGoBack: true })
  return [...new Set(ways.map(({ answer }) => (VERDICTS[answer] === 'chosen' ? 'choose' : answer)))]
}

function answering<B>(
  word: string,
  body: Schema<B>,
  about: string,
  orderOf: (call: Asking, body: B) => Promise<Decision | Extract<Answer, { readonly problem: unknown }>>,
): AnyRoute {
  return route<undefined, B>({
    method: 'POST',
    path: `/plans/:plan/gates/:gate/${word}`,
    right: 'decide',
    about,
    body,
    bodyMaxBytes: LIMITS.planBytes,
    answers: { 200: { about: 'it is decided', body: 'Decided', tag: true } },
    handle: async call => {
      const found = await findTask(call, call.params.gate!, call.params.plan)
      if (isProblem(found)) return found
      const target = await orderOf(call, call.body)
      if (isProblem(target)) return target
      return await decide(call, found, target)
    },
  })
}

async function decide(call: Asking, gate: TaskTarget, { hash, ...given }: Decision): Promise<Answer> {
  const { plan, task } = gate
  const decision = await decideGate(engineOf(call), gate, given, { hash, submit: options(call) })
  if (decision.status !== 'decided') {
    if (decision.status === 'refused') return refused(decision.refusal, { plan, task })
    throw new Error('bug: only the engine says here what was seen')
  }
  const { verdict, accepted: done } = decision
  const { engine } = call
  const [card, summary] = [await engine.ask({ type: 'task', plan, task }), await engine.ask({ type: 'summary', plan })]
  const moved = await answerOf(call, done)
  const body = {
    gate: task,
    verdict,
    by: call.who.actor,
    counts: !done.events.some(event => event.type === 'gate.voted'),
    task_state: card?.status ?? 'gone',
    asks: summary?.waiting.find(waiting => waiting.task === task)?.asks.type ?? null,
    ...moved,
  }
  return ok(body, moved.version)
}

async function editsOf(call: Asking, document: Parameters<typeof readRevision>[2]) {
  const found = await readRevision(call, call.params.plan!, document, 'replace')
  return isProblem(found) ? found : { definition: found.definition, source: found.source }
}

export const budgetRoutes: readonly AnyRoute[] = [
  planRoute({
    method: 'GET',
    path: '/plans/:plan/budget',
    right: 'read',
    about:
      'What is spent, reserved and left of the budgets of the plan, its groups and tasks, and a forecast of the rest.',
    answers: { 200: { about: 'the budget', body: 'Budget' } },
    handle: async (call, { plan }) => await budgetReply(call, plan),
  }),
  planRoute({
    method: 'POST',
    path: '/plans/:plan/budget',
    right: 'decide',
    about: 'Adds to the budget of the plan, or of a group or task. A plan that was paused for it continues.',
    body: budgetMore,
    answers: { 200: { about: 'the budget as it is now', body: 'Budget' } },
    handle: async (call, { plan }) => {
      const { task, time: timeMs, output: outputBytes, ...rest } = call.body
      const about = task === undefined ? null : await findTask(call, task, plan)
      if (about !== null && isProblem(about)) return about
      const more = { ...rest, timeMs, outputBytes }
      const asked = raiseOrder(
        Object.fromEntries(Object.entries(more).filter(([, value]) => value !== undefined)),
        about?.task ?? null,
      )
      if ('code' in asked) return refused(asked, { plan, task: about?.task })
      const done = await order(call, plan, asked)
      return isProblem(done) ? done : await budgetReply(call, plan)
    },
  }),
]

async function budgetReply({ engine }: Asking, plan: string) {
  const report = await engine.ask({ type: 'budget', plan })
  if (report === null) return gone()
  const { plan: id, ...rest } = report
  return ok({ plan_id: id, ...(onWire(rest) as object) })
}
