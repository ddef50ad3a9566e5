// Search and steps on PostgreSQL. What a batch of catching up needs is loaded with its entries.

import type { IndexTable, UnreadLog } from '../search/search-tables.ts'
import { docOf, endedSteps, findDocs, findLogs, stepOf } from '../sql/found-texts.ts'
import type { Sql, Row as SqlRow } from '../sql/sql.ts'
import type { Answers } from './answers.ts'
import type { Write } from './append.ts'
import type { Query, Row } from './connection/connection.ts'
import { one, seqOf, wordsIn } from './rows.ts'
import type { Recording } from './working-set.ts'

/** They may be large. */
const LOGS_AT_ONCE = 50

interface Room {
  readonly recording: () => Recording | null
}

export function indexOn(answers: Answers, sql: Sql, room: Room, wrote: (write: Write) => void): IndexTable {
  const ask = <T>(key: string, load: (query: Query) => Promise<T>): T => answers.ask(key, load)
  function docsOf(no: number) {
    return ask(`docs ${no}`, async query =>
      (await query('SELECT task, kind, capabilities, text FROM docs WHERE plan_no = $1', [no])).map(row =>
        docOf(row as SqlRow),
      ),
    )
  }
  function stepsOf(no: number) {
    return ask(`steps ${no}`, async query =>
      (await query('SELECT * FROM steps WHERE plan_no = $1', [no])).map(row => stepOf(row as SqlRow)),
    )
  }
  return {
    marks: () => {
      const found = answers.first(
        row => row as { position: number; log: number },
        'SELECT position, log FROM caught_up',
      )
      const marks = found ?? { position: 0, log: 0 }
      room.recording()?.guard({ g: 'marks', ...marks })
      return marks
    },
    mark: marks => wrote({ w: 'marks', ...marks }),
    doc: (no, task) => docsOf(no).find(doc => doc.task === task) ?? null,
    docs: no => docsOf(no),
    putDoc: (no, doc) => wrote({ w: 'doc', no, doc, words: wordsIn(doc.text, doc.task === null ? 'plan' : 'task') }),
    dropDoc: (no, task) => wrote({ w: 'drop-doc', no, task: task ?? '' }),
    step: (no, task, visit, attempt) =>
      stepsOf(no).find(step => step.task === task && step.visit === visit && step.attempt === attempt) ?? null,
    steps: no => stepsOf(no),
    putStep: (no, step) => wrote({ w: 'step', no, step }),
    lastLog: () => answers.first(seqOf, 'SELECT coalesce(max(seq), 0) AS seq FROM task_logs')!,
    unreadLogs: (after, limit) =>
      answers.stretch('unread logs', { after, limit, atOnce: LOGS_AT_ONCE }, seqOf, async (query, from, count) => {
        const rows = (await query(
          'SELECT l.seq, l.plan_no AS no, l.ordinal, l.text, d.bytes FROM task_logs l LEFT JOIN log_docs d USING (plan_no, ordinal) WHERE l.seq > $1 ORDER BY l.seq LIMIT $2',
          [from, count],
        )) as unknown as readonly (UnreadLog & { readonly bytes: number | null })[]
        for (const { no, ordinal, bytes } of rows) answers.put(`log bytes ${no} ${ordinal}`, bytes ?? 0)
        return rows.map(({ bytes: _, ...log }) => log)
      }),
    logBytes: (no, ordinal) =>
      ask(
        `log bytes ${no} ${ordinal}`,
        async query =>
          (one(await query('SELECT bytes FROM log_docs WHERE plan_no = $1 AND ordinal = $2', [no, ordinal]))?.bytes ??
            0) as number,
      ),
    addLog: ({ seq, no, ordinal, text }, bytes) =>
      wrote({ w: 'log-words', no, ordinal, seq, words: wordsIn(text, 'log'), bytes }),
    find: (kind, where, before, limit) =>
      kind === 'log' ? findLogs(sql, where, before, limit) : findDocs(sql, kind, where, before, limit),
    ended: (where, after, limit) => endedSteps(sql, where, after, limit),
    clear: () => wrote({ w: 'clear-index' }),
    faults: () => [],
  }
}

/** What the index has of the plans of these entries, at once. */
export async function loadIndex(answers: Answers, query: Query, rows: readonly Row[]): Promise<void> {
  const numbers = [...new Set(rows.map(({ plan_no }) => plan_no as number))]
  if (numbers.length === 0) return
  const docs = await query('SELECT plan_no, task, kind, capabilities, text FROM docs WHERE plan_no = ANY ($1)', [
    numbers,
  ])
  const steps = await query('SELECT * FROM steps WHERE plan_no = ANY ($1)', [numbers])
  for (const no of numbers) {
    const of = (row: Row) => row.plan_no === no
    answers.put(
      `docs ${no}`,
      docs.filter(of).map(row => docOf(row as SqlRow)),
    )
    answers.put(
      `steps ${no}`,
      steps.filter(of).map(row => stepOf(row as SqlRow)),
    )
  }
}
