// Page views on the wire, one request each.

import { z } from 'zod'
import { limit, nonEmpty, whole } from './field-schemas.ts'
import { wireObject } from './wire.ts'

const count = whole(1, Number.MAX_SAFE_INTEGER).exactOptional()

export const whyQuery = wireObject({
  path: nonEmpty(4_096).describe('The file, relative to the workspace.'),
  line: count.describe('Only this line.'),
  plan: nonEmpty(500).exactOptional().describe('Of the folder in which this plan works.'),
})

export const taskPageQuery = wireObject({
  visit: count.describe('The changes of this visit.'),
  attempt: count.describe('The changes of this attempt; of the last that changed files when none is said.'),
  tried: z
    .string()
    .max(20)
    .exactOptional()
    .describe('The changes of this one of its last tries: 2, or 2-3 in round 3.'),
})

export const decisionsQuery = wireObject({
  plan: nonEmpty(500).exactOptional().describe('Only those of this plan.'),
  limit,
})

export const lessonsQuery = wireObject({
  file: nonEmpty(1_000).exactOptional().describe('Only those about this file, relative to the workspace.'),
})
