// The attempts of one task, newest first, with the lessons and decisions that came of them.

import { Link, useSearch } from '@tanstack/react-router'
import { Fragment } from 'react'
import { decisionWords } from '../../src/domain/network-decision.ts'
import type { TaskDetail } from '../data/live-messages.ts'
import { EntryLink } from '../parts/entry-link.tsx'
import { Glyph } from '../parts/glyph.tsx'
import { Empty, Skeleton, Trouble } from '../parts/states.tsx'
import { dateOf, dollars, took } from '../parts/words.ts'
import { TerminalText } from '../terminal/terminal-text.tsx'
import { useTaskPage } from './changes.tsx'

export function TaskAttempts({ plan, name, detail }: Readonly<{ plan: string; name: string; detail: TaskDetail }>) {
  const { attempt: wanted, visit: wantedVisit } = useSearch({ from: '/plans/$plan' })
  const { data, error } = useTaskPage(plan, detail)
  if (error !== null) return <Trouble error={error} />
  if (data === undefined) return <Skeleton height={60} />
  if (data.attempts.length === 0 && data.decisions.length === 0) return <Empty title="No attempts yet" />
  return (
    <>
      <ul className="attempts">
        {data.attempts.toReversed().map(one => (
          <li
            key={`${one.visit}.${one.attempt}`}
            className={one.attempt === wanted && (wantedVisit ?? one.visit) === one.visit ? 'wanted' : ''}
          >
            <Glyph
              sign={one.status === 'succeeded' ? 'completed' : one.status === 'lost' ? 'lost' : one.status}
              label={one.status}
            />
            <Link
              to="/plans/$plan"
              params={{ plan: name }}
              search={before => ({ ...before, tab: 'attempts', attempt: one.attempt, visit: one.visit })}
              replace
              className="link"
            >
              Attempt {one.attempt}
              {one.visit > 1 && <Fragment> of visit {one.visit}</Fragment>}
            </Link>
            <span className="dim">
              {[
                one.by,
                one.exit === null ? null : `exit ${one.exit}`,
                one.used?.cost == null ? null : `${dollars(one.used.cost)}${one.used.reported ? ' (reported)' : ''}`,
              ]
                .filter(Boolean)
                .join(', ')}
            </span>
            <span className="space" />
            {one.paths !== null && one.paths > 0 && (
              <Link
                to="/plans/$plan"
                params={{ plan: name }}
                search={before => ({ ...before, tab: 'changes', attempt: one.attempt, visit: one.visit })}
                replace
                className="link num"
              >
                {one.paths} changed
              </Link>
            )}
            <span className="num dim" title={dateOf(Date.parse(one.started_at))}>
              {one.duration_ms === null ? '' : took(one.duration_ms)}
            </span>
            <EntryLink plan={name} entry={one.entry} />
            {(one.failure !== null || one.lost !== null) && (
              <p className="dim">
                <TerminalText text={one.failure?.message ?? one.lost ?? ''} />
              </p>
            )}
            {one.beside.map(line => (
              <p key={line} className="dim">
                {line}
              </p>
            ))}
            {one.programs.length > 0 && <p className="dim">Ran with {one.programs.join(', ')}</p>}
            {one.network.map(asked => (
              <p key={decisionWords(asked)} className="dim">
                {decisionWords(asked)}
              </p>
            ))}
          </li>
        ))}
      </ul>
      {data.lessons.length > 0 && (
        <section>
          <h3>Lessons</h3>
          {data.lessons.toReversed().map(one => (
            <blockquote key={`${one.entry} ${one.text}`}>
              {one.text}{' '}
              <span className="dim">
                {one.by}, about attempt {one.attempt}
                {one.visit > 1 && <Fragment> of visit {one.visit}</Fragment>}, {dateOf(Date.parse(one.at))},{' '}
                <EntryLink plan={name} entry={one.entry} />
              </span>
            </blockquote>
          ))}
        </section>
      )}
      {data.decisions.length > 0 && (
        <section>
          <h3>Decided</h3>
          {data.decisions.toReversed().map(one => (
            <blockquote key={one.entry}>
              <b>{one.verdict}</b> {one.rationale}{' '}
              <span className="dim">
                {one.by}, {dateOf(Date.parse(one.at))}, <EntryLink plan={name} entry={one.entry} />
              </span>
            </blockquote>
          ))}
        </section>
      )}
    </>
  )
}
