// The tries of an attempt: how each ended, which is the best and why, and what each changed, those included that were not taken.

import { type ReactNode, useState } from 'react'
import { inOrder, type Race, type Tried, triedAt, tryName, WHY_BEST } from '../../src/domain/tries/race.ts'
import type { TaskDetail } from '../data/live-messages.ts'
import { DiffModes, useDiffMode } from '../parts/diff.tsx'
import { FileDiffs } from '../parts/file-diffs.tsx'
import { Glyph } from '../parts/glyph.tsx'
import { Skeleton } from '../parts/states.tsx'
import { count, dollars, took } from '../parts/words.ts'
import { useTaskPage } from './changes.tsx'

export function Tries({
  plan,
  detail,
  race,
}: {
  readonly plan: string
  readonly detail: TaskDetail
  readonly race: Race
}) {
  const [open, setOpen] = useState<string | null>(null)
  const { judged, left } = race
  const best = triedAt(race, judged?.best ?? null)
  const running = race.of.length - race.tried.filter(({ round }) => round === race.round).length
  return (
    <section className="tries">
      <h3>Tries</h3>
      <ul className="attempts">
        {inOrder(race.tried).map(one => (
          <li key={tryName(one)} className={one === best ? 'wanted' : ''}>
            <Glyph
              sign={one.ended === 'passed' ? 'completed' : one.ended === 'stopped' ? 'skipped' : 'failed'}
              label={one.ended}
            />
            <button
              type="button"
              className="link"
              aria-expanded={open === tryName(one)}
              onClick={() => setOpen(open === tryName(one) ? null : tryName(one))}
            >
              Try {tryName(one)}
            </button>
            <span className="dim">{factsOf(one)}</span>
            {one.reason !== undefined && <p className="dim">{withCode(one.reason)}</p>}
          </li>
        ))}
      </ul>
      {running > 0 && race.over !== true && <p className="dim">{count(running, 'more')} at work</p>}
      {judged !== undefined && (
        <p>
          <b>{best === undefined ? 'No try passed' : `Try ${tryName(best)} is the best`}</b>
          {best !== undefined && <>: {withCode(WHY_BEST[judged.why])}</>}
          {judged.judge !== undefined && <span className="dim"> {judged.judge.says}</span>}
        </p>
      )}
      {left !== undefined && <p className="dim">Fewer tries than asked for: {left.why}</p>}
      {open !== null && <TryChanges plan={plan} detail={detail} tried={open} />}
    </section>
  )
}

/** Names are quoted in backticks where only text can be shown. */
const withCode = (text: string): readonly ReactNode[] =>
  // biome-ignore lint/suspicious/noArrayIndexKey: the parts are in order.
  text.split('`').map((part, at) => (at % 2 === 0 ? part : <code key={at}>{part}</code>))

const factsOf = ({ by, ended, paths, lines, durationMs, model }: Tried): string =>
  [
    by,
    ended === 'outside' ? 'out' : ended,
    `${count(paths, 'path')}, ${count(lines, 'line')}`,
    durationMs === undefined ? null : took(durationMs),
    model?.cost.known === true ? dollars(model.cost.usd) : null,
  ]
    .filter(Boolean)
    .join(' · ')

function TryChanges({
  plan,
  detail,
  tried,
}: {
  readonly plan: string
  readonly detail: TaskDetail
  readonly tried: string
}) {
  const { data } = useTaskPage(plan, detail, { tried })
  const [mode, setMode] = useDiffMode()
  if (data === undefined) return <Skeleton height={60} />
  return (
    <div className="changes">
      <div className="changes-head">
        <span className="dim">What try {tried} changed</span>
        <span className="space" />
        <DiffModes mode={mode} onMode={setMode} />
      </div>
      <FileDiffs files={data.changes?.files ?? []} mode={mode} />
    </div>
  )
}
