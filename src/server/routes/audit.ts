// Reports about a plan: audit trail, handoff, digest, contract, replay, and pictures.

import type { Digest } from '../../domain/views/digest.ts'
import * as wire from '../../format/wire/audit.ts'
import { findTask } from '../find-plan.ts'
import { hintText } from '../hint-text.ts'
import { isProblem } from '../problem.ts'
import { replayWithoutTokens } from '../remote/remote-orders.ts'
import { type AnyRoute, created, ok, route } from '../route.ts'
import { type Asking, gone, order, planRoute, withPlan } from '../submit-order.ts'
import { onWire } from '../wire-names.ts'

const DAY_MS = 24 * 60 * 60_000

export const auditRoutes: readonly AnyRoute[] = [
  route({
    method: 'GET',
    path: '/plans/:plan/audit',
    right: 'read',
    about: 'Who asked, decided, ran and wrote what, line by line, as far as the chain of the journal proves it.',
    query: wire.sinceQuery,
    answers: { 200: { about: 'the trail', body: 'AuditTrail' } },
    handle: async call => {
      const { since } = call.query
      return await viewReply(call, plan => call.engine.ask({ type: 'audit', plan, since }))
    },
  }),
  route({
    method: 'GET',
    path: '/plans/:plan/digest',
    right: 'read',
    about: 'Progress and blockers since a time; of the last day when not said.',
    query: wire.sinceQuery,
    answers: { 200: { about: 'the digest', body: 'Digest' } },
    handle: async call => {
      const since = call.query.since ?? call.rooms.now() - DAY_MS
      return await viewReply(call, async plan => withoutKeys(await call.engine.ask({ type: 'digest', plan, since })))
    },
  }),
  viewing('handoff', 'What whoever comes next must know, as facts and as Markdown.', 'Handoff', (call, plan) =>
    call.engine.ask({ type: 'handoff', plan }),
  ),
  viewing('contract', 'Every check of the plan, and its last result.', 'Contract', (call, plan) =>
    call.engine.ask({ type: 'contract', plan }),
  ),
  viewing(
    'replay',
    'Every entry proven and decided again. Nothing is written, run or reached.',
    'Replay',
    async (call, plan) => {
      const replay = await call.engine.ask({ type: 'replay', plan })
      return replay === null ? null : replayWithoutTokens(replay)
    },
  ),
  planRoute({
    method: 'GET',
    path: '/plans/:plan/graph',
    right: 'read',
    about: 'Who needs whom, as text for a program that draws, for people, or drawn (`as=svg`).',
    query: wire.graphQuery,
    answers: { 200: { about: 'the picture', type: 'text/plain', texts: ['image/svg+xml'] } },
    handle: async (call, { plan }) => {
      const { engine } = call
      const [current, cards] = [
        await engine.ask({ type: 'definition', plan }),
        await engine.ask({ type: 'board', plan }),
      ]
      if (current === null || cards === null) return gone()
      const drawn = await call.rooms.documents.runOn('draw', {
        definition: current.definition,
        statuses: cards.map(card => [card.name, card.status]),
        as: call.query.as ?? 'mermaid',
      })
      return isProblem(drawn) ? drawn : { status: 200, raw: { type: drawn.type, data: drawn.text } }
    },
  }),
  planRoute({
    method: 'GET',
    path: '/plans/:plan/board',
    right: 'read',
    about: 'Every task with what a person wants to see of it, in the order of the document.',
    answers: { 200: { about: 'the board', body: 'BoardPage' } },
    handle: async (call, { plan }) => {
      const cards = await call.engine.ask({ type: 'board', plan })
      return cards === null ? gone() : ok({ items: onWire(cards), next: null })
    },
  }),
  planRoute({
    method: 'POST',
    path: '/plans/:plan/notes',
    right: 'operate',
    about: 'Adds a note to the event log.',
    body: wire.newNote,
    answers: { 201: { about: 'it is written', body: 'Note', tag: true } },
    handle: async (call, { plan, name }) => {
      const { text, task, place } = call.body
      const about = task === undefined ? null : await findTask(call, task, plan)
      if (about !== null && isProblem(about)) return about
      const done = await order(call, plan, {
        type: 'note',
        text,
        ...(about === null ? {} : { task: about.task }),
        place,
      })
      if (isProblem(done)) return done
      const { version } = done
      const body = {
        plan_id: plan,
        name,
        text,
        task: about?.task ?? null,
        place: place ?? null,
        by: call.who.actor,
        version,
      }
      return created(body, `/plans/${plan}/entries?after=${version - 1}`, version)
    },
  }),
]

type View = { readonly plan: string } | null

function viewing<V extends View>(
  word: string,
  about: string,
  body: string,
  ask: (call: Asking, plan: string) => Promise<V>,
): AnyRoute {
  return route({
    method: 'GET',
    path: `/plans/:plan/${word}`,
    right: 'read',
    about,
    answers: { 200: { about: `the ${word}`, body } },
    handle: async call => await viewReply(call, plan => ask(call, plan)),
  })
}

async function viewReply(call: Asking, ask: (plan: string) => Promise<View>) {
  return await withPlan(call, async found => {
    const view = await ask(found.plan)
    if (view === null) return gone()
    const { plan, ...rest } = view
    return ok({ plan_id: plan, ...(onWire(rest) as object) })
  })
}

/** Keys and steps are for programs of ours: steps become requests in words. */
function withoutKeys(digest: Digest | null): View {
  if (digest === null) return null
  const shown = {
    ...digest,
    waiting: digest.waiting.map(({ key: _, answers, ...item }) => ({
      ...item,
      answers: answers.map(({ answer, means }) => ({ answer, means: hintText(means) })),
    })),
  }
  return shown
}
