// What is asked, in words: the question or the failure, who must agree, the options of a decision, and the tasks before it.

import { Link } from '@tanstack/react-router'
import { aimHint } from '../../src/domain/hint.ts'
import type { InboxEntry } from '../data/api.ts'
import { Glyph } from '../parts/glyph.tsx'
import { HintText } from '../parts/hint-text.tsx'
import { count } from '../parts/words.ts'
import { Verdicts } from '../plan/criteria.tsx'
import { ProposalShown } from './proposal-shown.tsx'

export function Votes({ item: { votes } }: { readonly item: InboxEntry }) {
  if (votes === null) return null
  return (
    <section>
      <h3>
        Who must agree{' '}
        <s>
          {votes.given.length} of {votes.wanted}
        </s>
      </h3>
      <ul className="files">
        {votes.given.map(({ by, rationale }) => (
          <li key={by}>
            <Glyph sign="completed" size={14} label="agreed" />
            <b>{by}</b> <span className="dim">{rationale}</span>
          </li>
        ))}
        {votes.given.length < votes.wanted && (
          <li className="dim">{votes.wanted - votes.given.length} more must approve</li>
        )}
      </ul>
    </section>
  )
}

export function AskedWords({ item: { asks, name, task } }: { readonly item: InboxEntry }) {
  switch (asks.type) {
    case 'question':
      return <p className="asked-text">{asks.question}</p>
    case 'agent-question':
      return (
        <p className="asked-text">
          {asks.text} <span className="dim">asked by {asks.by}</span>
        </p>
      )
    case 'consent':
      return <p className="asked-text">It needs approval before it starts: {asks.why}.</p>
    case 'recovery':
    case 'replan':
      return (
        <div className="trouble">
          <div>
            <p>{asks.failure.message}</p>
            {asks.failure.hint !== undefined && (
              <HintText hint={task === null ? asks.failure.hint : aimHint(asks.failure.hint, { plan: name, task })} />
            )}
          </div>
        </div>
      )
    case 'unknown-outcome':
      return (
        <p className="asked-text">
          It is not known whether this happened: {asks.evidence.reason}. Check, then say what you found.
        </p>
      )
    case 'verdict':
      return (
        <section>
          <h3>Are these met?</h3>
          <Verdicts lines={asks.criteria.map(text => ({ text, how: null, verdict: null }))} />
        </section>
      )
    case 'edits':
      return (
        <section>
          <h3>Files that would be reverted were edited</h3>
          <Paths paths={asks.paths} />
        </section>
      )
    case 'proposal':
      return <ProposalShown asks={asks} />
    case 'rollback':
      return (
        <>
          <p className="asked-text">{asks.message}</p>
          <Paths paths={asks.conflicts} />
        </>
      )
    case 'work':
      return asks.instruction === null ? null : <p className="asked-text">{asks.instruction}</p>
    case 'approval':
      return asks.show.every(text => text === 'diff') ? null : (
        <section>
          <h3>Look at</h3>
          <ul className="files">
            {asks.show
              .filter(text => text !== 'diff')
              .map(text => (
                <li key={text} className="asked-text">
                  {text}
                </li>
              ))}
          </ul>
        </section>
      )
    case 'decision':
      return null
    default:
      return asks satisfies never
  }
}

const Paths = ({ paths }: { readonly paths: readonly string[] }) => (
  <ul className="files">
    {paths.map(path => (
      <li key={path}>
        <code>{path}</code>
      </li>
    ))}
  </ul>
)

/** A decision: one of its options. */
export function Options({
  item: { asks },
  option,
  onOption,
}: {
  readonly item: InboxEntry
  readonly option: string | null
  readonly onOption: (option: string) => void
}) {
  if (asks.type !== 'decision') return null
  return (
    <fieldset className="options">
      <legend>Choose one</legend>
      {asks.options.map(one => (
        <label key={one.id} className={option === one.id ? 'option on' : 'option'}>
          <input
            type="radio"
            name="option"
            value={one.id}
            checked={option === one.id}
            onChange={() => onOption(one.id)}
          />
          <span>
            <b className="mono">{one.id}</b> {one.title}
            {(one.pros ?? []).map(text => (
              <small key={text} className="pro">
                + {text}
              </small>
            ))}
            {(one.cons ?? []).map(text => (
              <small key={text} className="con">
                − {text}
              </small>
            ))}
            {one.cost !== undefined && <small>cost: {one.cost}</small>}
          </span>
        </label>
      ))}
    </fieldset>
  )
}

export function TasksBefore({ item: { evidence, name } }: { readonly item: InboxEntry }) {
  if (evidence.length === 0) return null
  return (
    <section>
      <h3>Tasks before it</h3>
      <ul className="files">
        {evidence.map(({ task, status, paths, message, exit }) => (
          <li key={task}>
            <Glyph sign={status} label={status} />
            <Link to="/plans/$plan" params={{ plan: name }} search={{ task }} className="link mono">
              {task}
            </Link>
            <span className="dim">
              {[
                message,
                paths === null || paths === 0 ? null : count(paths, 'file'),
                exit === null ? null : `exit ${exit}`,
              ]
                .filter(Boolean)
                .join(', ')}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
