// Small parts of the service on the wire: health, artifacts, memory, sign-in, tokens, metrics and the API itself.

import { z } from 'zod'
import { cursor, instant, json, limit, map, page, time, yes } from './field-schemas.ts'
import { wire } from './wire.ts'

// Looking at many plans at once: what words are found where, and what steps took, tried and used.

const kinds = z
  .string()
  .transform(text => text.split(',').map(word => word.trim()))
  .pipe(z.array(z.enum(['plan', 'task', 'log'])).min(1))

export const searchQuery = wire(
  z.strictObject({
    q: z.string().min(1).max(500).meta({ description: 'Words; each begins a word that is found.' }),
    kinds: kinds.optional().meta({ description: 'Of plan, task, log: those wanted, with commas.' }),
    plan_id: z.string().max(200).optional().meta({ description: 'Only in this plan: its UUID or name.' }),
    archived: yes.meta({ description: 'Also archived plans.' }),
    limit,
    cursor,
  }),
)

export const searchPage = wire(
  z.strictObject({
    items: z.array(
      z.strictObject({
        kind: z.enum(['plan', 'task', 'log']),
        plan_id: z.string(),
        plan_name: z.string(),
        task: z.string().nullable(),
        snippet: z.string(),
        matches: z.array(z.tuple([z.int(), z.int()])),
        at: time,
        log: z
          .strictObject({
            seq: z.int(),
            visit: z.int(),
            attempt: z.int(),
            stream: z.enum(['stdout', 'stderr', 'engine']),
          })
          .nullable(),
      }),
    ),
    next: z.string().nullable(),
    complete: z.boolean(),
  }),
  'SearchPage',
)

export const stepsQuery = wire(
  z.strictObject({
    by: z
      .enum(['plan', 'agent', 'capability', 'kind', 'hour', 'day'])
      .optional()
      .meta({ description: 'What is summed up together; plans when not said.' }),
    plan_id: z.string().max(200).optional().meta({ description: 'Only of this plan: its UUID or name.' }),
    agent_id: z.string().max(200).optional().meta({ description: 'Only what this agent did.' }),
    capability: z.string().max(200).optional().meta({ description: 'Only work that needed this capability.' }),
    kind: z.string().max(200).optional().meta({ description: 'Only work of this kind.' }),
    since: instant.optional().meta({ description: 'Only what ended then or later.' }),
    until: instant.optional().meta({ description: 'Only what ended before.' }),
    limit,
    cursor,
  }),
)

const count = z.int().min(0)
export const stepsPage = wire(
  z.strictObject({
    items: z.array(
      z.strictObject({
        group: z.string().nullable(),
        attempts: count,
        succeeded: count,
        failed: count,
        lost: count,
        retries: count,
        success_rate: z.number().min(0).max(1),
        duration_ms: z.strictObject({ sum: z.number(), p50: z.number(), p95: z.number(), max: z.number() }),
        files: count,
        bytes: count,
        tokens: z.strictObject({ input: z.number(), output: z.number(), total: z.number() }).nullable(),
        cost: z.number().nullable(),
        tools: z.array(z.strictObject({ name: z.string(), steps: count })),
      }),
    ),
    next: z.string().nullable(),
    complete: z.boolean(),
  }),
  'StepsPage',
)

// What tasks left for others: named outputs kept in the content store.

export const artifacts = wire(
  page(
    z.strictObject({
      task: z.string(),
      output: z.string(),
      sha256: z.string(),
      bytes: z.int().nullable(),
      file: z.string().nullable().meta({ description: 'Where it stood in the workspace.' }),
      href: z.string().meta({ description: 'Where its bytes are.' }),
      declared: json.nullable().meta({ description: 'What the plan says about it, where it names it.' }),
    }),
  ),
)

// What the service says of itself.

export const health = wire(z.strictObject({ status: z.literal('ok') }))
export const readiness = wire(z.strictObject({ status: z.enum(['ready', 'stopping']) }))
export const version = wire(
  z.strictObject({ name: z.literal('planfold'), version: z.string(), api: z.literal(1) }),
  'Version',
)

// The OpenAPI document as one of the service's answers; what is in it is held to its own specification elsewhere.

export const openApiDocument = wire(
  z.looseObject({ openapi: z.literal('3.1.0'), paths: z.record(z.string(), z.unknown()) }),
)

// Memory, as it will be asked for.

export const memoryQuery = wire(
  z.strictObject({
    keys: z
      .union([z.string(), z.array(z.string())])
      .optional()
      .meta({ description: 'What is to be recalled.' }),
  }),
)
export const memoryBody = wire(map)

// Who is signed in, codes for browsers, and tokens, as they are sent and told. A token itself is told once, when it is made.

const role = z.enum(['viewer', 'operator', 'approver', 'admin'])
const scope = z
  .strictObject({ plans: z.array(z.string()), sessions: z.array(z.string()) })
  .nullable()
  .meta({ description: 'Only these plans and sessions; everything when null.' })

export const code = wire(z.strictObject({ code: z.string().min(1).max(200) }))
export const identity = wire(z.strictObject({ actor: z.string(), role, scope }), 'Identity')
export const invitation = wire(
  z.strictObject({
    code: z.string(),
    link: z.string().meta({ description: 'Opens the service in a browser, once.' }),
    expires_at: time,
  }),
  'Invitation',
)

const tokenShape = z.strictObject({ name: z.string(), role, scope, created_at: time, expires_at: time.nullable() })
export const token = wire(tokenShape, 'Token')
export const tokens = wire(z.strictObject({ items: z.array(tokenShape), next: z.null() }))
export const tokenMade = wire(
  tokenShape.extend({ token: z.string().meta({ description: 'Told here and never again.' }) }),
  'TokenMade',
)
export const newToken = wire(
  z.strictObject({
    name: z.string().min(1).max(100).meta({ description: 'Who acts with it; stands on every entry.' }),
    role: role.default('viewer'),
    plans: z.array(z.string().max(200)).max(100).optional(),
    sessions: z.array(z.string().max(200)).max(100).optional(),
    expires_in_seconds: z.int().min(1).max(315_360_000).optional(),
  }),
  'NewToken',
)
