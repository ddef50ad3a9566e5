// The service's description of its own routes: OpenAPI for programs, a page for people.

import { createHash } from 'node:crypto'
import { type OpenApi, openApiSlowly } from '../api-docs/openapi.ts'
import { type ListedRoute, route } from '../route.ts'
import type { RouteRooms } from '../service.ts'
import { JSON_TYPE } from '../wire-names.ts'

export const apiRoutes = [
  route({
    method: 'GET',
    path: '/openapi.json',
    right: 'read',
    isOpenHere: true,
    about: 'Every route as an OpenAPI 3.1 document. On the machine of the service it needs no token.',
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
    isOpenHere: true,
    about: 'Every route as a page to look through. On the machine of the service it needs no token.',
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

// The routes as a page for people, made from the OpenAPI document. It contains no script and loads nothing.

interface Page {
  readonly text: string
  readonly policy: string
}

export function apiPage({ info, tags, paths }: OpenApi): Page {
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
  const sections = tags.map(({ name }) => {
    const rows = routes
      .filter(({ operation }) => operation.tags.includes(name))
      .map(({ method, path, operation }) =>
        row(
          method,
          path,
          operation['x-right'],
          (operation.parameters ?? []).map(one => one.name),
          operation.summary,
        ),
      )
    return `<h2>${escaped(name)}</h2><table>${rows.join('')}</table>`
  })
  const text = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Planfold: routes</title>
<style>${STYLE}</style></head><body><h1>Planfold ${escaped(String(info.version))}</h1><p>${escaped(String(info.description))}</p>
<p>Bodies, answers and their schemas: <a href="/openapi.json">openapi.json</a>. Send a token as <code>Authorization: Bearer …</code>.</p>
${sections.join('\n')}</body></html>
`
  return { text, policy: POLICY }
}

const row = (method: string, path: string, right: string, parameters: readonly string[], summary: string): string =>
  `<tr><td>${method}</td><td><code>${escaped(path)}</code></td><td>${escaped(right)}</td><td>${escaped(summary)}${
    parameters.length === 0 ? '' : ` <small>${escaped(parameters.join(', '))}</small>`
  }</td></tr>`

const ENTITIES: { readonly [char: string]: string } = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
/** As HTML. Text between backticks is code. */
const escaped = (text: string): string =>
  text.replaceAll(/[&<>"]/g, char => ENTITIES[char]!).replaceAll(/`([^`]*)`/g, '<code>$1</code>')

const STYLE =
  ':root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:0 auto;padding:0 1rem}td{padding:.1rem .6rem;vertical-align:top}'
const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
