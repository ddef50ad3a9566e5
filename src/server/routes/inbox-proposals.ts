// Revisions that take effect when somebody agrees to them, and approvals that are looked at and decided together.

import type { Sha256, TaskName } from '../../domain/id.ts'
import { semanticDiff } from '../../domain/semantic-diff.ts'
import { summarise } from '../../domain/semantic-diff-kinds.ts'
import { fateWords, type ProposalCard } from '../../domain/views/proposals.ts'
import { raisePlan } from '../../format/raise.ts'
import * as wire from '../../format/wire/people.ts'
import { findTask } from '../look-up.ts'
import { iso, onWire } from '../on-wire.ts'
import { type Asking, gone, movedOf, order, withPlan } from '../ordering.ts'
import { isProblem, notFound, type Problem, problem } from '../problem.ts'
import { orderRevised } from '../revision-text.ts'
import { LIMITS } from '../rooms.ts'
import { type Answer, type AnyRoute, created, ok, route } from '../route.ts'
import { showItem } from './inbox.ts'

const noun = 'people'

export const proposalRoutes: readonly AnyRoute[] = [
  route({
    method: 'GET',
    path: '/plans/:plan/proposals',
    right: 'read',
    noun,
    about: 'Every revision that was proposed, oldest first, and what became of it.',
    answers: { 200: { about: 'the proposals', body: wire.proposals } },
    handle: async call =>
      await withPlan(call, async ({ plan }) => {
        const cards = await call.rooms.engine.ask({ type: 'proposals', plan })
        return cards === null ? gone() : ok({ items: cards.map(card => showProposal(plan, card)), next: null })
      }),
  }),
  route({
    method: 'GET',
    path: '/plans/:plan/proposals/:proposal',
    right: 'read',
    noun,
    about: 'One proposal, with what it would change.',
    answers: { 200: { about: 'the proposal', body: wire.proposal } },
    handle: async call =>
      await withProposal(call, async (plan, card) => {
        const base = await call.rooms.engine.ask({ type: 'definition', plan, revision: card.on })
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
  route({
    method: 'POST',
    path: '/plans/:plan/proposals',
    right: 'operate',
    noun,
    about: 'Proposes a revision: a whole document, or one that is merged into the plan.',
    body: wire.newProposal,
    bodyMaxBytes: LIMITS.planBytes,
    answers: { 201: { about: 'it is proposed', body: wire.proposed, tag: true } },
    handle: async call =>
      await withPlan(call, async ({ plan }) => {
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
          ...(expected_revision === undefined ? {} : { expectedRevision: expected_revision }),
          ...(cause === undefined ? {} : { cause }),
          ...named,
        }))
        if (isProblem(ordered)) return ordered
        const { done, made } = ordered
        const { definition, diff, summary } = made
        const taken = done.events.find(event => event.type === 'plan.revised')
        const proposed = done.events.find(event => event.type === 'revision.proposed')
        const moved = await movedOf(call, done)
        const id = proposed?.id ?? (await sameProposal(call, plan, definition)) ?? null
        const body = {
          id,
          accepted: taken !== undefined,
          revision: taken?.revision ?? null,
          summary,
          diff: onWire(diff),
          ...moved,
        }
        return created(body, `/plans/${plan}/proposals${id === null ? '' : `/${id}`}`, moved.version)
      }),
  }),
  route({
    method: 'POST',
    path: '/plans/:plan/proposals/:proposal/accept',
    right: 'decide',
    noun,
    about: 'The proposal becomes the plan.',
    body: wire.judgeBody,
    answers: { 200: { about: 'it is accepted', body: wire.judged, tag: true } },
    handle: async call => await judge(call, 'accepted', call.body),
  }),
  route({
    method: 'POST',
    path: '/plans/:plan/proposals/:proposal/decline',
    right: 'decide',
    noun,
    about: 'The plan stays as it is.',
    body: wire.declineBody,
    answers: { 200: { about: 'it is declined', body: wire.judged, tag: true } },
    handle: async call => await judge(call, 'declined', call.body),
  }),
  route({
    method: 'GET',
    path: '/plans/:plan/reviews',
    right: 'read',
    noun,
    about: 'Approvals that are looked at together, oldest first.',
    answers: { 200: { about: 'the reviews', body: wire.reviews } },
    handle: async call =>
      await withPlan(call, async ({ plan }) => {
        const reviews = await call.rooms.engine.ask({ type: 'reviews', plan })
        if (reviews === null) return gone()
        const items = reviews.map(({ hash, since, closesAt, closed, items }) => ({
          hash,
          since: iso(since),
          closes_at: closesAt === null ? null : iso(closesAt),
          closed,
          items: items.map(showItem),
        }))
        return ok({ items, next: null })
      }),
  }),
  route({
    method: 'POST',
    path: '/plans/:plan/review',
    right: 'decide',
    noun,
    about: 'Decides about the first review as a whole: all of it, or none.',
    body: wire.reviewBody,
    answers: { 200: { about: 'it is decided', body: wire.reviewed, tag: true } },
    handle: async call =>
      await withPlan(call, async ({ plan, name }) => {
        const { verdict: word, rationale = '', hash } = call.body
        const [open] = (await call.rooms.engine.ask({ type: 'reviews', plan })) ?? []
        if (open === undefined)
          return problem(409, 'not-ready', `nothing of '${name}' asks for approval`, { hint: 'what waits: GET /inbox' })
        if (hash !== undefined && hash !== open.hash)
          return problem(409, 'conflict', 'the review is not the one that was seen', {
            hint: `look at it again: GET /plans/${name}/reviews`,
          })
        const verdict = word === 'approve' ? ('approved' as const) : ('rejected' as const)
        const decisions = open.items.map(({ task, asks }) => {
          const on = 'on' in asks ? asks.on : null
          return { task: task!, verdict, rationale, ...(on === null ? {} : { hash: on }) }
        })
        // Seen as the plan stood then: whoever moves it meanwhile makes it another review.
        const expectedVersion = call.expectedVersion ?? open.items[0]!.version
        const done = await order({ ...call, expectedVersion }, plan, { type: 'review', decisions })
        if (isProblem(done)) return done
        const moved = await movedOf(call, done)
        return ok({ verdict, gates: decisions.map(({ task }) => task), by: call.who.actor, ...moved }, moved.version)
      }),
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
    const cards = (await call.rooms.engine.ask({ type: 'proposals', plan })) ?? []
    const card = cards.findLast(({ id }) => id === call.params.proposal)
    if (card !== undefined) return await goOn(plan, card)
    return notFound(`plan '${name}' has no such proposal`, `list them: GET /plans/${name}/proposals`)
  })
}

async function judge(
  call: Asking,
  verdict: 'accepted' | 'declined',
  { rationale = '', hash }: { readonly rationale?: string | undefined; readonly hash?: string | undefined },
): Promise<Answer> {
  return await withProposal(call, async (plan, card) => {
    const seen = (hash ?? card.hash) as Sha256
    const done = await order(call, plan, { type: 'judge', id: card.id, hash: seen, verdict, rationale })
    if (isProblem(done)) return card.fate.status === 'waiting' ? done : late(done, card)
    const moved = await movedOf(call, done)
    return ok({ id: card.id, verdict, by: call.who.actor, ...moved }, moved.version)
  })
}

const late = ({ problem: told }: Problem, card: ProposalCard): Problem =>
  problem(409, 'not-ready', fateWords(card), { hint: told.hint })

async function sameProposal({ rooms }: Asking, plan: string, definition: object): Promise<string | undefined> {
  const cards = (await rooms.engine.ask({ type: 'proposals', plan })) ?? []
  const text = JSON.stringify(definition)
  return cards.findLast(card => card.fate.status === 'waiting' && JSON.stringify(card.definition) === text)?.id
}
