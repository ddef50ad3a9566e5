// The inbox of this plan, one item at a time, above its tasks.

import { Link, useNavigate } from '@tanstack/react-router'
import { ChevronRight } from 'lucide-react'
import { useEffect, useState } from 'react'
import type { InboxEntry } from '../data/api.ts'
import { useNow } from '../parts/clock.ts'
import { Glyph } from '../parts/glyph.tsx'
import { isPlain } from '../parts/shell.tsx'
import { asksWord, span } from '../parts/words.ts'

export function WaitingStrip({ items }: { readonly items: readonly InboxEntry[] }) {
  const [at, setAt] = useState(0)
  const now = useNow()
  const navigate = useNavigate()
  const item = items[Math.min(at, items.length - 1)]
  useEffect(() => {
    if (item === undefined) return
    const key = (event: KeyboardEvent): void => {
      const isIdle = event.target === document.body || event.target === document.documentElement
      if (event.key === 'Enter' && isIdle && isPlain(event))
        void navigate({ to: '/inbox/$id', params: { id: item.id } })
    }
    addEventListener('keydown', key)
    return () => removeEventListener('keydown', key)
  }, [item, navigate])
  if (item === undefined) return null
  return (
    <section className="strip" aria-label="Waiting for you">
      <Glyph sign={item.asks.type === 'unknown-outcome' ? 'lost' : 'waiting'} size={18} />
      <div className="strip-what">
        <b className="mono">{item.task ?? item.name}</b>
        <span>{lineOf(item)}</span>
      </div>
      <span className="strip-since">waits {span(now - item.since)}</span>
      <span className="space" />
      <Link to="/inbox/$id" params={{ id: item.id }} className="button main">
        Review <kbd>↵</kbd>
      </Link>
      {items.length > 1 && (
        <button type="button" className="strip-next" onClick={() => setAt((at + 1) % items.length)}>
          {Math.min(at, items.length - 1) + 1} of {items.length}
          <ChevronRight size={14} aria-hidden="true" />
          <span className="hidden">Next</span>
        </button>
      )}
    </section>
  )
}

/** One line: what is asked, in the requester's words if there are any. */
export function lineOf(item: InboxEntry): string {
  const { asks, title } = item
  switch (asks.type) {
    case 'question':
      return asks.question
    case 'agent-question':
      return asks.text
    case 'consent':
      return `asks before it starts: ${asks.why}`
    case 'recovery':
    case 'replan':
      return `failed: ${asks.failure.message}`
    case 'proposal':
      return `proposes a revision: ${asks.rationale}`
    case 'rollback':
      return `was stopped while going back: ${asks.message}`
    default:
      return title === null ? asksWord(asks.type) : `${asksWord(asks.type)}: ${title}`
  }
}
