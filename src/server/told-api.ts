// What the service says of its own routes, as it is sent: a document for programs, a page for people.

import { apiPage } from './api-page.ts'
import { openApi } from './openapi.ts'
import type { AnyRoute } from './route.ts'

export interface ToldApi {
  /** The OpenAPI document, as JSON text. */
  readonly document: string
  readonly page: { readonly text: string; readonly policy: string }
}

export function tellApi(routes: readonly AnyRoute[], version: string): ToldApi {
  const document = openApi(routes, { version })
  const { text, policy } = apiPage(document)
  return { document: JSON.stringify(document), page: { text, policy } }
}

/** Which routes there are, to see whether two tables are the same. */
export const namesOf = (routes: readonly AnyRoute[]): readonly string[] =>
  routes.map(({ method, path }) => `${method} ${path}`)
