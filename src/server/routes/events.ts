// Live events as resumable streams: of all plans, one plan, or the plans of a session.

import type { PlanId } from '../../domain/id.ts'
import { UNDERSCORE } from '../../extras/compat/compat.ts'
import { allEventsQuery, eventsQuery } from '../../format/wire/events.ts'
import { findPlan } from '../find-plan.ts'
import { isSessionKnown, noSession } from '../find-session.ts'
import { DOTTED, parseCursor, sendEvents } from '../live/sse.ts'
import type { Wish } from '../live/subscriber.ts'
import { isProblem, problem } from '../problem.ts'
import type { Call } from '../request.ts'
import { type Answer, route } from '../route.ts'
import { planRoute } from '../submit-order.ts'

type Query = { after?: string | undefined; names: 'dotted' | 'underscore'; progress: 'true' | 'false' }
type EventsCall = Call<Query>

const shape = {
  method: 'GET',
  right: 'read',
  query: eventsQuery,
  headers: { 'Last-Event-ID': 'The id of the last event that was heard; goes before `after`. Event sources send it.' },
  answers: { 200: { about: 'a stream of events that stays open until it is closed', type: 'text/event-stream' } },
} as const

export const eventRoutes = [
  route<Query & { plan_id?: readonly string[] | undefined }>({
    ...shape,
    path: '/events',
    about: 'What happens in all plans, or in several.',
    query: allEventsQuery,
    handle: async call => {
      const { plan_id } = call.query
      if (plan_id === undefined) return stream(call, null, () => true)
      const wanted = new Set<PlanId>()
      for (const reference of plan_id) {
        const found = await findPlan(call, reference)
        if (isProblem(found)) return found
        wanted.add(found.plan)
      }
      return stream(call, null, plan => wanted.has(plan))
    },
  }),
  planRoute<Query>({
    ...shape,
    path: '/plans/:plan/events',
    about: 'What happens in one plan.',
    handle: async (call, found) => {
      return stream(call, found.plan, plan => plan === found.plan)
    },
  }),
  route<Query>({
    ...shape,
    path: '/sessions/:session/events',
    about: 'What happens in the plans of a session, which need not have any yet.',
    handle: async call => {
      const session = call.params.session!
      if (!(await isSessionKnown(call, session))) return noSession(session)
      return stream(call, null, (_, facts) => facts.session === session)
    },
  }),
]

function stream(call: EventsCall, plan: PlanId | null, wants: Wish['wants']): Answer {
  const { rooms, engine, who, query, headers, signal } = call
  const { live, limits, log, stopping } = rooms
  const release = live.admit(who.token)
  if (release === null)
    return problem(429, 'streams', `${limits.streams} streams of this token are open already`, {
      hint: 'close one of them, or listen to all plans with one: GET /events',
      headers: { 'retry-after': '5' },
    })
  // Also fires when the response ends before anything was sent.
  signal().addEventListener('abort', release, { once: true })
  const wish: Wish = {
    naming: query.names === 'underscore' ? UNDERSCORE : DOTTED,
    plan,
    wants,
    from: beginning(headers['last-event-id'], query.after),
    ticks: query.progress === 'true',
  }
  return {
    stream: async out => {
      const subscriber = await live.subscribe(engine.caller, wish)
      try {
        const how = await sendEvents(out, subscriber, {
          bytesMax: limits.streamBytes,
          silentMs: limits.streamSilentMs,
          stopping,
        })
        if (how === 'cut') log.info({ actor: who.actor }, 'a stream was cut: its client does not read')
      } finally {
        live.leave(subscriber)
      }
    },
  }
}

/** On reconnection, Last-Event-ID takes precedence over the query parameter of the first request. */
function beginning(last: string | string[] | undefined, after: string | undefined): Wish['from'] {
  const cursor = typeof last === 'string' && last !== '' ? last : after
  return cursor === undefined ? 'now' : (parseCursor(cursor) ?? 'unknown')
}
