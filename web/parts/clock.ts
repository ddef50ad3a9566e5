// The current time of the service for counters on the page: one shared timer.

import { useSyncExternalStore } from 'react'
import { serverNow } from '../data/server-clock.ts'

const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | null = null

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(() => {
    for (const one of listeners) one()
  }, 1_000)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0 || timer === null) return
    clearInterval(timer)
    timer = null
  }
}

/** Whole seconds, so that all counters of one drawing agree. Read anew by each drawing, because the first answer may correct the clock. */
export const useNow = (): number => useSyncExternalStore(subscribe, () => Math.floor(serverNow() / 1_000) * 1_000)
