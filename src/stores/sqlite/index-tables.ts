// Search and steps in SQLite: texts with a contentless full-text index beside them, and one row for each attempt. Queries are quoted words,
// so no input is an operator.

import type { TaskName } from '../../domain/id.ts'
import type { IndexTable, StepEnd } from '../search/search-tables.ts'
import { docOf, endedSteps, findDocs, findLogs, stepOf } from '../sql/found-texts.ts'
import type { Value } from '../sql/sql.ts'
import type { Connection } from './driver.ts'

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

function addWords(sql: Connection, docNo: number, task: TaskName | null, text: string): void {
  sql
    .prepare('INSERT INTO doc_words (rowid, plan, task) VALUES (?, ?, ?)')
    .run(docNo, task === null ? text : '', task === null ? '' : text)
}

function differing(sql: Connection, a: string, b: string, what: string): readonly string[] {
  const found = sql
    .prepare(`SELECT 1 FROM (SELECT * FROM (${a} EXCEPT ${b}) UNION ALL SELECT * FROM (${b} EXCEPT ${a})) LIMIT 1`)
    .get()
  return found === undefined ? [] : [`${what} and the words they are found by do not belong together`]
}

function endValues(ended: StepEnd | null): readonly Value[] {
  if (ended === null) return Array.from({ length: 10 }, () => null)
  const { at, ms, outcome, files, bytes, tokensIn, tokensOut, tokens, cost, tools } = ended
  return [at, ms, outcome, files, bytes, tokensIn, tokensOut, tokens, cost, JSON.stringify(tools)]
}
