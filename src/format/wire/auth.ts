// Who is signed in, codes for browsers, and tokens, as they are sent and told. A token itself is told once, when it is made.

import { z } from 'zod'
import { time } from './asking.ts'
import { wire } from './wire.ts'

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
