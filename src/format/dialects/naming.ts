// Ids for tasks that were written without one. By default they are made from the words of the task; on request they are
// numbered, `plan-<shortname>-<nn>`. The same words in the same order always give the same ids, and no id is given twice.

import { isTaskName, type TaskName } from '../../domain/id.ts'

export type IdStyle = { readonly type: 'slug' } | { readonly type: 'numbered'; readonly shortname: string }

/** Gives the next id; `text` are the words of the task. */
export type NextId = (text: string) => TaskName

export const SLUG: IdStyle = { type: 'slug' }
/** Long enough to be understood, short enough for the name of a task inside a task. */
const SLUG_MAX = 48

export function generatedIds(style: IdStyle, taken: Iterable<string> = []): NextId {
  const used = new Set(taken)
  const last = new Map<string, number>()
  const free = (stem: string, first: string): TaskName => {
    let id = first
    // Where the count stood is remembered, so that ten thousand equal titles do not take a hundred million looks.
    for (let number = last.get(stem) ?? 1; used.has(id); id = `${stem}-${++number}`) last.set(stem, number + 1)
    used.add(id)
    return id as TaskName
  }
  if (style.type === 'slug') {
    return text => {
      const stem = slug(text) ?? 'step'
      return free(stem, stem)
    }
  }
  const stem = `plan-${slug(style.shortname) ?? 'x'}`
  let number = 0
  return () => {
    let id: string
    do id = `${stem}-${String(++number).padStart(2, '0')}`
    while (used.has(id))
    used.add(id)
    return id as TaskName
  }
}

/** A task about to be named: the id that was written, if any, and the words it can be named by. */
export interface Unnamed {
  readonly id?: string | undefined
  readonly text: string
}

/** One id for each. What was written is kept, so a generated id never takes it away from a later task. */
export function idsFor(tasks: readonly Unnamed[], style: IdStyle = SLUG): readonly TaskName[] {
  const next = generatedIds(
    style,
    tasks.flatMap(({ id }) => (id === undefined ? [] : [id])),
  )
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

/** `Fix the parser!` -> `fix-the-parser`; null when nothing usable is left. */
export function slug(text: string): TaskName | null {
  const words = text
    .slice(0, 400)
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
  const cut = words.length <= SLUG_MAX ? words : words.slice(0, words.lastIndexOf('-', SLUG_MAX) + 1 || SLUG_MAX)
  const name = cut.replace(/-+$/, '')
  return isTaskName(name) ? name : null
}
