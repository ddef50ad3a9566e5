// The work of an agent, read from its log: messages, tool calls with their edits, questions, and a status line with its spending.

import '../styles/agent.css'
import { Link } from '@tanstack/react-router'
import { Eye, FilePen, Globe, type LucideIcon, Search, Terminal, Trash2, TriangleAlert, Wrench } from 'lucide-react'
import { useMemo } from 'react'
import { spendWords } from '../../src/domain/views/pages/agent-lines.ts'
import { type AgentBlock, agentWork } from '../../src/domain/views/pages/agent-work.ts'
import { Diff } from '../parts/diff.tsx'
import { Glyph } from '../parts/glyph.tsx'
import { timeOf } from '../parts/words.ts'
import type { Line } from './task-log.tsx'

type Block = AgentBlock<Line>

export function AgentWork({
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
        ) : kind === 'said' ? (
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
