// Pages and the cursors that lead from one to the next. A cursor is opaque to callers: base64url of a small JSON list
// that begins with the name of the list it belongs to. It names a row, not an offset, so rows added meanwhile shift nothing.

import { BadCursor, type Page } from './store.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 500

/** Absent, zero, negative and unreadable limits fall back to the default. */
export function limitOf(limit: number | undefined, otherwise = LIMIT_DEFAULT, max = LIMIT_MAX): number {
  return limit !== undefined && limit >= 1 ? Math.min(Math.floor(limit), max) : otherwise
}

/** The numbers a cursor of this list carries; null when there is no cursor: the first page. */
export function openCursor(list: string, numbers: number, cursor: string | undefined): readonly number[] | null {
  if (cursor === undefined) return null
  const parsed = parse(cursor)
  const [kind, ...rest] = Array.isArray(parsed) ? (parsed as unknown[]) : []
  if (kind !== list || rest.length !== numbers || !rest.every(Number.isSafeInteger)) {
    throw new BadCursor(`this cursor was not handed out by a list of ${list}; start again without one`)
  }
  return rest as number[]
}

/** Cuts a page from rows of which one more than `limit` was asked for. */
export function pageOf<R, T>(
  list: string,
  rows: readonly R[],
  limit: number,
  show: (row: R) => T,
  key: (row: R) => readonly number[],
): Page<T> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const more = rows.length > limit && last !== undefined
  return {
    items: shown.map(show),
    next: more ? Buffer.from(JSON.stringify([list, ...key(last)])).toString('base64url') : null,
  }
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor.slice(0, 200), 'base64url').toString())
  } catch {
    return null
  }
}
