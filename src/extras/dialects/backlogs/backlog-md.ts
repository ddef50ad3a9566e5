// Backlog.md: a folder with one Markdown file for each task, `---` front matter and sections below. A folder is one plan. As a
// single text its files stand one after the other, each under a line `<!-- file: NAME -->`; one file alone needs no such line.

import { stringify } from 'yaml'
import type { TaskName } from '../../../domain/id.ts'
import { defined, type Json, type JsonObject } from '../../../domain/json.ts'
import type { PlanDefinition } from '../../../domain/plan.ts'
import type { TaskStatus } from '../../../domain/status.ts'
import { raiseTask } from '../../../format/plan/definition-to-document.ts'
import type { Dialect, Reading, StatusOf } from '../../../format/plan/dialect.ts'
import { endedStatus } from '../../../format/plan/dialect.ts'
import { isList, type Source } from '../../../format/text/source.ts'
import { DocumentBuilder, Names } from '../document-builder.ts'
import { bundle, bundleFault, unbundle } from './backlog-md-files.ts'
import { frontMatterOf, PRIORITY, parseTask, STATUS, sectionsOf, type TaskText } from './backlog-md-text.ts'
import {
  grouped,
  keptBy,
  type Nearest,
  nonEmpty,
  printed,
  same,
  settleNeeds,
  statusWord,
  UNMOVED,
  writtenNeeds,
} from './backlogs.ts'

// How a file of Backlog.md is written: the kept text, changed only where the task has changed; without one, in the usual form.

const NAME = 'backlog-md'

/** What is written for a status that a new project has no word for. */
const NEAREST: Nearest = {
  ready: 'pending',
  blocked: 'pending',
  failed: 'pending',
  waiting: 'running',
  skipped: 'cancelled',
  abandoned: 'cancelled',
}

interface About {
  readonly id: string
  readonly status: TaskStatus
  readonly dependencies: readonly string[] | undefined
}

function usualName(id: string, title: Json | undefined): string {
  const words = String(title ?? '')
    .replace(/[^\p{L}\p{N}._-]+/gu, '-')
    .slice(0, 100)
    .replace(/^-+|-+$/g, '')
  const start = id.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[.-]+/, '')
  return words === '' ? `${start}.md` : `${start} - ${words}.md`
}

/** The usual file of a task; `task` is in the words of the document. */
function scratch(task: JsonObject, { id, status, dependencies }: About): string {
  const { accept, description, instruction, priority, milestone } = task
  const front = [
    pair('id', id),
    pair('title', task.title ?? ''),
    pair('status', statusWord(STATUS, NEAREST, status)),
    pair('assignee', task.assignee === undefined ? [] : [task.assignee]),
    pair('labels', task.labels ?? []),
    ...(milestone === undefined ? [] : [pair('milestone', milestone)]),
    pair('dependencies', dependencies ?? []),
    ...(typeof priority === 'number' ? [pair('priority', priorityWord(priority))] : []),
  ]
  const sections = [
    ...(description === undefined ? [] : [sectionOf('Description', 'DESCRIPTION', String(description))]),
    ...(isList(accept) && accept.length > 0
      ? [`## Acceptance Criteria\n${criteriaText(accept, status === 'completed')}`]
      : []),
    ...(instruction === undefined ? [] : [sectionOf('Implementation Plan', 'PLAN', String(instruction))]),
  ]
  return `---\n${front.join('')}---\n${sections.map(section => `\n${section}`).join('')}`
}

function printFiles(definition: PlanDefinition, status: StatusOf): string {
  const tasks = definition.tasks.filter(task => task.action.type !== 'verify')
  const before = new Map(
    tasks.map(task => {
      const { text } = keptBy(NAME, task)
      const read = typeof text === 'string' ? parseTask(text) : null
      return [task.id, read?.ok === true ? { text: text as string, task: read.value } : null]
    }),
  )
  const ids = new Map(tasks.map(({ id }) => [id, before.get(id)?.task.id ?? id]))
  const names = new Map([...ids].map(([name, id]) => [id.toLowerCase(), name]))
  const named = (id: string): TaskName => names.get(id.toLowerCase()) ?? (id as TaskName)
  const parents = new Map(
    tasks.map(({ id }) => [id, names.get(before.get(id)?.task.parent?.toLowerCase() ?? '\n') ?? null]),
  )
  const children = grouped(tasks, ({ id }) => parents.get(id) ?? null)
  const { hard, moved } = writtenNeeds(
    tasks,
    new Map(tasks.map(({ id }) => [id, before.get(id)?.task.dependencies.map(named) ?? null])),
    (name, said) => {
      const parent = parents.get(name) ?? null
      return [...(children.get(name) ?? []).map(({ id }) => id), ...(parent === null ? [] : (said.get(parent) ?? []))]
    },
  )
  const files = tasks.map(task => {
    const then = before.get(task.id) ?? null
    const dependencies = hard.get(task.id)!.map(need => ids.get(need) ?? need)
    const about = { id: ids.get(task.id)!, status: status(task.id), dependencies }
    const said = raiseTask(task)
    const { file } = keptBy(NAME, task)
    return {
      name: typeof file === 'string' ? file : usualName(about.id, task.title),
      text: then === null ? scratch(said, about) : changed(then.text, then.task, said, about, moved.has(task.id)),
    }
  })
  return keptBy(NAME, definition).single === true && files.length === 1 ? files[0]!.text : bundle(files)
}

/** The kept text with what is different by now. */
function changed(text: string, then: TaskText, now: JsonObject, about: About, moved: boolean): string {
  const word = statusWord(STATUS, NEAREST, about.status, then.status)
  const open = !STATUS.read(then.status).ok && UNMOVED.has(about.status)
  const front: [string, Json | undefined][] = []
  if (!open && word !== then.status) front.push(['status', word])
  for (const key of ['title', 'labels', 'milestone'] as const)
    if (!same(then.said[key], now[key])) front.push([key, now[key]])
  if (then.said.assignee !== now.assignee) front.push(['assignee', now.assignee === undefined ? [] : [now.assignee]])
  if (then.said.priority !== now.priority)
    front.push(['priority', typeof now.priority === 'number' ? priorityWord(now.priority) : undefined])
  if (moved) front.push(['dependencies', about.dependencies ?? []])
  let result = front.reduce((whole, [key, value]) => withPair(whole, key, value), text)
  if (then.said.description !== now.description)
    result = withSection(result, 'Description', 'DESCRIPTION', now.description)
  if (then.said.instruction !== now.instruction)
    result = withSection(result, 'Implementation Plan', 'PLAN', now.instruction)
  const done = about.status === 'completed' && word !== then.status
  if (!same(then.said.accept, now.accept)) result = withCriteria(result, now.accept, done)
  // Whoever judged the task done has judged each of these.
  else if (done) result = withBody(result, body => checkedAll(body))
  return result
}

function checkedAll(body: string): string {
  const section = sectionsOf(body).get('acceptance criteria')
  if (section === undefined) return body
  return body.slice(0, section.start) + section.text.replace(/^([ \t]*[-*] )\[ \]/gm, '$1[x]') + body.slice(section.end)
}

function withBody(text: string, change: (body: string) => string): string {
  const cut = frontMatterOf(text)
  return cut === null ? text : text.slice(0, text.length - cut.body.length) + change(cut.body)
}

/** One key of the front matter, with the lines below it that belong to it. */
function withPair(text: string, key: string, value: Json | undefined): string {
  const cut = frontMatterOf(text)
  if (cut === null) return text
  const start = text.indexOf(cut.front, 3)
  const behind = text.slice(start + cut.front.length)
  const line = value === undefined ? '' : pair(key, value)
  const there = new RegExp(`^${key}:[^\\n]*\\n(?:(?:[ \\t]+|- )[^\\n]*\\n|-\\n)*`, 'm')
  const front = there.test(cut.front) ? cut.front.replace(there, () => line) : cut.front + line
  return text.slice(0, start) + front + behind
}

function withSection(text: string, heading: string, mark: string, value: Json | undefined): string {
  return withBody(text, body => {
    const section = sectionsOf(body).get(heading.toLowerCase())
    const written = typeof value === 'string' ? sectionOf(heading, mark, value) : ''
    if (section === undefined) return written === '' ? body : `${body.replace(/\n*$/, '\n')}\n${written}`
    const start = body.lastIndexOf('\n', section.start - 2) + 1
    const behind = body.slice(section.end)
    return body.slice(0, start) + written + (behind === '' || written === '' ? behind : `\n${behind}`)
  })
}

function withCriteria(text: string, accept: Json | undefined, done: boolean): string {
  return withBody(text, body => {
    const section = sectionsOf(body).get('acceptance criteria')
    const written = isList(accept) && accept.length > 0 ? criteriaText(accept, done) : ''
    if (section === undefined)
      return written === '' ? body : `${body.replace(/\n*$/, '\n')}\n## Acceptance Criteria\n${written}`
    const behind = body.slice(section.end)
    return body.slice(0, section.start) + written + (behind === '' ? '' : `\n${behind}`)
  })
}

function sectionOf(heading: string, mark: string, text: string): string {
  return `## ${heading}\n\n<!-- SECTION:${mark}:BEGIN -->\n${text}\n<!-- SECTION:${mark}:END -->\n`
}

function criteriaText(accept: readonly Json[], done: boolean): string {
  const lines = accept.flatMap(criterion => (typeof criterion === 'string' ? [criterion] : []))
  return `<!-- AC:BEGIN -->\n${lines.map((line, index) => `- [${done ? 'x' : ' '}] #${index + 1} ${line}\n`).join('')}<!-- AC:END -->\n`
}

function pair(key: string, value: Json): string {
  return stringify({ [key]: value }, { version: '1.2', lineWidth: 0, singleQuote: true })
}

function priorityWord(priority: number): string {
  for (const [word, value] of PRIORITY) if (priority >= value) return word
  return 'low'
}

export const backlogMd: Dialect = {
  name: NAME,
  about: 'Backlog.md tasks: Markdown files with front matter, one or a folder of them',
  recognises: ({ text }) => {
    const head = text.slice(0, 4_000)
    const front = /^\uFEFF?(?:<!-- file: [^\n]*\n\uFEFF?)?---\r?\n([\s\S]*?)(?:\n---|$)/.exec(head)?.[1]
    return front !== undefined && ['id', 'title', 'status'].every(key => new RegExp(`^${key}:`, 'm').test(front))
  },
  read: source => read(source),
  print: (definition, status) => printed(backlogMd, printFiles(definition, status), definition, status),
  files: text => {
    const files = unbundle(text)
    if (files === null) return null
    const fault = bundleFault(files)
    return fault === null ? { ok: true, files } : { ok: false, message: fault }
  },
}

function read(source: Source): Reading {
  const draft = new DocumentBuilder(source)
  const files = unbundle(source.text)
  const read = (files ?? [{ name: null, text: source.text, line: 1 }]).flatMap(({ name, text, line }) => {
    const task = parseTask(text)
    if (task.ok) return [{ file: name, text, line, task: task.value }]
    for (const fault of task.faults) draft.refuseAt(line - 1 + fault.line, fault.column, fault.message, fault.hint)
    return []
  })
  const names = new Names(read.map(({ task }) => task.id))
  const folded = new Map(read.map(({ task }) => [task.id.toLowerCase(), names.name(task.id) as TaskName]))
  /** Ids may be written in capitals or not. */
  const nameOf = (id: string): TaskName =>
    names.has(id) ? (names.name(id) as TaskName) : (folded.get(id.toLowerCase()) ?? (id as TaskName))
  const inside = grouped(
    read.filter(({ task }) => task.parent !== null && folded.has(task.parent.toLowerCase())),
    ({ task }) => nameOf(task.parent!),
  )
  const hard = new Map(read.map(({ task }) => [nameOf(task.id), task.dependencies.map(nameOf)]))
  const needs = settleNeeds(
    read.map(({ task }) => ({
      name: nameOf(task.id),
      hard: hard.get(nameOf(task.id))!,
      soft: [
        ...(inside.get(nameOf(task.id)) ?? []).map(child => nameOf(child.task.id)),
        ...(task.parent === null ? [] : (hard.get(nameOf(task.parent)) ?? [])),
      ],
    })),
  )
  const tasks = read.map(({ task, file, text, line }, index) => {
    const name = nameOf(task.id)
    draft.trace.mark(['tasks', index], { line: line + 1, column: 1 })
    readStatus(draft, task, name, index, line)
    const said = defined({ id: name, ...task.said, needs: nonEmpty(needs.get(name)) })
    const ended = draft.ended.get(name) ?? 'pending'
    const kept = defined({
      file: file === null || file === usualName(task.id, task.said.title) ? undefined : file,
      text:
        scratch(said, { id: name, status: ended, dependencies: said.needs as readonly string[] | undefined }) === text
          ? undefined
          : text,
    })
    return defined({ ...said, extra: Object.keys(kept).length === 0 ? undefined : { [NAME]: kept } })
  })
  return draft.reading(
    defined({ planfold: 1, extra: files === null ? { [NAME]: { single: true } } : undefined, tasks }),
  )
}

/** Projects choose their own words. One we do not know is kept, and the task counts as open: never as done. */
function readStatus(draft: DocumentBuilder, task: TaskText, name: TaskName, index: number, line: number): void {
  const status = STATUS.read(task.status as Json)
  if (!status.ok) {
    const at = ['tasks', index, 'extra']
    draft.trace.mark(at, { line, column: 1 })
    draft.warn(at, `the status ${JSON.stringify(task.status)} is a word of your own`, 'the task counts as not ended')
    return
  }
  const over = endedStatus(status.status)
  if (over !== null) draft.ended.set(name, over)
  if (status.status === 'running') draft.underWay.add(name)
}
