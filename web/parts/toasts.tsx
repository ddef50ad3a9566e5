// Short messages at the bottom of the page: what was done, or why not.

import { useSyncExternalStore } from 'react'
import { Problem } from '../data/api.ts'

interface Toast {
  readonly id: number
  readonly text: string
  readonly isBad: boolean
}

let toasts: readonly Toast[] = []
let last = 0
const listeners = new Set<() => void>()
const set = (next: readonly Toast[]): void => {
  toasts = next
  for (const listener of listeners) listener()
}

export function toast(text: string, { isBad = false } = {}): void {
  const id = ++last
  set([...toasts.slice(-2), { id, text, isBad }])
  setTimeout(() => set(toasts.filter(one => one.id !== id)), isBad ? 9_000 : 4_000)
}

export const wordsOf = (error: unknown): string =>
  error instanceof Problem
    ? [error.message, ...error.faults.map(({ path, message }) => `${path} ${message}`), error.hint]
        .filter(Boolean)
        .join('. ')
    : error instanceof Error
      ? error.message
      : String(error)

export const toastError = (error: unknown): void => toast(wordsOf(error), { isBad: true })

export async function attempt(work: () => Promise<unknown>, done?: string): Promise<boolean> {
  try {
    await work()
    if (done !== undefined) toast(done)
    return true
  } catch (error) {
    toastError(error)
    return false
  }
}

export function Toasts() {
  const shown = useSyncExternalStore(
    listener => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => toasts,
  )
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text, isBad }) => (
        <div key={id} className={isBad ? 'toast bad' : 'toast'}>
          {text}
        </div>
      ))}
    </div>
  )
}
