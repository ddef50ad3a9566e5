// All plans: those that need a person first, then running, then finished.

import '../styles/plans.css'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Plus, Search } from 'lucide-react'
import { type RefObject, useEffect, useMemo, useRef, useState } from 'react'
import type { PlanStatus } from '../../src/domain/status.ts'
import { isAsking, type PlanList, type PlanRow, type PlansAsked } from '../data/api.ts'
import { plansBy } from '../data/queries.ts'
import { serverNow } from '../data/server-clock.ts'
import { Button } from '../parts/button.tsx'
import { useRested } from '../parts/checked-text.tsx'
import { useNow } from '../parts/clock.ts'
import { Glyph, signOfState } from '../parts/glyph.tsx'
import { CountRibbon } from '../parts/ribbon.tsx'
import { useRowWindow } from '../parts/row-window.ts'
import { isPlain } from '../parts/shell.tsx'
import { AwayBar, Empty, LivePill, Skeleton, Trouble } from '../parts/states.tsx'
import { ago, clock, count, dollars, stateWord } from '../parts/words.ts'
import type { PlansSearch } from '../router.tsx'

/** Every plan is in one group; a group is a chip, a heading and a number, the same everywhere. */
const GROUPS = {
  waiting: { title: 'Waiting for you', statuses: [] },
  failed: { title: 'Failed', statuses: ['failed'] },
  active: { title: 'In progress', statuses: ['active', 'blocked'] },
  paused: { title: 'Paused', statuses: ['paused'] },
  draft: { title: 'Draft', statuses: ['draft'] },
  completed: { title: 'Completed', statuses: ['completed'] },
  cancelled: { title: 'Cancelled', statuses: ['cancelled'] },
} as const satisfies { readonly [group: string]: { readonly title: string; readonly statuses: readonly PlanStatus[] } }
type Group = keyof typeof GROUPS
const NAMES = Object.keys(GROUPS) as readonly Group[]
const isGroup = (text: string | undefined): text is Group => text !== undefined && Object.hasOwn(GROUPS, text)

const groupOf = (row: PlanRow): Group =>
  isAsking(row) ? 'waiting' : NAMES.find(name => (GROUPS[name].statuses as readonly PlanStatus[]).includes(row.status))!

/** Counts all matching plans, not only those on this page. */
function countIn({ statuses, asking }: PlanList, group: Group): number {
  if (group === 'waiting') return Object.values(asking).reduce((sum, n) => sum + n, 0)
  return GROUPS[group].statuses.reduce((sum, status) => sum + statuses[status] - (asking[status] ?? 0), 0)
}

const MORE = 200
const ROW_HEIGHT = 32
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
      ...(since === undefined ? {} : { since: serverNow() - DAYS[since]! * DAY }),
      ...(text === '' ? {} : { text }),
      ...(!isGroup(status)
        ? {}
        : status === 'waiting'
          ? { waiting: true as const }
          : { statuses: GROUPS[status].statuses }),
    }),
    [sort, since, text, status],
  )
}

export default function PlansPage() {
  const search = useSearch({ from: '/' })
  const [wanted, setWanted] = useState<number | undefined>(undefined)
  const { data: list, error, isPlaceholderData } = useQuery(plansBy(useAsked(search), wanted))
  const data = list?.rows
  const { q = '', status, sort, since } = search
  const group = isGroup(status) ? status : null
  const navigate = useNavigate({ from: '/' })
  const field = useRef<HTMLInputElement>(null)
  const box = useRef<HTMLDivElement>(null)
  const isAll = q === '' && since === undefined
  const shown = useMemo(() => {
    const words = q.toLowerCase().split(/\s+/).filter(Boolean)
    return (data ?? []).filter(row => {
      const text = `${row.name} ${row.title ?? ''} ${row.goal ?? ''}`.toLowerCase()
      return words.every(word => text.includes(word)) && (group === null || groupOf(row) === group)
    })
  }, [data, q, group])
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
  const groups = NAMES.map(name => ({ name, rows: shown.filter(row => groupOf(row) === name) })).filter(
    ({ rows }) => rows.length > 0,
  )
  const number = (one: Group): number => (list === undefined ? 0 : countIn(list, one))
  const all = NAMES.reduce((sum, one) => sum + number(one), 0)
  const wantedTotal = group === null ? all : number(group)
  return (
    <main>
      <header className="top">
        <h1>Plans</h1>
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
        <Chip
          title="All"
          n={all}
          isOn={group === null}
          onClick={() => void navigate({ to: '/', search: inGroup(null) })}
        />
        {NAMES.map(one =>
          number(one) === 0 && group !== one ? null : (
            <Chip
              key={one}
              title={GROUPS[one].title}
              n={number(one)}
              isOn={group === one}
              onClick={() => void navigate({ to: '/', search: inGroup(group === one ? null : one) })}
            />
          ),
        )}
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
        {data === undefined && error === null && [0, 1, 2, 3].map(row => <Skeleton key={row} height={ROW_HEIGHT} />)}
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
            <p>{q === '' ? 'No plan is in this state.' : `No plan has "${q}" in its name, title or goal.`}</p>
            <Link to="/" search={{}} className="button">
              Show all
            </Link>
          </Empty>
        )}
        {groups.map(({ name, rows }) => (
          <Rows key={name} group={name} number={number(name)} rows={rows} box={box} />
        ))}
        {list !== undefined && !isPlaceholderData && shown.length < wantedTotal && isLeft(list) && (
          <p className="plans-more">
            <span className="dim">
              {shown.length.toLocaleString('en')} of {count(wantedTotal, 'plan')}
            </span>
            <Button onClick={() => setWanted(list.rows.length + MORE)}>Show more</Button>
          </p>
        )}
      </div>
    </main>
  )
}

/** The service has more of these than were read. */
const isLeft = ({ rows, total }: PlanList): boolean => rows.length < total

const inGroup =
  (group: Group | null) =>
  ({ status: _, ...rest }: PlansSearch): PlansSearch =>
    group === null ? rest : { ...rest, status: group }

function Chip({
  title,
  n,
  isOn,
  onClick,
}: {
  readonly title: string
  readonly n: number
  readonly isOn: boolean
  readonly onClick: () => void
}) {
  return (
    <button type="button" className="chip" aria-pressed={isOn} onClick={onClick}>
      {title} <b>{n.toLocaleString('en')}</b>
    </button>
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

function Rows({
  group,
  number,
  rows,
  box,
}: {
  readonly group: Group
  readonly number: number
  readonly rows: readonly PlanRow[]
  readonly box: RefObject<HTMLDivElement | null>
}) {
  const list = useRef<HTMLUListElement>(null)
  const { rows: windowed, items, padding } = useRowWindow({ box, list, count: rows.length, estimate: ROW_HEIGHT })
  const { title } = GROUPS[group]
  return (
    <section aria-label={title}>
      <h2>
        {title} <span className="num dim">{number.toLocaleString('en')}</span>
      </h2>
      <ul ref={list} style={padding}>
        {items.map(({ index }) => {
          const row = rows[index]!
          return <Row key={row.id} ref={windowed.measureElement} index={index} row={row} group={group} />
        })}
      </ul>
    </section>
  )
}

function Row({
  ref,
  index,
  row,
  group,
}: {
  readonly ref: (element: HTMLElement | null) => void
  readonly index: number
  readonly row: PlanRow
  readonly group: Group
}) {
  const now = useNow()
  const { status, counts, cost, seen, waiting } = row
  const took = row.startedAt === null ? null : (row.endedAt ?? now) - row.startedAt
  const isWaiting = group === 'waiting'
  const state = isWaiting ? ({ word: 'waiting', waitsFor: 'you' } as const) : seen
  const failed = status === 'failed' ? 0 : (counts.failed ?? 0)
  return (
    <li ref={ref} data-index={index} className={`plan-row ${status}`}>
      <Link to="/plans/$plan" params={{ plan: row.name }}>
        <Glyph sign={signOfState(state)} label={stateWord(state)} />
        <b className="mono plan-row-name" title={row.name}>
          {row.name}
        </b>
        <span className="plan-row-title" title={row.title ?? row.goal ?? ''}>
          {row.title ?? row.goal ?? ''}
        </span>
        <span className="plan-row-state">
          {failed > 0 && <span className="bad">{failed} failed</span>}
          {isWaiting && waiting !== null && <span className="asks">{count(waiting, 'question')}</span>}
          {group === 'active' && <span className={state.word}>{stateWord(state)}</span>}
        </span>
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
