// For tests: a terminal at which somebody types.

import type { Terminal } from '../context.ts'

/** Each key is heard once, by whoever listens then. */
export function typing(text: string): Terminal {
  const keys = [...text]
  return {
    columns: () => 100,
    rows: () => 24,
    onResize: () => () => {},
    onKey: listener => {
      let isOpen = true
      const next = (): void => {
        if (!isOpen || keys.length === 0) return
        listener(keys.shift()!)
        setImmediate(next)
      }
      setImmediate(next)
      return () => {
        isOpen = false
      }
    },
  }
}
