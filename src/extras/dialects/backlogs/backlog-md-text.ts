// One file of Backlog.md taken apart: its front matter and its sections. What has no word here stays in the text, which is
// kept as a whole.

import type { Hint } from '../../../domain/hint.ts'
import { defined, isMap, type JsonObject } from '../../../domain/json.ts'
import type { TaskStatus } from '../../../domain/status.ts'
import { readDocument } from '../../../format/text/document.ts'
import { isList } from '../../../format/text/source.ts'
import { statusWords } from '../../../format/text/status-words.ts'
import { textOf } from './backlogs.ts'

export const STATUS = statusWords<TaskStatus>({
  'To Do': 'pending',
  Draft: 'pending',
  Backlog: 'pending',
  'In Progress': 'running',
  Review: 'waiting',
  'In Review': 'waiting',
  Blocked: 'blocked',
  Done: 'completed',
  Completed: 'completed',
  Cancelled: 'cancelled',
  Canceled: 'cancelled',
})

export const PRIORITY: ReadonlyMap<string, number> = new Map([
  ['critical', 20],
  ['high', 10],
  ['medium', 0],
  ['low', -10],
])

export interface TaskText {
  readonly id: string
  readonly status: string
  readonly dependencies: readonly string[]
  readonly parent: string | null
  /** Everything else, in the words of the document. */
  readonly said: JsonObject
}

interface Fault {
  readonly line: number
  readonly column: number
  readonly message: string
  readonly hint: Hint
}

export type ReadTask =
  | { readonly ok: true; readonly value: TaskText }
  | { readonly ok: false; readonly faults: readonly Fault[] }

export function parseTask(text: string): ReadTask {
  const cut = frontMatterOf(text)
  if (cut === null)
    return wrong(1, 'this file has no front matter', "begin it with '---', 'id: task-1', 'title: …', '---'")
  const read = readDocument(cut.front)
  if (!read.ok)
    return {
      ok: false,
      faults: read.diagnostics.map(({ line, column, message, hint = 'put it in quotes' }) => ({
        line: line + 1,
        column,
        message,
        hint,
      })),
    }
  const map = read.document.value
  const id = isMap(map) ? map.id : undefined
  if (!isMap(map) || !(typeof id === 'string' || typeof id === 'number') || id === '')
    return wrong(2, 'this task has no id', 'write one into the front matter: id: task-1')
  const line = (key: string): number => 1 + read.document.place({ path: [key], message: '' }).line
  const lists = ['dependencies', 'labels', 'assignee'].filter(key => listIn(map[key]) === null)
  if (lists.length > 0)
    return {
      ok: false,
      faults: lists.map(key => ({
        line: line(key),
        column: 1,
        message: `'${key}' is not a list of words`,
        hint: `write ${key}: [a, b]`,
      })),
    }
  const sections = sectionsOf(cut.body)
  const assignees = listIn(map.assignee)!
  const labels = listIn(map.labels)!
  return {
    ok: true,
    value: {
      id: String(id),
      status: typeof map.status === 'string' ? map.status : 'To Do',
      dependencies: listIn(map.dependencies)!,
      parent: typeof map.parent_task_id === 'string' ? map.parent_task_id : null,
      said: defined({
        title: textOf(map.title),
        description: sectionText(sections.get('description')) || undefined,
        instruction: sectionText(sections.get('implementation plan')) || undefined,
        priority: typeof map.priority === 'string' ? PRIORITY.get(map.priority.toLowerCase()) : undefined,
        accept: criteria(sections.get('acceptance criteria')),
        assignee: assignees[0],
        labels: labels.length === 0 ? undefined : labels,
        milestone: textOf(map.milestone),
      }),
    },
  }
}

function wrong(line: number, message: string, hint: string): ReadTask {
  return { ok: false, faults: [{ line, column: 1, message, hint }] }
}

export function frontMatterOf(text: string): { readonly front: string; readonly body: string } | null {
  const open = /^\uFEFF?---[ \t]*\r?\n/.exec(text)?.[0]
  if (open === undefined) return null
  const rest = text.slice(open.length)
  const close = /^---[ \t]*\r?$/m.exec(rest)
  return close === null ? null : { front: rest.slice(0, close.index), body: rest.slice(close.index + close[0].length) }
}

/** A list of words, one word, or nothing. Null for anything else. */
function listIn(value: JsonObject[string] | undefined): readonly string[] | null {
  if (value === undefined || value === null || value === '') return []
  if (typeof value === 'string' || typeof value === 'number') return [String(value)]
  if (!isList(value) || value.some(item => typeof item !== 'number' && textOf(item) === undefined)) return null
  return value.map(String)
}

export interface Section {
  /** Of its text below the heading, as offsets in the body. */
  readonly start: number
  readonly end: number
  readonly text: string
}

/** The sections by their headings in small letters. A heading inside a marked section, or in a code block, is none. */
export function sectionsOf(body: string): ReadonlyMap<string, Section> {
  const sections = new Map<string, Section>()
  let open: { readonly name: string; readonly start: number } | null = null
  let fence: string | null = null
  let marked = false
  let at = 0
  const close = (end: number): void => {
    if (open !== null && !sections.has(open.name))
      sections.set(open.name, { start: open.start, end, text: body.slice(open.start, end) })
  }
  for (const line of body.match(/[^\n]*\n|[^\n]+$/g) ?? []) {
    const mark: string | undefined = /^\s*(```+|~~~+)/.exec(line)?.[1]
    if (mark !== undefined) fence = fence === null ? mark : mark.startsWith(fence) ? null : fence
    else if (fence === null) {
      if (/^<!-- SECTION:\w+:BEGIN -->/.test(line)) marked = true
      else if (/^<!-- SECTION:\w+:END -->/.test(line)) marked = false
      const heading = marked ? null : /^## +(.*?)\s*$/.exec(line)
      if (heading !== null) {
        close(at)
        open = { name: heading[1]!.toLowerCase(), start: at + line.length }
      }
    }
    at += line.length
  }
  close(at)
  return sections
}

const MARKS = /^<!-- (?:SECTION:\w+|AC):(?:BEGIN|END) -->[ \t]*(?:\r?\n|$)/gm

export function sectionText(section: Section | undefined): string {
  return section === undefined
    ? ''
    : section.text
        .replace(MARKS, '')
        .replace(/\r\n/g, '\n')
        .replace(/^\n+|\s+$/g, '')
}

/** `- [ ] #1 It works`: the number is only for reading. */
export function criteria(section: Section | undefined): readonly string[] | undefined {
  const found = [...(section?.text ?? '').matchAll(/^[ \t]*[-*] \[[ xX]\] (?:#\d+ )?([^\n]*\S)\s*$/gm)].map(
    match => match[1]!,
  )
  return found.length === 0 ? undefined : found
}
