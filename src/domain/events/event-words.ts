// Parts of the sentences that describe events.

import type { NotePlace } from '../event.ts'
import { next, type Step } from '../hint.ts'
import { reasonBesides } from '../phrases.ts'
import { countedVisits } from '../state/state.ts'

export function names(tasks: readonly string[]): string {
  return tasks.length <= 5 ? tasks.join(', ') : `${tasks.slice(0, 4).join(', ')} and ${tasks.length - 4} more`
}

export const because = (rationale: string): string => (rationale === '' ? '' : `: ${rationale}`)
/** Omits a reason that only repeats the verb. */
export const reasonUnless = (verb: string, reason: string): string => because(reasonBesides(verb, reason))
export const isOrAre = (tasks: readonly string[]): string => (tasks.length === 1 ? 'is' : 'are')

export function again(event: { readonly visit: number; readonly attempt: number; readonly goneBack?: number }): string {
  const runs = countedVisits({ visit: event.visit, goneBack: event.goneBack ?? 0 })
  if (runs > 1) return ` (run ${runs}, attempt ${event.attempt})`
  return event.attempt > 1 ? ` (attempt ${event.attempt})` : ''
}

export const restoring = (files: readonly string[], plan: string): Step =>
  next('restore', files.length === 1 ? { plan, file: files[0]! } : { plan })

export const placeText = ({ field, line }: NotePlace): string =>
  [...(field === undefined ? [] : [`at ${field}`]), ...(line === undefined ? [] : [`line ${line}`])].join(', ')
