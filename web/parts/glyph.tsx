// The icon of a state: a shape first, then a colour, so that it works without colour vision.

import type { Look } from '../data/live-messages.ts'
import type { SeenState } from './words.ts'

export type Sign = Look | 'passed' | 'gate' | 'draft' | 'paused' | 'active' | 'plan-blocked'

/** A line without a filling. */
const STROKE = { fill: 'none', stroke: 'currentColor', strokeLinecap: 'round', strokeLinejoin: 'round' } as const
const CHECK = <path d="m5 8.2 2.1 2.1L11.2 6" {...STROKE} stroke="var(--on)" strokeWidth="1.7" />
const BANG = <path d="M8 4.8v3.9M8 11v.1" stroke="var(--wait-on)" strokeWidth="1.7" strokeLinecap="round" fill="none" />
const RUN = (
  <>
    <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" strokeOpacity=".25" strokeWidth="2" />
    <path d="M8 2a6 6 0 0 0-5.2 9" fill="none" stroke="currentColor" strokeWidth="2" strokeLinecap="round" />
    <circle cx="8" cy="8" r="2" fill="currentColor" />
  </>
)
const DIAMOND = 'M8 .9 15.1 8 8 15.1.9 8z'

function shape(sign: Sign) {
  switch (sign) {
    case 'completed':
      return (
        <>
          <circle cx="8" cy="8" r="7" fill="currentColor" />
          {CHECK}
        </>
      )
    case 'passed':
      return (
        <>
          <path d={DIAMOND} fill="currentColor" strokeLinejoin="round" />
          <path d="m5.5 8.1 1.8 1.8 3.2-3.4" {...STROKE} stroke="var(--on)" strokeWidth="1.6" />
        </>
      )
    case 'running':
    case 'active':
      return RUN
    case 'waiting':
    case 'plan-blocked':
      return (
        <>
          <path d={DIAMOND} fill="currentColor" />
          {BANG}
        </>
      )
    case 'lost':
      return (
        <>
          <path d={DIAMOND} fill="currentColor" />
          <path
            d="M6.4 6.4a1.7 1.7 0 1 1 2.5 1.5c-.6.3-.9.6-.9 1.1M8 11.2v.1"
            stroke="var(--wait-on)"
            strokeWidth="1.5"
            strokeLinecap="round"
            fill="none"
          />
        </>
      )
    case 'gate':
      return <path d="M8 2 14 8 8 14 2 8z" fill="none" stroke="currentColor" strokeWidth="1.6" strokeLinejoin="round" />
    case 'failed':
      return (
        <>
          <rect x="1.2" y="1.2" width="13.6" height="13.6" rx="3.4" fill="currentColor" />
          <path d="m5.4 5.4 5.2 5.2m0-5.2-5.2 5.2" stroke="var(--on)" strokeWidth="1.7" strokeLinecap="round" />
        </>
      )
    case 'blocked':
      return (
        <>
          <circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" strokeWidth="1.6" />
          <path d="M5 8h6" stroke="currentColor" strokeWidth="1.8" strokeLinecap="round" />
        </>
      )
    case 'skipped':
      return <path d="m3.5 4 4 4-4 4m5-8 4 4-4 4" {...STROKE} strokeWidth="1.7" />
    case 'cancelled':
    case 'abandoned':
      return (
        <>
          <circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" strokeWidth="1.6" />
          <path d="m4 12 8-8" stroke="currentColor" strokeWidth="1.6" />
        </>
      )
    case 'retrying':
      return <path d="M13.2 8a5.2 5.2 0 1 1-1.6-3.7M11.9 1.8v2.9H9" {...STROKE} strokeWidth="1.8" />
    case 'paused':
    case 'interrupted':
      return <path d="M5.6 3.4v9.2M10.4 3.4v9.2" stroke="currentColor" strokeWidth="2.2" strokeLinecap="round" />
    case 'ready':
      return <circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" strokeWidth="1.6" />
    case 'pending':
    case 'draft':
      return (
        <circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" strokeWidth="1.6" strokeDasharray="2.6 2.27" />
      )
    default:
      return sign satisfies never
  }
}

export function Glyph({
  sign,
  size = 16,
  label,
}: {
  readonly sign: Sign
  readonly size?: number
  readonly label?: string
}) {
  return (
    // biome-ignore lint/a11y/noSvgWithoutTitle: it has a label, or is hidden beside words.
    <svg
      // Avoids the graph's class `gate`.
      className={`glyph ${sign === 'gate' ? 'open-gate' : sign}`}
      width={size}
      height={size}
      viewBox="0 0 16 16"
      {...(label === undefined ? { 'aria-hidden': true } : { role: 'img', 'aria-label': label })}
    >
      {shape(sign)}
    </svg>
  )
}

/** Gates have icons of their own. */
export function signOf({ action, look }: { readonly action: string; readonly look: Look }): Sign {
  if (action !== 'gate') return look
  if (look === 'completed') return 'passed'
  return look === 'pending' || look === 'ready' ? 'gate' : look
}

const PLAN_SIGNS: { readonly [word: string]: Sign } = {
  running: 'running',
  interrupted: 'interrupted',
  'not running': 'paused',
}

/** Amber is only for what waits for a person. */
export function signOfState({ word, waitsFor }: SeenState): Sign {
  if (waitsFor === 'you') return 'plan-blocked'
  if (waitsFor === 'worker') return 'running'
  return waitsFor === undefined ? (PLAN_SIGNS[word] ?? (word as Sign)) : 'ready'
}
