// From the outline of a Markdown plan to the canonical document. Where nobody says what an entry depends on, the order of the
// list counts, or the order of the phases; as soon as one entry of a list says it, only what is said counts.

import type { TaskName } from '../../../domain/id.ts'
import type { Json, JsonObject } from '../../../domain/json.ts'
import { DOCUMENT_MAX_BYTES } from '../../../domain/limits.ts'
import type { TaskStatus } from '../../../domain/status.ts'
import type { Reading } from '../../../format/plan/dialect.ts'
import { endedStatus } from '../../../format/plan/dialect.ts'
import { clip, type Path } from '../../../format/text/diagnostic.ts'
import { slug } from '../../../format/text/slug.ts'
import type { Source } from '../../../format/text/source.ts'
import { statusWords } from '../../../format/text/status-words.ts'
import { DocumentBuilder, NOT_CLAIMED } from '../document-builder.ts'
import { idsFor } from '../names.ts'
import { namesIn, PEOPLE_KEYS } from '../plan-people.ts'
import { EDGES_MAX, edgesByRank, needsByRank, References } from '../planstore/plan-steps-order.ts'
import { readCriterionLine } from '../planstore/plan-steps-words.ts'
import { markdownLines } from './markdown-lines.ts'
import { type Entry, NESTED_MAX, outlineOf, type Section, type Style } from './markdown-outline.ts'
import { type Body, PLAN_WORDS, readBody, readTitle, TASK_WORDS } from './markdown-words.ts'

// Entries of a Markdown plan that stand beside each other: their ids, what they depend on, and the task each becomes.

/** What stands in a box. */
const BOXES: { readonly [box: string]: TaskStatus } = {
  __proto__: null as never,
  ' ': 'pending',
  x: 'completed',
  X: 'completed',
  '-': 'skipped',
  '~': 'running',
  '/': 'running',
  '!': 'failed',
  TODO: 'pending',
  DONE: 'completed',
}

const STATUS_WORDS = statusWords<TaskStatus>({
  todo: 'pending',
  pending: 'pending',
  ready: 'pending',
  'not started': 'pending',
  'in progress': 'running',
  running: 'running',
  waiting: 'running',
  done: 'completed',
  complete: 'completed',
  completed: 'completed',
  failed: 'failed',
  skipped: 'skipped',
  blocked: 'blocked',
  abandoned: 'abandoned',
  cancelled: 'cancelled',
  canceled: 'cancelled',
})

interface Read {
  readonly entry: Entry
  readonly body: Body
  readonly title: string | null
  readonly id: string | undefined
}

/** Entries that stand beside each other, and so can name each other. */
class Level {
  readonly ids: readonly TaskName[]
  groups: ReadonlyMap<string, readonly TaskName[]> = new Map()
  readonly #draft: DocumentBuilder
  readonly #entries: readonly Read[]
  readonly #path: Path
  readonly #prefix: string
  readonly #references = new References()

  constructor(draft: DocumentBuilder, entries: readonly Entry[], path: Path, prefix: string) {
    this.#draft = draft
    this.#path = path
    this.#prefix = prefix
    this.#entries = entries.map(entry => {
      const { title, id, rest } = readTitle(entry.text)
      const first = rest === null ? [] : [{ at: entry.at, text: rest, code: false }]
      const body = readBody([...first, ...entry.body], TASK_WORDS)
      return { entry, body, title, id: id ?? (body.words.get('id')?.value as string | undefined) }
    })
    this.ids = idsFor(this.#entries.map(({ id, title }) => ({ id, text: title ?? '' })))
    const pairs = (word: (read: Read, index: number) => Json | undefined | null) =>
      this.#entries.map((read, index) => [word(read, index) ?? undefined, this.ids[index] as TaskName] as const)
    this.#references.add(pairs((_, index) => this.ids[index]))
    // Markdown lets people write 1. before every item; then the place counts.
    const numbers = new Set(this.#entries.map(({ entry }) => entry.number))
    const lazy = numbers.size === 1 && entries.length > 1
    this.#references.add(
      pairs(({ entry }, index) => (entry.number === null ? null : lazy ? String(index + 1) : entry.number)),
    )
    this.#references.add(pairs(({ title }) => /^(\d+(?:\.\d+)*)[.)]?[ \t]/.exec(title ?? '')?.[1]))
    this.#references.add(pairs(({ title }) => title))
    this.#refuseTwins()
  }

  /** `unsaid` is what entries need that do not say so; null when the list is the order. */
  read(
    unsaid: ReadonlyMap<TaskName, readonly TaskName[]> | null,
    milestone: (index: number) => string | null,
  ): readonly JsonObject[] {
    const explicit = this.#entries.some(({ body }) => body.words.has('needs'))
    const byDefault = unsaid ?? (explicit ? new Map() : needsByRank(this.ids.map(id => [id])))
    return this.#entries.map((read, index) => this.#task(read, index, byDefault, milestone(index)))
  }

  #task(
    read: Read,
    index: number,
    unsaid: ReadonlyMap<TaskName, readonly TaskName[]>,
    milestone: string | null,
  ): JsonObject {
    const { entry, body, title } = read
    const id = this.ids[index] as TaskName
    const path = [...this.#path, index]
    const { trace } = this.#draft
    trace.mark(path, { line: entry.at, column: 1 })
    const task: { [key: string]: Json } = { id }
    if (title !== null) task.title = title
    if (body.prose !== null) task.description = body.prose
    if (milestone !== null) task.milestone = milestone
    for (const [key, { value, at }] of body.words) {
      if (key === 'id' || key === 'needs' || key === 'write' || key === 'status') continue
      task[key] = value
      trace.mark([...path, key], { line: at, column: 1 })
    }
    const said = body.words.get('needs')
    const needs = said === undefined ? unsaid.get(id) : this.#needs(said.value as readonly string[], said.at)
    if (needs !== undefined && needs.length > 0) task.needs = needs
    trace.mark([...path, 'needs'], { line: said?.at ?? entry.at, column: 1 })
    this.#files(task, body, path)
    if (entry.criteria.length > 0) {
      task.accept = entry.criteria.filter(({ text }) => text !== '').map(({ text }) => readCriterionLine(text))
      trace.mark([...path, 'accept'], { line: entry.criteria[0]!.at, column: 1 })
    }
    this.#status(read, id, path)
    if (entry.children.length > 0) {
      const inner = new Level(this.#draft, entry.children, [...path, 'subplan'], `${this.#prefix}${id}/`)
      task.subplan = inner.read(null, () => null)
      this.#refuseEarlyEnd(`${this.#prefix}${id}`, inner, path)
    }
    return task
  }

  #needs(words: readonly string[], at: number): readonly TaskName[] {
    if (words.length === 1 && /^(?:none|nothing|-|–|—|n\/a)$/i.test(words[0]!)) return []
    return words.flatMap(word => this.#meant(word, at))
  }

  #meant(word: string, at: number): readonly TaskName[] {
    const plain = word.replace(/^(?:(?:task|step|item)[ \t]+|#)/i, '').replace(/^\*\*(.+)\*\*$/, '$1')
    const phase = /^phase[ \t]+(\d+)\b/i.exec(word)?.[1]
    const found =
      phase === undefined ? (this.#references.find(word) ?? this.#references.find(plain)) : this.groups.get(phase)
    if (typeof found === 'string') return [found]
    if (Array.isArray(found)) return found
    const group = this.groups.get(plain)
    if (group !== undefined) return group
    const range = /^(\d{1,5})[ \t]*[-–][ \t]*(\d{1,5})$/u.exec(plain)
    if (range !== null && Number(range[2]) - Number(range[1]) < 1_000) {
      const all: TaskName[] = []
      for (let number = Number(range[1]); number <= Number(range[2]); number++)
        all.push(...this.#meant(String(number), at))
      return all
    }
    const message =
      found === null ? `more than one task is called '${clip(word)}'` : `no task is called '${clip(word)}'`
    this.#draft.refuseAt(at, 1, message, 'name a task beside it by its number, its id or its title')
    return []
  }

  /** Only what stays below the workspace becomes a scope. */
  #files(task: { [key: string]: Json }, body: Body, path: Path): void {
    const said = body.words.get('write')
    if (said === undefined) return
    const files = said.value as readonly string[]
    const safe = files.filter(isSafePath)
    const rest = files.filter(file => !isSafePath(file))
    this.#draft.trace.mark([...path, 'write'], { line: said.at, column: 1 })
    if (safe.length > 0) task.write = safe
    if (rest.length === 0) return
    task.extra = { files: rest }
    this.#draft.trace.mark([...path, 'extra'], { line: said.at, column: 1 })
    this.#draft.warn(
      [...path, 'extra'],
      `'${clip(rest[0]!)}' is not a path inside the workspace`,
      'it is kept, but is not part of what the task may write',
    )
  }

  #status({ entry, body }: Read, id: TaskName, path: Path): void {
    const name = `${this.#prefix}${id}` as TaskName
    const word = body.words.get('status')
    const box = entry.box === null ? null : (BOXES[entry.box] ?? null)
    if (entry.box !== null && box === null) {
      this.#draft.refuseAt(
        entry.at,
        1,
        `'[${entry.box}]' is not a known mark`,
        'write [ ], [x], [-] for skipped, [~] for under way or [!] for failed',
      )
      return
    }
    let status = box
    if (word !== undefined && (box === null || box === 'pending')) {
      const read = STATUS_WORDS.read(word.value)
      if (read.ok) status = read.status
      else this.#draft.refuseAt(word.at, 1, read.message, read.hint)
    }
    const ended = status === null ? null : endedStatus(status)
    if (ended !== null) this.#draft.ended.set(name, ended)
    else if (status === 'running') {
      this.#draft.underWay.add(name)
      this.#draft.warn(path, `'${clip(name)}' was under way when this was written`, NOT_CLAIMED)
    }
  }

  /** A box that is ticked above open ones does not make them done. */
  #refuseEarlyEnd(name: string, inner: Level, path: Path): void {
    const { ended } = this.#draft
    const open = inner.ids.find(id => !ended.has(`${name}/${id}` as TaskName))
    if (open === undefined || ended.get(name as TaskName) !== 'completed') return
    ended.delete(name as TaskName)
    this.#draft.warn(
      path,
      `'${clip(name)}' is ticked, but '${clip(open)}' in it is not`,
      'tick what is inside, or it begins as pending',
    )
  }

  #refuseTwins(): void {
    const seen = new Set<string>()
    for (const { id, entry } of this.#entries) {
      if (id === undefined) continue
      if (seen.has(id))
        this.#draft.refuseAt(entry.at, 1, `there is another task '${clip(id)}'`, 'give every task an id of its own')
      seen.add(id)
    }
  }
}

/** A path or pattern that stays below the workspace and means one thing. */
export function isSafePath(file: string): boolean {
  if (file.length > 1_000 || !/^[^\s\p{C}"'`<>|:;,!~\\{}()$]+$/u.test(file) || file.startsWith('/')) return false
  const parts = (file.endsWith('/') ? file.slice(0, -1) : file).split('/')
  return parts.every(part => part !== '' && part !== '.' && part !== '..' && (part === '**' || !part.includes('**')))
}

export interface Kind {
  readonly style: Style
  /** The milestone that a section stands for; null for none. */
  milestone(section: Section): string | null
  /** Does the whole plan wait phase by phase, or entry by entry? */
  readonly order: 'phases' | 'chain'
}

export function readMarkdown(source: Source, kind: Kind): Reading {
  const draft = new DocumentBuilder(source)
  if (Buffer.byteLength(source.text) > DOCUMENT_MAX_BYTES) {
    draft.refuseAt(
      1,
      1,
      `the document is larger than ${DOCUMENT_MAX_BYTES / 1024 / 1024} MB`,
      'put large content into files',
    )
    return draft.reading({})
  }
  const { sections, tooDeep } = outlineOf(markdownLines(source), kind.style)
  if (tooDeep !== null) {
    draft.refuseAt(tooDeep, 1, `tasks are nested more than ${NESTED_MAX} deep`, 'move the inner ones further out')
    return draft.reading({})
  }
  draft.trace.mark([], { line: 1, column: 1 })
  const plan: { [key: string]: Json } = { planfold: 1, ...readHead(draft, sections) }
  const done = sections.flatMap(({ criteria }) => criteria)
  if (done.length > 0) plan.done = done.filter(({ text }) => text !== '').map(({ text }) => readCriterionLine(text))
  plan.tasks = readTasks(draft, sections, kind)
  const extra = sectionsKept(sections, kind)
  if (extra.length > 0) plan.extra = { sections: extra }
  return draft.reading(plan)
}

/** Title, goal and name: what stands before the first section of tasks. */
function readHead(draft: DocumentBuilder, sections: readonly Section[]): JsonObject {
  const head = headOf(sections)
  const written = head.find(({ level }) => level === 1)
  const title = written === undefined ? null : titleOf(written.title)
  const { words, prose } = readBody(
    head.flatMap(({ body }) => body),
    PLAN_WORDS,
  )
  const about = readBody(
    sections.filter(section => !head.includes(section) && isAboutPeople(section)).flatMap(({ body }) => body),
    PLAN_WORDS,
  ).words
  const name = title === null ? null : slug(title)
  const plan: { [key: string]: Json } = {
    ...(title === null ? {} : { title }),
    ...(prose === null ? {} : { goal: prose }),
    ...(name === null ? {} : { name }),
  }
  for (const [key, { value, at }] of new Map([...about, ...words])) {
    if (key === 'approvedBy' || key === 'approvedOn') continue
    const said = PEOPLE_KEYS.includes(key) ? namesIn(value) : value
    if (said === null) continue
    plan[key] = said
    draft.trace.mark([key], { line: at, column: 1 })
  }
  const [by, date] = ['approvedBy', 'approvedOn'].map(key => namesIn((words.get(key) ?? about.get(key))?.value))
  if (by != null || date != null)
    plan.approval = { ...(by == null ? {} : { by }), ...(date == null ? {} : { date: date[0]! }) }
  return plan
}

/** Words of a plan are read in sections about people, too: `### 4. Stakeholders and reviewers`, `### Approval`. */
const isAboutPeople = ({ title, entries }: Section): boolean =>
  entries.length === 0 && /^(?:\d+[.)][ \t]*)?(?:stakeholders|reviewers|approval)\b/i.test(title)

/** `# Plan: Dark mode` is called `Dark mode`. */
function titleOf(text: string): string | null {
  const title = /^plan(?:[ \t]*:[ \t]*(.*))?$/is.exec(text)
  const said = title === null ? text : (title[1] ?? '')
  return said === '' ? null : said
}

/** The text before the first heading, and the first heading when it is one of the first level. */
function headOf(sections: readonly Section[]): readonly Section[] {
  return sections.slice(0, sections[1]?.level === 1 ? 2 : 1)
}

/** Sections that hold no tasks, and what is said in those that do. A heading above others, with nothing of its own, is only order. */
function sectionsKept(sections: readonly Section[], kind: Kind): readonly JsonObject[] {
  const head = headOf(sections)
  return sections.flatMap((section, index) => {
    if (head.includes(section)) return []
    const { prose, words } = readBody(section.body, isAboutPeople(section) ? PLAN_WORDS : [])
    if (prose === null && words.size > 0) return []
    const above = (sections[index + 1]?.level ?? 0) > section.level
    const empty = section.entries.length === 0 && section.criteria.length === 0 && !above && section.title !== ''
    if (prose === null && !empty) return []
    const title = section.entries.length > 0 ? (kind.milestone(section) ?? section.title) : section.title
    return [{ title, text: prose ?? '' }]
  })
}

function readTasks(draft: DocumentBuilder, sections: readonly Section[], kind: Kind): readonly JsonObject[] {
  const phases = sections.filter(({ entries }) => entries.length > 0)
  const standing = phases.flatMap(section => section.entries.map(entry => ({ entry, section })))
  const level = new Level(
    draft,
    standing.map(({ entry }) => entry),
    ['tasks'],
    '',
  )
  const ranks: (readonly TaskName[])[] = []
  let at = 0
  for (const { entries } of phases) {
    ranks.push(level.ids.slice(at, at + entries.length))
    at += entries.length
  }
  if (kind.order === 'phases') {
    if (edgesByRank(ranks) > EDGES_MAX) {
      draft.refuseAt(1, 1, 'its phases are too large to wait for each other', "make smaller phases, or say 'Depends:'")
      return []
    }
    // `Depends: Phase 1`, and `Depends: 1` where tasks are numbered 1.1.
    level.groups = new Map(
      phases.flatMap(({ title }, index) => {
        const number = /^phase[ \t]+(\d+)/i.exec(title)?.[1]
        return number === undefined ? [] : [[number, ranks[index]!] as const]
      }),
    )
  }
  const unsaid = kind.order === 'phases' ? needsByRank(ranks) : null
  return level.read(unsaid, index => kind.milestone(standing[index]!.section))
}
