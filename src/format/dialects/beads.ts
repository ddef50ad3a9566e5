// Beads: one issue on a line of JSON. An issue needs what blocks it; an epic needs its children, and they wait for whatever it
// waits for. Links that only tell where an issue came from are kept and followed by nobody.

import type { TaskName } from '../../domain/id.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import { readDocument } from '../document.ts'
import { readDuration } from '../units.ts'
import { keepsake, nonEmpty, printed, settleNeeds, sparse, textOf } from './backlogs.ts'
import { blockers, HARD, ISSUE, linksTo, NAME, printIssues, record, standings } from './beads-print.ts'
import { criteriaOf, endingOf, rank, STATUS } from './beads-words.ts'
import type { Dialect, Reading } from './dialect.ts'
import { Draft, Names } from './reading.ts'
import { isList, isMap, type Source } from './source.ts'

export const beads: Dialect = {
  name: NAME,
  about: 'Beads issues, one JSON object on each line',
  recognises: ({ text }) => {
    const first = /^\uFEFF?\s*(\S[^\r\n]*)/.exec(text)?.[1]
    if (first === undefined || !/^\s*\{\s*"/.test(first) || !first.trimEnd().endsWith('}')) return false
    const read = readDocument(first)
    return read.ok && isMap(read.document.value) && looksOurs(read.document.value)
  },
  read,
  print: (definition, status) => printed(beads, printIssues(definition, status), definition, status),
}

function looksOurs(issue: JsonObject): boolean {
  if (issue._type === 'issue') return true
  if (typeof issue.id !== 'string' || typeof issue.title !== 'string' || isList(issue.tasks) || isList(issue.steps))
    return false
  const linked = isList(issue.dependencies) && issue.dependencies.some(link => isMap(link) && 'depends_on_id' in link)
  return linked || 'issue_type' in issue || (typeof issue.status === 'string' && STATUS.words.includes(issue.status))
}

interface Issue {
  readonly raw: JsonObject
  readonly id: string
  readonly line: number
}

function read(source: Source): Reading {
  const draft = new Draft(source)
  const issues: Issue[] = []
  const others: JsonObject[] = []
  let wrong = 0
  const refuse = (line: number, column: number, message: string, hint = SHAPE): void => {
    wrong++
    draft.refuseAt(line, column, message, hint)
  }
  for (const [index, text] of source.lines.entries()) {
    if (text.trim() === '' || wrong >= WRONG_MAX) continue
    const line = index + 1
    const parsed = readDocument(text)
    if (!parsed.ok) {
      for (const { column, message, hint } of parsed.diagnostics) refuse(line, column, message, hint)
      continue
    }
    const { value: raw, place } = parsed.document
    if (!isMap(raw)) refuse(line, 1, 'this line is not an issue')
    else if (typeof raw._type === 'string' && raw._type !== 'issue') others.push({ at: issues.length, record: raw })
    else if (typeof raw.id !== 'string' || raw.id === '') refuse(line, 1, 'this issue has no id')
    else {
      issues.push({ raw, id: raw.id, line })
      const status = STATUS.read(raw.status ?? 'open')
      const columnOf = (key: string): number => place({ path: [key], message: '' }).column
      if (!status.ok) refuse(line, columnOf('status'), status.message, status.hint)
      if (!isList(raw.dependencies ?? []))
        refuse(line, columnOf('dependencies'), "'dependencies' is not a list", 'write the links in a list: [ … ]')
    }
  }
  if (issues.length === 0 && wrong === 0) refuse(1, 1, 'there is no issue here')
  if (wrong > 0) return draft.reading({})

  const names = new Names(issues.map(issue => issue.id))
  const nameOf = (id: Json): TaskName => names.name(id) as TaskName
  const members = issues.map(({ raw, id }) => ({
    name: nameOf(id),
    parents: blockers(raw.dependencies, ['parent-child'])
      .filter(parent => names.has(parent))
      .map(nameOf),
    hard: blockers(raw.dependencies, HARD).map(nameOf),
  }))
  const needs = settleNeeds(standings(members))
  const tasks = issues.map(({ raw, id, line }, index) => {
    const { name } = members[index]!
    draft.trace.mark(['tasks', index], { line, column: 1 })
    const over = endingOf(raw)
    if (over !== null) draft.ended.set(name, over)
    if (raw.status === 'in_progress') draft.underWay.add(name)
    const said = sparse({
      title: textOf(raw.title),
      description: textOf(raw.description),
      kind: textOf(raw.issue_type),
      needs: nonEmpty(needs.get(name)),
      instruction: textOf(raw.design),
      priority: rank(raw.priority),
      accept: criteriaOf(raw.acceptance_criteria),
      assignee: textOf(raw.assignee),
      labels:
        isList(raw.labels) && raw.labels.length > 0 && raw.labels.every(label => textOf(label) !== undefined)
          ? raw.labels
          : undefined,
      deadline: isDeadline(raw.due_at) ? raw.due_at : undefined,
      estimate: minutesOf(raw.estimated_minutes),
    })
    const links = linksTo(id, blockers(raw.dependencies, HARD))
    const kept = keepsake(raw, record(name, said, over ?? 'pending', links), ISSUE)
    return sparse({ id: name, ...said, extra: kept === undefined ? undefined : { [NAME]: kept } })
  })
  return draft.reading(sparse({ planfold: 1, extra: others.length === 0 ? undefined : { [NAME]: { others } }, tasks }))
}

const SHAPE = 'each line is one issue: {"id": "bd-1", "title": "…"}'
/** More are not read by anyone. */
const WRONG_MAX = 20

function minutesOf(minutes: Json | undefined): string | undefined {
  if (typeof minutes !== 'number' || !Number.isInteger(minutes) || minutes < 1) return undefined
  return readDuration(`${minutes}m`).ok ? `${minutes}m` : undefined
}

function isDeadline(text: Json | undefined): text is string {
  return (
    typeof text === 'string' &&
    /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[-+]\d\d:\d\d))?$/.test(text) &&
    !Number.isNaN(Date.parse(text))
  )
}
