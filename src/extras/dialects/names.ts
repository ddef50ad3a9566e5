// Names for tasks whose ids in another format cannot be names here: numbers, `<placeholders>`, `gaps-*`, words with blanks.
// Two ids never get one name, and an id that is a name already keeps it. What was changed is remembered in `extra.id`.

import { isPlanName, isTaskName, NAME_MAX, type PlanName, type TaskName } from '../../domain/id.ts'
import type { Json } from '../../domain/json.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import { slug } from '../../format/text/slug.ts'

// Ids for tasks that were written without one, made from the words of the task. The same words in the same order always give the
// same ids, and no id is given twice.

/** Gives the next id; `text` are the words of the task. */
export function generatedIds(taken: Iterable<string> = []): (text: string) => TaskName {
  const used = new Set(taken)
  const last = new Map<string, number>()
  return text => {
    const stem = slug(text) ?? 'step'
    let id: string = stem
    // Where the count stood is remembered, so that ten thousand equal titles do not take a hundred million looks.
    for (let number = last.get(stem) ?? 1; used.has(id); id = `${stem}-${++number}`) last.set(stem, number + 1)
    used.add(id)
    return id as TaskName
  }
}

/** A task about to be named: the id that was written, if any, and the words it can be named by. */
interface Unnamed {
  readonly id?: string | undefined
  readonly text: string
}

/** One id for each. What was written is kept, so a generated id never takes it away from a later task. */
export function idsFor(tasks: readonly Unnamed[]): readonly TaskName[] {
  const next = generatedIds(tasks.flatMap(({ id }) => (id === undefined ? [] : [id])))
  // Words without a single usable letter are named by their place.
  return tasks.map(({ id, text }, index) => {
    if (id !== undefined) return id as TaskName
    return next(slug(text) === null ? `step ${index + 1}` : text)
  })
}

/** Which ids must be written down, because reading the words alone would give other ones. */
export function idsToWrite(tasks: readonly { readonly id: TaskName; readonly text: string }[]): ReadonlySet<TaskName> {
  const written = new Set<TaskName>()
  // Writing one down may change what the others get. Two rounds do, save for contrived titles; then all are written.
  for (let round = 0; round < 4; round++) {
    const ids = idsFor(tasks.map(({ id, text }) => (written.has(id) ? { id, text } : { text })))
    const wrong = tasks.filter(({ id }, index) => ids[index] !== id)
    if (wrong.length === 0) return written
    for (const { id } of wrong) written.add(id)
  }
  return new Set(tasks.map(({ id }) => id))
}

export class Names {
  readonly #names = new Map<string, TaskName>()
  /** The last number given to each slug, so that a thousand equal ones are not counted from the start each time. */
  readonly #last = new Map<string, number>()

  /** All ids of one level, in their order. A number and the same number as text are one id. */
  constructor(ids: Iterable<Json | undefined>) {
    const known = [...ids].filter(isId).map(String)
    const taken = new Set<string>(known.filter(isTaskName))
    for (const id of known) {
      if (this.#names.has(id)) continue
      const name = isTaskName(id) ? id : this.#free(taskSlug(id), taken)
      taken.add(name)
      this.#names.set(id, name as TaskName)
    }
  }

  has(id: Json | undefined): boolean {
    return isId(id) && this.#names.has(String(id))
  }

  /** The name for an id. One that nobody has is given back as it stands: the graph then says that there is no such task. */
  name(id: Json): Json {
    return isId(id) ? (this.#names.get(String(id)) ?? String(id)) : id
  }

  /** What `extra.id` must remember so that the id can be printed again; undefined when the name says it all. */
  remember(id: Json | undefined): Json | undefined {
    return id === undefined || this.name(id) === id ? undefined : id
  }

  #free(slug: string, taken: ReadonlySet<string>): string {
    let number = this.#last.get(slug) ?? 1
    let name = number === 1 ? slug : `${slug}-${number}`
    while (taken.has(name)) name = `${slug}-${++number}`
    this.#last.set(slug, number)
    return name
  }
}

/** The ids to print for tasks: the remembered ones wherever reading them again would give the same names. */
export function writtenIds(tasks: readonly TaskDefinition[]): ReadonlyMap<TaskName, Json> {
  const written = new Map<TaskName, Json>()
  for (const { id, extra } of tasks) {
    const remembered = extra?.id
    written.set(id, remembered !== undefined && isId(remembered) ? remembered : id)
  }
  // Giving one up may free or take a name another one counted on; each round gives up at least one.
  for (let round = 0; round < tasks.length; round++) {
    const names = new Names(written.values())
    const wrong = [...written].filter(([name, id]) => names.name(id) !== name)
    if (wrong.length === 0) return written
    for (const [name] of round < 3 ? wrong : written) written.set(name, name)
  }
  return written
}

/** A name for a task, made of any text. Not unique by itself. */
export function taskSlug(text: string): string {
  const slug = text
    .normalize('NFKD')
    .slice(0, 400)
    .replace(/[^A-Za-z0-9._/-]+/g, '-')
    .replace(/\.\.+/g, '.')
    .replace(/\/\/+/g, '/')
    .replace(/--+/g, '-')
    .slice(0, NAME_MAX - 8)
    .replace(/^[._/-]+|[._/-]+$/g, '')
  return isTaskName(slug) ? slug : 'task'
}

/** A name for a plan, made of any text; null when nothing usable is left. */
export function planSlug(text: string): PlanName | null {
  if (isPlanName(text)) return text
  const slug = taskSlug(text).replaceAll('/', '-')
  return isPlanName(slug) && slug !== 'task' ? slug : null
}

function isId(id: Json | undefined): id is string | number {
  return typeof id === 'number' || (typeof id === 'string' && id !== '')
}
