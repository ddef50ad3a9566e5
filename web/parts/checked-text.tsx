// A text field that is validated shortly after the last key press and shows the errors with their positions.

import '../styles/edit-plan.css'
import { useDeferredValue, useEffect, useState } from 'react'
import { Problem } from '../data/api.ts'
import { Trouble } from './states.tsx'

const WAIT_MS = 400

export function useRested(text: string): string {
  const [rested, setRested] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setRested(text), WAIT_MS)
    return () => clearTimeout(timer)
  }, [text])
  return useDeferredValue(rested)
}

export function Faults({ error }: { readonly error: unknown }) {
  if (!(error instanceof Problem) || error.faults.length === 0) return <Trouble error={error} />
  return (
    <ul className="faults" aria-label="What is wrong with it">
      {error.faults.slice(0, 20).map((fault, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are in order.
        <li key={at}>
          {fault.line !== undefined && <span className="num">line {fault.line}: </span>}
          <code>{fault.path}</code> {fault.message}
          {fault.hint !== undefined && <small className="dim">{fault.hint}</small>}
        </li>
      ))}
    </ul>
  )
}
