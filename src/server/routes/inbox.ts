// What waits for people, over all plans, each under an id of its own; and questions asked in the middle of somebody's work.

import type { PlanId, TaskName } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import { unacceptedIn } from '../../domain/views/briefing.ts'
import { type InboxItem, isFor } from '../../domain/views/inbox.ts'
import { sentence, toldOf } from '../../domain/views/timeline.ts'
import type { AskedQuestion, InboxEntry } from '../../engine/engine.ts'
import * as wire from '../../format/wire/people.ts'
import { answerInbox, hashOf } from '../inbox-answering.ts'
import { findPlan, findTask, isInScope } from '../look-up.ts'
import { iso, onWire } from '../on-wire.ts'
import { type Asking, gone, movedOf, order, withPlan } from '../ordering.ts'
import { isProblem, notFound, problem } from '../problem.ts'
import { type AnyRoute, created, ok, route } from '../route.ts'

const noun = 'people'

export const inboxRoutes: readonly AnyRoute[] = [
  route({
    method: 'GET',
    path: '/inbox',
    right: 'read',
    noun,
    about: 'Everything that waits for a person, in all plans, oldest first.',
    query: wire.inboxQuery,
    answers: { 200: { about: 'what waits', body: wire.inbox } },
    handle: async call => {
      const { plan_id, for: who } = call.query
      const only = plan_id === undefined ? null : await findPlan(call, plan_id)
      if (only !== null && isProblem(only)) return only
      const { items, unreadable } = await call.rooms.engine.ask({ type: 'inbox' })
      const sees = seer(call, only?.plan ?? null)
      const shown: object[] = []
      for (const item of items)
        if ((await sees(item.plan)) && (who === undefined || isFor(item, who))) shown.push(showItem(item))
      const damaged: object[] = []
      for (const { plan, name, why } of unreadable) if (await sees(plan)) damaged.push({ plan_id: plan, name, why })
      return ok({ items: shown, next: null, unreadable: damaged })
    },
  }),
  route({
    method: 'POST',
    path: '/inbox/:id/answer',
    right: 'decide',
    noun,
    about: 'Answers one of them, and no other: when it waits no longer, what became of it is told.',
    body: wire.inboxAnswer,
    answers: { 200: { about: 'it is answered', body: wire.inboxAnswered, tag: true } },
    handle: async call => {
      const done = await answerInbox(call, call.params.id!, call.body)
      if (isProblem(done)) return done
      const { accepted, answer } = done
      const { claim, events } = accepted
      const moved = await movedOf(call, accepted)
      const held =
        claim === undefined
          ? {}
          : { claim: { task: claim.task, token: claim.token, expires_in_seconds: claim.expiresInMs / 1_000 } }
      const unaccepted = unacceptedIn(events)
      // Said to be done, and not accepted: whoever said it must see that.
      if (answer === 'done' && unaccepted !== null) {
        const { failure, verdicts, kept } = unaccepted
        return problem(422, 'not-accepted', `it is recorded, and was not accepted: ${failure.message}`, {
          hint: failure.hint ?? 'see what was asked of it: GET /plans/…/contract',
          more: { ...moved, ...held, verdicts: onWire(verdicts), claim_kept: kept },
        })
      }
      return ok(
        { id: call.params.id!, answer, told: toldOf(events).map(event => sentence(event)), ...held, ...moved },
        moved.version,
      )
    },
  }),
  route({
    method: 'GET',
    path: '/plans/:plan/questions',
    right: 'read',
    noun,
    about: 'Questions that agents and people asked in the middle of their work, and nobody has answered.',
    answers: { 200: { about: 'the questions', body: wire.questions } },
    handle: async call =>
      await withPlan(call, async ({ plan }) => {
        const items = await call.rooms.engine.ask({ type: 'questions', plan })
        return items === null ? gone() : ok({ items: items.map(one => showQuestion(plan, one)), next: null })
      }),
  }),
  route({
    method: 'GET',
    path: '/plans/:plan/questions/:question',
    right: 'read',
    noun,
    about: 'One question, with its answer when there is one.',
    answers: { 200: { about: 'the question', body: wire.question } },
    handle: async call =>
      await withPlan(call, async ({ plan, name }) => {
        const id = call.params.question!
        const [found] = (await call.rooms.engine.ask({ type: 'questions', plan, id })) ?? []
        if (found !== undefined) return ok(showQuestion(plan, found))
        return notFound(`nothing was asked in '${name}' under this id`, `what waits: GET /plans/${name}/questions`)
      }),
  }),
  route({
    method: 'POST',
    path: '/plans/:plan/questions',
    right: 'operate',
    noun,
    about: 'Asks something in the middle of work; it waits in the inbox.',
    body: wire.newQuestion,
    answers: { 201: { about: 'the question', body: wire.question, tag: true } },
    handle: async call =>
      await withPlan(call, async ({ plan }) => {
        const { text, task, form = [{ name: 'answer', type: 'text' as const }] } = call.body
        const about = task === undefined ? null : await findTask(call, task, plan)
        if (about !== null && isProblem(about)) return about
        const named: { task?: TaskName } = about === null ? {} : { task: about.task }
        const done = await order(call, plan, { type: 'ask', text, form, ...named })
        if (isProblem(done)) return done
        const asked = done.events.find(event => event.type === 'question.asked')
        if (asked === undefined) throw new Error('bug: a question was accepted and not asked')
        const [found] = (await call.rooms.engine.ask({ type: 'questions', plan, id: asked.id })) ?? []
        return found === undefined
          ? gone()
          : created(showQuestion(plan, found), `/plans/${plan}/questions/${asked.id}`, done.version)
      }),
  }),
  route({
    method: 'POST',
    path: '/plans/:plan/questions/:question/answer',
    right: 'decide',
    noun,
    about: 'Answers a question.',
    body: wire.questionAnswer,
    answers: { 200: { about: 'the question with its answer', body: wire.question, tag: true } },
    handle: async call =>
      await withPlan(call, async ({ plan, name }) => {
        const id = call.params.question!
        const { engine } = call.rooms
        const [before] = (await engine.ask({ type: 'questions', plan, id })) ?? []
        if (before === undefined)
          return notFound(`nothing was asked in '${name}' under this id`, `what waits: GET /plans/${name}/questions`)
        const answers = call.body.answers as JsonObject
        const done = await order(call, plan, { type: 'answer', id, answers })
        if (isProblem(done)) return done
        const [found] = (await engine.ask({ type: 'questions', plan, id })) ?? []
        return found === undefined ? gone() : ok(showQuestion(plan, found), done.version)
      }),
  }),
]

export function showItem(item: InboxEntry | (InboxItem & { readonly id: string })) {
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
    answers: answers.map(({ answer, means }) => ({ answer, means })),
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

/** May the caller see what is in this plan? Each is looked at once. */
function seer(call: Asking, only: PlanId | null): (plan: PlanId) => Promise<boolean> {
  const known = new Map<PlanId, boolean>()
  return async plan => {
    if (only !== null && plan !== only) return false
    const sees = known.get(plan) ?? (await isInScope(call, plan))
    known.set(plan, sees)
    return sees
  }
}
