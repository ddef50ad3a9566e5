// The output of a task. Follows while it runs, unless scrolled. Each line has an address.

import '../styles/log.css'
import '../styles/agent.css'
import { useSearch } from '@tanstack/react-router'
import { memo, useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import { type AgentBlock, agentWork, spendWords } from '../../src/domain/views/pages/agent-lines.ts'
import { taskLog } from '../data/api.ts'
import { live, useConnection } from '../data/live.ts'
import type { Look } from '../data/live-messages.ts'
import { shownText } from '../data/shown.ts'
import { useRowWindow } from '../parts/row-window.ts'
import { Empty, Skeleton } from '../parts/states.tsx'
import { count, dateOf, timeOf } from '../parts/words.ts'
import { LINE_MAX, plainLine } from '../terminal/terminal-line.ts'
import { TerminalLine } from '../terminal/terminal-text.tsx'
import { AgentBlockShown } from './agent-block.tsx'
import { findLine, type LogLine } from './log-lines.ts'
import { type Log, LogSource } from './log-source.ts'
import { download, LogTools, useLogSearch } from './log-tools.tsx'

export interface TaskLogProps {
  readonly plan: string
  readonly task: string
  readonly look: Look
  readonly tail?: number
  readonly isAgent?: boolean
  readonly asks?: string | null
}

export function TaskLog({ plan, task, tail, ...rest }: TaskLogProps) {
  const [log, source] = useLog(plan, task)
  const { lines } = log
  const isRunning = rest.look === 'running'
  if (lines === null) return <Skeleton height={90} />
  if (lines.length === 0)
    return tail === undefined ? (
      <Empty title={isRunning ? 'Nothing printed yet' : 'It printed nothing'} />
    ) : (
      <p className="dim">{isRunning ? 'Nothing printed yet.' : 'It printed nothing.'}</p>
    )
  const shown = { ...rest, task, lines, isRunning }
  // Another task, another place in its log.
  return tail === undefined ? (
    <WholeLog key={`${plan} ${task}`} {...shown} source={source} before={log.before} />
  ) : (
    <LogTail {...shown} tail={tail} />
  )
}

function useLog(plan: string, task: string): readonly [Log, LogSource] {
  const source = useMemo(() => new LogSource(taskLog(plan, task)), [plan, task])
  const isLive = useConnection().is === 'live'
  // biome-ignore lint/correctness/useExhaustiveDependencies: when the service is back, what was missed is read.
  useEffect(() => {
    source.more()
    return live.followLog(plan, task, () => source.more())
  }, [source, plan, task, isLive])
  return [useSyncExternalStore(source.subscribe, source.now), source]
}

interface Shown {
  readonly task: string
  readonly lines: readonly LogLine[]
  readonly isRunning: boolean
  readonly isAgent?: boolean
  readonly asks?: string | null
}

/** A row of the log: a line or a step of an agent, or the heading of an attempt. */
type Row = { readonly key: string; readonly line: LogLine } & (
  | { readonly is: 'attempt' | 'line' }
  | { readonly is: 'step'; readonly block: AgentBlock<LogLine> }
)

function rowsOf(lines: readonly LogLine[], blocks: readonly AgentBlock<LogLine>[] | null): readonly Row[] {
  const rows: Row[] = []
  const [first, last] = [lines[0]!, lines.at(-1)!]
  const hasHeadings = first.attempt !== last.attempt || first.visit !== last.visit || last.attempt > 1 || last.visit > 1
  let attempt = ''
  const add = (line: LogLine, block: AgentBlock<LogLine> | null): void => {
    const now = `${line.visit}.${line.attempt}`
    const key = `${now}.${line.number}`
    if (hasHeadings && now !== attempt) rows.push({ is: 'attempt', key: now, line })
    attempt = now
    rows.push(block === null ? { is: 'line', key, line } : { is: 'step', key, line, block })
  }
  if (blocks === null) for (const line of lines) add(line, null)
  else for (const block of blocks) add(block.lines[0]!, block)
  return rows
}

/** An agent's lines are read as text. */
const useWork = (lines: readonly LogLine[], isAgent: boolean) =>
  useMemo(
    () => (isAgent ? agentWork(lines.map(line => ({ ...line, text: shownText(plainLine(line.text)) }))) : null),
    [lines, isAgent],
  )

const addressOf = (task: string, { number, attempt, visit }: LogLine): string =>
  `?task=${encodeURIComponent(task)}&tab=log&line=${number}${attempt > 1 || visit > 1 ? `&attempt=${attempt}` : ''}${visit > 1 ? `&visit=${visit}` : ''}`

const NEAR_END = 24
const LINE_HEIGHT = 18

function WholeLog({
  task,
  lines,
  isRunning,
  isAgent = false,
  asks = null,
  source,
  before,
}: Shown & { readonly source: LogSource; readonly before: number }) {
  const search = useSearch({ from: '/plans/$plan' })
  const { line: wanted, attempt, visit } = search
  const box = useRef<HTMLDivElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const work = useWork(lines, isAgent)
  const rows = useMemo(() => rowsOf(lines, work?.blocks ?? null), [lines, work])
  const keyOf = useCallback((at: number) => rows[at]?.key ?? at, [rows])
  const {
    rows: windowed,
    items,
    padding,
  } = useRowWindow(
    { box, list, count: rows.length, estimate: LINE_HEIGHT },
    { getItemKey: keyOf, anchorTo: 'end', followOnAppend: true, scrollEndThreshold: NEAR_END, overscan: 20 },
  )
  const find = useLogSearch(rows)
  const [isWide, setWide] = useState(false)

  // The end, or the addressed line as soon as it is loaded; once for each address.
  const wantedAt = useMemo(() => {
    if (wanted === undefined) return rows.length - 1
    const at = findLine(lines, {
      line: wanted,
      ...(attempt === undefined ? {} : { attempt }),
      ...(visit === undefined ? {} : { visit }),
    })
    const found = lines[at]
    if (found === undefined) return -1
    return rows.findLastIndex(
      ({ is, line }) =>
        is !== 'attempt' && line.attempt === found.attempt && line.visit === found.visit && line.number <= found.number,
    )
  }, [rows, lines, wanted, attempt, visit])
  const shownFor = useRef<string | null>(null)
  const address = JSON.stringify([wanted, attempt, visit])
  useEffect(() => {
    if (wanted !== undefined && before >= wanted) return source.earlier(wanted)
    if (wantedAt === -1 || shownFor.current === address) return
    shownFor.current = address
    windowed.scrollToIndex(wantedAt, { align: wanted === undefined ? 'end' : 'center' })
  }, [wanted, wantedAt, address, before, source, windowed])

  useEffect(() => {
    if (find.at !== null) windowed.scrollToIndex(find.at, { align: 'center' })
  }, [find.at, windowed])
  useEffect(() => {
    if (before > 0 && find.text !== '') source.earlier(1)
  }, [before, find.text, source])
  const askedAt = useRef(0)
  /** Before the first line is reached. */
  const loadEarlier = (): void => {
    const element = box.current
    if (before === 0 || element === null || askedAt.current === before || element.scrollTop > element.clientHeight)
      return
    askedAt.current = before
    source.earlier()
  }

  const lastAsk = work?.blocks.findLast(({ kind }) => kind === 'asks')
  const total = before + lines.length
  return (
    <>
      <LogTools
        find={find}
        about={
          before > 0 ? `last ${lines.length.toLocaleString('en')} of ${count(total, 'line')}` : count(total, 'line')
        }
        isWide={isWide}
        onWide={() => setWide(!isWide)}
        onDownload={() => void source.whole().then(all => download(task, all))}
      />
      {work !== null && <Spent work={work} isRunning={isRunning} />}
      <div
        ref={box}
        className={`log whole${isAgent ? ' agent' : ''}`}
        role="log"
        aria-label={`Log of ${task}`}
        aria-live={isRunning && windowed.isAtEnd(NEAR_END) ? 'polite' : 'off'}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must be reached by keys.
        tabIndex={0}
        onScroll={loadEarlier}
      >
        <div ref={list} style={padding}>
          {items.map(({ index, key }) => {
            const row = rows[index]!
            const state = `${index === find.at ? ' found' : ''}${wanted !== undefined && index === wantedAt ? ' wanted' : ''}`
            return (
              <div key={key} data-index={index} ref={windowed.measureElement} className="log-row">
                {row.is === 'attempt' ? (
                  <h3 className="log-attempt">
                    Attempt {row.line.attempt}
                    {row.line.visit > 1 && `, visit ${row.line.visit}`} <s>{dateOf(row.line.at)}</s>
                  </h3>
                ) : row.is === 'step' ? (
                  <AgentBlockShown
                    block={row.block}
                    href={addressOf(task, row.line)}
                    isWanted={state !== ''}
                    item={row.block === lastAsk ? asks : null}
                  />
                ) : (
                  <LineShown line={row.line} href={addressOf(task, row.line)} state={state} />
                )}
              </div>
            )
          })}
          {isRunning && <i className="cursor" />}
        </div>
      </div>
    </>
  )
}

function LogTail({ task, lines, isRunning, isAgent = false, asks = null, tail }: Shown & { readonly tail: number }) {
  const box = useRef<HTMLDivElement>(null)
  const work = useWork(lines, isAgent)
  // biome-ignore lint/correctness/useExhaustiveDependencies: at its end after every line.
  useEffect(() => {
    if (box.current !== null) box.current.scrollTop = box.current.scrollHeight
  }, [lines])
  const lastAsk = work?.blocks.findLast(({ kind }) => kind === 'asks')
  const isListed = (block: AgentBlock<LogLine>): boolean => asks === null || block !== lastAsk
  return (
    <div
      ref={box}
      className={`log${isAgent ? ' agent' : ''}`}
      role="log"
      aria-label={`Log of ${task}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must be reached by keys.
      tabIndex={0}
    >
      {work === null ? (
        lines
          .slice(-tail)
          .map(line => <LineShown key={`${line.attempt}.${line.number}`} line={line} href={null} state="" />)
      ) : (
        <>
          <Spent work={work} isRunning={isRunning} />
          {work.blocks
            .filter(isListed)
            .slice(-tail)
            .map(block => (
              <AgentBlockShown key={block.lines[0]!.number} block={block} href={null} isWanted={false} item={null} />
            ))}
          {work.blocks.some(({ diff }) => diff.length > 0) && (
            <p className="agent-hint">The files it wrote are under Changes.</p>
          )}
        </>
      )}
      {isRunning && <i className="cursor" />}
    </div>
  )
}

/** Lines do not change, but the list around them does with each line. */
const LineShown = memo(function LineShown({
  line,
  href,
  state,
}: {
  readonly line: LogLine
  readonly href: string | null
  readonly state: string
}) {
  const { number, at, text, stream, style } = line
  return (
    <div className={`log-line ${stream}${state}`}>
      {href === null ? (
        <span>{timeOf(at)}</span>
      ) : (
        <a href={href} title={`Line ${number}`}>
          {timeOf(at)}
        </a>
      )}
      <code>
        <TerminalLine line={text} style={style} />
        {text.length > LINE_MAX && (
          <small> ⟨cut: {text.length.toLocaleString('en')} characters, all in the download⟩</small>
        )}
      </code>
    </div>
  )
})

function Spent({
  work: { spent, isRepeated },
  isRunning,
}: {
  readonly work: ReturnType<typeof agentWork<LogLine>>
  readonly isRunning: boolean
}) {
  return (
    <p className="agent-spent">
      {isRepeated && 'Last attempt: '}
      {spent !== null ? spendWords(spent) : isRunning ? 'Nothing spent yet' : 'No model calls'}
    </p>
  )
}
