// All plans: those that need a person first, then running, then finished.

import '../styles/plans.css'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Plus, Search } from 'lucide-react'
import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { PlanStatus } from '../../src/domain/status.ts'
import type { PlanRow, PlansAsked } from '../data/api.ts'
import { inbox, plansBy } from '../data/queries.ts'
import { Button } from '../parts/button.tsx'
import { useRested } from '../parts/checked-text.tsx'
import { useNow } from '../parts/clock.ts'
import { Glyph, signOfPlan } from '../parts/glyph.tsx'
import { CountRibbon } from '../parts/ribbon.tsx'
import { isPlain } from '../parts/shell.tsx'
import { AwayBar, Empty, LivePill, Skeleton, Trouble } from '../parts/states.tsx'
import { useWindowed } from '../parts/windowed.ts'
import { ago, clock, count, dollars, planWord } from '../parts/words.ts'
import type { PlansSearch } from '../router.tsx'

const GROUPS: readonly { readonly title: string; readonly has: (status: string, waits: number) => boolean }[] = [
  { title: 'Waiting for you', has: (status, waits) => status === 'blocked' || (waits > 0 && !ENDED.has(status)) },
  { title: 'Failed', has: status => status === 'failed' },
  { title: 'Active', has: status => status === 'active' },
  { title: 'Paused', has: status => status === 'paused' },
  { title: 'Drafts', has: status => status === 'draft' },
  { title: 'Over', has: status => status === 'completed' || status === 'cancelled' },
]
const ENDED = new Set(['completed', 'failed', 'cancelled'])
const FILTERS = ['waiting', 'active', 'failed', 'paused', 'draft', 'completed', 'cancelled'] as const
type Filter = (typeof FILTERS)[number]
const isFilter = (text: string): text is Filter => (FILTERS as readonly string[]).includes(text)
/** `blocked` counts as active: a plan in which nothing continues before a decision. */
const STATUSES: { readonly [filter in Exclude<Filter, 'waiting'>]: readonly PlanStatus[] } = {
  active: ['active', 'blocked'],
  failed: ['failed'],
  paused: ['paused'],
  draft: ['draft'],
  completed: ['completed'],
  cancelled: ['cancelled'],
}
const MORE = 200
const ROW_HEIGHT = 52
const SORT_WORDS: { readonly [sort: string]: string } = { updated: 'Last changed', name: 'Name', cost: 'Cost' }
const SINCE_WORDS: { readonly [since: string]: string } = { day: 'Last day', week: 'Last week', month: 'Last month' }
const DAYS: { readonly [since: string]: number } = { day: 1, week: 7, month: 30 }
const DAY = 86_400_000

/** The query for the service. The time is memoised, so that the query key stays the same. */
function useAsked({ q, sort, since, status }: PlansSearch): PlansAsked {
  const text = useRested(q ?? '').trim()
  return useMemo(
    () => ({
      ...(sort === undefined ? {} : { order: sort }),
      ...(since === undefined ? {} : { since: Date.now() - DAYS[since]! * DAY }),
      ...(text === '' ? {} : { text }),
      ...(status === undefined || !isFilter(status)
        ? {}
        : status === 'waiting'
          ? { waiting: true as const }
          : { statuses: STATUSES[status] }),
    }),
    [sort, since, text, status],
  )
}

export default function PlansPage() {
  const search = useSearch({ from: '/' })
  const [wanted, setWanted] = useState<number | undefined>(undefined)
  const { data: list, error, isPlaceholderData } = useQuery(plansBy(useAsked(search), wanted))
  const data = list?.rows
  const waiting = useQuery(inbox).data
  const { q = '', status, sort, since } = search
  const navigate = useNavigate({ from: '/' })
  const field = useRef<HTMLInputElement>(null)
  const box = useRef<HTMLDivElement>(null)
  const isAll = q === '' && since === undefined
  const waits = useMemo(() => {
    const found = new Map<string, number>()
    for (const item of waiting ?? []) found.set(item.plan, (found.get(item.plan) ?? 0) + 1)
    return found
  }, [waiting])
  const isWaiting = useCallback(
    (row: PlanRow): boolean => row.status === 'blocked' || (waits.get(row.id) ?? 0) > 0,
    [waits],
  )
  const shown = useMemo(() => {
    const words = q.toLowerCase().split(/\s+/).filter(Boolean)
    return (data ?? []).filter(row => {
      const text = `${row.name} ${row.title ?? ''} ${row.goal ?? ''}`.toLowerCase()
      if (!words.every(word => text.includes(word))) return false
      if (status === undefined) return true
      return status === 'waiting'
        ? isWaiting(row)
        : status === 'active'
          ? row.status === 'active' || row.status === 'blocked'
          : row.status === status
    })
  }, [data, q, status, isWaiting])
  useEffect(() => {
    document.title = 'Plans · Planfold'
    const key = (event: KeyboardEvent): void => {
      if (event.key !== '/' || !isPlain(event)) return
      event.preventDefault()
      field.current?.focus()
    }
    addEventListener('keydown', key)
    return () => removeEventListener('keydown', key)
  }, [])
  const left = [...shown]
  const groups = GROUPS.map(({ title, has }) => {
    const rows = left.filter(row => has(row.status, waits.get(row.id) ?? 0))
    for (const row of rows) left.splice(left.indexOf(row), 1)
    return { title, rows }
  }).filter(({ rows }) => rows.length > 0)
  // Counts all matching plans, not only those on this page.
  const number = (filter: Filter): number => {
    if (filter === 'waiting') return list?.waiting ?? waits.size
    return STATUSES[filter].reduce((sum, status) => sum + (list?.statuses[status] ?? 0), 0)
  }
  return (
    <main>
      <header className="top">
        <h1>Plans</h1>
        {list !== undefined && <span className="num dim">{list.total.toLocaleString('en')}</span>}
        <label className="find search">
          <Search size={14} aria-hidden="true" />
          <span className="hidden">Search plans</span>
          <input
            ref={field}
            type="search"
            placeholder="Search plans"
            value={q}
            onKeyDown={event => {
              const [only] = shown
              if (event.key === 'Enter' && q !== '' && only !== undefined && shown.length === 1)
                void navigate({ to: '/plans/$plan', params: { plan: only.name } })
            }}
            onChange={event => {
              const text = event.target.value
              void navigate({
                to: '/',
                search: ({ q: _, ...rest }: PlansSearch) => (text === '' ? rest : { ...rest, q: text }),
                replace: true,
              })
            }}
          />
          <kbd className="wide">/</kbd>
        </label>
        <span className="space" />
        <LivePill />
        <Link to="/new" className="button main">
          <Plus size={15} aria-hidden="true" />
          New plan
        </Link>
      </header>
      <AwayBar />
      <fieldset className="filters" aria-label="Filter by status">
        {FILTERS.map(filter => {
          const n = number(filter)
          if (n === 0 && status !== filter) return null
          return (
            <button
              key={filter}
              type="button"
              className="chip"
              aria-pressed={status === filter}
              onClick={() =>
                void navigate({
                  to: '/',
                  search: ({ status: before, ...rest }: PlansSearch) =>
                    before === filter ? rest : { ...rest, status: filter },
                })
              }
            >
              {filter === 'waiting' ? 'Waiting for you' : planWord(filter)} <b>{n.toLocaleString('en')}</b>
            </button>
          )
        })}
        <span className="space" />
        <Chosen
          label="Changed"
          none="Any time"
          words={SINCE_WORDS}
          value={since}
          onChange={value => void navigate({ to: '/', search: with_('since', value), replace: true })}
        />
        <Chosen
          label="Sort by"
          none="Newest"
          words={SORT_WORDS}
          value={sort}
          onChange={value => void navigate({ to: '/', search: with_('sort', value), replace: true })}
        />
      </fieldset>
      <div ref={box} className="plans">
        {error !== null && <Trouble error={error} />}
        {data === undefined && error === null && [0, 1, 2, 3].map(row => <Skeleton key={row} height={52} />)}
        {data?.length === 0 && isAll && (
          <Empty title="No plans yet">
            <p>Say what you want, and Planfold drafts the steps. Nothing runs before you say so.</p>
            <Link to="/new" className="button main">
              New plan
            </Link>
            <p>Or in a terminal:</p>
            <code className="code">planfold run plan.yaml</code>
          </Empty>
        )}
        {data !== undefined && (data.length > 0 || !isAll) && shown.length === 0 && (
          <Empty title="No matching plans">
            <p>{q === '' ? 'No plan has this status.' : `No plan has "${q}" in its name, title or goal.`}</p>
            <Link to="/" search={{}} className="button">
              Show all
            </Link>
          </Empty>
        )}
        {groups.map(({ title, rows }) => (
          <Group key={title} title={title} rows={rows} waits={waits} box={box} />
        ))}
        {list !== undefined && data !== undefined && !isPlaceholderData && data.length < list.total && (
          <p className="plans-more">
            <span className="dim">
              {data.length.toLocaleString('en')} of {count(list.total, 'plan')}
            </span>
            <Button onClick={() => setWanted(data.length + MORE)}>Show more</Button>
          </p>
        )}
      </div>
    </main>
  )
}

const with_ =
  (key: 'sort' | 'since', value: string | null) =>
  ({ [key]: _, ...rest }: PlansSearch): PlansSearch =>
    (value === null ? rest : { ...rest, [key]: value }) as PlansSearch

function Chosen({
  label,
  none,
  words,
  value,
  onChange,
}: {
  readonly label: string
  readonly none: string
  readonly words: { readonly [value: string]: string }
  readonly value: string | undefined
  readonly onChange: (value: string | null) => void
}) {
  return (
    <select
      className="chip"
      aria-label={label}
      value={value ?? ''}
      onChange={event => onChange(event.target.value || null)}
    >
      <option value="">{none}</option>
      {Object.entries(words).map(([one, word]) => (
        <option key={one} value={one}>
          {word}
        </option>
      ))}
    </select>
  )
}

function Group({
  title,
  rows,
  waits,
  box,
}: {
  readonly title: string
  readonly rows: readonly PlanRow[]
  readonly waits: ReadonlyMap<string, number>
  readonly box: RefObject<HTMLDivElement | null>
}) {
  const list = useRef<HTMLUListElement>(null)
  const { rows: windowed, items, padding } = useWindowed({ box, list, count: rows.length, estimate: ROW_HEIGHT })
  return (
    <section aria-label={title}>
      <h2>
        {title} <span className="num dim">{rows.length}</span>
      </h2>
      <ul ref={list} style={padding}>
        {items.map(({ index }) => {
          const row = rows[index]!
          return (
            <Row key={row.id} ref={windowed.measureElement} index={index} row={row} waits={waits.get(row.id) ?? 0} />
          )
        })}
      </ul>
    </section>
  )
}

function Row({
  ref,
  index,
  row,
  waits,
}: {
  readonly ref: (element: HTMLElement | null) => void
  readonly index: number
  readonly row: PlanRow
  readonly waits: number
}) {
  const now = useNow()
  const { status } = row
  const took = row.startedAt === null ? null : (row.endedAt ?? now) - row.startedAt
  const { counts, cost } = row
  const isWaiting = waits > 0 && !ENDED.has(status)
  // No spinner if nothing runs: a task is ready and waits for a claim or a process.
  const isIdle = status === 'active' && (counts.running ?? 0) === 0
  return (
    <li ref={ref} data-index={index} className={`plan-row ${status}`}>
      <Link to="/plans/$plan" params={{ plan: row.name }}>
        <Glyph
          sign={isWaiting ? 'plan-blocked' : isIdle ? 'ready' : signOfPlan(status)}
          label={isIdle ? 'Idle' : planWord(status)}
        />
        <span className="plan-name">
          <b className="mono">{row.name}</b>
          <span>{row.title ?? row.goal ?? ''}</span>
        </span>
        {isWaiting && <span className="asks">{waits === 1 ? '1 question' : `${waits} questions`}</span>}
        <CountRibbon counts={counts} />
        <span className="num plan-count">
          <b>{row.done}</b> of {row.tasks}
        </span>
        <span className="num dim plan-figures">
          <span title={count(row.tasks, 'task')}>{took === null ? '' : clock(took)}</span>
          <span>{cost === null ? '' : dollars(cost)}</span>
          <span>{ago(row.updatedAt, now)}</span>
        </span>
      </Link>
    </li>
  )
}
