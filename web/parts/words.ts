// Times, amounts and states in words, the same on every page.

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** 0:07, 12:40, 3:05:00 */
export function clock(ms: number): string {
  const all = Math.max(0, Math.floor(ms / SECOND))
  const [hours, minutes, seconds] = [Math.floor(all / 3600), Math.floor(all / 60) % 60, all % 60]
  const two = (n: number): string => String(n).padStart(2, '0')
  return hours === 0 ? `${minutes}:${two(seconds)}` : `${hours}:${two(minutes)}:${two(seconds)}`
}

/** A finished duration: 0.3 s, 0:12, 3:05:00 */
export const took = (ms: number): string => (ms < 10 * SECOND ? `${(ms / SECOND).toFixed(1)} s` : clock(ms))

/** 4 m, 3 h, 2 d */
export function span(ms: number): string {
  if (ms < MINUTE) return `${Math.max(0, Math.floor(ms / SECOND))} s`
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} m`
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)} h`
  return `${Math.floor(ms / DAY)} d`
}

export function ago(then: number, now: number): string {
  const ms = now - then
  return ms < 5 * SECOND ? 'now' : `${span(ms)} ago`
}

/** Made once: a formatter costs a hundred times what it formats, and a log has a time on each line. */
const TIME = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
})
const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short', hour12: false })
export const timeOf = (ms: number): string => TIME.format(ms)
export const dateOf = (ms: number): string => DATE.format(ms)

export const dayOf = (ms: number): string =>
  new Date(ms).toLocaleDateString(undefined, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' })

export const dollars = (usd: number): string => (usd < 0.01 && usd > 0 ? '<$0.01' : `$${usd.toFixed(2)}`)

/** What `planState` says of a plan, in the words of the page. */
export interface SeenState {
  readonly word: string
  readonly waitsFor?: 'you' | 'plan' | 'worker' | 'claim' | 'time'
}

const WAITS: { readonly [what in NonNullable<SeenState['waitsFor']>]: string } = {
  you: 'Waiting for you',
  plan: 'Waiting for another plan',
  worker: 'Claimed',
  claim: 'Waiting to be claimed',
  time: 'Waiting for a set time',
}

/** The same on every page, in lists, headings and chips. */
export function stateWord({ word, waitsFor }: SeenState): string {
  return waitsFor === undefined ? `${word.slice(0, 1).toUpperCase()}${word.slice(1)}` : WAITS[waitsFor]
}

const ASKS: { readonly [type: string]: string } = {
  approval: 'asks for approval',
  consent: 'asks before it starts',
  decision: 'asks for a decision',
  question: 'asks a question',
  recovery: 'failed and asks what to do',
  replan: 'failed and asks for a revision',
  verdict: 'asks whether its checks are met',
  'unknown-outcome': 'asks what happened: its outcome is unknown',
  edits: 'asks what to do with edited files',
  'agent-question': 'asks a question',
  proposal: 'proposes a revision',
  work: 'is for you to do',
  rollback: 'was interrupted during a rollback',
}
export const asksWord = (type: string): string => ASKS[type] ?? 'waits'

const LOOKS: { readonly [look: string]: string } = { retrying: 'will be retried', lost: 'outcome unknown' }
export const lookWord = (look: string): string => LOOKS[look] ?? look

export const count = (n: number, one: string, many = `${one}s`): string =>
  `${n.toLocaleString('en')} ${n === 1 ? one : many}`
