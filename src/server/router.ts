// Finds the route of a path. Paths are normalised first: `/api` and a slash at the end fall away, so that every route answers at
// both places. Words go before parameters.

import type { AnyRoute, Method } from './route.ts'

export interface Router {
  find(method: string, path: string): Routed
}

export type Routed =
  | { readonly route: AnyRoute; readonly params: { readonly [name: string]: string } }
  /** There is something there, for other methods. */
  | { readonly route: null; readonly methods: readonly Method[] }

interface Node {
  readonly words: Map<string, Node>
  parameter: Node | null
  readonly routes: Map<Method, Target>
}

interface Target {
  readonly route: AnyRoute
  /** Of its parameters, in the order of the path. */
  readonly names: readonly string[]
}

const SEGMENTS_MAX = 16

export function openRouter(routes: readonly AnyRoute[]): Router {
  const root = newNode()
  for (const route of routes) {
    const node = segments(route.path).reduce(descend, root)
    if (node.routes.has(route.method)) throw new Error(`bug: two routes for ${route.method} ${route.path}`)
    node.routes.set(route.method, { route, names: namesIn(route.path) })
  }
  return {
    find: (method, path) => {
      const values: string[] = []
      const parts = segments(path)
      const node = parts.length > SEGMENTS_MAX ? null : match(root, parts, 0, values)
      const target = node?.routes.get(method as Method)
      if (node === null || target === undefined) return { route: null, methods: [...(node?.routes.keys() ?? [])] }
      return { route: target.route, params: paramsOf(target.names, values) }
    },
  }
}

/** The path without what makes no difference. */
export function normalPath(url: string): string {
  const query = url.indexOf('?')
  let path = query === -1 ? url : url.slice(0, query)
  if (path.startsWith('/api/') || path === '/api') path = path.slice(4)
  while (path.length > 1 && path.endsWith('/')) path = path.slice(0, -1)
  return path === '' ? '/' : path
}

const newNode = (): Node => ({ words: new Map(), parameter: null, routes: new Map() })
const segments = (path: string): readonly string[] => (path === '/' ? [] : path.slice(1).split('/'))

function descend(node: Node, segment: string): Node {
  if (segment.startsWith(':')) {
    node.parameter ??= newNode()
    return node.parameter
  }
  const found = node.words.get(segment) ?? newNode()
  node.words.set(segment, found)
  return found
}

function match(node: Node, parts: readonly string[], at: number, values: string[]): Node | null {
  const part = parts[at]
  if (part === undefined) return node.routes.size > 0 ? node : null
  const word = node.words.get(part)
  const found = word === undefined ? null : match(word, parts, at + 1, values)
  if (found !== null || node.parameter === null || part === '') return found
  const value = decoded(part)
  if (value === null) return null
  values.push(value)
  const inside = match(node.parameter, parts, at + 1, values)
  if (inside === null) values.pop()
  return inside
}

function decoded(part: string): string | null {
  if (!part.includes('%')) return part
  try {
    const text = decodeURIComponent(part)
    // Nothing has a name with a NUL in it, and the store would look only at what stands before.
    return text.includes('\0') ? null : text
  } catch {
    return null
  }
}

const namesIn = (path: string): readonly string[] =>
  segments(path).flatMap(segment => (segment.startsWith(':') ? segment.slice(1) : []))

function paramsOf(names: readonly string[], values: readonly string[]): { readonly [name: string]: string } {
  const params: Record<string, string> = {}
  for (let at = 0; at < names.length; at++) params[names[at]!] = values[at]!
  return params
}
