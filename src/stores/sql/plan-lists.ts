// Lists of plans. Pages are cut by key, never by offset; every value is a parameter; search text is no pattern.

import type { PlanId } from '../../domain/id.ts'
import { PLAN_STATUSES, type PlanStatus, TASK_STATUSES, type TaskStatus } from '../../domain/status.ts'
import { limitOf, openCursor, pageOf, seal, unseal } from '../cursor.ts'
import { wordsOf } from '../search/words.ts'
import {
  BadCursor,
  type OverviewPage,
  type OverviewQuery,
  type Page,
  type PlanOverview,
  type PlanQuery,
  type PlanRow,
} from '../store.ts'
import { bothLoaded, eachLoaded } from '../tables.ts'
import { addWithin, Conditions, planOf, type Row, type Sql, type Value } from './sql.ts'

// Lists of plans, newest first. There is an index of plan numbers for each session, goal or agent with each status, archived or not; a page
// merges at most twelve such ranges, starting at the number in the cursor. So every page costs the same. The index is chosen here, because
// SQLite's planner has no statistics; other conditions are checked row by row.

/** As in `domain/views/summary.ts`: active, and nothing can move until a person decides. */
const WAITS = `EXISTS (SELECT 1 FROM tasks t WHERE t.plan_no = p.plan_no AND t.status = 'waiting')`
const MOVES = `EXISTS (SELECT 1 FROM tasks t WHERE t.plan_no = p.plan_no AND t.status IN ('ready', 'running'))`
const SHOWN_STATUS = `CASE WHEN p.status = 'active' AND ${WAITS} AND NOT ${MOVES} THEN 'blocked' ELSE p.status END`

/** By the text of the last entry, without parsing it; a large entry is stored elsewhere and always counts. */
const UNSETTLED = `(EXISTS (SELECT 1 FROM earlier_attempts a WHERE a.plan_no = p.plan_no) OR
  (SELECT coalesce(instr(l.body, 'rollback.stopped'), 1) FROM entries l WHERE l.plan_no = p.plan_no
    ORDER BY l.version DESC LIMIT 1) > 0)`

/** `blocked` is never stored. */
const STORED = ['draft', 'active', 'paused', 'completed', 'failed', 'cancelled'] as const
const HOLDERS = ['session', 'goal', 'agent'] as const

export function listPlans(sql: Sql, query: PlanQuery, words: readonly string[] | null): Page<PlanRow> {
  const limit = limitOf(query.limit)
  const before = openCursor('plans', 1, query)?.[0]
  const numbers = find(sql, query, words, before, limit + 1)
    .map(row => row.plan_no as number)
    .sort((a, b) => b - a)
    .slice(0, limit + 1)
  const show = showing(sql)
  return pageOf(
    'plans',
    query,
    eachLoaded(numbers, (number, at): Row => (at < limit ? show.get(number)! : { plan_no: number })),
    limit,
    planRow,
    ({ plan_no }) => [plan_no as number],
  )
}

const LAST_ENTRY = `LEFT JOIN entries e ON e.plan_no = p.plan_no
  AND e.version = (SELECT max(version) FROM entries WHERE plan_no = p.plan_no)`

const showing = (sql: Sql) =>
  sql.prepare(`SELECT p.*, ${SHOWN_STATUS} AS status, coalesce(e.at, p.created_at) AS at,
    coalesce(e.done, 0) AS done, coalesce(e.version, 0) AS version FROM plans p ${LAST_ENTRY} WHERE p.plan_no = ?`)

function find(
  sql: Sql,
  query: PlanQuery,
  words: readonly string[] | null,
  before: number | undefined,
  limit: number,
): readonly Row[] {
  const holder = HOLDERS.find(key => query[key] !== undefined)
  if (words !== null) return byWords(sql, query, words, before, limit)
  if (holder === undefined && query.status === 'blocked') return waiting(sql, query, before, limit)
  if (holder === undefined && query.status === undefined && query.archived === undefined) {
    const where = rest(query, [])
    where.add('p.plan_no < ?', before)
    return all(sql, 'plans p NOT INDEXED', where, 'p.plan_no', limit)
  }
  const stored = query.status === undefined ? STORED : [query.status === 'blocked' ? 'active' : query.status]
  const archived = query.archived === undefined ? [0, 1] : [Number(query.archived)]
  const ranges = stored.flatMap(status => archived.map(flag => [status, flag] as const))
  return eachLoaded(ranges, ([status, flag]) => {
    const where = rest(query, holder === undefined ? [] : [holder])
    if (holder !== undefined) where.add(`p.${holder} = ?`, query[holder])
    where.add('p.status = ? AND p.archived = ?', status, flag)
    where.add('p.plan_no < ?', before)
    return all(sql, `plans p INDEXED BY plans_by_${holder ?? 'status'}`, where, 'p.plan_no', limit)
  }).flat()
}

/** Through the search texts of plans, which are numbered in plan order. */
function byWords(
  sql: Sql,
  query: PlanQuery,
  words: readonly string[],
  before: number | undefined,
  limit: number,
): readonly Row[] {
  const where = rest({ ...query, text: undefined }, [])
  where.add('p.archived = ?', flagOf(query))
  where.add('p.status = ?', query.status === 'blocked' ? 'active' : query.status)
  where.add('w.doc_words MATCH ?', sql.matching(words, 'plan'))
  // The plan of the cursor may be gone; then the next newer one marks the place.
  const place = `(SELECT doc_no FROM docs WHERE plan_no >= ? AND task = '' ORDER BY plan_no, task LIMIT 1)`
  where.add(`w.rowid < coalesce(${place}, ${Number.MAX_SAFE_INTEGER})`, before)
  const from = 'doc_words w CROSS JOIN docs d ON d.doc_no = w.rowid CROSS JOIN plans p ON p.plan_no = d.plan_no'
  return all(sql, from, where, 'w.rowid', limit)
}

function waiting(sql: Sql, query: PlanQuery, before: number | undefined, limit: number): readonly Row[] {
  const where = rest({ ...query, status: undefined }, [])
  where.add(`w.status = 'waiting' AND p.status = 'active' AND NOT ${MOVES}`)
  where.add('p.archived = ?', flagOf(query))
  where.add('w.plan_no < ?', before)
  const from = 'tasks w INDEXED BY tasks_waiting CROSS JOIN plans p ON p.plan_no = w.plan_no'
  return all(sql, from, where, 'w.plan_no', limit, 'GROUP BY w.plan_no')
}

function all(sql: Sql, from: string, where: Conditions, key: string, limit: number, group = ''): readonly Row[] {
  return sql
    .prepare(`SELECT ${group === '' ? 'p' : 'w'}.plan_no FROM ${from} ${where} ${group} ORDER BY ${key} DESC LIMIT ?`)
    .all(...where.values, limit)
}

type Loose = { readonly [K in keyof PlanQuery]: PlanQuery[K] | undefined }

/** The conditions that the chosen index does not cover. */
function rest(query: Loose, but: readonly (typeof HOLDERS)[number][]): Conditions {
  const where = new Conditions()
  for (const key of HOLDERS) if (!but.includes(key)) where.add(`p.${key} = ?`, query[key])
  if (query.status === 'blocked') where.add(`${WAITS} AND NOT ${MOVES}`)
  if (query.status === 'active') where.add(`NOT (${WAITS} AND NOT ${MOVES})`)
  if (query.unsettled === true) where.add(UNSETTLED)
  if (query.text !== undefined) lookFor(where, query.text)
  return where
}

const flagOf = ({ archived }: PlanQuery): Value | undefined => (archived === undefined ? undefined : Number(archived))

/** For a text without words, and when the words are not caught up. */
function lookFor(where: Conditions, text: string): void {
  const words = wordsOf(text)
  for (const part of words.length === 0 ? [text] : words) {
    const pattern = `%${part.replaceAll(/[\\%_]/g, '\\$&')}%`
    where.add(
      `(p.name LIKE ? ESCAPE '\\' OR p.title LIKE ? ESCAPE '\\' OR p.goal_text LIKE ? ESCAPE '\\')`,
      pattern,
      pattern,
      pattern,
    )
  }
}

// The overview of plans. Counts use an index; orders without an index visit all plans.

const SPENT = (what: string): string =>
  `(SELECT sum(s.${what}) FROM steps s INDEXED BY steps_by_plan WHERE s.plan_no = p.plan_no AND s.ended_at IS NOT NULL)`

const ORDERS: { readonly [order in NonNullable<OverviewQuery['order']>]: readonly [key: string, way: 'ASC' | 'DESC'] } =
  {
    newest: ['p.plan_no', 'DESC'],
    updated: ['coalesce(e.at, p.created_at)', 'DESC'],
    name: ['p.name', 'ASC'],
    cost: [`coalesce(${SPENT('cost')}, -1)`, 'DESC'],
  }

export function overviewPlans(
  sql: Sql,
  query: OverviewQuery,
  words: readonly string[] | null,
): Omit<OverviewPage, 'complete'> {
  const limit = limitOf(query.limit)
  const { order = 'newest' } = query
  const [key, way] = ORDERS[order]
  const list = `plans by ${order}`
  const where = overviewed(sql, query, words)
  const place = unseal(list, query)
  if (place !== null && !(place.length === 2 && place.every(isScalar)))
    throw new BadCursor(`this cursor was not handed out by a list of ${list}; start again without one`)
  // The plan number is the key, or the tie-breaker of another key.
  const [columns, marks] = order === 'newest' ? ['plan_no', '(?)'] : ['(key, plan_no)', '(?, ?)']
  const behind = place === null ? '' : `WHERE ${columns} ${way === 'ASC' ? '>' : '<'} ${marks}`
  const from = `plans p ${order === 'updated' || query.since !== undefined ? LAST_ENTRY : ''} ${where}`
  const ordered = sql.prepare(`SELECT plan_no, key FROM (SELECT p.plan_no, ${key} AS key FROM ${from}) found ${behind}
      ORDER BY ${order === 'newest' ? '' : `key ${way}, `}plan_no ${way} LIMIT ?`)
  const behindWhat = (place ?? []).slice(order === 'newest' ? 1 : 0) as Value[]
  const [found, counted] = bothLoaded(
    () => ordered.all(...where.values, ...behindWhat, limit + 1),
    () => countedPlans(sql, query, words),
  )
  const shown = found.slice(0, limit)
  const last = shown.at(-1)
  const isMore = found.length > limit && last !== undefined
  const [show, more] = [showing(sql), moreOf(sql)]
  return {
    items: eachLoaded(shown, ({ plan_no }) => {
      const [row, rest] = bothLoaded(
        () => show.get(plan_no!)!,
        () => more(plan_no as number),
      )
      return { ...planRow(row), ...rest }
    }),
    next: isMore ? seal(list, query, [last.key, last.plan_no]) : null,
    ...counted,
  }
}

function countedPlans(
  sql: Sql,
  query: OverviewQuery,
  words: readonly string[] | null,
): Pick<OverviewPage, 'total' | 'statuses'> {
  const { status, among, ...wide } = query
  const joined = query.since === undefined ? '' : LAST_ENTRY
  const where = overviewed(sql, wide, words)
  const statuses = Object.fromEntries(PLAN_STATUSES.map(one => [one, 0])) as Record<PlanStatus, number>
  const isBlocked = `p.status = 'active' AND ${WAITS} AND NOT ${MOVES}`
  for (const row of sql
    .prepare(`SELECT p.status, count(*) AS count, count(*) FILTER (WHERE ${isBlocked}) AS blocked FROM plans p ${joined} ${where}
      GROUP BY p.status`)
    .all(...where.values)) {
    const [stored, count, blocked] = [row.status as PlanStatus, row.count as number, row.blocked as number]
    statuses[stored] += count - blocked
    statuses.blocked += blocked
  }
  if (among === undefined) {
    const total = status === undefined ? Object.values(statuses).reduce((sum, one) => sum + one, 0) : statuses[status]
    return { total, statuses }
  }
  const only = overviewed(sql, query, words)
  const { total } = sql.prepare(`SELECT count(*) AS total FROM plans p ${joined} ${only}`).get(...only.values)!
  return { total: total as number, statuses }
}

const isScalar = (value: unknown): boolean => typeof value === 'string' || Number.isFinite(value)

function overviewed(sql: Sql, query: OverviewQuery, words: readonly string[] | null): Conditions {
  const where = rest(words === null ? query : { ...query, text: undefined }, [])
  where.add('p.archived = ?', flagOf(query))
  where.add('p.status = ?', query.status === 'blocked' ? 'active' : query.status)
  where.add('coalesce(e.at, p.created_at) >= ?', query.since)
  where.add('p.created_at < ?', query.until)
  if (query.within !== undefined) addWithin(where, query.within)
  if (query.among !== undefined) where.add('p.id IN (SELECT value FROM json_each(?))', JSON.stringify(query.among))
  if (words !== null)
    where.add(
      `p.plan_no IN (SELECT d.plan_no FROM doc_words w CROSS JOIN docs d ON d.doc_no = w.rowid WHERE w.doc_words MATCH ?)`,
      sql.matching(words, 'plan'),
    )
  return where
}

function moreOf(sql: Sql): (no: number) => Pick<PlanOverview, 'counts' | 'tokens' | 'cost'> {
  const counted = sql.prepare('SELECT status, count(*) AS count FROM tasks WHERE plan_no = ? GROUP BY status')
  const spent = sql.prepare(
    `SELECT ${SPENT('tokens')} AS tokens, ${SPENT('cost')} AS cost FROM plans p WHERE p.plan_no = ?`,
  )
  return no => {
    const counts = Object.fromEntries(TASK_STATUSES.map(status => [status, 0])) as Record<TaskStatus, number>
    const [rows, { tokens, cost }] = bothLoaded(
      () => counted.all(no),
      () => spent.get(no)!,
    )
    for (const { status, count } of rows) counts[status as TaskStatus] = count as number
    return { counts, tokens: tokens as number | null, cost: cost as number | null }
  }
}

function planRow(row: Row): PlanRow {
  const { goalText, goal, ...record } = planOf(row)
  return { id: row.id as PlanId, version: row.version as number, ...record, goal: goalText, goalId: goal }
}
