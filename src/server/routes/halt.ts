// The kill switch over HTTP: all work of the store ends, and nothing begins until it is lifted.

import { haltBody, haltDone, halted, lifted } from '../../format/wire/audit.ts'
import { onWire } from '../on-wire.ts'
import { type AnyRoute, ok, route } from '../route.ts'
import { refuseScoped } from '../scope.ts'

const noun = 'halt'

export const haltRoutes: readonly AnyRoute[] = [
  route({
    method: 'GET',
    path: '/halt',
    right: 'read',
    noun,
    about: 'Is everything halted, by whom, and why?',
    answers: { 200: { about: 'how it stands', body: halted } },
    handle: async ({ rooms }) => {
      const halt = await rooms.engine.killSwitch.halted()
      return ok({ halted: halt !== null, halt: onWire(halt) })
    },
  }),
  route({
    method: 'POST',
    path: '/halt',
    once: false,
    right: 'administer',
    noun,
    about: 'Halts everything: whatever runs is ended, and nothing begins.',
    body: haltBody,
    answers: { 200: { about: 'everything is halted', body: haltDone } },
    handle: async call =>
      refuseScoped(call) ?? ok(onWire(await call.rooms.engine.killSwitch.halt(call.body.reason, call.who.actor))),
  }),
  route({
    method: 'DELETE',
    path: '/halt',
    right: 'administer',
    noun,
    about: 'Lifts the halt; plans stay paused until somebody resumes them.',
    answers: { 200: { about: 'who had halted it; null when nobody had', body: lifted } },
    handle: async call => refuseScoped(call) ?? ok({ lifted: onWire(await call.rooms.engine.killSwitch.lift()) }),
  }),
]
