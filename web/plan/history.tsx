// The journal of a plan, newest first, in the words of `planfold log`; each entry has an address.

import '../styles/history.css'
import { useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { History as HistorySign } from 'lucide-react'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { PlanWording } from '../../src/domain/events/event-row.ts'
import { plainStep } from '../../src/domain/hint.ts'
import { contextRows, isSetback, type Moment, timeline } from '../../src/domain/views/timeline.ts'
import { type EntryItem, listEntries } from '../data/api.ts'
import type { LivePlan } from '../data/live.ts'
import { commandOf } from '../parts/command.tsx'
import { useRowWindow } from '../parts/row-window.ts'
import { Empty, Skeleton, Trouble } from '../parts/states.tsx'
import { count, dateOf, dayOf, timeOf } from '../parts/words.ts'
import { TerminalText } from '../terminal/terminal-text.tsx'

const PAGE = 100
/** How many newer entries are shown above a linked entry. */
const ABOVE = 20

export default function History({
  plan,
  name,
  onSelect,
}: {
  readonly plan: LivePlan
  readonly name: string
  readonly onSelect: (task: string) => void
}) {
  const { id, version } = plan.head
  const { entry, before: said } = useSearch({ from: '/plans/$plan' })
  const wanted = said ?? (entry === undefined ? undefined : entry + ABOVE + 1)
  // From the end, the list grows with the plan.
  const before = wanted === undefined || wanted > version ? undefined : wanted
  const { data, error } = useQuery({
    queryKey: ['history', before === undefined ? 'newest' : before, id],
    queryFn: () => listEntries(id, { limit: PAGE, ...(before === undefined ? {} : { before }) }),
    ...(before === undefined ? {} : { staleTime: Number.POSITIVE_INFINITY }),
    placeholderData: shown => shown,
  })
  const [box, list] = [useRef<HTMLElement>(null), useRef<HTMLOListElement>(null)]
  const [items, readOlder] = useEntries(id, data?.items)
  const place = items.findIndex(one => one.version === entry)
  const isFound = place !== -1
  const {
    rows,
    items: drawn,
    padding,
  } = useRowWindow({ box, list, count: items.length, estimate: 34 }, { overscan: 30 })
  // Scrolls once to a linked entry.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another entry, another place.
  useEffect(() => {
    if (isFound) rows.scrollToIndex(place, { align: 'center' })
  }, [entry, isFound])
  const isNearEnd = (drawn.at(-1)?.index ?? -1) === items.length - 1
  useEffect(() => {
    // If the service is away, the page says so elsewhere.
    if (isNearEnd) readOlder().catch(() => {})
  }, [isNearEnd, readOlder])
  if (error !== null) return <Trouble error={error} />
  if (data === undefined)
    return (
      <div className="history">
        <Skeleton height={120} />
      </div>
    )
  const first = items[0]
  const newer = first === undefined || first.version >= version ? null : first.version + PAGE + 1
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must be reached by keys.
    <section ref={box} className="history" aria-label="History" tabIndex={0}>
      <div className="history-head">
        <p className="dim">
          {count(version, 'entry', 'entries')}, newest first. Entries are only added, never changed.
        </p>
        <span className="space" />
        {newer !== null && <PageLink name={name} before={newer > version ? undefined : newer} word="Newer" />}
      </div>
      {entry !== undefined && !isFound && (
        <p className="history-none" role="status">
          There is no entry {entry}; the event log has {count(version, 'entry', 'entries')}.
        </p>
      )}
      {items.length === 0 ? (
        <Empty title="Nothing here" sign={<HistorySign size={36} strokeWidth={1.4} aria-hidden="true" />} />
      ) : (
        <ol ref={list} reversed start={first?.version} style={padding}>
          {drawn.map(({ index: at }) => (
            <Entry
              key={items[at]!.version}
              ref={rows.measureElement}
              index={at}
              item={items[at]!}
              name={name}
              planName={plan.head.name}
              isWanted={at === place}
              isNewDay={at === 0 || dayOf(Date.parse(items[at]!.at)) !== dayOf(Date.parse(items[at - 1]!.at))}
              knows={plan.byName}
              onSelect={onSelect}
            />
          ))}
        </ol>
      )}
    </section>
  )
}

/** The entries that follow each other from the newest of `page` on, and what reads the next ones before them. */
function useEntries(
  id: string,
  page: readonly EntryItem[] | undefined,
): readonly [readonly EntryItem[], () => Promise<void>] {
  const known = useRef(new Map<number, EntryItem>())
  const [older, setOlder] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: `older` counts what was read.
  const items = useMemo(() => {
    for (const item of page ?? []) known.current.set(item.version, item)
    const found: EntryItem[] = []
    for (let at = page?.[0]?.version ?? 0; known.current.has(at); at--) found.push(known.current.get(at)!)
    return found
  }, [page, older])
  const before = items.at(-1)?.version ?? 1
  const readOlder = useCallback(async () => {
    if (before === 1) return
    const { items: read } = await listEntries(id, { limit: PAGE, before })
    for (const item of read) known.current.set(item.version, item)
    setOlder(count => count + 1)
  }, [id, before])
  return [items, readOlder]
}

function PageLink({
  name,
  before,
  word,
}: {
  readonly name: string
  readonly before: number | undefined
  readonly word: string
}) {
  return (
    <Link
      to="/plans/$plan"
      params={{ plan: name }}
      search={({ entry: _, before: __, ...rest }) => ({ ...rest, ...(before === undefined ? {} : { before }) })}
      className="button small"
    >
      {word}
    </Link>
  )
}

function Entry({
  ref,
  index,
  item,
  name,
  planName,
  isWanted,
  isNewDay,
  knows,
  onSelect,
}: {
  readonly ref: (element: HTMLElement | null) => void
  readonly index: number
  readonly item: EntryItem
  readonly name: string
  readonly planName: string
  readonly isWanted: boolean
  readonly isNewDay: boolean
  readonly knows: ReadonlyMap<string, unknown>
  readonly onSelect: (task: string) => void
}) {
  const { version, actor, at, events } = item
  const now = Date.parse(at)
  const moments = useMemo(
    () => timeline({ now, version, actor, events }, wordsFor(planName)),
    [now, version, actor, events, planName],
  )
  return (
    <li ref={ref} data-index={index} className={isWanted ? 'wanted' : ''} aria-current={isWanted ? 'true' : undefined}>
      {isNewDay && <h3>{dayOf(now)}</h3>}
      <div className="entry">
        <Link
          to="/plans/$plan"
          params={{ plan: name }}
          search={before => ({ ...before, entry: version })}
          className="entry-number num"
          aria-label={`Entry ${version}`}
        >
          {version}
        </Link>
        <time className="num dim" dateTime={at} title={dateOf(now)}>
          {timeOf(now)}
        </time>
        <ul className="entry-sentences">
          {moments.map((moment, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: events are in order.
            <li key={place} className={isSetback(events[place]!) ? 'setback' : ''}>
              <span>
                <EntrySentence moment={moment} knows={knows} onSelect={onSelect} />
              </span>
              <Context event={events[place]!} />
              <code className="dim">{moment.type}</code>
            </li>
          ))}
        </ul>
        <span className="entry-by dim" title={actor}>
          {actor === 'janitor' ? 'system' : actor}
        </span>
      </div>
    </li>
  )
}

/** What the plan was made in. */
function Context({ event }: { readonly event: EntryItem['events'][number] }) {
  if (event.type !== 'plan.created' || event.context === undefined) return null
  return (
    <details>
      <summary>Made in this context</summary>
      {contextRows(event.context).map(({ name, text }) => (
        <p key={`${name}${text}`} className="prose">
          <b>{name}</b> {text}
        </p>
      ))}
    </details>
  )
}

/** The sentence; the task at its beginning is a link. */
function EntrySentence({
  moment: { task, text },
  knows,
  onSelect,
}: {
  readonly moment: Moment
  readonly knows: ReadonlyMap<string, unknown>
  readonly onSelect: (task: string) => void
}) {
  if (task === null || !text.startsWith(task) || !knows.has(task)) return <TerminalText text={text} />
  return (
    <>
      <button type="button" className="link mono" onClick={() => onSelect(task)}>
        {task}
      </button>
      <TerminalText text={text.slice(task.length)} />
    </>
  )
}

/** Next steps are shown as terminal commands, as in `planfold log`. */
const wordsFor = (plan: string): PlanWording => ({
  plan,
  word: part =>
    'next' in part && part.next === 'restore'
      ? commandOf('restore', part.plan ?? plan, ...(part.file === undefined ? [] : [part.file]))
      : `planfold ${plainStep(part)}`,
})
