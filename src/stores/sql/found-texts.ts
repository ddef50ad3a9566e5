// Lists of texts that hold words, and of steps.

import type { PlanId, PlanName, TaskName } from '../../domain/id.ts'
import type { Doc, EndedStep, FoundText, SearchWhere, Step, StepEnd, StepsWhere } from '../search/search-tables.ts'
import type { LogChunk, SearchHit } from '../store.ts'
import { addWithin, Conditions, type Row, type Sql } from './sql.ts'

export function findDocs(
  sql: Sql,
  kind: 'plan' | 'task',
  { words, no, within, archived }: SearchWhere,
  before: number,
  limit: number,
): readonly FoundText[] {
  const where = new Conditions()
  where.add('w.doc_words MATCH ?', sql.matching(words, kind))
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

export function findLogs(
  sql: Sql,
  { words, no, within, archived }: SearchWhere,
  before: number,
  limit: number,
): readonly FoundText[] {
  const where = new Conditions()
  where.add('w.log_words MATCH ?', sql.matching(words, 'log'))
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
export function endedSteps(sql: Sql, asked: StepsWhere, after: EndedStep | null, limit: number): readonly EndedStep[] {
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

const taskOf = (row: Row): TaskName | null => (row.task === '' ? null : (row.task as TaskName))

export const docOf = (row: Row): Doc => ({
  task: taskOf(row),
  kind: row.kind as string | null,
  capabilities: JSON.parse(row.capabilities as string) as string[],
  text: row.text as string,
})

export const stepOf = (row: Row): Step => ({
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
