// The inbox over HTTP: list what waits for a person, answer it; proposals and reviews.

import type { PlanId, Sha256, TaskName } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import { semanticDiff, summarise } from '../../domain/revisions/semantic-diff.ts'
import { type InboxItem, isFor } from '../../domain/views/inbox.ts'
import { fateWords, type ProposalCard } from '../../domain/views/proposals.ts'
import { sentence, visibleEvents } from '../../domain/views/timeline.ts'
import type { AskedQuestion, InboxEntry, InboxFate } from '../../engine/engine.ts'
import { raisePlan } from '../../format/plan/definition-to-document.ts'
import type { InboxAnswerBody } from '../../format/wire/people.ts'
import * as wire from '../../format/wire/people.ts'
import {
  answerInbox as giveAnswer,
  hashOf,
  type InboxAnswered,
  type LackingFor,
} from '../../operations/answer-inbox.ts'
import { decideReview, missingSight } from '../../operations/decide-gate.ts'
import type { PreparedRevision } from '../../operations/revise-plan.ts'
import { inTokenWords } from '../auth/denial-text.ts'
import { findPlan, findTask } from '../find-plan.ts'
import { hintText } from '../hint-text.ts'
import { LIMITS } from '../limits.ts'
import { invalidRequest, isProblem, notFound, type Problem, problem, refused } from '../problem.ts'
import { options as optionsOf } from '../request.ts'
import { type Answer, type AnyRoute, created, ok, route } from '../route.ts'
import { type Accepted, type Asking, answerOf, engineOf, gone, order, planRoute, withPlan } from '../submit-order.ts'
import { iso, onWire } from '../wire-names.ts'
import { orderRevised } from './revisions.ts'

async function answerInbox(call: Asking, id: string, body: InboxAnswerBody): Promise<Answered | Problem> {
  const { answers, outputs, ...rest } = body
  const given = { ...rest, answers: answers as JsonObject | undefined, outputs: outputs as JsonObject | undefined }
  const done = await giveAnswer(engineOf(call), id, () => given, { once: call.once })
  if (done.status === 'answered') return done
  if (done.status === 'refused') return refused(inTokenWords(call.who, done.refusal), { plan: done.item.plan })
  return unanswered(id, done)
}

type Answered = Extract<InboxAnswered, { readonly status: 'answered' }>

function unanswered(id: string, done: Exclude<InboxAnswered, { readonly status: 'answered' | 'refused' }>): Problem {
  switch (done.status) {
    case 'unknown':
      return unknown(id)
    case 'ambiguous':
      return problem(409, 'conflict', `two questions have the id '${id}'`, { hint: 'answer it at its gate' })
    case 'over':
      return over(done.item, done.by)
    case 'no-answer': {
      const { answer, near, words } = done
      const hint = near === null ? `one of ${words.join(', ')}` : `did you mean '${near}'?`
      return invalidRequest('body', [{ path: 'answer', message: `'${answer}' is not an answer to this request`, hint }])
    }
    case 'other-hash':
      return problem(409, 'conflict', 'it asks about something else by now', { hint: 'look at it again: GET /inbox' })
    case 'lacking':
      return invalidRequest('body', [{ path: done.field, message: 'is missing', hint: LACKING[done.to] }])
    case 'passed-on':
      throw new Error('bug: nothing is passed on here')
    default:
      return done satisfies never
  }
}

const LACKING: { readonly [what in LackingFor]: string } = {
  decline: 'to decline it, say why',
  leave: 'to leave it, say why',
  fail: 'a failure needs a reason',
  'push-back': 'say what is to be changed',
  choose: 'say which one is chosen',
}

function unknown(id: string): Problem {
  return notFound(`there is no request with the id '${id.slice(0, 60)}'`, 'list all requests: GET /inbox')
}

function over({ plan, name, task, asks }: InboxItem, by: InboxFate['by']): Problem {
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

// The inbox of all plans, each item with an id of its own, and questions asked in the middle of work.

export const inboxRoutes: readonly AnyRoute[] = [
  route({
    method: 'GET',
    path: '/inbox',
    right: 'read',
    about: 'Everything that waits for a person, in all plans, oldest first, each with the answers this token may give.',
    query: wire.inboxQuery,
    answers: { 200: { about: 'what waits', body: 'Inbox' } },
    handle: async call => {
      const { plan_id, for: who } = call.query
      const only = plan_id === undefined ? null : await findPlan(call, plan_id)
      if (only !== null && isProblem(only)) return only
      const { items, unreadable } = await call.engine.ask({ type: 'inbox' })
      const isRequested = ({ plan }: { readonly plan: PlanId }): boolean => only === null || plan === only.plan
      const shown = items.filter(item => isRequested(item) && (who === undefined || isFor(item, who))).map(showItem)
      const damaged = unreadable.filter(isRequested).map(({ plan, name, why }) => ({ plan_id: plan, name, why }))
      return ok({ items: shown, next: null, unreadable: damaged })
    },
  }),
  route({
    method: 'POST',
    path: '/inbox/:id/answer',
    // Any right that can answer some items; the engine checks each item.
    right: 'inspect',
    about:
      'Answers one of them, and no other: when it waits no longer, what became of it is told. Work and stopped rollbacks are for operators, everything else for approvers.',
    body: wire.inboxAnswer,
    answers: { 200: { about: 'it is answered', body: 'InboxAnswered', tag: true } },
    handle: async call => {
      const done = await answerInbox(call, call.params.id!, call.body)
      if (isProblem(done)) return done
      const { accepted, answer, unaccepted } = done
      const { claim, events } = accepted
      const moved = await answerOf(call, accepted)
      const heldClaim =
        claim === undefined
          ? {}
          : { claim: { task: claim.task, token: claim.token, expires_in_seconds: claim.expiresInMs / 1_000 } }
      // The report was recorded, but the result was not accepted: the caller must see that.
      if (unaccepted !== null) {
        const { failure, verdicts, kept } = unaccepted
        return problem(422, 'not-accepted', `the answer is recorded, but not accepted: ${failure.message}`, {
          hint: failure.hint ?? 'see what was asked of it: GET /plans/…/contract',
          more: { ...moved, ...heldClaim, verdicts: onWire(verdicts), claim_kept: kept },
        })
      }
      return ok(
        {
          id: call.params.id!,
          answer,
          told: visibleEvents(events).map(event => sentence(event)),
          ...heldClaim,
          ...moved,
        },
        moved.version,
      )
    },
  }),
  planRoute({
    method: 'GET',
    path: '/plans/:plan/questions',
    right: 'read',
    about: 'Questions that agents and people asked in the middle of their work, and nobody has answered.',
    answers: { 200: { about: 'the questions', body: 'QuestionPage' } },
    handle: async (call, { plan }) => {
      const items = await call.engine.ask({ type: 'questions', plan })
      return items === null ? gone() : ok({ items: items.map(one => showQuestion(plan, one)), next: null })
    },
  }),
  planRoute({
    method: 'GET',
    path: '/plans/:plan/questions/:question',
    right: 'read',
    about: 'One question, with its answer when there is one.',
    answers: { 200: { about: 'the question', body: 'Question' } },
    handle: async (call, { plan, name }) => {
      const id = call.params.question!
      const [found] = (await call.engine.ask({ type: 'questions', plan, id })) ?? []
      if (found !== undefined) return ok(showQuestion(plan, found))
      return notFound(`nothing was asked in '${name}' under this id`, `what waits: GET /plans/${name}/questions`)
    },
  }),
  planRoute({
    method: 'POST',
    path: '/plans/:plan/questions',
    right: 'operate',
    about: 'Asks something in the middle of work; it waits in the inbox.',
    body: wire.newQuestion,
    answers: { 201: { about: 'the question', body: 'Question', tag: true } },
    handle: async (call, { plan }) => {
      const { text, task, form = [{ name: 'answer', type: 'text' as const }] } = call.body
      const about = task === undefined ? null : await findTask(call, task, plan)
      if (about !== null && isProblem(about)) return about
      const named: { task?: TaskName } = about === null ? {} : { task: about.task }
      const done = await order(call, plan, { type: 'ask', text, form, ...named })
      if (isProblem(done)) return done
      const asked = done.events.find(event => event.type === 'question.asked')
      if (asked === undefined) throw new Error('bug: a question was accepted and not asked')
      const [found] = (await call.engine.ask({ type: 'questions', plan, id: asked.id })) ?? []
      return found === undefined
        ? gone()
        : created(showQuestion(plan, found), `/plans/${plan}/questions/${asked.id}`, done.version)
    },
  }),
  planRoute({
    method: 'POST',
    path: '/plans/:plan/questions/:question/answer',
    right: 'decide',
    about: 'Answers a question.',
    body: wire.questionAnswer,
    answers: { 200: { about: 'the question with its answer', body: 'Question', tag: true } },
    handle: async (call, { plan, name }) => {
      const id = call.params.question!
      const { engine } = call
      const [before] = (await engine.ask({ type: 'questions', plan, id })) ?? []
      if (before === undefined)
        return notFound(`nothing was asked in '${name}' under this id`, `what waits: GET /plans/${name}/questions`)
      const answers = call.body.answers as JsonObject
      const done = await order(call, plan, { type: 'answer', id, answers })
      if (isProblem(done)) return done
      const [found] = (await engine.ask({ type: 'questions', plan, id })) ?? []
      return found === undefined ? gone() : ok(showQuestion(plan, found), done.version)
    },
  }),
]

function showItem(item: InboxEntry | (InboxItem & { readonly id: string })) {
  const { id, plan, name, task, title, since, asks, answers, key: _, ...more } = item
  const { type, ...asked } = asks
  return {
    id,
    plan_id: plan,
    name,
    task,
    title,
    since: iso(since),
    asks: type,
    asked: onWire(asked),
    hash: hashOf(item),
    answers: answers.map(({ answer, means }) => ({
      answer,
      means: hintText(means, { plan: name, task: task ?? undefined }),
    })),
    ...(onWire(more) as object),
  }
}

function showQuestion(plan: PlanId, { id, text, form, task, by, since, answer }: AskedQuestion) {
  return {
    id,
    plan_id: plan,
    text,
    form,
    task: task ?? null,
    by,
    since: iso(since),
    answer: answer === null ? null : { ...answer, at: iso(answer.at) },
  }
}

export const proposalRoutes: readonly AnyRoute[] = [
  planRoute({
    method: 'GET',
    path: '/plans/:plan/proposals',
    right: 'read',
    about: 'Every revision that was proposed, oldest first, and what became of it.',
    answers: { 200: { about: 'the proposals', body: 'ProposalPage' } },
    handle: async (call, { plan }) => {
      const cards = await call.engine.ask({ type: 'proposals', plan })
      return cards === null ? gone() : ok({ items: cards.map(card => showProposal(plan, card)), next: null })
    },
  }),
  route({
    method: 'GET',
    path: '/plans/:plan/proposals/:proposal',
    right: 'read',
    about: 'One proposal, with what it would change.',
    answers: { 200: { about: 'the proposal', body: 'Proposal' } },
    handle: async call =>
      await withProposal(call, async (plan, card) => {
        const base = await call.engine.ask({ type: 'definition', plan, revision: card.on })
        if (base === null) return gone()
        const diff = semanticDiff(base.definition, card.definition)
        return ok({
          ...showProposal(plan, card),
          summary: summarise(diff),
          diff: onWire(diff),
          document: raisePlan(card.definition),
        })
      }),
  }),
  planRoute({
    method: 'POST',
    path: '/plans/:plan/proposals',
    right: 'operate',
    about: 'Proposes a revision: a whole document, or one that is merged into the plan.',
    body: wire.newProposal,
    bodyMaxBytes: LIMITS.planBytes,
    answers: { 201: { about: 'it is proposed', body: 'Proposed', tag: true } },
    handle: async (call, { plan }) => {
      const { document, rationale, cause, task, expected_revision, merge } = call.body
      const about = task === undefined ? null : await findTask(call, task, plan)
      if (about !== null && isProblem(about)) return about
      const named: { task?: TaskName } = about === null ? {} : { task: about.task }
      const mode = merge === true ? 'merge' : 'replace'
      const ordered = await orderRevised(call, plan, { document, mode }, ({ definition, source }) => ({
        type: 'propose',
        definition,
        rationale,
        source,
        expectedRevision: expected_revision,
        cause,
        ...named,
      }))
      if (isProblem(ordered)) return ordered
      const { body, at } = await proposedBody(call, ordered.done, ordered.made)
      return created(body, at, body.version)
    },
  }),
  route({
    method: 'POST',
    path: '/plans/:plan/proposals/:proposal/accept',
    right: 'decide',
    about: 'The proposal becomes the plan. With the `hash` of what was shown, or `unseen: true`.',
    body: wire.judgeBody,
    answers: { 200: { about: 'it is accepted', body: 'Judged', tag: true } },
    handle: async call => await judge(call, 'accepted', call.body),
  }),
  route({
    method: 'POST',
    path: '/plans/:plan/proposals/:proposal/decline',
    right: 'decide',
    about: 'The plan stays as it is.',
    body: wire.declineBody,
    answers: { 200: { about: 'it is declined', body: 'Judged', tag: true } },
    handle: async call => await judge(call, 'declined', call.body),
  }),
  planRoute({
    method: 'GET',
    path: '/plans/:plan/reviews',
    right: 'read',
    about: 'Approvals that are looked at together, oldest first.',
    answers: { 200: { about: 'the reviews', body: 'ReviewPage' } },
    handle: async (call, { plan }) => {
      const reviews = await call.engine.ask({ type: 'reviews', plan })
      if (reviews === null) return gone()
      const items = reviews.map(({ hash, since, closesAt, closed, items }) => ({
        hash,
        since: iso(since),
        closes_at: closesAt === null ? null : iso(closesAt),
        closed,
        items: items.map(showItem),
      }))
      return ok({ items, next: null })
    },
  }),
  planRoute({
    method: 'POST',
    path: '/plans/:plan/review',
    right: 'decide',
    about: 'Decides about the first review as a whole: all of it, or none.',
    body: wire.reviewBody,
    answers: { 200: { about: 'it is decided', body: 'Reviewed', tag: true } },
    handle: async (call, { plan, name }) => {
      const { verdict: word, rationale = '', hash, unseen } = call.body
      const verdict = word === 'approve' ? ('approved' as const) : ('rejected' as const)
      const judgement = { verdict, rationale, ...(unseen === true && { unseen }) }
      const done = await decideReview(engineOf(call), plan, judgement, { hash, submit: optionsOf(call) })
      switch (done.status) {
        case 'nothing':
          return problem(409, 'not-ready', `nothing of '${name}' asks for approval`, {
            hint: 'what waits: GET /inbox',
          })
        case 'other-review':
          return problem(409, 'conflict', 'the review is not the one that was seen', {
            hint: `look at it again: GET /plans/${name}/reviews`,
          })
        case 'refused':
          return refused(done.refusal, { plan })
        case 'decided': {
          const moved = await answerOf(call, done.accepted)
          const gates = done.review.items.map(({ task }) => task!)
          return ok({ verdict, gates, by: call.who.actor, ...moved }, moved.version)
        }
        default:
          return done satisfies never
      }
    },
  }),
]

function showProposal(plan: string, { id, on, hash, rationale, cause, task, by, since, fate }: ProposalCard) {
  return {
    id,
    plan_id: plan,
    on,
    hash,
    rationale,
    cause: cause ?? null,
    task: task ?? null,
    by,
    since: iso(since),
    fate: onWire(fate),
  }
}

async function withProposal(
  call: Asking,
  goOn: (plan: Parameters<typeof showProposal>[0] & string, card: ProposalCard) => Promise<Answer>,
): Promise<Answer> {
  return await withPlan(call, async ({ plan, name }) => {
    const cards = (await call.engine.ask({ type: 'proposals', plan })) ?? []
    const card = cards.findLast(({ id }) => id === call.params.proposal)
    if (card !== undefined) return await goOn(plan, card)
    return notFound(`plan '${name}' has no such proposal`, `list them: GET /plans/${name}/proposals`)
  })
}

async function judge(
  call: Asking,
  verdict: 'accepted' | 'declined',
  { rationale = '', hash, unseen }: Pick<InboxAnswerBody, 'rationale' | 'hash' | 'unseen'>,
): Promise<Answer> {
  return await withProposal(call, async (plan, card) => {
    const asks = verdict === 'accepted' && card.fate.status === 'waiting' ? card.hash : null
    const unsaid = missingSight(`proposal '${card.id}'`, asks, { hash, unseen })
    if (unsaid !== null) return refused(unsaid, { plan })
    const seen = (hash ?? card.hash) as Sha256
    const sight = unseen === true ? { unseen } : {}
    const done = await order(call, plan, { type: 'judge', id: card.id, hash: seen, verdict, rationale, ...sight })
    if (isProblem(done)) return card.fate.status === 'waiting' ? done : late(done, card)
    const moved = await answerOf(call, done)
    return ok({ id: card.id, verdict, by: call.who.actor, ...moved }, moved.version)
  })
}

const late = ({ problem: refusal }: Problem, card: ProposalCard): Problem =>
  problem(409, 'not-ready', fateWords(card), { hint: refusal.hint })

export async function proposedBody(
  call: Asking,
  done: Accepted,
  { definition, diff, summary }: Pick<PreparedRevision, 'definition' | 'diff' | 'summary'>,
) {
  const { plan } = done
  const taken = done.events.find(event => event.type === 'plan.revised')
  const proposed = done.events.find(event => event.type === 'revision.proposed')
  const id = proposed?.id ?? (await sameProposal(call, plan, definition)) ?? null
  const body = {
    id,
    accepted: taken !== undefined,
    revision: taken?.revision ?? null,
    summary,
    diff: onWire(diff),
    ...(await answerOf(call, done)),
  }
  return { body, at: `/plans/${plan}/proposals${id === null ? '' : `/${id}`}` }
}

async function sameProposal({ engine }: Asking, plan: string, definition: object): Promise<string | undefined> {
  const cards = (await engine.ask({ type: 'proposals', plan })) ?? []
  const text = JSON.stringify(definition)
  return cards.findLast(card => card.fate.status === 'waiting' && JSON.stringify(card.definition) === text)?.id
}
