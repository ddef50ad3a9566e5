// For tests: a text in whichever format it is, and a dialect by its name.

import type { Dialect } from '../../format/plan/dialect.ts'
import { type Parsed, type ParseOptions, parsePlan as parseText } from '../../format/plan/parse.ts'
import * as dialects from './dialects.ts'

export const parsePlan = (text: string, options: ParseOptions = {}): Parsed => parseText(text, { dialects, ...options })

export const dialectNamed = (name: string): Dialect | null =>
  dialects.DIALECTS.find(dialect => dialect.name === name) ?? null
