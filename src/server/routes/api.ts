// What the service says of its own routes: as a document for programs, as a page for people.

import { apiPage, type Page } from '../api-docs/api-page.ts'
import { openApiSlowly } from '../api-docs/openapi.ts'
import { type ListedRoute, route } from '../route.ts'
import type { RouteRooms } from '../service.ts'
import { JSON_TYPE } from '../wire-names.ts'

export const apiRoutes = [
  route({
    method: 'GET',
    path: '/openapi.json',
    right: 'read',
    about: 'Every route as an OpenAPI 3.1 document.',
    answers: { 200: { about: 'the document', body: 'OpenApiDocument' } },
    handle: async ({ rooms }) => {
      const { document } = await toldOf(rooms)
      return { status: 200, raw: { type: JSON_TYPE, data: document } }
    },
  }),
  route({
    method: 'GET',
    path: '/docs',
    right: 'read',
    about: 'Every route as a page to look through.',
    answers: { 200: { about: 'the page', type: 'text/html' } },
    handle: async ({ rooms }) => {
      const { page } = await toldOf(rooms)
      const { text, policy } = page
      return {
        status: 200,
        raw: { type: 'text/html; charset=utf-8', data: text },
        headers: { 'content-security-policy': policy },
      }
    },
  }),
]

interface Told {
  readonly document: string
  readonly page: Page
}

/** The table does not change while it is served, so what is told of it is made once, while others are answered. */
const told = new WeakMap<readonly ListedRoute[], Promise<Told>>()

function toldOf({ routes, version }: RouteRooms): Promise<Told> {
  const known = told.get(routes) ?? tell(routes, version)
  told.set(routes, known)
  return known
}

async function tell(routes: readonly ListedRoute[], version: string): Promise<Told> {
  const document = await openApiSlowly(routes, { version })
  return { document: JSON.stringify(document), page: apiPage(document) }
}
