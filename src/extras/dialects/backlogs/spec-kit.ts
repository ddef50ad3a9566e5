// spec-kit's `tasks.md`: phases in order, in each a list of tasks `- [ ] T001 [P] [US1] what to do`. Tasks follow one another;
// neighbours marked [P] go side by side; a phase begins when the one before is done. `(depends on T012)` in the text counts,
// too. Everything between the tasks is kept as it stands.

import { advise, quoted } from '../../../domain/hint.ts'
import type { TaskName } from '../../../domain/id.ts'
import { defined, type Json, type JsonObject } from '../../../domain/json.ts'
import type { PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import type { Dialect, Printed, Reading, StatusOf } from '../../../format/plan/dialect.ts'
import { isList, type Source } from '../../../format/text/source.ts'
import { DocumentBuilder, Names } from '../document-builder.ts'
import { grouped, keptBy, nonEmpty, printed, sameNames, settleNeeds } from './backlogs.ts'

// The text of a `tasks.md` taken apart: its tasks, and what stands between them. What is quoted in a code block or hidden in a
// comment is no task.

const TASK = /^(\s*)[-*] \[([ xX])\] \**(T-?(?:\d{1,6}[A-Za-z]?(?:\.\d{1,4})?|X{2,6}))\**[:.]?(?= |$)(.*)$/

/** A line that is a task, with the lines indented below it. */
interface Item {
  /** Counted from 1. */
  readonly line: number
  /** The line as it stands, with its end. */
  readonly text: string
  readonly id: string
  readonly checked: boolean
  readonly parallel: boolean
  readonly stories: readonly string[]
  readonly title: string
  readonly dependsOn: readonly string[]
  readonly phase: string | null
  /** In which phase it stands, counted. */
  readonly phaseAt: number
  /** The lines indented below it, as they stand. */
  readonly more: string
}

interface Parts {
  readonly title: string | undefined
  readonly items: readonly Item[]
  /** What stands before each task, and behind the last. */
  readonly between: readonly string[]
}

function parts(text: string): Parts {
  const items: { -readonly [K in keyof Item]: Item[K] }[] = []
  const between: string[] = ['']
  let title: string | undefined
  let phase: string | null = null
  let phaseAt = 0
  let fence: string | null = null
  let comment = false
  let below = false
  for (const [index, line] of (text.match(/[^\n]*\n|[^\n]+$/g) ?? []).entries()) {
    const bare = line.replace(/^\uFEFF|\r?\n$/g, '')
    const mark: string | undefined = /^\s*(```+|~~~+)/.exec(bare)?.[1]
    const hidden = fence !== null || comment || mark !== undefined
    if (mark !== undefined && !comment) fence = fence === null ? mark : mark.startsWith(fence) ? null : fence
    if (fence === null)
      comment = (comment || bare.includes('<!--')) && bare.lastIndexOf('-->') <= bare.lastIndexOf('<!--')
    const task = hidden ? null : TASK.exec(bare)
    if (task !== null) {
      items.push({ line: index + 1, text: line, phase, phaseAt, more: '', ...said(task) })
      between.push('')
      below = true
      continue
    }
    if (below && /^(?: {2,}|\t)\S/.test(bare)) {
      items.at(-1)!.more += line
      continue
    }
    below = false
    between[between.length - 1] += line
    if (hidden) continue
    const heading = /^(#{1,6}) +(.*\S)/.exec(bare)
    if (heading?.[1] === '#') title ??= /^Tasks: *(.+)$/.exec(heading[2]!)?.[1]
    if (heading?.[1] !== '##') continue
    phase = /^Phase\b[^:]*: *(.+)$/.exec(heading[2]!)?.[1] ?? null
    phaseAt++
  }
  return { title, items, between }
}

function said(task: RegExpExecArray): Pick<Item, 'id' | 'checked' | 'parallel' | 'stories' | 'title' | 'dependsOn'> {
  const [, , box, id, rest] = task
  let title = rest!.trim()
  let parallel = false
  const stories: string[] = []
  for (let tag = TAG.exec(title); tag !== null; tag = TAG.exec(title)) {
    if (tag[1] === 'P') parallel = true
    else stories.push(tag[1]!)
    title = title.slice(tag[0].length)
  }
  const dependsOn = [...title.matchAll(/\((?:depends on|requires|after) ([^()]{1,300})\)/gi)].flatMap(match =>
    [...match[1]!.matchAll(/\bT-?\d{1,6}[A-Za-z]?(?:\.\d{1,4})?\b/g)].map(([other]) => other),
  )
  return { id: id!, checked: box !== ' ', parallel, stories, title, dependsOn }
}

const TAG = /^\[(P|US\d{1,4})\] */

// How a `tasks.md` is written: the kept text with the tasks in their places, each line as it was unless the task has changed.

const NAME = 'spec-kit'

/** What a line says of a task. */
interface Row {
  readonly id: string
  readonly title?: string
  readonly description?: string
  readonly needs?: readonly string[]
  readonly labels?: readonly string[]
  readonly milestone?: string
}
interface Placed extends Row {
  readonly checked: boolean
  readonly kept: JsonObject
}

/** The whole text. Without `between`, the usual one: a heading for every phase. */
function render(title: string | undefined, rows: readonly Placed[], between: readonly string[] | null): string {
  const flags = sideBySide(rows)
  const text: string[] = []
  let block = 0
  let phase: string | undefined
  let phases = 0
  if (between === null) text.push(title === undefined ? '# Tasks\n\n' : `# Tasks: ${title}\n\n`)
  for (const [index, row] of rows.entries()) {
    const at = row.kept.at
    if (between !== null && typeof at === 'number')
      for (; block <= at && block < between.length - 1; block++) text.push(between[block]!)
    if (between === null && row.milestone !== phase && row.milestone !== undefined) {
      phase = row.milestone
      text.push(`${index === 0 ? '' : '\n'}## Phase ${++phases}: ${phase}\n\n`)
    }
    text.push(lineOf(row, flags[index]!), moreOf(row))
  }
  const whole = [...text, ...(between ?? []).slice(block)].join('')
  return title === undefined || between === null ? whole : entitled(whole, title)
}

function lineOf(row: Placed, usual: boolean): string {
  const { kept, checked } = row
  const id = typeof kept.id === 'string' ? kept.id : row.id
  const parallel = typeof kept.parallel === 'boolean' ? kept.parallel : usual
  const { line } = kept
  const [item] = typeof line === 'string' ? parts(line).items : []
  const same = item?.id === id && item.title === (row.title ?? '') && sameNames(item.stories, row.labels ?? [])
  if (item === undefined || !same) return taskLine(row, id, checked, parallel)
  return item.checked === checked ? item.text : item.text.replace(/\[[ xX]\]/, checked ? '[x]' : '[ ]')
}

function taskLine(row: Row, id: string, checked: boolean, parallel: boolean): string {
  const tags = [...(parallel ? ['P'] : []), ...(row.labels ?? [])].map(tag => ` [${tag}]`).join('')
  const title = row.title === undefined ? '' : ` ${row.title}`
  return `- [${checked ? 'x' : ' '}] ${id}${tags}${title}\n`
}

function moreOf({ kept, description = '' }: Placed): string {
  const { more } = kept
  return typeof more === 'string' && dedent(more) === description ? more : indented(description)
}

/** Which tasks go side by side with a neighbour: those that wait for the same. */
function sideBySide(rows: readonly Row[]): readonly boolean[] {
  const twins = rows.map((row, index) => {
    const next = rows[index + 1]
    return next !== undefined && next.milestone === row.milestone && sameNames(row.needs ?? [], next.needs ?? [])
  })
  return rows.map((_, index) => twins[index]! || (index > 0 && twins[index - 1]!))
}

function dedent(more: string): string {
  const lines = more.replace(/\r?\n$/, '').split(/\r?\n/)
  const indent = lines.reduce((least, line) => Math.min(least, line.length - line.trimStart().length), more.length)
  return lines.map(line => line.slice(indent)).join('\n')
}

/** A line of its own would be read by itself, as a task or a phase. */
function oneLine(text: string): string {
  return text.replace(/[\r\n\u2028\u2029]+/g, ' ')
}

/** The text without a line that would be read as a task, or that would hide the tasks below it. */
function harmless(text: string): string {
  return text.replace(/^(\s*)(?=[-*] \[|```|~~~)/gm, '$1\\').replaceAll('<!--', '<\\!--')
}

function indented(text: string): string {
  return text === '' ? '' : `${text.replace(/^/gm, '  ')}\n`
}

function entitled(text: string, title: string): string {
  return parts(text).title === title ? text : text.replace(/^# +Tasks: *.*$/m, () => `# Tasks: ${title}`)
}

export const specKit: Dialect = {
  name: NAME,
  about: "GitHub spec-kit's tasks.md: phases with T001, [P] and [US1]",
  recognises: ({ lines }) =>
    lines.some(line => TASK.test(line)) && lines.some(line => /^#{1,3} (Tasks\b|Phase \d+)/.test(line)),
  read,
  print,
}

function print(definition: PlanDefinition, status: StatusOf): Printed {
  const tasks = definition.tasks.filter(task => task.action.type !== 'verify')
  const numbers = numbersFor(tasks)
  const { between } = keptBy(NAME, definition)
  const blocks = isList(between) && between.every(block => typeof block === 'string') ? between : null
  const write = (say: (text: string) => string): string => {
    const rows = tasks.map((task, index) => {
      const { title, description, labels, milestone } = task
      const { id, written } = numbers[index]!
      return {
        ...task,
        ...(title === undefined ? {} : { title: say(oneLine(title)) }),
        ...(description === undefined ? {} : { description: say(description) }),
        ...(labels === undefined ? {} : { labels: labels.map(oneLine) }),
        ...(milestone === undefined ? {} : { milestone: oneLine(milestone) }),
        checked: status(id) === 'completed',
        kept: { ...keptBy(NAME, task), id: written },
      }
    })
    return render(definition.title === undefined ? undefined : oneLine(definition.title), rows, blocks)
  }
  const faithful = (text: string): boolean => {
    const { items } = parts(text)
    return items.length === numbers.length && items.every(({ id }, index) => id === numbers[index]!.written)
  }
  const plain = write(text => text)
  const text = faithful(plain) ? plain : write(harmless)
  const made = numbers.filter(({ id, written, isMade }) => isMade && written !== id)
  const names = new Map(made.map(({ id, written }) => [written, id]))
  const told = printed({ name: NAME, read: source => renamed(read(source), names) }, text, definition, status)
  const lost = [...told.lost, ...made.map(({ id, written }) => `task '${id}': its id, it is written as ${written}`)]
  if (faithful(text)) return { text, lost }
  const message = 'as spec-kit, this plan would be read again with other tasks than its own'
  return { text, lost, refused: { message, hint: advise`choose another dialect: see ${quoted('formats')}` } }
}

interface Numbered {
  readonly id: TaskName
  readonly written: string
  /** There was no number before. */
  readonly isMade: boolean
}

/** What stands for each task: its own id where that is a number of this format, and a free number for the others. */
function numbersFor(tasks: readonly TaskDefinition[]): readonly Numbered[] {
  const own = tasks.map(task => [keptBy(NAME, task).id, task.id].find(id => typeof id === 'string' && isNumber(id)))
  const taken = new Set(own)
  const used = new Set<unknown>()
  let last = 0
  return tasks.map(({ id }, index) => {
    const written = own[index]
    if (typeof written === 'string' && (!used.has(written) || /X$/.test(written))) {
      used.add(written)
      return { id, written, isMade: false }
    }
    let made: string
    do made = `T${String(++last).padStart(3, '0')}`
    while (taken.has(made))
    return { id, written: made, isMade: true }
  })
}

const isNumber = (id: string): boolean => TASK.exec(`- [ ] ${id}`)?.[3] === id

/** The reading with the names that the tasks had before they were given numbers. */
function renamed(reading: Reading, names: ReadonlyMap<string, TaskName>): Reading {
  if (!reading.ok || names.size === 0) return reading
  const name = (id: Json): Json => names.get(String(id)) ?? id
  const tasks = (reading.plan.tasks as readonly JsonObject[]).map(task => ({
    ...task,
    id: name(task.id!),
    ...(isList(task.needs) ? { needs: task.needs.map(name) } : {}),
  }))
  const ended = new Map([...reading.ended].map(([id, status]) => [name(id) as TaskName, status]))
  const underWay = new Set([...reading.underWay].map(id => name(id) as TaskName))
  return { ...reading, plan: { ...reading.plan, tasks }, ended, underWay }
}

function read(source: Source): Reading {
  const draft = new DocumentBuilder(source)
  const { items, between, title } = parts(source.text)
  if (items.length === 0) {
    draft.refuseAt(1, 1, 'there is no task in this list', 'a task is written as: - [ ] T001 What to do')
    return draft.reading({})
  }
  const ids = items.map((item, index) => (isOpen(item) ? `${item.id}-${index + 1}` : item.id))
  const names = new Names(ids)
  const nameAt = (index: number): TaskName => names.name(ids[index]!) as TaskName
  const soft = sequence(items, nameAt)
  if (soft === null) {
    draft.refuseAt(items[0]!.line, 1, 'too many tasks run in parallel', 'remove some [P], or split the list')
    return draft.reading({})
  }
  const hard = items.map((item, index) => {
    const known = item.dependsOn.filter(id => names.has(id))
    for (const id of item.dependsOn)
      if (!names.has(id))
        draft.warn(
          ['tasks', index],
          `'${item.id}' depends on '${id}', which is not in this list`,
          'add it, or take the words away',
        )
    return known.map(id => names.name(id) as TaskName)
  })
  const needs = settleNeeds(items.map((_, index) => ({ name: nameAt(index), hard: hard[index]!, soft: soft[index]! })))
  const rows = items.map(
    (item, index) =>
      defined({
        id: nameAt(index),
        title: item.title === '' ? undefined : item.title,
        description: dedent(item.more) || undefined,
        needs: nonEmpty(needs.get(nameAt(index))),
        labels: nonEmpty(item.stories),
        milestone: item.phase ?? undefined,
      }) as unknown as Row,
  )
  const flags = sideBySide(rows)
  const kept = items.map((item, index) =>
    defined({
      at: index,
      line: taskLine(rows[index]!, item.id, item.checked, item.parallel) === item.text ? undefined : item.text,
      id: rows[index]!.id === item.id ? undefined : item.id,
      parallel: flags[index] === item.parallel ? undefined : item.parallel,
      more: indented(dedent(item.more)) === item.more ? undefined : item.more,
    }),
  )
  for (const [index, item] of items.entries()) {
    draft.trace.mark(['tasks', index], { line: item.line, column: 1 })
    if (item.checked) draft.ended.set(nameAt(index), 'completed')
    if (isOpen(item)) draft.sketched(['tasks', index], `'${item.id}' stands for an id that was never chosen`)
  }
  const alone = render(
    title,
    rows.map((row, index) => ({ ...row, checked: items[index]!.checked, kept: {} })),
    null,
  )
  const plain = alone === source.text
  return draft.reading(
    defined({
      planfold: 1,
      title,
      extra: plain ? undefined : { [NAME]: { between } },
      tasks: rows.map((row, index) => (plain ? row : { ...row, extra: { [NAME]: kept[index]! } })) as never,
    }),
  )
}

/** TXXX: a template nobody has filled in. */
const isOpen = (item: Item): boolean => /^T-?X+$/.test(item.id)

/** More edges than this between two phases are nobody's plan. */
const EDGES_MAX = 200_000

/** Who follows whom: every group after the one before it. Null when that would be too much. */
function sequence(
  items: readonly Item[],
  nameAt: (index: number) => TaskName,
): readonly (readonly TaskName[])[] | null {
  let group = 0
  const groupOf = items.map((item, index) => {
    const before = items[index - 1]
    if (before !== undefined && !(item.parallel && before.parallel && item.phaseAt === before.phaseAt)) group++
    return group
  })
  const members = grouped(
    items.map((_, index) => index),
    index => groupOf[index]!,
  )
  let edges = 0
  for (const [number, own] of members) edges += own.length * (members.get(number - 1)?.length ?? 0)
  if (edges > EDGES_MAX) return null
  return groupOf.map(number => (members.get(number - 1) ?? []).map(nameAt))
}
