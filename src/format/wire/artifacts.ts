// Artifacts on the wire: what is asked about them, and a part of an upload.

import { z } from 'zod'
import { UPLOAD_PART_MAX_BYTES } from '../../domain/limits.ts'
import { limit, nonEmpty } from './field-schemas.ts'
import { count, sha256, UPLOAD_DATA_MAX } from './orders.ts'
import { namedObject, wireObject } from './wire.ts'

export const artifactQuery = wireObject({
  task: nonEmpty(200).optional().describe('Only of this task.'),
  name: nonEmpty(200).optional().describe('Only under this name.'),
  limit,
  cursor: z
    .string()
    .regex(/^\d{1,9}$/)
    .optional()
    .describe('`next` of the page before.'),
})

export const versionQuery = wireObject({
  version: nonEmpty(80).optional().describe('Its number, or its hash or the beginning of it; the last when not said.'),
})

export const uploadBody = namedObject('ArtifactPart', {
  token: nonEmpty(200).describe('Of the claim.'),
  sha256: sha256.describe('Of the whole.'),
  bytes: count.describe('Of the whole.'),
  from: count.describe('Where the part begins; 0 begins anew.'),
  data: z
    .base64()
    .max(UPLOAD_DATA_MAX)
    .describe(`The bytes of the part, in Base64; at most ${UPLOAD_PART_MAX_BYTES} of them.`),
})
