// The samples of the backlogs, and how the tests read and print them.

import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { plainHint } from '../../../domain/hint.ts'
import type { TaskName } from '../../../domain/id.ts'
import type { PlanDefinition } from '../../../domain/plan.ts'
import { checkGraph } from '../../../domain/plan-rules/graph-rules.ts'
import type { TaskStatus } from '../../../domain/status.ts'
import type { Dialect, EndedStatus } from '../../../format/plan/dialect.ts'
import { parsePlan } from '../dialects.fixture.ts'
import { backlogMd } from './backlog-md.ts'
import { bundle } from './backlog-md-files.ts'
import { beads } from './beads.ts'
import { specKit } from './spec-kit.ts'
import { taskMaster } from './task-master.ts'

export const FOLDER = fileURLToPath(new URL('../../../../test/fixtures/dialects/backlogs/', import.meta.url))

const text = (name: string): string => readFileSync(`${FOLDER}${name}`, 'utf8')

export const FILES = readdirSync(`${FOLDER}backlog-md`)
  .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
  .map(name => ({ name, text: text(`backlog-md/${name}`) }))

export const SAMPLES: readonly { readonly name: string; readonly dialect: Dialect; readonly text: string }[] = [
  { name: 'task-master-tagged', dialect: taskMaster, text: text('task-master-tagged.json') },
  { name: 'task-master-bare', dialect: taskMaster, text: text('task-master-bare.json') },
  { name: 'beads', dialect: beads, text: text('beads.jsonl') },
  { name: 'spec-kit-tasks', dialect: specKit, text: text('spec-kit-tasks.md') },
  { name: 'backlog-md', dialect: backlogMd, text: bundle(FILES) },
]

export interface Read {
  readonly definition: PlanDefinition
  readonly ended: ReadonlyMap<TaskName, EndedStatus>
}

/** Reads a text that must be a plan. */
export function read(dialect: Dialect, source: string): Read {
  const parsed = parsePlan(source, { dialect, fallbackName: 'backlog', check: checkGraph })
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.diagnostics, null, 2))
  return parsed
}

/** What is wrong with a text, as people see it. */
export function wrong(dialect: Dialect, source: string): readonly string[] {
  const parsed = parsePlan(source, { dialect, fallbackName: 'backlog', check: checkGraph })
  if (parsed.ok) return []
  return parsed.diagnostics.map(
    ({ line, column, message, hint }) => `${line}:${column} ${message} [${plainHint(hint ?? 'no hint')}]`,
  )
}

/** Prints it with the statuses it had, or others. */
export function print(
  dialect: Dialect,
  { definition, ended }: Read,
  now: { readonly [task: string]: TaskStatus } = {},
) {
  return dialect.print!(definition, task => now[task] ?? ended.get(task) ?? 'pending')
}

/** The same plan with one task changed. */
export function withTask(plan: Read, name: string, change: object): Read {
  const tasks = plan.definition.tasks.map(task => (task.id === name ? { ...task, ...change } : task))
  return { ...plan, definition: { ...plan.definition, tasks } }
}
