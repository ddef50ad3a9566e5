// What the routes answer, as JSON Schema by name: generated from the types in format/wire/answers when the package is built
// (scripts/answer-schemas.mjs).

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { JsonObject } from '../../domain/json.ts'

export type AnswerSchemas = { readonly [name: string]: JsonObject }

/** Beside the package's own description, wherever this file was put when the package was built. */
export function answerSchemas(): AnswerSchemas {
  const root = dirname(createRequire(import.meta.url).resolve('planfold/package.json'))
  return JSON.parse(readFileSync(join(root, 'dist/answer-schemas.json'), 'utf8')) as AnswerSchemas
}
