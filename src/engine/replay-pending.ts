// What a loop that is replayed has asked for and the record has not answered yet.

import type { Turn } from '../domain/command.ts'

export interface Pending<T> {
  readonly stop: { readonly aborted: boolean } | undefined
  /** May its end still matter to the plan? */
  readonly matters: () => boolean
  readonly answer: (value: T) => void
}

/** Everything that is asked of promises is done when the next round of the event loop begins. */
export const standsStill = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

export const attemptKey = (of: { readonly task: string; readonly visit: number; readonly attempt: number }): string =>
  `${of.task}/${of.visit}/${of.attempt}`

export function give<T>(to: Map<string, Pending<T>>, key: string, value: T): boolean {
  const pending = to.get(key)
  to.delete(key)
  pending?.answer(value)
  return pending !== undefined
}

export const without = ({ task: _, ...rest }: NonNullable<Turn['restored']>[number]) => rest

export const gateOf = ({ task: _, visit: __, ...gate }: NonNullable<Turn['gates']>[number]) => gate
