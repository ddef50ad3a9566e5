// A process that ended badly, told as a failure: what it said last for people, and what kind of failure it was for the rules.

import { classify } from '../domain/failure-class.ts'
import type { Millis } from '../domain/id.ts'
import type { Failure } from '../domain/result.ts'
import type { Attempt, Outcome } from '../runners/runner.ts'

type Exited = Extract<Outcome, { readonly type: 'exited' }>

/** Null when its exit is fine, or is to be judged by `expect`. */
export function endedBadly(
  exited: Exited,
  { timeoutMs }: Pick<Attempt, 'timeoutMs'>,
  now: Millis,
  judged: 'by exit' | 'by expect',
): Failure | null {
  const { exit, timedOut } = exited
  if (exit !== null && !timedOut && (exit === 0 || judged === 'by expect')) return null
  const { hint, ...kind } = classify(exited, now)
  return { ...kind, message: messageOf(exited, timeoutMs), ...(hint === undefined ? {} : { hint }) }
}

function messageOf({ exit, signal, timedOut, stderr, stdout }: Exited, timeoutMs: number): string {
  if (timedOut) return `timed out after ${timeoutMs / 1000} s; its processes were ended`
  if (exit === null) return `ended by signal ${signal ?? 'unknown'}`
  const said = lastLine(stderr) ?? lastLine(stdout)
  return `exit ${exit}${said === null ? '' : `: ${said}`}`
}

function lastLine(text: string): string | null {
  const line = text.trimEnd().split('\n').at(-1)?.trim() ?? ''
  return line === '' ? null : line.length > 200 ? `${line.slice(0, 200)}…` : line
}
