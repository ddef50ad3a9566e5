// Classifies a failed process by its exit code, its signal, and the last lines of its output. All of it is tables; each pattern is the form
// in which a known tool reports an error, since a word anywhere in the output proves nothing. `code` records the evidence, so that a person
// can disagree.

import { advise, type Hint, quoted } from '../hint.ts'
import type { Millis } from '../id.ts'
import { dueAt } from '../instant.ts'
import { RETRY_AFTER_MAX_MS } from '../limits.ts'
import type { FailureClass } from '../result.ts'

export interface Ending {
  readonly exit: number | null
  readonly signal: string | null
  readonly timedOut: boolean
  readonly stdout: string
  readonly stderr: string
}

export interface Kind {
  readonly class: FailureClass
  readonly code: string
  readonly retryable: boolean
  readonly hint?: Hint
  readonly retryAfterMs?: number
}

/** Not for exit 0. `now` is for a `Retry-After` with a date. */
export function classify(ending: Ending, now: Millis): Kind {
  const { exit, signal, timedOut } = ending
  if (timedOut) return known('transient', 'timeout', 'raise `timeout`, or make it faster')
  const lines = lastLines(ending)
  if (exit === null) return bySignal(signal ?? 'unknown', lines)
  const listed = EXITS[exit]
  if (listed !== undefined) return withPatience(exitKind(exit, listed), lines, now)
  const found = byText(lines)
  if (found !== null) return withPatience(found, lines, now)
  return known('logic', `exit:${exit}`)
}

/** Null for any status that is not 4xx or 5xx. */
export function classOfHttp(status: number): FailureClass | null {
  if (status < 400 || status > 599) return null
  if (HTTP_TRANSIENT.has(status)) return 'transient'
  if (HTTP_POLICY.has(status)) return 'policy'
  return status === 507 ? 'resource' : 'logic'
}

const HINT = advise`see ${quoted('log', { output: true })}`

const known = (kind: FailureClass, code: string, hint: Hint = HINT): Kind => ({
  class: kind,
  code,
  retryable: true,
  hint,
})

/** Exit codes with a common meaning: sysexits.h, the shell's, `timeout`, and 128 plus a signal. */
const EXITS: { readonly [exit: number]: readonly [FailureClass, string?] } = {
  69: ['transient', 'a service it needs is not available'],
  71: ['resource', 'the system could not do what it was asked'],
  75: ['transient', 'it asked to be tried again later'],
  77: ['policy', 'it lacks a permission'],
  124: ['transient', 'it was ended by `timeout`'],
  126: ['logic', 'a command was found and may not be executed: give it its exec bit'],
  127: ['logic', 'a command was not found: is it installed and on PATH?'],
  137: ['resource', 'it was killed; was it out of memory?'],
  143: ['transient', 'it was asked to end'],
}

/** A retry does not find a missing command. */
const NOT_AGAIN: ReadonlySet<number> = new Set([126, 127])

function exitKind(exit: number, [kind, hint]: readonly [FailureClass, string?]): Kind {
  const found = known(kind, `exit:${exit}`, hint === undefined ? HINT : advise`${hint}; ${HINT}`)
  return NOT_AGAIN.has(exit) ? { ...found, retryable: false } : found
}

const SIGNALS_OF_WANT: ReadonlySet<string> = new Set(['SIGKILL', 'SIGXCPU', 'SIGXFSZ'])

function bySignal(signal: string, lines: readonly string[]): Kind {
  const wants = SIGNALS_OF_WANT.has(signal) || byText(lines)?.class === 'resource'
  return known(wants ? 'resource' : 'transient', `signal:${signal}`, 'was it killed, or out of memory?')
}

const ERRNOS: ReadonlyMap<string, FailureClass> = new Map([
  ...['ENOSPC', 'ENOMEM', 'EMFILE', 'ENFILE', 'EDQUOT'].map(code => [code, 'resource'] as const),
  ...['ECONNRESET', 'ECONNREFUSED', 'ECONNABORTED', 'ETIMEDOUT', 'ESOCKETTIMEDOUT', 'EAI_AGAIN'].map(
    code => [code, 'transient'] as const,
  ),
  ...['ENETUNREACH', 'ENETDOWN', 'EHOSTUNREACH', 'EHOSTDOWN'].map(code => [code, 'transient'] as const),
  ...['EACCES', 'EPERM'].map(code => [code, 'policy'] as const),
])

/**
 * Node and npm: `Error: connect ECONNREFUSED …`, only its message, `code: 'ENOSPC'`, `npm error code EACCES`, `EMFILE: too many open
 * files`.
 */
const ERRNO_SHAPES: readonly RegExp[] = [
  /^(?:\w*Error: |npm (?:ERR!|error) (?:code )?)(?:[a-z]+ )?(E[A-Z_]{3,})\b/,
  /^(?:connect|getaddrinfo|read|write|open|mkdir|listen) (E[A-Z_]{3,})\b/,
  /^\s*(?:"?code"?): ['"](E[A-Z_]{3,})['"],?$/,
  /^(?:Error: )?(E[A-Z_]{3,}): [a-z]/,
]

/** Messages of `strerror`, at the end of a line after a colon, as nearly every tool prints them. */
const STRERRORS: readonly (readonly [string, string])[] = [
  ['No space left on device', 'ENOSPC'],
  ['Disk quota exceeded', 'EDQUOT'],
  ['Cannot allocate memory', 'ENOMEM'],
  ['Too many open files', 'EMFILE'],
  ['Connection refused', 'ECONNREFUSED'],
  ['Connection reset by peer', 'ECONNRESET'],
  ['Connection timed out', 'ETIMEDOUT'],
  ['Operation timed out', 'ETIMEDOUT'],
  ['Network is unreachable', 'ENETUNREACH'],
  ['No route to host', 'EHOSTUNREACH'],
  ['Temporary failure in name resolution', 'EAI_AGAIN'],
  ['Permission denied', 'EACCES'],
  ['Operation not permitted', 'EPERM'],
]

function errnoIn(line: string): string | null {
  for (const shape of ERRNO_SHAPES) {
    const code = shape.exec(line)?.[1]
    if (code !== undefined && ERRNOS.has(code)) return code
  }
  const at = line.lastIndexOf(': ')
  if (at < 0) return null
  const last = line
    .slice(at + 2)
    .replace(/ \([^()]*\)\.?$/, '')
    .replace(/\.$/, '')
  for (const [text, code] of STRERRORS) if (last === text || last.endsWith(`] ${text}`)) return code
  return null
}

/** How tools report an HTTP status: curl and git, wget, gh, npm, Python, axios, docker, a status line. */
const HTTP_SHAPES: readonly RegExp[] = [
  /\bThe requested URL returned error: (\d{3})\b/,
  /\bERROR (\d{3}): [A-Z]/,
  /(?:^|\()HTTP (\d{3})(?:: |\)$)/,
  /^npm (?:ERR!|error) code E(\d{3})$/,
  /\bHTTPError: (?:HTTP Error )?(\d{3})(?:: | (?:Client|Server) Error\b)/,
  /\bRequest failed with status code (\d{3})\b/,
  /\bunexpected (?:HTTP )?status(?: code)?(?: from [A-Z]+ request to \S+)?:? (\d{3})\b/,
  /^(?:< )?HTTP\/[\d.]+ (\d{3})\b/,
]

/** Lines that can mean only one thing. */
const SHAPES: readonly (readonly [RegExp, FailureClass, string])[] = [
  [/\bJavaScript heap out of memory$/, 'resource', 'out-of-memory'],
  [/^(?:java\.lang\.|Caused by: java\.lang\.)?OutOfMemoryError\b/, 'resource', 'out-of-memory'],
  [/java\.lang\.OutOfMemoryError: /, 'resource', 'out-of-memory'],
  [/^MemoryError\b/, 'resource', 'out-of-memory'],
  [/^fatal error: runtime: out of memory$/, 'resource', 'out-of-memory'],
  [/\btoomanyrequests: /, 'transient', 'http:429'],
  [/^curl: \((?:5|6|7|28|52|55|56)\) /, 'transient', 'curl'],
  [/^(?:fatal: .*: )?Could not resolve host: \S+$/, 'transient', 'name-resolution'],
  [/\bAn error occurred \((?:Throttling\w*|TooManyRequestsException|RequestLimitExceeded)\)/, 'transient', 'throttled'],
  [/\bAn error occurred \((?:AccessDenied\w*|UnauthorizedOperation)\)/, 'policy', 'access-denied'],
  [/^Error from server \((?:TooManyRequests|ServiceUnavailable|Timeout)\): /, 'transient', 'api-server'],
  [/^Error from server \((?:Forbidden|Unauthorized)\): /, 'policy', 'api-server'],
]

/** From the last line upwards, because the last error is usually the cause of the exit. */
function byText(lines: readonly string[]): Kind | null {
  for (const line of lines.toReversed()) {
    for (const shape of HTTP_SHAPES) {
      const status = Number(shape.exec(line)?.[1] ?? 0)
      const kind = classOfHttp(status)
      if (kind !== null) return known(kind, `http:${status}`)
    }
    const errno = errnoIn(line)
    if (errno !== null) return known(ERRNOS.get(errno)!, `errno:${errno}`)
    for (const [shape, kind, code] of SHAPES) if (shape.test(line)) return known(kind, code)
  }
  return null
}

const HTTP_TRANSIENT: ReadonlySet<number> = new Set([408, 425, 429, 502, 503, 504])
const HTTP_POLICY: ReadonlySet<number> = new Set([401, 403, 407])

function withPatience(kind: Kind, lines: readonly string[], now: Millis): Kind {
  if (kind.class !== 'transient' && kind.class !== 'resource') return kind
  for (const line of lines.toReversed()) {
    const header = /^(?:< |\s*["']?)?retry[-_]after["']?\s*[:=]\s*["']?([^"',]+(?:, [^"']+)?)["']?,?$/i.exec(line)?.[1]
    const retryAfterMs = header === undefined ? null : readRetryAfter(header, now)
    if (retryAfterMs !== null) return { ...kind, retryAfterMs }
  }
  return kind
}

/** The value of a `Retry-After`: seconds or an HTTP date. Null for neither; at most an hour. */
export function readRetryAfter(value: string, now: Millis): number | null {
  const text = value.trim()
  if (/^\d{1,9}(?:\.\d{1,6})?$/.test(text)) return Math.min(Math.ceil(Number(text) * 1000), RETRY_AFTER_MAX_MS)
  const [, day, name = '', year, time] = HTTP_DATE.exec(text) ?? []
  const month = MONTHS.indexOf(name) / 3 + 1
  if (day === undefined || !Number.isInteger(month) || month < 1) return null
  const at = dueAt(`${year}-${String(month).padStart(2, '0')}-${day}T${time}Z`)
  return at === null ? null : Math.min(Math.max(0, at - now), RETRY_AFTER_MAX_MS)
}

const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\d{2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}:\d{2}:\d{2}) GMT$/
const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec'

const LINES_MAX = 12
const LINE_MAX = 400
const TAIL_MAX = 8_192

/** The last lines of stderr, or of stdout when stderr is empty. */
function lastLines({ stderr, stdout }: Ending): readonly string[] {
  const text = stderr.trim() === '' ? stdout : stderr
  return text
    .slice(-TAIL_MAX)
    .split('\n')
    .map(line => line.trimEnd().slice(0, LINE_MAX))
    .filter(line => line !== '')
    .slice(-LINES_MAX)
}
