// One step of an agent in its log: words, a tool call with the edit it announces, a question, or the output of a command.

import { Link } from '@tanstack/react-router'
import { Eye, FilePen, Globe, type LucideIcon, Search, Terminal, Trash2, TriangleAlert, Wrench } from 'lucide-react'
import type { AgentBlock } from '../../src/domain/views/pages/agent-lines.ts'
import { Diff } from '../parts/diff.tsx'
import { Glyph } from '../parts/glyph.tsx'
import { timeOf } from '../parts/words.ts'
import type { LogLine } from './log-lines.ts'

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

export function AgentBlockShown({
  block,
  href,
  isWanted,
  item,
}: {
  readonly block: AgentBlock<LogLine>
  /** The address of its first line; null where lines have none. */
  readonly href: string | null
  readonly isWanted: boolean
  /** Of an open question: where it is answered. */
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
      className={`${kind}${isWanted ? ' wanted' : ''}${kind === 'asks' && item !== null ? ' open' : ''}${verb === 'failed:' && kind === 'action' ? ' failed' : ''}`}
    >
      {href !== null ? (
        <a
          className="agent-sign"
          href={href}
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
