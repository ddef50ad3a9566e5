// Beads: one issue on a line of JSON. An issue needs what blocks it; an epic needs its children, and they wait for whatever it
// waits for. Links that only tell where an issue came from are kept and followed by nobody.

import type { Hint } from '../../../domain/hint.ts'
import type { TaskName } from '../../../domain/id.ts'
import { defined, isMap, type Json, type JsonObject } from '../../../domain/json.ts'
import type { PlanDefinition } from '../../../domain/plan.ts'
import { ENDED, type TaskStatus } from '../../../domain/status.ts'
import { raiseTask } from '../../../format/plan/definition-to-document.ts'
import type { Dialect, EndedStatus, Reading, StatusOf } from '../../../format/plan/dialect.ts'
import { endedStatus } from '../../../format/plan/dialect.ts'
import { readDocument } from '../../../format/text/document.ts'
import { isList, type Source } from '../../../format/text/source.ts'
import { statusWords } from '../../../format/text/status-words.ts'
import { readDuration } from '../../../format/text/units.ts'
import { DocumentBuilder, Names } from '../document-builder.ts'
import {
  assemble,
  keepsake,
  keptBy,
  type Layout,
  type Nearest,
  nonEmpty,
  printed,
  type Standing,
  same,
  settleNeeds,
  statusWord,
  textOf,
  writtenNeeds,
} from './backlogs.ts'

// What the words of a Beads issue mean: its status, its priority, its list of criteria.

const STATUS = statusWords<TaskStatus>({
  open: 'pending',
  deferred: 'pending',
  pinned: 'pending',
  in_progress: 'running',
  hooked: 'running',
  blocked: 'blocked',
  closed: 'completed',
  tombstone: 'cancelled',
})

/** `closed` is done, unless the reason says that it was only given up. */
function endingOf(raw: JsonObject): EndedStatus | null {
  const status = STATUS.read(raw.status ?? 'open')
  const over = status.ok ? endedStatus(status.status) : null
  return over === 'completed' && isGivenUp(raw.close_reason) ? raw.close_reason : over
}

function isGivenUp(reason: Json | undefined): reason is 'skipped' | 'cancelled' | 'abandoned' {
  return reason === 'skipped' || reason === 'cancelled' || reason === 'abandoned'
}

/** 0 is the most urgent, 2 the usual. */
function rank(priority: Json | undefined): number | undefined {
  return typeof priority === 'number' && Number.isInteger(priority) && Math.abs(priority) < 100
    ? (2 - priority) * 10 || 0
    : undefined
}

/** A list of points is as many criteria; any other text is one. */
function criteriaOf(text: Json | undefined): readonly string[] | undefined {
  if (typeof text !== 'string' || text.trim() === '') return undefined
  const lines = text.split('\n').filter(line => line.trim() !== '')
  const points = lines.map(line => /^[-*] (?:\[[ xX]\] )?(.*\S.*)$/.exec(line)?.[1])
  return points.every(point => point !== undefined) && points.length > 1 ? (points as string[]) : [text]
}

// How Beads writes issues: one on a line, its keys in their order, links to blockers as records of their own.

const NAME = 'beads'

/** What is written for a status Beads has no word for; a closing that was no success gives its reason. */
const NEAREST: Nearest = {
  ready: 'pending',
  waiting: 'blocked',
  failed: 'blocked',
  skipped: 'completed',
  abandoned: 'completed',
  cancelled: 'completed',
}
const REASONS: ReadonlySet<TaskStatus> = new Set(['skipped', 'abandoned', 'cancelled'])

/** Links that block. */
const HARD = ['blocks', 'waits-for']

/** The order of keys in Beads' own files. */
const ISSUE: Layout = {
  order:
    'id title description design acceptance_criteria notes spec_id status priority issue_type assignee owner estimated_minutes created_at created_by updated_at closed_at close_reason due_at defer_until external_ref labels dependencies comments'.split(
      ' ',
    ),
  spare: { title: '', status: 'open' },
}
/** What the task says for itself, word for word. */
const SAID = ['title', 'description', 'design', 'issue_type', 'assignee', 'labels', 'due_at', 'estimated_minutes']

interface Member {
  readonly name: TaskName
  readonly parents: readonly TaskName[]
  readonly hard: readonly TaskName[]
}

function standings(members: readonly Member[]): readonly Standing[] {
  const children = new Map<TaskName, TaskName[]>()
  const hard = new Map(members.map(member => [member.name, member.hard]))
  for (const { name, parents } of members)
    for (const parent of parents) {
      const others = children.get(parent)
      if (others === undefined) children.set(parent, [name])
      else others.push(name)
    }
  return members.map(member => ({
    name: member.name,
    hard: member.hard,
    soft: [...(children.get(member.name) ?? []), ...member.parents.flatMap(parent => hard.get(parent) ?? [])],
  }))
}

/** The ids on the other end of links of these types. */
function blockers(links: Json | undefined, types: readonly string[]): readonly string[] {
  if (!isList(links)) return []
  return links.flatMap(link =>
    isMap(link) && typeof link.depends_on_id === 'string' && types.includes(String(link.type ?? 'blocks'))
      ? [link.depends_on_id]
      : [],
  )
}

/** An issue when nothing is remembered; `task` is in the words of the document. */
function record(id: string, task: JsonObject, status: TaskStatus, links: readonly Json[]): { [key: string]: Json } {
  const { accept, priority, estimate } = task
  const minutes = typeof estimate === 'string' ? readDuration(estimate) : null
  return defined({
    id,
    title: task.title ?? '',
    description: task.description,
    design: task.instruction,
    acceptance_criteria: isList(accept) ? criteriaText(accept) : undefined,
    status: statusWord(STATUS, NEAREST, status),
    priority: typeof priority === 'number' ? Math.min(4, Math.max(0, 2 - Math.round(priority / 10))) : undefined,
    issue_type: task.kind,
    assignee: task.assignee,
    estimated_minutes: minutes?.ok === true && minutes.value % 60_000 === 0 ? minutes.value / 60_000 : undefined,
    due_at: task.deadline,
    close_reason: REASONS.has(status) ? status : undefined,
    labels: task.labels,
    dependencies: links.length === 0 ? undefined : links,
  })
}

function linksTo(id: string, blocking: readonly string[]): readonly Json[] {
  return blocking.map(other => ({ issue_id: id, depends_on_id: other, type: 'blocks' }))
}

function criteriaText(accept: readonly Json[]): string | undefined {
  if (!accept.every(criterion => typeof criterion === 'string')) return undefined
  return accept.length === 1 ? (accept[0] as string) : accept.map(criterion => `- ${criterion}`).join('\n')
}

function printIssues(definition: PlanDefinition, status: StatusOf): string {
  const tasks = definition.tasks.filter(task => task.action.type !== 'verify')
  const kept = new Map(tasks.map(task => [task.id, keptBy(NAME, task)]))
  const idOf = (name: TaskName): string => {
    const id = kept.get(name)?.id
    return typeof id === 'string' ? id : name
  }
  const names = new Map(tasks.map(({ id }) => [idOf(id), id]))
  const named = (ids: readonly string[]): readonly TaskName[] => ids.map(id => names.get(id) ?? (id as TaskName))
  const parents = new Map(tasks.map(({ id }) => [id, named(blockers(kept.get(id)!.dependencies, ['parent-child']))]))
  const children = new Map<TaskName, Set<TaskName>>(tasks.map(({ id }) => [id, new Set()]))
  for (const [name, above] of parents) for (const parent of above) children.get(parent)?.add(name)
  const { hard, moved } = writtenNeeds(
    tasks,
    new Map(
      tasks.map(({ id }) => [
        id,
        isList(kept.get(id)!.dependencies) ? named(blockers(kept.get(id)!.dependencies, HARD)) : null,
      ]),
    ),
    (name, said) => [...children.get(name)!, ...parents.get(name)!.flatMap(parent => said.get(parent) ?? [])],
  )

  /** The remembered links as far as they hold, and new ones for what is needed since. */
  function linksOf(name: TaskName): readonly Json[] {
    const links = kept.get(name)!.dependencies
    const wanted = new Set(hard.get(name)!)
    const holds = (isList(links) ? links : []).filter(link =>
      named(blockers([link], HARD)).every(other => wanted.has(other)),
    )
    for (const linked of named(blockers(holds, HARD))) wanted.delete(linked)
    return [...holds, ...linksTo(idOf(name), [...wanted].map(idOf))]
  }

  const lines = tasks.map(task => {
    const rest = kept.get(task.id)!
    const now = status(task.id)
    const said = raiseTask(task)
    const values = record(idOf(task.id), said, now, linksOf(task.id))
    const still: { [key: string]: Json } = { ...rest }
    if (moved.has(task.id)) delete still.dependencies
    if (rest.status !== undefined) {
      const then = endingOf(rest)
      if (then !== null && then === now) delete values.close_reason
      else if (then !== null || statusWord(STATUS, NEAREST, now, rest.status) !== rest.status) delete still.status
    }
    if (values.close_reason !== undefined || !ENDED.has(now)) delete still.close_reason
    if (!ENDED.has(now)) delete still.closed_at
    for (const key of SAID) if (values[key] !== undefined && values[key] !== '') delete still[key]
    if (values.priority !== undefined && rank(still.priority) !== task.priority) delete still.priority
    if (values.acceptance_criteria !== undefined && !same(criteriaOf(still.acceptance_criteria), said.accept))
      delete still.acceptance_criteria
    return assemble(values, still, ISSUE)
  })
  for (const other of othersOf(definition).toReversed()) lines.splice(other.at, 0, other.record)
  return lines.map(line => `${oneLine(line)}\n`).join('')
}

function othersOf(definition: PlanDefinition): readonly { readonly at: number; readonly record: JsonObject }[] {
  const { others } = keptBy(NAME, definition)
  if (!isList(others)) return []
  return others.flatMap(other =>
    isMap(other) && typeof other.at === 'number' && isMap(other.record) ? [{ at: other.at, record: other.record }] : [],
  )
}

/** As Go's encoder writes it, which Beads is written in: what is special in HTML is escaped. */
function oneLine(value: Json): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    sign => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

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
  const draft = new DocumentBuilder(source)
  const issues: Issue[] = []
  const others: JsonObject[] = []
  let wrong = 0
  const refuse = (line: number, column: number, message: string, hint: Hint = SHAPE): void => {
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
    const said = defined({
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
    return defined({ id: name, ...said, extra: kept === undefined ? undefined : { [NAME]: kept } })
  })
  return draft.reading(defined({ planfold: 1, extra: others.length === 0 ? undefined : { [NAME]: { others } }, tasks }))
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
