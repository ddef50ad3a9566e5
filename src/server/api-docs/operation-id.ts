// Derives the operation id of a route for client generators: a verb and its object, as one would name the function.
// `GET /plans` is `listPlans`, `POST /plans/{plan}/gates/{gate}/approve` is `approvePlanGate`.

import type { Route } from '../route.ts'

type Named = Pick<Route<unknown, unknown>, 'method' | 'path'>

export function operationId({ method, path }: Named): string {
  const known = NAMED[`${method} ${path}`]
  if (known !== undefined) return known
  const segments = path.split('/').filter(segment => segment !== '')
  const last = segments.at(-1)!
  const isItem = last.startsWith(':')
  // `/plan/:plan` is an alias of `/plans/:plan` for older clients and needs an id of its own.
  const also = ALIASES.has(segments[0]!) ? 'Alias' : ''
  if (!isItem && isVerb(method, segments)) return camel(last) + chain(segments.slice(0, -1)) + also
  const named = method === 'POST' ? [...segments.slice(0, -1), single(last)] : segments
  return verbOf(method, { isItem, isMany: isMany(last) }) + chain(named) + also
}

/** Names for routes whose path alone would give a poor one. */
const NAMED: { readonly [route: string]: string } = {
  'GET /': 'getHome',
  'GET /ui': 'getPage',
  'GET /ui/:place': 'getPageAt',
  'GET /ui/:place/:of': 'getPageOf',
  'GET /ui/assets/:file': 'getPageFile',
  'GET /favicon.ico': 'getIcon',
  'GET /openapi.json': 'getOpenApi',
  'GET /docs': 'getDocs',
  'GET /auth': 'getIdentity',
  'POST /auth/code': 'signIn',
  'POST /auth/logout': 'signOut',
  'POST /auth/codes': 'createSignInCode',
  'DELETE /tokens/:name': 'revokeToken',
  'POST /engine/orders': 'submitEngineOrder',
  'POST /engine/queries': 'askEngineQuery',
  'POST /engine/streams': 'useEngineStream',
  'GET /engine/entries': 'followEngineEntries',
  'GET /events': 'followEvents',
  'GET /plans/:plan/events': 'followPlanEvents',
  'GET /sessions/:session/events': 'followSessionEvents',
  'GET /session/:session/events': 'followSessionEventsAlias',
  'POST /session/:session/plan': 'createSessionPlanAlias',
  'GET /sessions/:session/plans/history': 'listSessionPlanHistory',
  'GET /session/:session/plans/history': 'listSessionPlanHistoryAlias',
  'GET /sessions/:session/plan': 'getActiveSessionPlan',
  'GET /session/:session/plan': 'getActiveSessionPlanAlias',
  'GET /plan/:plan': 'getPlanAsSteps',
  'DELETE /plan/:plan': 'archivePlanAlias',
  'DELETE /plans/:plan': 'archivePlan',
  'DELETE /plans': 'archivePlans',
  'DELETE /tasks/:task': 'removeTask',
  'POST /tasks/claim': 'claimNextTask',
  'GET /plans/:plan/next': 'listNextTasks',
  'POST /inbox/:id/answer': 'answerInboxItem',
  'GET /blobs/:sha256': 'getBlob',
  'GET /search': 'search',
  'POST /plans/:plan/gates/:gate/done': 'confirmPlanGate',
  'POST /plans/:plan/gates/:gate/again': 'repeatPlanGate',
  'POST /halt': 'haltAll',
  'DELETE /halt': 'liftHalt',
}

const ALIASES: ReadonlySet<string> = new Set(['plan', 'session'])
/** Paths that end like a list but return a single thing. */
const SINGLE: ReadonlySet<string> = new Set(['status', 'metrics'])
const LOOKS: ReadonlySet<string> = new Set(['analyze', 'replay', 'diff'])

const isMany = (segment: string): boolean => segment.endsWith('s') && !SINGLE.has(segment)

function isVerb(method: Named['method'], segments: readonly string[]): boolean {
  const last = segments.at(-1)!
  if (segments.at(-2)?.startsWith(':') !== true) return false
  return method === 'GET' ? LOOKS.has(last) : method === 'POST' && !isMany(last)
}

function verbOf(method: Named['method'], { isItem, isMany: many }: { isItem: boolean; isMany: boolean }): string {
  switch (method) {
    case 'GET':
      return !isItem && many ? 'list' : 'get'
    case 'POST':
      return 'create'
    case 'PUT':
      return 'replace'
    case 'PATCH':
      return 'update'
    case 'DELETE':
      return 'delete'
    default:
      return method satisfies never
  }
}

/** `/plans/:plan/gates` as `PlanGates`: an item is named by its list, in the singular. */
function chain(segments: readonly string[]): string {
  return segments
    .flatMap((segment, at) => {
      if (segment.startsWith(':')) return []
      return capital(camel(segments[at + 1]?.startsWith(':') === true ? single(segment) : segment))
    })
    .join('')
}

const single = (segment: string): string => segment.replace(/ies$/, 'y').replace(/s$/, '')
const camel = (segment: string): string => segment.replaceAll(/[-.](\w)/g, (_, letter: string) => letter.toUpperCase())
const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)
