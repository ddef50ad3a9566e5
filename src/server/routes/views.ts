// What a page or another face shows of a plan, each with one call: its whole state.

import * as wire from '../../format/wire/views.ts'
import { type AnyRoute, ok, route } from '../route.ts'
import { gone, withPlan } from '../submit-order.ts'

const noun = 'views'

export const viewRoutes: readonly AnyRoute[] = [
  route({
    method: 'GET',
    path: '/plans/:plan/state',
    right: 'read',
    noun,
    about:
      'The whole plan as it stands, to be carried on by whoever asks: listen to its events behind `position`, and apply each entry behind `version`.',
    answers: { 200: { about: 'the state', body: wire.state, tag: true } },
    handle: async call =>
      await withPlan(call, async ({ plan, name }) => {
        const state = await call.engine.ask({ type: 'state', plan })
        return state === null ? gone() : ok({ plan_id: plan, name, ...state }, state.version)
      }),
  }),
]
