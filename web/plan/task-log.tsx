// The output of a task. Follows while it runs, unless scrolled. Each line has an address.

import '../styles/agent.css'
import { Link, useSearch } from '@tanstack/react-router'
import { Eye, FilePen, Globe, type LucideIcon, Search, Terminal, Trash2, TriangleAlert, Wrench } from 'lucide-react'
import { useEffect, useMemo, useRef, useState } from 'react'
import { type AgentBlock, agentWork, spendWords } from '../../src/domain/views/pages/agent-lines.ts'
import { taskLogs } from '../data/api.ts'
import type { Look } from '../data/live-messages.ts'
import { shownText } from '../data/shown.ts'
import { Diff } from '../parts/diff.tsx'
import { Glyph } from '../parts/glyph.tsx'
import { Empty, Skeleton } from '../parts/states.tsx'
import { timeOf } from '../parts/words.ts'

export interface Line {
  readonly number: number
  readonly at: number
  readonly text: string
  readonly stream: string
}

const EVERY_MS = 700
const PAGES_MAX = 40
/** ANSI escape sequences and control characters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it takes out.
const CONTROL = /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007]*\u0007|[\u0000-\u0008\u000b-\u001f\u007f]/g

function useLog(plan: string, task: string, isRunning: boolean): readonly Line[] | null {
  const [lines, setLines] = useState<readonly Line[] | null>(null)
  useEffect(() => {
    let isGone = false
    let after = 0
    let rest = ''
    let known: Line[] = []
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = async (): Promise<void> => {
      try {
        for (let page = 0; page < PAGES_MAX; page++) {
          const chunks = (await taskLogs(plan, task, after)) ?? []
          if (isGone) return
          for (const { text, at, stream, seq } of chunks) {
            after = seq
            const parts = (rest + text).split('\n')
            rest = parts.pop() ?? ''
            known.push(
              ...parts.map((one, i) => ({
                number: known.length + i + 1,
                at,
                text: shownText(one.replace(CONTROL, '')),
                stream,
              })),
            )
          }
          if (chunks.length < 1000) break
        }
        const last =
          rest === ''
            ? []
            : [
                {
                  number: known.length + 1,
                  at: Date.now(),
                  text: shownText(rest.replace(CONTROL, '')),
                  stream: 'stdout',
                },
              ]
        known = [...known]
        setLines([...known, ...last])
      } catch {
        // The service is away; the page says so elsewhere.
      }
      if (isRunning && !isGone) timer = setTimeout(() => void read(), EVERY_MS)
    }
    void read()
    return () => {
      isGone = true
      clearTimeout(timer)
    }
  }, [plan, task, isRunning])
  return lines
}

export interface TaskLogProps {
  readonly plan: string
  readonly task: string
  readonly look: Look
  readonly tail?: number
  readonly isAgent?: boolean
  readonly asks?: string | null
}

export function TaskLog({ plan, task, look, tail, isAgent = false, asks = null }: TaskLogProps) {
  const isRunning = look === 'running'
  const lines = useLog(plan, task, isRunning)
  const { line: wanted } = useSearch({ from: '/plans/$plan' })
  const box = useRef<HTMLDivElement>(null)
  const [isFollowing, setFollowing] = useState(true)
  useEffect(() => {
    const element = box.current
    if (element === null || lines === null) return
    if (wanted !== undefined && tail === undefined)
      element.querySelector(`#L${wanted}, .wanted`)?.scrollIntoView({ block: 'center' })
    else if (isFollowing) element.scrollTop = element.scrollHeight
  }, [lines, isFollowing, wanted, tail])
  if (lines === null) return <Skeleton height={90} />
  if (lines.length === 0)
    return tail === undefined ? (
      <Empty title={isRunning ? 'Nothing printed yet' : 'It printed nothing'} />
    ) : (
      <p className="dim">{isRunning ? 'Nothing printed yet.' : 'It printed nothing.'}</p>
    )
  const shown = isAgent ? lines : tail === undefined ? lines.slice(-5_000) : lines.slice(-tail)
  return (
    <div
      ref={box}
      className={`${tail === undefined ? 'log whole' : 'log'}${isAgent ? ' agent' : ''}`}
      role="log"
      aria-label={`Log of ${task}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must be reached by keys.
      tabIndex={0}
      onScroll={event => {
        const { scrollTop, scrollHeight, clientHeight } = event.currentTarget
        setFollowing(scrollHeight - scrollTop - clientHeight < 24)
      }}
    >
      {isAgent ? (
        <AgentWork lines={shown} task={task} tail={tail} wanted={wanted} asks={asks} isRunning={isRunning} />
      ) : (
        shown.map(({ number, at, text, stream }) => (
          <div
            key={number}
            id={tail === undefined ? `L${number}` : undefined}
            className={`${stream}${number === wanted ? ' wanted' : ''}`}
          >
            {tail === undefined ? (
              <a href={`?task=${encodeURIComponent(task)}&tab=log&line=${number}`} title={`Line ${number}`}>
                {timeOf(at)}
              </a>
            ) : (
              <span>{timeOf(at)}</span>
            )}
            <code>{text}</code>
          </div>
        ))
      )}
      {isRunning && <i className="cursor" />}
    </div>
  )
}

// The work of an agent, read from its log: messages, tool calls with their edits, questions, and a status line with its spending.

type Block = AgentBlock<Line>

function AgentWork({
  lines,
  task,
  tail,
  wanted,
  asks,
  isRunning,
}: {
  readonly lines: readonly Line[]
  readonly task: string
  readonly tail: number | undefined
  readonly wanted: number | undefined
  readonly asks: string | null
  readonly isRunning: boolean
}) {
  const { blocks, spent, isRepeated } = useMemo(() => agentWork(lines), [lines])
  const lastAsk = blocks.findLast(({ kind }) => kind === 'asks')
  const isListed = (block: Block): boolean => asks === null || block !== lastAsk
  const shown = tail === undefined ? blocks : blocks.filter(isListed).slice(-tail)
  return (
    <>
      <p className="agent-spent">
        {isRepeated && 'Last attempt: '}
        {spent !== null ? spendWords(spent) : isRunning ? 'Nothing spent yet' : 'No model calls'}
      </p>
      {shown.map(block => (
        <BlockShown
          key={block.lines[0]!.number}
          block={block}
          task={task}
          isWhole={tail === undefined}
          isWanted={block.lines.some(({ number }) => number === wanted)}
          item={block === lastAsk ? asks : null}
        />
      ))}
      {blocks.some(({ diff }) => diff.length > 0) && (
        <p className="agent-hint">The files it wrote are under Changes.</p>
      )}
    </>
  )
}

const ICONS: { readonly [verb: string]: LucideIcon } = {
  read: Eye,
  edit: FilePen,
  move: FilePen,
  run: Terminal,
  search: Search,
  fetch: Globe,
  delete: Trash2,
  'failed:': TriangleAlert,
}

function BlockShown({
  block,
  task,
  isWhole,
  isWanted,
  item,
}: {
  readonly block: Block
  readonly task: string
  readonly isWhole: boolean
  readonly isWanted: boolean
  readonly item: string | null
}) {
  const { kind, texts, diff } = block
  const first = block.lines[0]!
  const [verb = '', ...rest] = texts[0]!.split(' ')
  const Icon = ICONS[verb] ?? Wrench
  const sign =
    kind === 'action' ? (
      <Icon size={13} aria-hidden="true" />
    ) : kind === 'asks' ? (
      <Glyph sign={item === null ? 'gate' : 'waiting'} size={13} />
    ) : kind === 'command' ? (
      <Terminal size={13} aria-hidden="true" />
    ) : null
  const time = timeOf(first.at)
  return (
    <article
      id={isWhole ? `L${first.number}` : undefined}
      className={`${kind}${isWanted ? ' wanted' : ''}${kind === 'asks' && item !== null ? ' open' : ''}${verb === 'failed:' && kind === 'action' ? ' failed' : ''}`}
    >
      {isWhole ? (
        <a
          className="agent-sign"
          href={`?task=${encodeURIComponent(task)}&tab=log&line=${first.number}`}
          title={`${time}, line ${first.number}`}
          aria-label={`Line ${first.number}, ${time}`}
        >
          {sign}
        </a>
      ) : (
        <span className="agent-sign" title={time}>
          {sign}
        </span>
      )}
      <div>
        {kind === 'action' ? (
          <code>
            <b>{verb}</b> {rest.join(' ')}
          </code>
        ) : kind === 'said' || kind === 'thought' ? (
          <p>{texts.join('\n').trimEnd()}</p>
        ) : kind === 'asks' ? (
          <p>
            {texts[0]}{' '}
            {item !== null && (
              <Link to="/inbox/$id" params={{ id: item }} className="link">
                Answer it
              </Link>
            )}
          </p>
        ) : (
          <code>{texts.join('\n')}</code>
        )}
        {diff.length > 0 && <Diff text={diff.join('\n')} label={`What the agent says it edits: ${rest.join(' ')}`} />}
      </div>
    </article>
  )
}
