// Entries of a Markdown plan that stand beside each other: their ids, what they depend on, and the task each becomes.

import type { TaskName } from '../../domain/id.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import type { TaskStatus } from '../../domain/status.ts'
import type { Path } from '../diagnostic.ts'
import type { Entry } from './markdown-outline.ts'
import { type Body, readBody, readTitle, TASK_WORDS } from './markdown-words.ts'
import { idsFor } from './naming.ts'
import { needsByRank, References } from './plan-steps-order.ts'
import { readCriterionLine } from './plan-steps-words.ts'
import { type Draft, NOT_CLAIMED } from './reading.ts'
import { endedStatus, statusWords } from './status-words.ts'

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
export class Level {
  readonly ids: readonly TaskName[]
  groups: ReadonlyMap<string, readonly TaskName[]> = new Map()
  readonly #draft: Draft
  readonly #entries: readonly Read[]
  readonly #path: Path
  readonly #prefix: string
  readonly #references = new References()

  constructor(draft: Draft, entries: readonly Entry[], path: Path, prefix: string) {
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
      `'${clip(rest[0]!)}' is no path inside the workspace`,
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

function clip(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
