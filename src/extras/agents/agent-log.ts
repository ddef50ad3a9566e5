// Logs an agent's work as it happens: its messages in whole lines, and one line per tool call with its edits, but never one per
// token. The line format is in `domain/views/pages/agent-lines.ts`.

import { actionLine, diffLine, HUNK_HEAD, saidLine, thoughtLine } from '../../domain/views/pages/agent-lines.ts'
import { patchOf } from '../../format/text/patch.ts'
import { OutputTap } from '../../runners/run/output.ts'
import type { RunnerTools } from '../../runners/runner.ts'
import { type Redact, redactor } from '../../safety/secrets/redaction.ts'
import type { SaidEdit } from './shown-call.ts'

export class AgentLog {
  readonly #tap: OutputTap
  readonly errors: OutputTap
  readonly #log: RunnerTools['log']
  readonly #redact: Redact
  #line = ''
  #last = ''
  #words = ''
  #thought = ''
  #thoughtChars = 0
  #diffChars = 0

  constructor(log: RunnerTools['log'], secrets: readonly string[]) {
    this.#log = log
    this.#redact = redactor(secrets, { parts: true })
    this.#tap = new OutputTap('stdout', log, secrets)
    this.errors = new OutputTap('stderr', log, secrets)
  }

  /** Logged as a whole when the agent speaks or acts. */
  think(text: string): void {
    if (this.#thought.length <= THOUGHT_MAX) this.#thought += text
  }

  say(text: string): void {
    this.#endThought()
    this.#words += text
    const lines = `${this.#line}${text}`.split('\n')
    this.#line = lines.pop() ?? ''
    // A long paragraph without a line break is flushed in parts.
    if (this.#line.length > LINE_MAX) lines.push(this.#line.slice(0, LINE_MAX))
    if (this.#line.length > LINE_MAX) this.#line = this.#line.slice(LINE_MAX)
    for (const line of lines) this.#write(saidLine(line))
  }

  /** Logs a tool call; the text after it is a new message. */
  act(text: string, edits: readonly SaidEdit[] = []): void {
    this.#end()
    const diffs = edits.map(edit => this.#diff(edit))
    const changed = diffs.map(({ path, count }) => `${path}${count}`)
    const whole = [text, ...(changed.length === 0 ? [] : [[...new Set(changed)].join(', ')])].join(' ')
    // Redacted before lines are joined, because a secret may span several.
    this.#write(actionLine(this.#redact(whole)))
    for (const { lines } of diffs) for (const line of lines) this.#write(diffLine(line))
  }

  note(text: string): void {
    this.#log('engine', Buffer.from(`${oneLine(this.#redact(text))}\n`))
  }

  /** Flushes, and returns the last message that is not empty: its text between two tool calls, or after the last. */
  close(): string {
    this.#end()
    this.#tap.end()
    this.errors.end()
    return this.#last.trim().slice(-TEXT_MAX)
  }

  #write(line: string): void {
    this.#tap.write(Buffer.from(`${oneLine(line).slice(0, LINE_MAX)}\n`))
  }

  /** Redacted before splitting: a multi-line secret would not be found in single lines. */
  #diff({ path, before, after }: SaidEdit): {
    readonly path: string
    readonly count: string
    readonly lines: readonly string[]
  } {
    if (before.length + after.length > EDIT_MAX) return { path, count: ' (long)', lines: [] }
    const [old, now] = [before, after].map(text => Buffer.from(withEnd(this.#redact(text))))
    const patch = patchOf(old!, now!, DIFF_MAX_MS)
    if (patch.type !== 'text') return { path, count: ` (${patch.why})`, lines: [] }
    const lines = patch.lines.filter(line => !line.startsWith('\\'))
    const count = ` (+${countOf(lines, '+')} −${countOf(lines, '-')})`
    // Past this limit, only files and line counts are logged.
    if (this.#diffChars > DIFFS_MAX) return { path, count, lines: [] }
    // Without line numbers: they count from the start of the edited text, which need not begin where the file does.
    const shown = lines.map(line => (line.startsWith('@@') ? HUNK_HEAD : line)).slice(0, DIFF_LINES_MAX)
    const cut = shown.map(line => (line.length > DIFF_LINE_MAX ? `${line.slice(0, DIFF_LINE_MAX)}…` : line))
    const more = lines.length - shown.length
    this.#diffChars += cut.reduce((sum, line) => sum + line.length, 0)
    return { path, count, lines: more > 0 ? [...cut, `\\ ${more} more lines`] : cut }
  }

  /** Redacted before splitting, like an edit. Past the limits it is cut, and then left out. */
  #endThought(): void {
    const [whole, left] = [this.#thought, Math.min(THOUGHT_MAX, THOUGHTS_MAX - this.#thoughtChars)]
    this.#thought = ''
    if (whole.trim() === '' || left <= 0) return
    const text = this.#redact(whole).trim()
    const kept = text.length > left ? `${text.slice(0, left)}…` : text
    this.#thoughtChars += kept.length
    if (this.#line !== '') this.#write(saidLine(this.#line))
    this.#line = ''
    for (const line of kept.split('\n')) if (line.trim() !== '') this.#write(thoughtLine(line))
  }

  #end(): void {
    this.#endThought()
    if (this.#line !== '') this.#write(saidLine(this.#line))
    this.#line = ''
    if (this.#words.trim() !== '') this.#last = this.#words
    this.#words = ''
  }
}

const LINE_MAX = 2_000
const TEXT_MAX = 20_000
/** Longer contents are not compared. */
const EDIT_MAX = 200_000
const DIFF_MAX_MS = 100
const DIFF_LINES_MAX = 80
const DIFF_LINE_MAX = 400
/** For all tool calls of an attempt together. */
const DIFFS_MAX = 200_000
const THOUGHT_MAX = 4_000
/** For an attempt. */
const THOUGHTS_MAX = 200_000

const oneLine = (text: string): string => text.replaceAll(/[\r\n]+/g, ' ')
const withEnd = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`)
const countOf = (lines: readonly string[], sign: string): number => lines.filter(line => line.startsWith(sign)).length
