// The head of a plan: its name, state and progress, and what can be done with it. What matters less goes first when there is less room.

import { Link } from '@tanstack/react-router'
import { Clock, Search } from 'lucide-react'
import type { ShownState } from '../../src/domain/views/pages/plan-state.ts'
import type { LivePlan } from '../data/live.ts'
import { useNow } from '../parts/clock.ts'
import { withKey } from '../parts/command.tsx'
import { Glyph, signOfState } from '../parts/glyph.tsx'
import { Ribbon } from '../parts/ribbon.tsx'
import { openPalette } from '../parts/shell.tsx'
import { LivePill } from '../parts/states.tsx'
import { clock, dollars, stateWord } from '../parts/words.ts'
import { PlanVerbs } from './plan-verbs.tsx'

export function PlanHead({ plan, state }: { readonly plan: LivePlan; readonly state: ShownState }) {
  const { head, tasks } = plan
  const done = head.counts.completed + head.counts.skipped
  const failed = tasks.filter(({ look, optional }) => look === 'failed' && !optional)
  const about = head.title ?? head.goal ?? ''
  return (
    <header className="top plan-top">
      <div className="title">
        <Link to="/" className="crumb">
          Plans
        </Link>
        <span className="dim crumb" aria-hidden="true">
          ›
        </span>
        <h1 className="mono" title={head.name}>
          {head.name}
        </h1>
        <span className="goal" title={about}>
          {about}
        </span>
      </div>
      <div className="facts">
        {/* Said before anything else: a plan may wait for you, and fail while it waits. */}
        {failed.length > 0 && state.word !== 'failed' && (
          <Link
            to="/plans/$plan"
            params={{ plan: head.name }}
            search={before => ({ ...before, task: failed[0]!.name })}
            className="pill failed"
          >
            <Glyph sign="failed" />
            {failed.length} failed
          </Link>
        )}
        <span className={`pill ${state.waitsFor === 'you' ? 'waiting' : state.word}`} title={state.words}>
          <Glyph sign={signOfState(state)} />
          <span>{head.rollingBack ? 'Rolling back' : stateWord(state)}</span>
        </span>
        <Ribbon tasks={tasks} max={60} />
        <span className="num">
          <b>{done}</b> of {tasks.length}
        </span>
        {head.startedAt !== null && <Elapsed from={head.startedAt} to={head.endedAt} />}
        {head.cost !== null && <span className="num dim">{dollars(head.cost)}</span>}
        <span className="num dim revision" title={`revision ${head.revision}`}>
          r{head.revision}
        </span>
      </div>
      <span className="space" />
      <LivePill />
      <button type="button" className="find" aria-label="Search or run" onClick={openPalette}>
        <Search size={14} aria-hidden="true" />
        <span>Search or run</span>
        <kbd>{withKey('K')}</kbd>
      </button>
      <PlanVerbs plan={plan} />
    </header>
  )
}

function Elapsed({ from, to }: { readonly from: number; readonly to: number | null }) {
  const now = useNow()
  return (
    <span className="num dim elapsed">
      <Clock size={13} aria-hidden="true" />
      {clock((to ?? now) - from)}
    </span>
  )
}
