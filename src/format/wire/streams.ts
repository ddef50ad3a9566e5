// Sessions and goals of the Engine interface: small event streams.

import { z } from 'zod'
import type { Json, JsonObject } from '../../domain/json.ts'
import { nonEmpty } from './field-schemas.ts'
import { wire } from './wire.ts'

const id = nonEmpty(200)
const text = z.string().max(100_000)
const count = z.int().min(0)
const json = z.unknown().transform(value => value as Json)

const sessionEvent = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('session.opened'), title: text }),
  z.strictObject({
    type: z.literal('message.added'),
    role: z.enum(['user', 'agent', 'system']),
    text,
    data: json.exactOptional(),
  }),
  z.strictObject({ type: z.literal('session.closed') }),
])
const goalEvent = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('goal.set'),
    title: text,
    parent: id.nullable(),
    priority: z.number(),
    criteria: z.array(text).max(1_000),
  }),
  z.strictObject({
    type: z.literal('goal.changed'),
    changes: z.record(z.string(), z.unknown()).transform(value => value as JsonObject),
  }),
  z.strictObject({ type: z.literal('goal.closed'), status: z.enum(['achieved', 'dropped']), reason: text }),
])
const sessionWhere = z.strictObject({ status: z.enum(['open', 'closed']).exactOptional() })
const goalWhere = z.strictObject({
  status: z.enum(['open', 'achieved', 'dropped']).exactOptional(),
  parent: id.nullable().exactOptional(),
})

const stream = <N extends string, E extends z.ZodType, W extends z.ZodType>(of: N, event: E, where: W) => {
  const kind = { of: z.literal(of) }
  return [
    z.strictObject({
      ...kind,
      do: z.literal('append'),
      id,
      events: z.array(event).min(1).max(1_000),
      expected_version: count.exactOptional(),
    }),
    z.strictObject({ ...kind, do: z.literal('read'), id, after: count.exactOptional(), limit: count.exactOptional() }),
    z.strictObject({ ...kind, do: z.literal('get'), id }),
    z.strictObject({
      ...kind,
      do: z.literal('list'),
      where: where.exactOptional(),
      limit: z.number().exactOptional(),
      cursor: z.string().max(2_000).exactOptional(),
    }),
  ] as const
}

const body = z.union([...stream('sessions', sessionEvent, sessionWhere), ...stream('goals', goalEvent, goalWhere)])

export type WireStream = z.output<typeof body>
export const streamBody = wire(body, 'EngineStream')
