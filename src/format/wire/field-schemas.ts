// Field schemas shared by bodies and queries: pages, times, ids, documents.

import { z } from 'zod'

/** Text that says something. */
export const nonEmpty = (max: number) => z.string().min(1).max(max)

/** Query values are text, so numbers are parsed from it. */
export const whole = (min: number, max: number) =>
  z.preprocess((given, context) => {
    const number = typeof given === 'string' && /^\d{1,16}$/.test(given) ? Number(given) : given
    if (Number.isSafeInteger(number) && (number as number) >= min && (number as number) <= max) return number
    const bounds = max === Number.MAX_SAFE_INTEGER ? `${min} or more` : `${min} to ${max}`
    context.addIssue({
      code: 'custom',
      message: `must be a whole number, ${bounds}`,
      params: { hint: `write it in digits, for instance ${Math.max(min, Math.min(max, 10))}` },
    })
    return z.NEVER
  }, z.int().min(min).max(max))
export const limit = whole(1, 1_000).default(100).describe('How many at most; 100 when it is not said.')
export const cursor = nonEmpty(500).optional().describe('`next` of the page before.')
export const after = whole(0, Number.MAX_SAFE_INTEGER).optional().describe('Only what comes behind it.')
export const yes = z
  .enum(['true', 'false', '1', '0'])
  .transform(word => word === 'true' || word === '1')
  .optional()

const ISO = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/

/** An instant, converted to milliseconds. */
export const instant = z
  .string()
  .refine(text => ISO.test(text) && !Number.isNaN(Date.parse(text)), {
    message: 'is not a time',
    params: { hint: 'write it with its zone, for instance 2026-11-15T08:30:00Z' },
  })
  .transform(text => Date.parse(text))

export const text = (max: number) => z.string().max(max)
export const line = nonEmpty(1_000)
export const reason = text(10_000)
export const json = z.json()
export const map = z.record(z.string(), z.json())

/** A plan document: an object, or text in any known format. */
export const document = z.union([map, z.string().min(1)])

export const notePlace = z.strictObject({
  field: nonEmpty(200).exactOptional(),
  line: z.int().min(1).exactOptional(),
})
