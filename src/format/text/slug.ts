// Names made from words, and which ids of clients can be names.

import { isTaskName, type TaskName } from '../../domain/id.ts'
import type { Json } from '../../domain/json.ts'

/** Long enough to be understood, short enough for the name of a task inside a task. */
const SLUG_MAX = 48

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

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export const isUuid = (text: string): boolean => UUID.test(text)

/** An id people would use as a name; UUIDs and numbers are remembered, not used. */
export function isReadableId(id: Json | undefined): id is TaskName {
  return typeof id === 'string' && isTaskName(id) && !UUID.test(id)
}
