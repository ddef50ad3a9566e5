// Whatever is sent to these routes, the fault is the client's and is told as such: never a 500, never a body nobody described. More
// of it with PLANFOLD_FUZZ_RUNS.

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PlanId } from '../../domain/id.ts'
import type { AnyRoute } from '../route.ts'
import { type Served, served } from '../server.fixture.ts'
import { artifactRoutes } from './artifacts.ts'
import { auditRoutes } from './audit.ts'
import { claimRoutes } from './claims.ts'
import { runRoutes } from './claims-run.ts'
import { gateRoutes } from './gates.ts'
import { inboxRoutes } from './inbox.ts'
import { proposalRoutes } from './inbox-proposals.ts'
import { logRoutes } from './logs.ts'
import { memoryRoutes } from './memory.ts'
import { planVerbRoutes } from './plan-verbs.ts'
import { goingBackRoutes } from './plan-verbs-back.ts'
import { lookingRoutes } from './plan-verbs-look.ts'
import { revisionRoutes } from './revisions.ts'
import { sessionPlanRoutes } from './session-plans.ts'
import { sessionRoutes } from './sessions.ts'

const RUNS = Number(process.env.PLANFOLD_FUZZ_RUNS ?? 6)
const ROUTES: readonly AnyRoute[] = [
  ...sessionRoutes,
  ...sessionPlanRoutes,
  ...planVerbRoutes,
  ...goingBackRoutes,
  ...lookingRoutes,
  ...claimRoutes,
  ...runRoutes,
  ...gateRoutes,
  ...inboxRoutes,
  ...proposalRoutes,
  ...revisionRoutes,
  ...logRoutes,
  ...artifactRoutes,
  ...auditRoutes,
  ...memoryRoutes,
]

let service: Served
let plan: PlanId
beforeAll(async () => {
  service = await served({ routes: ROUTES })
  const document = {
    planfold: 1,
    name: 'fuzzed',
    tasks: [
      { id: 'a', instruction: 'x', inputs: { n: 1 } },
      { id: 'ok', gate: 'approval' },
      { id: 'b', instruction: 'y', needs: ['a', 'ok'] },
    ],
  }
  plan = (await service.ask('POST', '/session/fuzz/plan', { document, auto_execute: true })).body.id
})
afterAll(async () => {
  expect(service.errors).toEqual([])
  await service.close()
})

/** Words that mean something here, so that some of what is sent gets past the first door. */
const WORD = fc.constantFrom(
  'a',
  'ok',
  'b',
  'fuzzed',
  'approve',
  'done',
  'failed',
  'x'.repeat(300),
  '',
  '../x',
  '__proto__',
  '${{ 1 }}',
  '1',
  '0'.repeat(64),
)
const KEYS = [
  'agent_id', 'answer', 'answers', 'auto_execute', 'cause', 'checkpoint_id', 'choices', 'description', 'document', 'dry_run', 'error',
  'every', 'expected_revision', 'files', 'force', 'form', 'hash', 'inputs', 'kinds', 'lease_seconds', 'merge', 'name', 'nodes', 'option',
  'outcome', 'outputs', 'plan_id', 'rationale', 'reason', 'role', 'session_id', 'status', 'steps', 'task', 'tasks', 'text', 'title', 'to',
  'token', 'until', 'verdict', 'wait_seconds',
] // biome-ignore format: one list.
const VALUE = fc.oneof(WORD, fc.integer(), fc.double(), fc.boolean(), fc.constant(null), fc.jsonValue({ maxDepth: 3 }))
const BODY = fc.oneof(
  { weight: 5, arbitrary: fc.dictionary(fc.constantFrom(...KEYS), VALUE, { maxKeys: 5 }) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
)
/** Mostly what exists, so that handlers are reached. */
const PARAM = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('a', 'ok', 'b', '1', 'approve') },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }) },
)
const QUERY = fc.dictionary(
  fc.constantFrom(
    'limit',
    'cursor',
    'after',
    'page',
    'status',
    'search',
    'since',
    'from',
    'to',
    'as',
    'level',
    'task',
    'explain',
    'keys',
    'for',
    'plan_id',
  ),
  fc.oneof(fc.integer().map(String), fc.constantFrom('', 'true', 'a', '2026-11-15T00:00:00Z', 'bm90aGluZw')),
  { maxKeys: 2 },
)

describe.each(ROUTES.map(route => [`${route.method} ${route.path}`, route] as const))('%s', (_, route) => {
  test('answers with what it describes, or says what is wrong', async () => {
    await fc.assert(
      fc.asyncProperty(BODY, PARAM, PARAM, QUERY, async (body, strange, other, query) => {
        const value: { readonly [name: string]: string } = {
          plan: strange.length > 7 ? strange : plan,
          session: 'fuzz',
        }
        const path = route.path.replaceAll(/:(\w+)/g, (_whole, name: string) =>
          encodeURIComponent(value[name] ?? other),
        )
        const search = route.method === 'GET' ? `?${new URLSearchParams(query)}` : ''
        const sent = route.method === 'GET' ? undefined : JSON.stringify(body)
        const { status } = await service.ask(route.method, path + search, sent)
        expect(status === 501 || status < 500, `${status}`).toBe(true)
      }),
      { numRuns: RUNS, interruptAfterTimeLimit: 15_000 },
    )
  })
})
