// The inbox of all plans: the list, and beside it one request with everything its answer is bound to.

import '../styles/drawer.css'
import '../styles/inbox.css'
import { Link, useParams } from '@tanstack/react-router'
import { ChevronLeft, Inbox } from 'lucide-react'
import { useEffect, useState } from 'react'
import type { InboxEntry } from '../data/api.ts'
import { useInbox } from '../data/queries.ts'
import { type Answer, Answered, Settled } from '../inbox/answer-result.tsx'
import { AskedItem } from '../inbox/inbox-item.tsx'
import { useNow } from '../parts/clock.ts'
import { Glyph } from '../parts/glyph.tsx'
import { AwayBar, Empty, LivePill, Skeleton, Trouble } from '../parts/states.tsx'
import { span } from '../parts/words.ts'
import { lineOf } from '../plan/waiting-strip.tsx'

export default function InboxPage() {
  const { id } = useParams({ strict: false })
  const { data, error } = useInbox()
  useEffect(() => {
    document.title = `${data === undefined || data.length === 0 ? '' : `(${data.length}) `}Inbox · Planfold`
  }, [data])
  // The open request stays open; another one never replaces it by itself.
  const [first, setFirst] = useState<string>()
  const [answer, setAnswer] = useState<Answer>()
  const wanted = id ?? first
  if (wanted === undefined && data?.[0] !== undefined) setFirst(data[0].id)
  const open = data?.find(item => item.id === wanted)
  const given = answer !== undefined && answer.item.id === wanted && ('told' in answer.came || open === undefined)
  const isNone = data !== undefined && data.length === 0
  return (
    <main className={id === undefined ? 'inbox-list-only' : 'inbox-item-only'}>
      <header className="top">
        {id !== undefined && (
          <Link to="/inbox" className="icon-button narrow" aria-label="Back to the inbox">
            <ChevronLeft size={18} aria-hidden="true" />
          </Link>
        )}
        <h1>Inbox</h1>
        {data !== undefined && <span className="num dim">{data.length}</span>}
        <span className="space" />
        <LivePill />
      </header>
      <AwayBar />
      {error !== null && data === undefined && <Trouble error={error} />}
      {data === undefined && error === null && <Skeleton height={60} />}
      {isNone && id === undefined && !given && (
        <Empty title="Your inbox is empty" sign={<Inbox size={40} strokeWidth={1.4} aria-hidden="true" />}>
          <p>When a plan needs an approval, asks a question or cannot continue, it appears here at once.</p>
          <Link to="/" className="button">
            All plans
          </Link>
        </Empty>
      )}
      {data !== undefined && (!isNone || id !== undefined || given) && (
        <div className="inbox">
          {!isNone && (
            <nav className="inbox-list" aria-label="Inbox items">
              <ul>
                {data.map(item => (
                  <Row key={item.id} item={item} isOpen={item === open} />
                ))}
              </ul>
            </nav>
          )}
          <div className="inbox-item">
            {given ? (
              <Answered answer={answer} next={nextAfter(answer.item, data)} />
            ) : open === undefined ? (
              <Settled id={wanted ?? ''}>
                <Link to="/inbox" className="button" onClick={() => setFirst(undefined)}>
                  Back to the inbox
                </Link>
              </Settled>
            ) : (
              <AskedItem key={open.id} item={open} onAnswer={setAnswer} />
            )}
          </div>
        </div>
      )}
    </main>
  )
}

function nextAfter({ id, plan }: InboxEntry, all: readonly InboxEntry[]): InboxEntry | null {
  const others = all.filter(item => item.id !== id)
  return others.find(item => item.plan === plan) ?? others[0] ?? null
}

function Row({ item, isOpen }: { readonly item: InboxEntry; readonly isOpen: boolean }) {
  const now = useNow()
  return (
    <li>
      <Link
        to="/inbox/$id"
        params={{ id: item.id }}
        className={isOpen ? 'on' : ''}
        aria-current={isOpen ? 'true' : undefined}
      >
        <Glyph
          sign={
            item.asks.type === 'unknown-outcome'
              ? 'lost'
              : item.asks.type === 'recovery' || item.asks.type === 'replan'
                ? 'failed'
                : 'waiting'
          }
        />
        <span className="inbox-row">
          <span className="inbox-who">
            <b className="mono">{item.task ?? item.name}</b>
            <span className="num dim">{span(now - item.since)}</span>
          </span>
          <span className="inbox-line">{lineOf(item)}</span>
          <span className="dim mono inbox-plan">{item.name}</span>
        </span>
      </Link>
    </li>
  )
}
