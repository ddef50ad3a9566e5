// A plan as a Markdown document for people to read: what it is for, when it is done, each task with what it does, needs and
// must fulfil, and where it stands. It is a picture: nothing is read back from it. Whatever a plan says is shown as text and
// never becomes markup.

import type { TaskName } from '../../domain/id.ts'
import { numberOf } from '../../domain/phrases.ts'
import type {
  Action,
  CompensatingTask,
  Criterion,
  GitUse,
  PlanDefinition,
  Policy,
  RecoveryRule,
  ValueKind,
} from '../../domain/plan.ts'
import { criterionText } from '../../domain/plan-rules/criterion-text.ts'
import { networkWords, readNetwork } from '../../domain/plan-rules/network.ts'
import { WRITTEN } from '../../domain/plan-rules/task-fields.ts'
import { peopleIn, peopleLines } from '../../domain/policy/plan-roles.ts'
import type { TaskStatus } from '../../domain/status.ts'
import { actionWords } from '../../format/actions/actions.ts'
import { type Item, oneLine, pictureOf, type Scene, type Statuses } from '../../format/plan/scene.ts'
import { printDuration } from '../../format/text/units.ts'

const LINE_MAX = 400

export function markdown(definition: PlanDefinition, statuses: Statuses = new Map()): string {
  const scene = pictureOf(definition, statuses)
  const { title, goal, owner, stakeholders, done, policy, git } = definition
  const people = peopleIn(definition, null)
  const lines = [`# ${text(title ?? definition.name)}`, '']
  if (goal !== undefined) lines.push(...quote(goal), '')
  const facts = [
    ['Plan', code(definition.name)],
    ['Owner', owner === undefined ? null : text(owner)],
    ['Stakeholders', stakeholders === undefined ? null : stakeholders.map(text).join(', ')],
    ['People', people === null ? null : peopleLines(people).map(text).join('; ')],
    ['May write', policy?.write === undefined ? null : codes(policy.write)],
    ['May reach', policy?.network === undefined ? null : codes(networkWords(readNetwork(policy.network)))],
    ['Git', git === undefined ? null : gitUse(git)],
    ['Checkpoints', checkpoints(policy)],
    ['When it fails', policy?.onFailure === undefined ? null : FAILING[policy.onFailure]],
    ['Progress', progress(scene.items)],
  ] as const
  for (const [name, value] of facts) if (value !== null && value !== '') lines.push(`- **${name}:** ${value}`)
  if ((done?.length ?? 0) > 0) lines.push('', '## Done when', '', ...done!.map(criterion))
  lines.push('', '## Tasks', '')
  const leads = leadsOf(scene)
  for (const [at, item] of scene.items.entries())
    lines.push(...section(item, at + 1, leads.get(item.task.id) ?? []), '')
  return `${lines.join('\n').trimEnd()}\n`
}

function gitUse({ commits, worktree, message, base }: GitUse): string {
  return [
    ...(commits === undefined ? [] : ['commits what each task wrote']),
    ...(worktree === undefined ? [] : [worktree === 'plan' ? 'works in a worktree' : 'a worktree for each task']),
    ...(message === undefined ? [] : [`messages ${code(message)}`]),
    ...(base === undefined ? [] : [`begins at ${code(base)}`]),
  ].join(', ')
}

function checkpoints(policy: Policy | undefined): string {
  const { every, before, files } = policy?.checkpoints ?? {}
  return [
    ...(every === undefined ? [] : [`every ${every} tasks`]),
    ...(before === undefined ? [] : [before === 'never' ? 'none before risky tasks' : `before ${before} tasks`]),
    ...(files === 'declared' ? ['declared files only'] : []),
  ].join(', ')
}

const FAILING = {
  compensate: 'what was done is undone',
  keep: 'all stays as it is',
  rollback: 'what was done is undone, all files go back',
} as const

function leadsOf({ edges }: Scene): ReadonlyMap<TaskName, readonly string[]> {
  const leads = new Map<TaskName, string[]>()
  for (const { from, to, outcome, isUndo } of edges) {
    if (outcome === null || isUndo) continue
    const shown = `${text(outcome)} → ${code(to)}`
    if (leads.has(from)) leads.get(from)!.push(shown)
    else leads.set(from, [shown])
  }
  return leads
}

function section({ task, status }: Item, number: number, leads: readonly string[]): readonly string[] {
  const needs = (task.needs ?? []).filter(need => !need.startsWith(`${task.id}/`))
  const facts = [
    ['Does', does(task.action)],
    ['Needs', codes(needs)],
    ['When', task.when === undefined ? null : code(task.when)],
    ['Writes', codes(task.write ?? [])],
    ['Changes only', task.effects === undefined ? null : codes(task.effects) || 'nothing'],
    ['Leads', leads.join(', ')],
    ['For', [task.assignee, task.owner].flatMap(name => (name === undefined ? [] : [text(name)])).join(', ')],
    ['Undone by', task.compensate === undefined ? null : undo(task.compensate)],
    ...LABELLED.map(({ name, label, value }) => [label, shown(value, task[name])] as const),
  ] as const
  const lists = [
    ['Before it starts', (task.preconditions ?? []).map(criterion)],
    ['Accepted when', task.action.type === 'verify' ? [] : (task.accept ?? []).map(criterion)],
    ['Checked by the gate', task.action.type === 'gate' ? (task.action.checks ?? []).map(criterion) : []],
    ['True afterwards', (task.postconditions ?? []).map(criterion)],
    ['When it fails', (task.recover ?? []).map(rule => `- ${recovery(rule)}`)],
    ['May fail by', (task.failureModes ?? []).map(({ name, detect }) => `- ${text(name)}: ${judged(detect)}`)],
  ] as const
  const mark = status === null ? '' : ` [${MARKS[status]}]`
  return [
    `### ${number}.${mark} ${text(task.id)}${task.title === undefined ? '' : ` — ${text(task.title)}`}`,
    '',
    ...(status === null ? [] : [`- **Status:** ${status}`]),
    ...facts.flatMap(([name, value]) => (value === null || value === '' ? [] : [`- **${name}:** ${value}`])),
    ...(task.description === undefined ? [] : ['', ...quote(task.description)]),
    ...(task.instruction === undefined ? [] : ['', ...quote(task.instruction)]),
    ...lists.flatMap(([name, items]) => (items.length === 0 ? [] : ['', `${name}:`, '', ...items])),
  ]
}

/** Fields that are shown as they are. */
const LABELLED = WRITTEN.flatMap(({ label, ...field }) => (label === undefined ? [] : [{ ...field, label }]))

function shown(kind: ValueKind, value: unknown): string | null {
  if (value === undefined) return null
  if (kind === 'duration') return printDuration(value as number)
  return Array.isArray(value) ? value.map(item => text(String(item))).join('; ') : text(String(value))
}

/** The words of plain to-do lists, and the few they do not have. */
const MARKS: Readonly<Record<TaskStatus, string>> = {
  pending: 'TODO',
  ready: 'TODO',
  running: 'DOING',
  waiting: 'WAITING',
  blocked: 'BLOCKED',
  completed: 'DONE',
  failed: 'FAILED',
  skipped: 'SKIPPED',
  abandoned: 'ABANDONED',
  cancelled: 'CANCELLED',
}

function progress(items: readonly Item[]): string | null {
  const known = items.filter(({ status }) => status !== null)
  if (known.length === 0) return null
  const done = known.filter(({ status }) => status === 'completed' || status === 'skipped').length
  return `${done} of ${numberOf(known.length, 'task')}`
}

const does = (action: Action): string => actionWords(action, { text, code, codes })

const undo = (by: Action | CompensatingTask): string => (by.type === 'task' ? `the task ${code(by.task)}` : does(by))

function recovery({ on, times, do: way }: RecoveryRule): string {
  const whom =
    'task' in way ? ` ${code(way.task)}` : way.type === 'ask' && way.to !== undefined ? ` ${text(way.to)}` : ''
  const which = on === undefined ? 'any failure' : on.map(text).join(', ')
  return `${which}: ${way.type}${whom}${times === undefined ? '' : `, ${numberOf(times, 'time')}`}`
}

function criterion(one: Criterion): string {
  return `- ${judged(one)}`
}

function judged(one: Criterion): string {
  if (one.type === 'prose') return `${text(one.text)} *(a person confirms)*`
  const words = one.text === undefined ? '' : `${text(one.text)}: `
  return `${words}${code(criterionText(one))} *(${one.type === 'expect' ? 'expression' : 'command'})*`
}

/** Whatever begins markup or HTML in a line is escaped. */
function text(value: string): string {
  return oneLine(value, LINE_MAX)
    .replace(/[\\`*_[\]<>#|~&!]/g, sign => `\\${sign}`)
    .replace(/^(\s*)([-+]|\d+[.)])/, '$1\\$2')
}

/** A code span in more backquotes than the text has in a row. */
function code(value: string): string {
  const line = oneLine(value, LINE_MAX)
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  const pad = line === '' || line.startsWith('`') || line.endsWith('`') ? ' ' : ''
  return `${fence}${pad}${line}${pad}${fence}`
}

const codes = (values: readonly (string | TaskName)[]): string => values.map(code).join(', ')

const QUOTED_MAX = 40

function quote(value: string): readonly string[] {
  const lines = value.split(/\r\n|\n|\r/)
  const shown = lines.slice(0, QUOTED_MAX).map(line => `> ${text(line)}`.trimEnd())
  return lines.length > QUOTED_MAX ? [...shown, '> …'] : shown
}
