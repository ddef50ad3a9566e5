// What the service says of its own routes: as a document for programs, as a page for people.

import { openApiDocument } from '../../format/wire/api.ts'
import { apiPage } from '../api-page.ts'
import { openApi } from '../openapi.ts'
import { ok, route } from '../route.ts'

export const apiRoutes = [
  route({
    method: 'GET',
    path: '/openapi.json',
    right: 'read',
    noun: 'api',
    about: 'Every route as an OpenAPI 3.1 document.',
    answers: { 200: { about: 'the document', body: openApiDocument } },
    handle: async ({ rooms }) => ok(openApi(rooms.routes, { version: rooms.version })),
  }),
  route({
    method: 'GET',
    path: '/docs',
    right: 'read',
    noun: 'api',
    about: 'Every route as a page to look through.',
    answers: { 200: { about: 'the page', type: 'text/html' } },
    handle: async ({ rooms, headers }) => {
      const document = openApi(rooms.routes, { version: rooms.version })
      const { text, policy } = apiPage(document, { origin: `http://${headers.host ?? 'localhost'}` })
      return {
        status: 200,
        raw: { type: 'text/html; charset=utf-8', data: text },
        headers: { 'content-security-policy': policy },
      }
    },
  }),
]
