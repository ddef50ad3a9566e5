// Has the plan moved on since the caller looked at it? Told before anything is written, by version and by revision.

import type { Refusal } from '../domain/refusal.ts'
import { inOurWords } from './hint-words.ts'
import type { Asking } from './ordering.ts'
import { type Problem, problem, refused } from './problem.ts'

export function stale(
  { expectedVersion }: Asking,
  { version, revision }: { readonly version: number; readonly revision: number },
  expectedRevision: number | undefined,
): Problem | null {
  if (expectedVersion !== undefined && expectedVersion !== version)
    return problem(409, 'conflict', `the plan is at version ${version}, not ${expectedVersion}`, {
      hint: 'read it again, then decide anew',
      more: { version },
    })
  if (expectedRevision !== undefined && expectedRevision !== revision)
    return problem(409, 'conflict', `the plan is at revision ${revision}, not ${expectedRevision}`, {
      hint: 'read it again, then decide anew',
      more: { revision },
    })
  return null
}

/** A refusal whose `allowed` are words of the command line, which mean nothing to a client. */
export function unsaid({ allowed: _, ...refusal }: Refusal): Problem {
  return refused(inOurWords(refusal, null))
}
