// The problem document as OpenAPI tells it: one schema, and the answers that carry it.

import type { JsonObject } from '../domain/json.ts'

export const PROBLEM: JsonObject = {
  type: 'object',
  description: 'What went wrong (RFC 9457), and what to do about it.',
  required: ['type', 'title', 'status', 'detail', 'instance'],
  properties: {
    type: { type: 'string', pattern: '^urn:planfold:problem:[a-z0-9-]+$', description: 'What a program goes by.' },
    title: { type: 'string' },
    status: { type: 'integer', minimum: 400, maximum: 599 },
    detail: { type: 'string' },
    instance: { type: 'string', description: 'This one request.' },
    hint: { type: 'string', description: 'What to do next.' },
    allowed: { type: 'array', items: { type: 'string' }, description: 'What is allowed from here.' },
    faults: {
      type: 'array',
      description: 'What is wrong with the body or the query, place by place.',
      items: {
        type: 'object',
        required: ['path', 'message'],
        properties: { path: { type: 'string' }, message: { type: 'string' }, hint: { type: 'string' } },
      },
    },
  },
}

const CONTENT: JsonObject = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } }

export const PROBLEM_RESPONSES: JsonObject = {
  NotSignedIn: { description: 'There is no token, or not one that is known.', content: CONTENT },
  NotAllowed: { description: 'The role of this token does not reach so far.', content: CONTENT },
  NotFound: { description: 'There is no such thing, or it is out of reach for this token.', content: CONTENT },
  Conflict: {
    description: 'It cannot be done as things stand; `allowed` says what can, where that is known.',
    content: CONTENT,
  },
  NotValid: { description: 'What was sent does not fit; `faults` says where.', content: CONTENT },
  Problem: { description: 'What went wrong.', content: CONTENT },
}
