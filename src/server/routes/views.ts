// Page views: everything that one page of a face shows, in one request: a plan, a task, a gate with what it asks approval for.

import { peopleLines } from '../../domain/policy/plan-roles.ts'
import { askedSentence, votesSentence } from '../../domain/views/gate-text.ts'
import { consentText } from '../../domain/views/pages/consent-text.ts'
import type { Used } from '../../domain/views/pages/task-page.ts'
import type { Waiting } from '../../domain/views/summary.ts'
import type { AnswerOf, TaskPage } from '../../engine/engine.ts'
import { raiseTask } from '../../format/plan/definition-to-document.ts'
import * as wire from '../../format/wire/views.ts'
import { SAFE_TEXT } from '../../safety/text/terminal.ts'
import { hintText } from '../hint-text.ts'
import { notFound, refused } from '../problem.ts'
import type { Call } from '../request.ts'
import { type AnyRoute, ok, route } from '../route.ts'
import { gone, planRoute, taskRoute, withTask } from '../submit-order.ts'
import { iso, onWire } from '../wire-names.ts'
import { gateItem } from './gates.ts'

export const viewRoutes: readonly AnyRoute[] = [
  planRoute({
    method: 'GET',
    path: '/plans/:plan/state',
    right: 'read',
    about:
      'The whole plan as it stands, to be carried on by whoever asks: listen to its events behind `position`, and apply each entry behind `version`.',
    answers: { 200: { about: 'the state', body: 'PlanState', tag: true } },
    handle: async (call, { plan, name }) => {
      const state = await call.engine.ask({ type: 'state', plan })
      return state === null ? gone() : ok({ plan_id: plan, name, ...state }, state.version)
    },
  }),
  route({
    method: 'GET',
    path: '/why',
    right: 'inspect',
    about:
      'Why the lines of a file are there: which task wrote them, in which attempt, with what instruction and checks, who approved, and how to undo it; for lines that no plan wrote, the commit.',
    query: wire.whyQuery,
    answers: { 200: { about: 'the origins', body: 'WhyAnswer' } },
    handle: async call => {
      const answer = await call.engine.ask({ type: 'why', ...call.query })
      if (answer === null) return notFound('there is no such plan', 'list them: GET /plans')
      return answer.ok ? ok(onWire(answer.why)) : refused(answer.refusal)
    },
  }),
  taskRoute({
    method: 'GET',
    path: '/plans/:plan/tasks/:task',
    right: 'read',
    about:
      'Everything about one task: its definition, attempts, criteria with evidence, changed files, the end of its output, cost, and what would run.',
    query: wire.taskPageQuery,
    answers: { 200: { about: 'the task', body: 'TaskPageAnswer', tag: true } },
    handle: async (call, { plan, task }) => {
      const { engine, query } = call
      const page = await engine.ask({ type: 'taskPage', plan, task })
      if (page === null) return gone()
      const changes = mayInspect(call) ? await engine.ask({ type: 'taskChanges', plan, task, ...query }) : null
      return ok({ plan_id: plan, ...taskBody(page), changes: onWire(changes) }, page.version)
    },
  }),
  route({
    method: 'GET',
    path: '/plans/:plan/gates/:gate',
    right: 'read',
    about:
      'One gate, or task that asks for something, with everything an answer agrees to: what exactly runs, all changes line by line, what it releases, who must agree.',
    answers: { 200: { about: 'the gate', body: 'GatePage', tag: true } },
    handle: async call =>
      await withTask({ ...call, params: { ...call.params, task: call.params.gate! } }, async ({ plan, task }) => {
        const { engine } = call
        const [summary, page] = [
          await engine.ask({ type: 'summary', plan }),
          await engine.ask({ type: 'taskPage', plan, task }),
        ]
        if (summary === null || page === null) return gone()
        const { name, version } = summary
        const { card, definition, decisions } = page
        const waiting = summary.waiting.find(each => each.task === task)
        const shared = {
          name,
          state: card.status,
          definition: raiseTask(definition),
          decisions: decisions.map(decisionBody),
          people: peopleLines(summary.people ?? {}),
        }
        const hidden = !mayInspect(call)
        if (waiting === undefined)
          return ok(
            {
              gate: task,
              plan_id: plan,
              task_id: card.id,
              title: card.title,
              open: false,
              ...shared,
              consent: null,
              hidden,
            },
            version,
          )
        const consent = hidden ? null : await engine.ask({ type: 'consent', plan, task })
        const work = hidden ? null : await engine.ask({ type: 'judgedWork', plan, task })
        return ok(
          {
            ...gateItem(plan, waiting, card),
            ...shared,
            open: true,
            question: askedSentence({ task, asks: { ...waiting.asks, on: waiting.hash ?? null } }, SAFE_TEXT.visible),
            agree: agreeing(waiting, consent),
            consent: consent === null ? null : consentBody(consent, waiting),
            ...(work === null ? {} : { work: onWire(work) }),
            hidden,
          },
          version,
        )
      }),
  }),
]

/** File contents are visible only to those who work on a plan or decide about it. */
const mayInspect = ({ engine }: Pick<Call<unknown, unknown>, 'engine'>): boolean => engine.caller.rights.has('inspect')

function taskBody(page: TaskPage) {
  const { card, definition, name, version, neededBy, why, attempts, decisions, lessons, criteria, preview } = page
  const { log, isLogCut } = page
  return {
    name,
    version,
    task: onWire(card),
    definition: raiseTask(definition),
    needed_by: neededBy,
    why: typeof why === 'string' ? why : hintText(why),
    attempts: onWire(attempts),
    decisions: decisions.map(decisionBody),
    lessons: lessons.map(({ at, ...lesson }) => ({ ...lesson, at: iso(at) })),
    criteria: onWire(criteria),
    used: onWire(usedIn(attempts)),
    preview,
    log: { items: log.map(({ plan: _, task: __, at, ...chunk }) => ({ ...chunk, at: iso(at) })), cut: isLogCut },
  }
}

const decisionBody = ({ at, ...decision }: TaskPage['decisions'][number]) => ({ ...decision, at: iso(at) })

function usedIn(attempts: TaskPage['attempts']): Used {
  const all = attempts.flatMap(({ used }) => used ?? [])
  const sum = (key: Exclude<keyof Used, 'reported'>): number | null =>
    all.reduce<number | null>((total, used) => (used[key] === null ? total : (total ?? 0) + used[key]), null)
  return {
    tokens: sum('tokens'),
    inputTokens: sum('inputTokens'),
    outputTokens: sum('outputTokens'),
    cost: sum('cost'),
    reported: all.some(({ reported }) => reported),
  }
}

type Consent = NonNullable<AnswerOf<'consent'>>

function agreeing({ asks, votes = [] }: Waiting, consent: Consent | null) {
  const approvers = ('approvers' in asks ? asks.approvers : undefined) ?? consent?.shown.approvers ?? {}
  const { count = 1, role = null } = approvers
  return {
    role,
    count,
    given: votes.map(({ by, rationale }) => ({ by, rationale })),
    told: count > 1 ? votesSentence(votes, count, SAFE_TEXT.visible) : null,
  }
}

function consentBody({ hash, shown, patches, files }: Consent, { releases }: Waiting) {
  const contents = {
    patches: new Map(Object.entries(patches)),
    files: new Map(Object.entries(files)) as never,
  }
  const lines = consentText(shown, { say: SAFE_TEXT, all: true, contents, whole: '', releases: releases ?? null })
  const spans = lines.map(line => line.map(span => (typeof span === 'string' ? { text: span, tone: null } : span)))
  const changes = (shown.reviewed ?? []).filter(({ before, now }) => before !== now)
  return {
    hash,
    text: spans.map(line => line.map(({ text }) => text).join('')).join('\n'),
    lines: spans,
    shown: onWire(shown),
    files: Object.entries(files).map(([sha256, text]) => ({
      sha256,
      lines: text.type === 'text' ? text.lines : null,
      why: text.type === 'text' ? null : text.why,
    })),
    changes: changes.map(({ path, before, now }) => {
      const patch = patches[path]
      return {
        path,
        before,
        now,
        patch: patch?.type === 'text' ? patch.lines : null,
        why: patch === undefined ? 'not stored' : patch.type === 'text' ? null : patch.why,
      }
    }),
  }
}
