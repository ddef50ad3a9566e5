// Retry delays. The delay doubles from `min` to `max`, with jitter derived from a seed, so that the same attempt of the same task always
// waits equally long and replay needs no random numbers.

import { BACKOFF_DEFAULT_MS, RETRY_AFTER_MAX_MS } from '../limits.ts'
import type { PlanDefinition, Retry, TaskDefinition } from '../plan.ts'
import type { Failure } from '../result.ts'

export function retryOf(plan: PlanDefinition, task: TaskDefinition): Retry {
  return task.retry ?? plan.defaults?.retry ?? { attempts: 1, backoffMs: BACKOFF_DEFAULT_MS }
}

/** The backoff, but at least `Retry-After`. */
export function retryWaitMs(retry: Retry, failures: number, seed: string, { retryAfterMs = 0 }: Failure): number {
  return Math.max(backoffMs(retry, failures, seed), Math.min(retryAfterMs, RETRY_AFTER_MAX_MS))
}

/** The delay in milliseconds after the `failures`-th failed attempt: between half and the whole of the exponential step. */
export function backoffMs(retry: Retry, failures: number, seed: string): number {
  const { min, max } = retry.backoffMs
  const step = Math.min(max, min * 2 ** Math.min(failures - 1, 40))
  const jittered = step / 2 + (step / 2) * fractionOf(`${seed}/${failures}`)
  return Math.round(Math.min(max, Math.max(min, jittered)))
}

/** A number in [0, 1) from text: FNV-1a, then one round of mixing. */
function fractionOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) {
    hash ^= text.charCodeAt(at)
    hash = Math.imul(hash, 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39)
  return ((hash ^ (hash >>> 15)) >>> 0) / 4294967296
}
