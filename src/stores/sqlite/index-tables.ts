// Search and steps in SQLite: texts with a contentless full-text index beside them, and one row for each attempt. Queries are quoted words,
// so no input is an operator.

import type { PlanId, PlanName, TaskName } from '../../domain/id.ts'
import type {
  Doc,
  EndedStep,
  FoundText,
  IndexTable,
  SearchWhere,
  Step,
  StepEnd,
  StepsWhere,
} from '../search/search-tables.ts'
import type { LogChunk, PlanSet, SearchHit } from '../store.ts'
import type { Connection, Row, Value } from './driver.ts'
import { Conditions } from './projection-tables.ts'

export function sqliteIndex(sql: Connection, wrote: () => void): IndexTable {
  return {
    marks() {
      const row = sql.prepare('SELECT position, log FROM caught_up').get()!
      return { position: row.position as number, log: row.log as number }
    },
    mark({ position, log }) {
      wrote()
      sql.prepare('UPDATE caught_up SET position = ?, log = ?').run(position, log)
    },

    doc(no, task) {
      const row = sql.prepare('SELECT * FROM docs WHERE plan_no = ? AND task = ?').get(no, task ?? '')
      return row === undefined ? null : docOf(row)
    },
    docs: no => sql.prepare('SELECT * FROM docs WHERE plan_no = ?').all(no).map(docOf),
    putDoc(no, { task, kind, capabilities, text }) {
      wrote()
      const known = sql.prepare('SELECT doc_no FROM docs WHERE plan_no = ? AND task = ?').get(no, task ?? '')?.doc_no
      const values = [kind, JSON.stringify(capabilities), text]
      if (known === undefined) {
        const insert = sql.prepare('INSERT INTO docs (plan_no, task, kind, capabilities, text) VALUES (?, ?, ?, ?, ?)')
        const docNo = Number(insert.run(no, task ?? '', ...values).lastInsertRowid)
        addWords(sql, docNo, task, text)
      } else {
        sql.prepare('UPDATE docs SET kind = ?, capabilities = ?, text = ? WHERE doc_no = ?').run(...values, known)
        sql.prepare('DELETE FROM doc_words WHERE rowid = ?').run(known)
        addWords(sql, known as number, task, text)
      }
    },
    dropDoc(no, task) {
      wrote()
      const place = 'plan_no = ? AND task = ?'
      sql.prepare(`DELETE FROM doc_words WHERE rowid = (SELECT doc_no FROM docs WHERE ${place})`).run(no, task ?? '')
      sql.prepare(`DELETE FROM docs WHERE ${place}`).run(no, task ?? '')
    },
    step(no, task, visit, attempt) {
      const row = sql
        .prepare('SELECT * FROM steps WHERE plan_no = ? AND task = ? AND visit = ? AND attempt = ?')
        .get(no, task, visit, attempt)
      return row === undefined ? null : stepOf(row)
    },
    steps: no => sql.prepare('SELECT * FROM steps WHERE plan_no = ?').all(no).map(stepOf),
    putStep(no, { task, visit, attempt, startedAt, agent, kind, capabilities, ended }) {
      wrote()
      sql
        .prepare(`INSERT INTO steps (plan_no, task, visit, attempt, started_at, agent, kind, capabilities, ended_at, ms, outcome,
            files, bytes, tokens_in, tokens_out, tokens, cost, tools)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
          ON CONFLICT (plan_no, task, visit, attempt) DO UPDATE SET started_at = excluded.started_at, agent = excluded.agent,
            kind = excluded.kind, capabilities = excluded.capabilities, ended_at = excluded.ended_at, ms = excluded.ms,
            outcome = excluded.outcome, files = excluded.files, bytes = excluded.bytes, tokens_in = excluded.tokens_in,
            tokens_out = excluded.tokens_out, tokens = excluded.tokens, cost = excluded.cost, tools = excluded.tools`)
        .run(no, task, visit, attempt, startedAt, agent, kind, JSON.stringify(capabilities), ...endValues(ended))
    },

    lastLog: () => sql.prepare('SELECT coalesce(max(seq), 0) AS seq FROM task_logs').get()!.seq as number,
    unreadLogs: (after, limit) =>
      sql
        .prepare('SELECT seq, plan_no, ordinal, text FROM task_logs WHERE seq > ? ORDER BY seq LIMIT ?')
        .all(after, limit)
        .map(row => ({
          seq: row.seq as number,
          no: row.plan_no as number,
          ordinal: row.ordinal as number,
          text: row.text as string,
        })),
    logBytes: (no, ordinal) =>
      (sql.prepare('SELECT bytes FROM log_docs WHERE plan_no = ? AND ordinal = ?').get(no, ordinal)?.bytes ??
        0) as number,
    addLog({ seq, no, ordinal, text }, bytes) {
      wrote()
      sql.prepare('INSERT INTO log_words (rowid, text) VALUES (?, ?)').run(seq, text)
      sql.prepare('INSERT OR REPLACE INTO log_docs VALUES (?, ?, ?)').run(no, ordinal, bytes)
    },

    find: (kind, where, before, limit) =>
      kind === 'log' ? findLogs(sql, where, before, limit) : findDocs(sql, kind, where, before, limit),
    ended: (where, after, limit) => endedSteps(sql, where, after, limit),

    clear() {
      wrote()
      sql.exec(`DELETE FROM docs; DELETE FROM doc_words; DELETE FROM log_docs; DELETE FROM log_words; DELETE FROM steps;
        UPDATE caught_up SET position = 0, log = 0`)
    },
    faults: () => [
      ...differing(sql, 'SELECT doc_no AS no FROM docs', 'SELECT id AS no FROM doc_words_docsize', 'texts'),
      ...(sql.prepare('SELECT 1 FROM log_words_docsize WHERE id NOT IN (SELECT seq FROM task_logs) LIMIT 1').get() ===
      undefined
        ? []
        : ['output can be found that is not there']),
    ],
  }
}

/** Each word as a quoted prefix. */
export const matching = (words: readonly string[]): string => words.map(word => `"${word}"*`).join(' AND ')

function addWords(sql: Connection, docNo: number, task: TaskName | null, text: string): void {
  sql
    .prepare('INSERT INTO doc_words (rowid, plan, task) VALUES (?, ?, ?)')
    .run(docNo, task === null ? text : '', task === null ? '' : text)
}

export function addWithin(where: Conditions, { plans = [], sessions = [] }: PlanSet): void {
  const listed = (column: string): string => `${column} IN (SELECT value FROM json_each(?))`
  where.add(`(${listed('p.id')} OR ${listed('p.session')})`, JSON.stringify(plans), JSON.stringify(sessions))
}

function findDocs(
  sql: Connection,
  kind: 'plan' | 'task',
  { words, no, within, archived }: SearchWhere,
  before: number,
  limit: number,
): readonly FoundText[] {
  const where = new Conditions()
  where.add('w.doc_words MATCH ?', `{${kind}} : (${matching(words)})`)
  where.add('w.rowid < ?', before)
  if (no !== null) {
    where.add('w.rowid >= (SELECT min(doc_no) FROM docs WHERE plan_no = ?)', no)
    where.add('d.plan_no = ?', no)
  }
  if (!archived) where.add('p.archived = ?', 0)
  if (within !== null) addWithin(where, within)
  return sql
    .prepare(`SELECT w.rowid AS key, p.id, p.name, p.created_at, d.task, d.text, t.added_at FROM doc_words w
      CROSS JOIN docs d ON d.doc_no = w.rowid CROSS JOIN plans p ON p.plan_no = d.plan_no
      LEFT JOIN tasks t ON t.plan_no = d.plan_no AND t.name = d.task AND d.task <> '' ${where} ORDER BY w.rowid DESC LIMIT ?`)
    .all(...where.values, limit)
    .map(row => ({
      key: row.key as number,
      plan: row.id as PlanId,
      name: row.name as PlanName,
      task: taskOf(row),
      text: row.text as string,
      at: (row.added_at ?? row.created_at) as number,
      log: null,
    }))
}

function findLogs(
  sql: Connection,
  { words, no, within, archived }: SearchWhere,
  before: number,
  limit: number,
): readonly FoundText[] {
  const where = new Conditions()
  where.add('w.log_words MATCH ?', matching(words))
  where.add('w.rowid < ?', before)
  if (no !== null) {
    where.add('w.rowid >= (SELECT min(seq) FROM task_logs WHERE plan_no = ?)', no)
    where.add('w.rowid <= (SELECT max(seq) FROM task_logs WHERE plan_no = ?)', no)
    where.add('l.plan_no = ?', no)
  }
  if (!archived) where.add('p.archived = ?', 0)
  if (within !== null) addWithin(where, within)
  return sql
    .prepare(`SELECT l.*, p.id, p.name, t.name AS task FROM log_words w CROSS JOIN task_logs l ON l.seq = w.rowid
      CROSS JOIN plans p ON p.plan_no = l.plan_no CROSS JOIN tasks t ON t.plan_no = l.plan_no AND t.ordinal = l.ordinal
      ${where} ORDER BY w.rowid DESC LIMIT ?`)
    .all(...where.values, limit)
    .map(row => ({
      key: row.seq as number,
      plan: row.id as PlanId,
      name: row.name as PlanName,
      task: row.task as TaskName,
      text: row.text as string,
      at: row.at as number,
      log: {
        seq: row.seq as number,
        visit: row.visit as number,
        attempt: row.attempt as number,
        stream: row.stream as LogChunk['stream'],
      } satisfies SearchHit['log'],
    }))
}

/** Uses the index of the plan, else that of the agent, else that of the time. */
function endedSteps(sql: Connection, asked: StepsWhere, after: EndedStep | null, limit: number): readonly EndedStep[] {
  const { no, agent, capability, kind, since, until } = asked
  const where = new Conditions()
  where.add('s.ended_at IS NOT NULL')
  where.add('s.plan_no = ?', no)
  where.add('s.agent = ?', agent)
  where.add('s.kind = ?', kind)
  where.add('s.ended_at >= ?', since)
  where.add('s.ended_at < ?', until)
  where.add('EXISTS (SELECT 1 FROM json_each(s.capabilities) WHERE value = ?)', capability)
  const byPlan = no !== undefined
  if (after !== null && byPlan) where.add('s.step_no > ?', after.no)
  if (after !== null && !byPlan) where.add('(s.ended_at, s.step_no) > (?, ?)', after.ended.at, after.no)
  const index = byPlan ? 'steps_by_plan' : agent !== undefined ? 'steps_by_agent' : 'steps_by_time'
  return sql
    .prepare(`SELECT s.*, p.id FROM steps s INDEXED BY ${index} CROSS JOIN plans p ON p.plan_no = s.plan_no ${where}
      ORDER BY ${byPlan ? 's.step_no' : 's.ended_at, s.step_no'} LIMIT ?`)
    .all(...where.values, limit)
    .map(row => ({ ...stepOf(row), no: row.step_no as number, plan: row.id as PlanId, ended: endOf(row)! }))
}

function differing(sql: Connection, a: string, b: string, what: string): readonly string[] {
  const found = sql
    .prepare(`SELECT 1 FROM (SELECT * FROM (${a} EXCEPT ${b}) UNION ALL SELECT * FROM (${b} EXCEPT ${a})) LIMIT 1`)
    .get()
  return found === undefined ? [] : [`${what} and the words they are found by do not belong together`]
}

const taskOf = (row: Row): TaskName | null => (row.task === '' ? null : (row.task as TaskName))

const docOf = (row: Row): Doc => ({
  task: taskOf(row),
  kind: row.kind as string | null,
  capabilities: JSON.parse(row.capabilities as string) as string[],
  text: row.text as string,
})

const stepOf = (row: Row): Step => ({
  task: row.task as TaskName,
  visit: row.visit as number,
  attempt: row.attempt as number,
  startedAt: row.started_at as number,
  agent: row.agent as string,
  kind: row.kind as string | null,
  capabilities: JSON.parse(row.capabilities as string) as string[],
  ended: endOf(row),
})

function endOf(row: Row): StepEnd | null {
  if (row.ended_at === null) return null
  return {
    at: row.ended_at as number,
    ms: row.ms as number,
    outcome: row.outcome as StepEnd['outcome'],
    files: row.files as number,
    bytes: row.bytes as number,
    tokensIn: row.tokens_in as number | null,
    tokensOut: row.tokens_out as number | null,
    tokens: row.tokens as number | null,
    cost: row.cost as number | null,
    tools: JSON.parse(row.tools as string) as string[],
  }
}

function endValues(ended: StepEnd | null): readonly Value[] {
  if (ended === null) return Array.from({ length: 10 }, () => null)
  const { at, ms, outcome, files, bytes, tokensIn, tokensOut, tokens, cost, tools } = ended
  return [at, ms, outcome, files, bytes, tokensIn, tokensOut, tokens, cost, JSON.stringify(tools)]
}
