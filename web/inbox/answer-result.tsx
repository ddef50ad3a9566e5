// The result of an answer, in place of the request: the decision and who made it, or why the answer did not count. It stays until
// the person continues, so that no key press for one request reaches the next.

import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useLayoutEffect } from 'react'
import { type InboxEntry, inboxFate, Problem } from '../data/api.ts'
import { useNow } from '../parts/clock.ts'
import { Glyph } from '../parts/glyph.tsx'
import { isPlain } from '../parts/shell.tsx'
import { Empty, Skeleton, Trouble } from '../parts/states.tsx'
import { ago } from '../parts/words.ts'

export interface Answer {
  readonly item: InboxEntry
  /** What was answered: approve, reject … */
  readonly answer: string
  /** What happened, in sentences; or the error. */
  readonly came: { readonly told: readonly string[] } | { readonly error: unknown }
}

export function Answered({ answer, next }: { readonly answer: Answer; readonly next: InboxEntry | null }) {
  const { item, came } = answer
  const isRefused = 'error' in came && came.error instanceof Problem && came.error.status > 0
  if (isRefused)
    return (
      <Settled id={item.id} mine={NOUNS[answer.answer] ?? 'answer'} error={came.error}>
        <NextItem next={next} />
      </Settled>
    )
  const sentences =
    'told' in came ? came.told : ['The service did not answer', 'the request is no longer open: see the plan']
  return (
    <Empty title={sentences[0] ?? 'Answered'} sign={<Glyph sign={'told' in came ? 'completed' : 'failed'} size={32} />}>
      {sentences.length > 1 && <p>{sentences.slice(1).join('; ')}</p>}
      {'error' in came && <Trouble error={came.error} />}
      <Link to="/plans/$plan" params={{ plan: item.name }} search={{ task: item.task ?? undefined }} className="button">
        Open {item.name}
      </Link>
      <NextItem next={next} />
    </Empty>
  )
}

const NOUNS: { readonly [answer: string]: string } = {
  approve: 'approval',
  accept: 'approval',
  reject: 'rejection',
  decline: 'rejection',
  choose: 'choice',
}
const VERBS: { readonly [verdict: string]: string } = {
  'pushed-back': 'pushed this back',
  chosen: 'decided this',
  done: 'settled this',
  again: 'had this tried again',
}

/** A request that no longer waits: who settled it, when, and where that is written. `mine`: what was answered too late. */
export function Settled({
  id,
  mine,
  error,
  children,
}: {
  readonly id: string
  readonly mine?: string
  readonly error?: unknown
  readonly children?: ReactNode
}) {
  const now = useNow()
  const { data, isLoading } = useQuery({ queryKey: ['fate', id], queryFn: () => inboxFate(id), staleTime: 0 })
  if (isLoading) return <Skeleton height={120} />
  const by = data?.by ?? null
  const lost = mine === undefined ? '' : `; your ${mine} was not recorded`
  if (data == null || by === null)
    return (
      <Empty title={mine === undefined ? 'No longer in the inbox' : `Your ${mine} was not recorded`}>
        {error === undefined ? <p>The plan continued without an answer.</p> : <Trouble error={error} />}
        {children}
      </Empty>
    )
  const { item } = data
  const what = by.verdict === undefined ? by.text : `${by.actor} ${VERBS[by.verdict] ?? `${by.verdict} this`}`
  return (
    <Empty title={`${what} ${ago(by.at, now)}${lost}`} sign={<Glyph sign="gate" size={32} />}>
      {by.verdict !== undefined && <p>{by.text}</p>}
      <Link
        to="/plans/$plan"
        params={{ plan: item.name }}
        search={{ view: 'history', entry: by.version }}
        className="button"
      >
        Entry {by.version} of {item.name}
      </Link>
      {children}
    </Empty>
  )
}

function NextItem({ next }: { readonly next: InboxEntry | null }) {
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
  if (next === null) return null
  return (
    <Link to="/inbox/$id" params={{ id: next.id }} className="button main">
      Next: {next.task ?? ''} of {next.name} <kbd>N</kbd>
    </Link>
  )
}
