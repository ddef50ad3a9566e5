// Is it there, is it ready, which one is it.

import { health, readiness, version } from '../../format/wire/health.ts'
import { ok, route } from '../route.ts'

export const healthRoutes = [
  route({
    method: 'GET',
    path: '/health',
    right: 'nothing',
    noun: 'health',
    about: 'Is the process alive? Answers without looking at anything.',
    answers: { 200: { about: 'it is', body: health } },
    handle: async () => ok({ status: 'ok' }),
  }),
  route({
    method: 'GET',
    path: '/ready',
    right: 'nothing',
    noun: 'health',
    about: 'Does the store answer, and is the service not about to stop?',
    answers: { 200: { about: 'it is ready', body: readiness }, 503: { about: 'it is not', body: readiness } },
    handle: async ({ rooms }) => {
      if (rooms.stopping.aborted) return { status: 503, body: { status: 'stopping' } }
      await rooms.engine.ask({ type: 'plans', limit: 1 })
      return ok({ status: 'ready' })
    },
  }),
  route({
    method: 'GET',
    path: '/version',
    right: 'read',
    noun: 'health',
    about: 'Which Planfold answers here.',
    answers: { 200: { about: 'its version', body: version } },
    handle: async ({ rooms }) => ok({ name: 'planfold', version: rooms.version, api: 1 }),
  }),
]
