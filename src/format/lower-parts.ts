// Lowering of what stands in more than one place of a document: commands, criteria, retries. See lower.ts.

import { BACKOFF_DEFAULT_MS } from '../domain/limits.ts'
import type { CommandLine, Criterion, Retry } from '../domain/plan.ts'
import type { CommandDocument, CriterionDocument, RetryDocument } from './schema-parts.ts'

export function lowerCommand(command: CommandDocument): CommandLine {
  return typeof command === 'string' ? { script: command } : { argv: command }
}

export function lowerCriterion(criterion: CriterionDocument): Criterion {
  if (typeof criterion === 'string') return { type: 'prose', text: criterion }
  const { text } = criterion
  if ('check' in criterion) return sparse<Criterion>({ type: 'check', command: lowerCommand(criterion.check), text })
  return sparse<Criterion>({ type: 'expect', expression: criterion.expect, text })
}

export function lowerRetry(retry: RetryDocument | undefined): Retry | undefined {
  if (retry === undefined) return undefined
  if (typeof retry === 'number') return { attempts: retry, backoffMs: BACKOFF_DEFAULT_MS }
  return { attempts: retry.attempts, backoffMs: retry.backoff ?? BACKOFF_DEFAULT_MS }
}

/** Leaves out what was not said. */
export function sparse<T>(value: Unsparse<T>): T {
  const said: { [key: string]: unknown } = {}
  for (const key in value) if (value[key] !== undefined) said[key] = value[key]
  return said as T
}

/** The same type, where an optional key may also be there and be undefined. */
type Unsparse<T> = T extends unknown
  ? { [K in keyof T as object extends Pick<T, K> ? never : K]: T[K] } & {
      [K in keyof T as object extends Pick<T, K> ? K : never]?: T[K] | undefined
    }
  : never
