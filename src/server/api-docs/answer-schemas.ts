// Loads the JSON Schemas of the answers. They are generated from the types in format/wire/answers during the build
// (scripts/answer-schemas.mjs).

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { JsonObject } from '../../domain/json.ts'

export type AnswerSchemas = { readonly [name: string]: JsonObject }

/** Found relative to the package root, because bundling moves this file. */
export function answerSchemas(): AnswerSchemas {
  const root = dirname(createRequire(import.meta.url).resolve('planfold/package.json'))
  return JSON.parse(readFileSync(join(root, 'dist/answer-schemas.json'), 'utf8')) as AnswerSchemas
}
