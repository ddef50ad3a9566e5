// Converts exceptions to problems: store errors by their kind, a missing extra as such, everything else as a bug.

import { BUG } from '../domain/phrases.ts'
import { MissingExtra } from '../extras.ts'
import {
  BadCursor,
  ChainBroken,
  CommitUnknown,
  StoreBusy,
  StoreDamaged,
  StoreFull,
  StoreGone,
  StoreRefused,
} from '../stores/store.ts'
import { notInBuild, type Problem, problem } from './problem.ts'
import type { RouteRooms } from './service.ts'

export function troubleOf(error: unknown, { log }: Pick<RouteRooms, 'log'>, id: string): Problem {
  if (error instanceof BadCursor)
    return problem(422, 'bad-cursor', error.message, { hint: "use 'next' of the page before, or leave it out" })
  if (error instanceof StoreBusy)
    return problem(503, 'busy', 'another process is writing; nothing was changed', {
      hint: 'try again',
      headers: { 'retry-after': '1' },
    })
  if (error instanceof StoreFull)
    return problem(507, 'full', 'there is no space left; nothing was changed', {
      hint: 'free some space, then try again',
    })
  if (error instanceof CommitUnknown)
    return problem(503, 'commit-unknown', 'nobody can say whether it was written', {
      hint: 'look at the plan before trying again, or repeat with the same Idempotency-Key',
    })
  if (error instanceof MissingExtra) return notInBuild(error.extra)
  log.error({ id, error: textOf(error) }, 'request failed')
  if (error instanceof StoreGone)
    return problem(503, 'gone', 'the state folder is gone; nothing is written any more', {
      hint: 'put the state folder back from a copy, then start the service again',
    })
  if (error instanceof StoreRefused) return problem(503, 'store-refused', error.message, { hint: error.hint })
  if (error instanceof ChainBroken)
    return problem(500, 'damaged', error.message, {
      hint:
        error.hint ??
        'check the store where the service runs, and restore the state folder from a copy; what stands before it is sound',
      more: { entry: error.version, fault: error.fault },
    })
  if (error instanceof StoreDamaged)
    return problem(500, 'damaged', 'what is stored contradicts itself', {
      hint: 'check the store where the service runs',
    })
  return problem(500, 'bug', BUG, { hint: `tell us, with the request id ${id}`, more: { id } })
}

export const textOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error)
