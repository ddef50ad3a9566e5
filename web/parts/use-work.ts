// One piece of work at a time, with its error: what a form shows while it sends.

import { useState } from 'react'

export function useWork() {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const work = async (doing: () => Promise<unknown>): Promise<void> => {
    setBusy(true)
    setError(null)
    try {
      await doing()
    } catch (trouble) {
      setError(trouble)
    }
    setBusy(false)
  }
  return { busy, error, work }
}
