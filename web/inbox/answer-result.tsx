// The result of an answer, in place of the request: the decision and who made it, or why the answer did not count. It stays until
// the person continues, so that no key press for one request reaches the next.

import { Link, useNavigate } from '@tanstack/react-router'
import { useLayoutEffect } from 'react'
import { type InboxEntry, Problem } from '../data/api.ts'
import { Glyph } from '../parts/glyph.tsx'
import { isPlain } from '../parts/shell.tsx'
import { Empty, Trouble } from '../parts/states.tsx'

export interface Answer {
  readonly item: InboxEntry
  /** What happened, in sentences; or the error. */
  readonly came: { readonly told: readonly string[] } | { readonly error: unknown }
}

export function Answered({
  answer: { item, came },
  next,
}: {
  readonly answer: Answer
  readonly next: InboxEntry | null
}) {
  const navigate = useNavigate()
  // A layout effect, so that the key works as soon as the button that names it is visible.
  useLayoutEffect(() => {
    const key = (event: KeyboardEvent): void => {
      if (event.key !== 'n' || event.repeat || next === null || !isPlain(event)) return
      void navigate({ to: '/inbox/$id', params: { id: next.id } })
    }
    addEventListener('keydown', key)
    return () => removeEventListener('keydown', key)
  })
  const isRefused = 'error' in came && came.error instanceof Problem && came.error.status > 0
  const sentences =
    'told' in came
      ? came.told
      : isRefused
        ? ['Your answer was not recorded']
        : ['The service did not answer', 'the request is no longer open: see the plan']
  return (
    <Empty title={sentences[0] ?? 'Answered'} sign={<Glyph sign={'told' in came ? 'completed' : 'failed'} size={32} />}>
      {sentences.length > 1 && <p>{sentences.slice(1).join('; ')}</p>}
      {'error' in came && <Trouble error={came.error} />}
      <Link to="/plans/$plan" params={{ plan: item.name }} search={{ task: item.task ?? undefined }} className="button">
        Open {item.name}
      </Link>
      {next !== null && (
        <Link to="/inbox/$id" params={{ id: next.id }} className="button main">
          Next: {next.task ?? ''} of {next.name} <kbd>N</kbd>
        </Link>
      )}
    </Empty>
  )
}
