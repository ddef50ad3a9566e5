// Backlog.md: a folder with one Markdown file for each task, `---` front matter and sections below. A folder is one plan. As a
// single text its files stand one after the other, each under a line `<!-- file: NAME -->`; one file alone needs no such line.

import type { TaskName } from '../../domain/id.ts'
import type { Json } from '../../domain/json.ts'
import { bundle, type TextFile, unbundle } from './backlog-md-files.ts'
import { NAME, printFiles, scratch, usualName } from './backlog-md-print.ts'
import { parseTask, STATUS, type TaskText } from './backlog-md-text.ts'
import { grouped, nonEmpty, printed, settleNeeds, sparse } from './backlogs.ts'
import type { Dialect, Reading } from './dialect.ts'
import { Draft, Names } from './reading.ts'
import { Source } from './source.ts'
import { endedStatus } from './status-words.ts'

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
}

/** The files of a folder as one plan; `text` is what they are together. */
export function readFolder(files: readonly TextFile[]): { readonly text: string; readonly reading: Reading } {
  const text = bundle(files)
  return { text, reading: read(new Source(text)) }
}

function read(source: Source): Reading {
  const draft = new Draft(source)
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
    const said = sparse({ id: name, ...task.said, needs: nonEmpty(needs.get(name)) })
    const ended = draft.ended.get(name) ?? 'pending'
    const kept = sparse({
      file: file === null || file === usualName(task.id, task.said.title) ? undefined : file,
      text:
        scratch(said, { id: name, status: ended, dependencies: said.needs as readonly string[] | undefined }) === text
          ? undefined
          : text,
    })
    return sparse({ ...said, extra: Object.keys(kept).length === 0 ? undefined : { [NAME]: kept } })
  })
  return draft.reading(sparse({ planfold: 1, extra: files === null ? { [NAME]: { single: true } } : undefined, tasks }))
}

/** Projects choose their own words. One we do not know is kept, and the task counts as open: never as done. */
function readStatus(draft: Draft, task: TaskText, name: TaskName, index: number, line: number): void {
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
