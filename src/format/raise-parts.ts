// The reverse of lower-parts.ts: commands, criteria and retries as a person would write them.

import type { Json, JsonObject } from '../domain/json.ts'
import type { CommandLine, Criterion, Retry } from '../domain/plan.ts'
import { printDuration, printDurationRange } from './units.ts'

export function raiseCriterion(criterion: Criterion): Json {
  if (criterion.type === 'prose') return criterion.text
  const { text } = criterion
  return criterion.type === 'check'
    ? written({ check: raiseCommand(criterion.command), text })
    : written({ expect: criterion.expression, text })
}

export function raiseCommand(command: CommandLine): Json {
  return 'argv' in command ? command.argv : command.script
}

export function raiseRetry(retry: Retry | undefined): JsonObject | undefined {
  return retry && { attempts: retry.attempts, backoff: printDurationRange(retry.backoffMs) }
}

export function raiseMs(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : printDuration(ms)
}

/** Leaves out what was not said. */
export function written(document: { readonly [key: string]: Json | undefined }): JsonObject {
  return Object.fromEntries(Object.entries(document).filter(([, item]) => item !== undefined)) as JsonObject
}
