// Pages and cursors. A cursor is opaque: base64url of a small JSON list with the name of its list and a digest of its filter. It names a
// row, not an offset, so new rows shift nothing; with another filter it is refused.

import { createHash } from 'node:crypto'
import { BadCursor, type Page } from './store.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 1_000
/** Enough against mistakes; forging a cursor gains nothing. */
const DIGEST_CHARS = 8

interface Asked {
  readonly cursor?: string
}

/** Absent, zero, negative and unreadable limits become the default. */
export function limitOf(limit: number | undefined, otherwise = LIMIT_DEFAULT, max = LIMIT_MAX): number {
  return limit !== undefined && limit >= 1 ? Math.min(Math.floor(limit), max) : otherwise
}

/** The numbers in a cursor of this list; null for the first page. */
export function openCursor(list: string, numbers: number, asked: Asked): readonly number[] | null {
  const rest = unseal(list, asked)
  if (rest === null) return null
  if (rest.length !== numbers || !rest.every(Number.isSafeInteger)) throw foreign(list)
  return rest as readonly number[]
}

export function pageOf<R, T>(
  list: string,
  asked: Asked,
  rows: readonly R[],
  limit: number,
  show: (row: R) => T,
  key: (row: R) => readonly number[],
): Page<T> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const more = rows.length > limit && last !== undefined
  return { items: shown.map(show), next: more ? seal(list, asked, key(last)) : null }
}

export function seal(list: string, asked: Asked, place: readonly unknown[]): string {
  return Buffer.from(JSON.stringify([list, digestOf(asked), ...place])).toString('base64url')
}

export function unseal(list: string, asked: Asked): readonly unknown[] | null {
  if (asked.cursor === undefined) return null
  const parsed = parse(asked.cursor)
  const [kind, digest, ...place] = Array.isArray(parsed) ? (parsed as unknown[]) : []
  if (kind !== list) throw foreign(list)
  if (typeof digest !== 'string' || !/^[\w-]*\.$/.test(digest))
    throw new BadCursor('this cursor was handed out by an older release; start again without one')
  if (digest !== digestOf(asked))
    throw new BadCursor(
      'this cursor was handed out for another filter; continue with the filter of the previous page, or start again without a cursor',
    )
  return place
}

const foreign = (list: string): BadCursor =>
  new BadCursor(`this cursor was not handed out by a list of ${list}; start again without one`)

/** Without the page size, which may change. The dot distinguishes it from older cursors. */
function digestOf(asked: object): string {
  const filter = Object.entries(asked)
    .filter(([key, value]) => value !== undefined && !NO_FILTER.has(key))
    .map(([key, value]) => [key, normal(value)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  if (filter.length === 0) return '.'
  const hash = createHash('sha256').update(JSON.stringify(filter)).digest('base64url')
  return `${hash.slice(0, DIGEST_CHARS)}.`
}

const NO_FILTER: ReadonlySet<string> = new Set(['type', 'cursor', 'limit', 'among'])

/** The order of listed values is irrelevant. */
function normal(value: unknown): unknown {
  if (Array.isArray(value)) return [...value].sort()
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .filter(([, inner]) => inner !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor.slice(0, CHARS_MAX), 'base64url').toString())
  } catch {
    return null
  }
}

const CHARS_MAX = 2_000
