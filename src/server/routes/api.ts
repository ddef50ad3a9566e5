// What the service says of its own routes: as a document for programs, as a page for people.

import { openApiDocument } from '../../format/wire/api.ts'
import { apiPage, type Page } from '../api-page.ts'
import { type OpenApi, openApi } from '../openapi.ts'
import type { ServerRooms } from '../rooms.ts'
import { type AnyRoute, ok, route } from '../route.ts'

export const apiRoutes = [
  route({
    method: 'GET',
    path: '/openapi.json',
    right: 'read',
    noun: 'api',
    about: 'Every route as an OpenAPI 3.1 document.',
    answers: { 200: { about: 'the document', body: openApiDocument } },
    handle: async ({ rooms }) => ok(toldOf(rooms).document),
  }),
  route({
    method: 'GET',
    path: '/docs',
    right: 'read',
    noun: 'api',
    about: 'Every route as a page to look through.',
    answers: { 200: { about: 'the page', type: 'text/html' } },
    handle: async ({ rooms }) => {
      const { text, policy } = toldOf(rooms).page
      return {
        status: 200,
        raw: { type: 'text/html; charset=utf-8', data: text },
        headers: { 'content-security-policy': policy },
      }
    },
  }),
]

interface Told {
  readonly document: OpenApi
  readonly page: Page
}

/** The table does not change while it is served, so what is told of it is made once. */
const told = new WeakMap<readonly AnyRoute[], Told>()

function toldOf({ routes, version }: ServerRooms): Told {
  const known = told.get(routes)
  if (known !== undefined) return known
  const document = openApi(routes, { version })
  const made = { document, page: apiPage(document) }
  told.set(routes, made)
  return made
}
