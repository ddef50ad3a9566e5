// The words of a Markdown plan inside an entry: lines such as `Files: a.ts, b.ts`, titles in bold, and prose. A line of prose that
// would be taken for something else is printed with a backslash in front, which reading takes away again.

import { isTaskName } from '../../../domain/id.ts'
import type { Json } from '../../../domain/json.ts'
import { durationText } from '../amounts.ts'
import { trimmed } from './markdown-lines.ts'
import { type BodyLine, CRITERIA_LINE } from './markdown-outline.ts'

/** A key of the canonical task, the words people write for it (the first is printed), and how its value is read. */
export interface Word {
  readonly key: string
  readonly names: readonly string[]
  readonly kind: 'text' | 'list' | 'number' | 'duration' | 'date' | 'id'
}

export const TASK_WORDS: readonly Word[] = [
  { key: 'id', names: ['Id'], kind: 'id' },
  { key: 'write', names: ['Files', 'File'], kind: 'list' },
  { key: 'needs', names: ['Depends', 'Depends on', 'Needs', 'Blocked by'], kind: 'list' },
  { key: 'labels', names: ['Tags', 'Labels', 'Tag'], kind: 'list' },
  { key: 'kind', names: ['Kind'], kind: 'text' },
  { key: 'assignee', names: ['Agent', 'Assignee', 'Assigned to'], kind: 'text' },
  { key: 'owner', names: ['Owner'], kind: 'text' },
  { key: 'milestone', names: ['Milestone'], kind: 'text' },
  { key: 'priority', names: ['Priority'], kind: 'number' },
  { key: 'estimate', names: ['Estimate', 'Estimated duration', 'Duration'], kind: 'duration' },
  { key: 'deadline', names: ['Deadline', 'Due'], kind: 'date' },
  { key: 'capabilities', names: ['Tools', 'Capabilities'], kind: 'list' },
  { key: 'status', names: ['Status'], kind: 'text' },
]

export const PLAN_WORDS: readonly Word[] = [
  { key: 'name', names: ['Name'], kind: 'id' },
  { key: 'owner', names: ['Owner', 'Owner(s)'], kind: 'text' },
  { key: 'reviewers', names: ['Reviewers', 'Reviewers/Maintainers'], kind: 'list' },
  { key: 'impacted', names: ['Impacted users', 'Impacted'], kind: 'list' },
  { key: 'approvedBy', names: ['Approved by'], kind: 'list' },
  { key: 'approvedOn', names: ['Approval date'], kind: 'text' },
  { key: 'session', names: ['Session'], kind: 'text' },
  { key: 'labels', names: ['Tags', 'Labels'], kind: 'list' },
]

export interface Said {
  readonly value: Json
  readonly at: number
}

export interface Body {
  readonly words: ReadonlyMap<string, Said>
  /** What is no word; null when there is nothing. */
  readonly prose: string | null
}

/** Takes the lines apart. A word whose value cannot be read stays prose. */
export function readBody(lines: readonly BodyLine[], words: readonly Word[]): Body {
  const said = new Map<string, Said>()
  const prose: { readonly text: string; readonly blank: boolean }[] = []
  for (const line of lines) {
    const found = line.code ? null : wordIn(line.text, words)
    const before = found === null ? undefined : said.get(found.word.key)
    if (found !== null && (before === undefined || found.word.kind === 'list')) {
      const value = before === undefined ? found.value : [...(before.value as Json[]), ...(found.value as Json[])]
      said.set(found.word.key, { value, at: before?.at ?? line.at })
    } else prose.push({ text: line.code ? line.text : unescaped(line.text), blank: line.text === '' })
  }
  let [start, end] = [0, prose.length]
  while (start < end && prose[start]!.blank) start++
  while (end > start && prose[end - 1]!.blank) end--
  const kept = prose.slice(start, end).map(({ text }) => text)
  return { words: said, prose: kept.length === 0 ? null : kept.join('\n') }
}

function wordIn(text: string, words: readonly Word[]): { readonly word: Word; readonly value: Json } | null {
  const match = /^(?:[-*+] +)?(?:\*\*|__)?([A-Za-z][A-Za-z ()/]{1,21}?)(?:\*\*|__)? *:(?:\*\*|__)?(?: +|$)(.*)$/s.exec(
    trimmed(text),
  )
  if (match === null) return null
  const name = match[1]!.toLowerCase()
  const word = words.find(({ names }) => names.some(one => one.toLowerCase() === name))
  const value = word === undefined ? null : readValue(trimmed(match[2]!), word.kind)
  return word === undefined || value === null ? null : { word, value }
}

function readValue(text: string, kind: Word['kind']): Json | null {
  if (text === '') return null
  switch (kind) {
    case 'text':
      return text
    case 'list':
      return readList(text)
    case 'number':
      return /^-?\d{1,6}$/.test(text) ? Number(text) : null
    case 'duration': {
      const duration = durationText(text, 'min')
      return typeof duration === 'string' && /^\d+(ms|s|m|h|d)$/.test(duration) ? duration : null
    }
    case 'date':
      return /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[-+]\d\d:\d\d))?$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : null
    case 'id': {
      const id = bare(text)
      return isTaskName(id) ? id : null
    }
    default:
      kind satisfies never
      return null
  }
}

/** Parts between commas; a part in backticks may hold commas itself. */
export function readList(text: string): readonly string[] | null {
  const parts: string[] = []
  for (const match of text.matchAll(/ *(?:`([^`]*)` *(?=,|$)|([^,]*))(?:,|$)/g)) {
    const part = match[1] ?? trimmed(match[2] ?? '')
    if (part !== '') parts.push(part)
  }
  return parts.length === 0 ? null : parts
}

export function printList(items: readonly string[]): string {
  return items.map(item => (/[,\s`]/.test(item) ? `\`${item}\`` : item)).join(', ')
}

function bare(text: string): string {
  return /^`[^`]+`$/.test(text) ? text.slice(1, -1) : text
}

/** A title, and what follows it on its line. A title that is a name in backticks is no title: the task has only its id. */
export interface Title {
  readonly title: string | null
  readonly id: string | null
  readonly rest: string | null
}

export function readTitle(text: string): Title {
  const bold = /^\*\*((?:[^\\*]|\\.|\*(?!\*))+)\*\*(.*)$/s.exec(text)
  const shown = bold === null ? text : trimmed(bold[1]!)
  const code = /^`([^`]+)`$/.exec(shown)?.[1]
  const rest = bold === null ? '' : trimmed(bold[2]!.replace(/^[ \t]*(?:[:–—]|-(?=[ \t]))/u, ''))
  if (code !== undefined && isTaskName(code)) return { title: null, id: code, rest: rest === '' ? null : rest }
  const title = bold === null ? shown.replace(/^\\/, '') : shown.replace(/\\([\\*`])/g, '$1')
  return { title: title === '' ? null : title, id: null, rest: rest === '' ? null : rest }
}

/** The title as a line of its own, or in bold. */
export function printTitle(title: string, as: 'plain' | 'bold'): string {
  const line = title.replace(/[\r\n]+/g, ' ')
  const code = /^`[^`]+`$/.test(line)
  if (as === 'plain') return code || /^(?:\\|\*\*)/.test(line) ? `\\${line}` : line
  const escaped = line.replace(/[\\*]/g, '\\$&')
  return `**${code ? `\\${escaped}` : escaped}**`
}

/** Prose as lines that are read as prose again. Fences stay as they are, when each is closed. */
export function printProse(text: string, words: readonly Word[]): readonly string[] {
  const lines = text.split('\n')
  const fenced = fencedLines(lines)
  return lines.map((line, index) => {
    if (fenced.has(index)) return line
    const edge = index === 0 || index === lines.length - 1
    const start = /^[ \t]*/.exec(line)![0]
    const rest = line.slice(start.length)
    if (rest === '') return edge || start !== '' ? `${start}\\` : ''
    return needsEscape(rest, words) ? `${start}\\${rest}` : line
  })
}

function needsEscape(rest: string, words: readonly Word[]): boolean {
  return (
    /^(?:\\|#{1,6}(?:[ \t]|$)|(?:[-*+]|\d{1,9}[.)])[ \t]+\[[^\]]\]|(?:-{3,}|\*{3,}|_{3,})[ \t]*$|`{3}|~{3})/.test(
      rest,
    ) ||
    CRITERIA_LINE.test(trimmed(rest)) ||
    // Below a task a number is only a number; in a section it may begin one.
    (words !== TASK_WORDS && /^\d{1,9}[.)](?:[ \t]|$)/.test(rest)) ||
    wordIn(rest, words) !== null
  )
}

function unescaped(text: string): string {
  return text.replace(/^([ \t]*)\\/, '$1')
}

/** Which lines stand in fences that are closed. */
function fencedLines(lines: readonly string[]): ReadonlySet<number> {
  const fenced = new Set<number>()
  let open: { readonly at: number; readonly mark: string } | null = null
  for (const [index, line] of lines.entries()) {
    const mark = /^[ \t]*(`{3,}|~{3,})(.*)$/s.exec(line)
    if (mark === null) continue
    if (open === null) {
      if (mark[1]![0] !== '`' || !mark[2]!.includes('`')) open = { at: index, mark: mark[1]! }
    } else if (mark[1]![0] === open.mark[0] && mark[1]!.length >= open.mark.length && /^[ \t]*$/.test(mark[2]!)) {
      for (let at = open.at; at <= index; at++) fenced.add(at)
      open = null
    }
  }
  return fenced
}
