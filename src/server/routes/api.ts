// What the service says of its own routes: as a document for programs, as a page for people.

import { openApiDocument } from '../../format/wire/api.ts'
import { isProblem, type Problem } from '../problem.ts'
import type { ServerRooms } from '../rooms.ts'
import { type AnyRoute, JSON_TYPE, route } from '../route.ts'
import { namesOf, type ToldApi, tellApi } from '../told-api.ts'

export const apiRoutes = [
  route({
    method: 'GET',
    path: '/openapi.json',
    right: 'read',
    noun: 'api',
    about: 'Every route as an OpenAPI 3.1 document.',
    answers: { 200: { about: 'the document', body: openApiDocument } },
    handle: async ({ rooms }) => {
      const api = await toldOf(rooms)
      return isProblem(api) ? api : { status: 200, raw: { type: JSON_TYPE, data: api.document } }
    },
  }),
  route({
    method: 'GET',
    path: '/docs',
    right: 'read',
    noun: 'api',
    about: 'Every route as a page to look through.',
    answers: { 200: { about: 'the page', type: 'text/html' } },
    handle: async ({ rooms }) => {
      const api = await toldOf(rooms)
      if (isProblem(api)) return api
      const { text, policy } = api.page
      return {
        status: 200,
        raw: { type: 'text/html; charset=utf-8', data: text },
        headers: { 'content-security-policy': policy },
      }
    },
  }),
]

/** The table does not change while it is served, so what is told of it is made once, beside the event loop. */
const told = new WeakMap<readonly AnyRoute[], Promise<ToldApi | Problem>>()

async function toldOf({ routes, version, documents }: ServerRooms): Promise<ToldApi | Problem> {
  const known = told.get(routes) ?? made()
  told.set(routes, known)
  const api = await known.catch((error: unknown) => {
    told.delete(routes)
    throw error
  })
  // Too busy, for instance: whoever asks next has it made again.
  if (isProblem(api)) told.delete(routes)
  return api

  async function made(): Promise<ToldApi | Problem> {
    const answer = await documents.tellApi({ routes: namesOf(routes), version })
    if (isProblem(answer)) return answer
    return 'api' in answer ? answer.api : tellApi(routes, version)
  }
}
