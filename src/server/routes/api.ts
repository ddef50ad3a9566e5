// The service's description of its own routes: OpenAPI for programs, a page for people.

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
      const { document } = await documentsOf(rooms)
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
      const { page } = await documentsOf(rooms)
      const { text, policy } = page
      return {
        status: 200,
        raw: { type: 'text/html; charset=utf-8', data: text },
        headers: { 'content-security-policy': policy },
      }
    },
  }),
]

interface ApiDocuments {
  readonly document: string
  readonly page: Page
}

/** Built once per route table, since it does not change while the service runs. */
const cache = new WeakMap<readonly ListedRoute[], Promise<ApiDocuments>>()

function documentsOf({ routes, version }: RouteRooms): Promise<ApiDocuments> {
  const known = cache.get(routes) ?? makeDocuments(routes, version)
  cache.set(routes, known)
  return known
}

async function makeDocuments(routes: readonly ListedRoute[], version: string): Promise<ApiDocuments> {
  const document = await openApiSlowly(routes, { version })
  return { document: JSON.stringify(document), page: apiPage(document) }
}
