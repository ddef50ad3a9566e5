// Memory has its address before it has its room: whoever asks is told that it is not there yet, and nothing pretends.

import { memoryBody, memoryQuery } from '../../format/wire/memory.ts'
import { problem } from '../problem.ts'
import { type AnyRoute, route } from '../route.ts'

const noun = 'memory'
const later = async () =>
  problem(501, 'not-supported', 'facts and lessons across plans are not kept yet: memory comes with a later release', {
    hint: 'until then, hand what is known to a plan as inputs of its tasks, and keep what it finds as outputs and notes',
  })

export const memoryRoutes: readonly AnyRoute[] = [
  route({
    method: 'GET',
    path: '/memory',
    right: 'read',
    noun,
    about: 'What is remembered under these keys. Not there yet: answers 501.',
    query: memoryQuery,
    answers: {},
    handle: later,
  }),
  route({
    method: 'POST',
    path: '/memory',
    right: 'operate',
    noun,
    about: 'Remembers something. Not there yet: answers 501.',
    body: memoryBody,
    answers: {},
    handle: later,
  }),
]
