// Plans that step lists and Markdown can express, for property tests. Each dialect says which keys of a task it has words for
// and which orders it can tell; whatever is generated from that must survive printing and reading.

import fc from 'fast-check'
import { isPlanName, isTaskName, type PlanName, type TaskName } from '../../../domain/id.ts'
import type { Json, JsonObject } from '../../../domain/json.ts'
import { BACKOFF_DEFAULT_MS } from '../../../domain/limits.ts'
import type { PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'

export interface Expressible {
  /** Keys of tasks, besides id and needs. */
  readonly task: readonly (keyof typeof TASK_VALUES)[]
  readonly plan: readonly (keyof typeof PLAN_VALUES)[]
  readonly order: 'chain' | 'graph'
  readonly subplans: boolean
  /** Kinds of text that fit on one line, or any text. */
  readonly text: 'lines' | 'any'
}

const hard = fc.constantFrom(
  '# x',
  '## Steps',
  '- [ ] y',
  '- [x] z',
  '1. one',
  '2. **two**',
  '**bold** rest',
  'Files: a.ts',
  'Depends: 1',
  'Status: done',
  '---',
  '```',
  '```js',
  '~~~',
  '\\',
  '\\# a',
  ' lead',
  '\tTab',
  '- plain',
  'Acceptance Criteria:',
  '`code`',
  '### 1.1 T',
  'Name: x',
  '',
  'a: b',
  '🙂 ünï',
  '汉字',
  'Definition of Done',
  '> quote',
  '[x] box',
  'Plan: p',
  'none',
  '1',
  'Phase 2: x',
  '*',
  '${',
  'trail ',
)
const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }).filter(text => !/[\0\r\n]/.test(text))
/** One line, not blank at its ends. */
const line = fc
  .oneof(words, hard, fc.constantFrom('Write the parser', 'Fix it', 'Fix it', 'Test', 'Ship it!', 'a'))
  .map(text => text.replace(/^[ \t]+|[ \t]+$/g, ''))
  .filter(text => text !== '' && !text.includes('${{') && !/\p{Surrogate}/u.test(text))
const prose = fc
  .array(fc.oneof(words, hard), { minLength: 1, maxLength: 6 })
  .map(lines => lines.join('\n'))
  .filter(text => !/[\0\r]/.test(text) && !/\p{Surrogate}/u.test(text))
const word = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/)
const path = fc.constantFrom('src/a.ts', 'docs/', 'src/**', 'test/x[1].ts', 'README.md', '*.md')
const list = <T>(item: fc.Arbitrary<T>) => fc.array(item, { minLength: 1, maxLength: 3 })
/** A line that may stand between commas. */
const item = line.filter(text => !text.includes('`'))
const key = fc.stringMatching(/^x_[a-z]{1,6}$/)
const json = fc
  .jsonValue({ maxDepth: 2 })
  .filter(
    value => !/\$\{\{|__proto__|prototype|constructor|"<<"|\d{16}|\de/.test(JSON.stringify(value)),
  ) as fc.Arbitrary<Json>
const map = fc
  .dictionary(key, json, { minKeys: 1, maxKeys: 3, noNullPrototype: true })
  .map(plain) as fc.Arbitrary<JsonObject>

const TASK_VALUES = {
  title: line,
  description: prose,
  kind: line,
  assignee: line,
  owner: line,
  instruction: line,
  milestone: fc.oneof(
    line.filter(text => !/^-$|phase|^Definition|^Acceptance/i.test(text)),
    fc.constantFrom('Build', 'Ship'),
  ),
  priority: fc.integer({ min: -100, max: 100 }),
  estimateMs: fc.integer({ min: 1, max: 10_000 }).map(minutes => minutes * 60_000),
  timeoutMs: fc.integer({ min: 1, max: 10_000 }).map(seconds => seconds * 1_000),
  deadline: fc.constantFrom('2026-02-28', '2026-12-31T23:59:59Z'),
  labels: list(item),
  capabilities: list(item),
  capability: line.map(one => [one]),
  write: list(path),
  inputs: map,
  retry: fc.integer({ min: 1, max: 100 }).map(attempts => ({ attempts, backoffMs: BACKOFF_DEFAULT_MS })),
  accept: list(line.filter(text => !/^\[.\](\s|$)/u.test(text)).map(text => ({ type: 'prose' as const, text }))),
  extra: map,
} as const

const PLAN_VALUES = {
  title: line,
  goal: prose,
  owner: line,
  session: line,
  labels: list(item),
  done: TASK_VALUES.accept,
  extra: map,
} as const

const name = fc.oneof(
  word,
  fc.stringMatching(/^[a-zA-Z0-9](?:[a-zA-Z0-9._-]{0,10}[a-zA-Z0-9])?$/),
  fc.constantFrom('none', '1', '2', '1.1', 'step-1', 'fix-it', 'fix-it-2', 'test', 'A', 'a'),
)

export function expressible(what: Expressible): fc.Arbitrary<PlanDefinition> {
  const task = record(what.task, TASK_VALUES)
  const tasks = (inner: boolean): fc.Arbitrary<readonly TaskDefinition[]> =>
    fc
      .tuple(
        fc.uniqueArray(name.filter(isTaskName), { minLength: 1, maxLength: 4 }),
        fc.array(task, { minLength: 4, maxLength: 4 }),
        fc.array(fc.nat(63), { minLength: 4, maxLength: 4 }),
        fc.constantFrom('chain', 'graph', 'none'),
        inner ? fc.array(fc.option(tasks(false), { freq: 4 }), { minLength: 4, maxLength: 4 }) : fc.constant([]),
      )
      .map(([ids, values, masks, shape, children]) =>
        ids.map((id, index) => {
          const before = ids.slice(0, index).filter((_, at) => (masks[index]! >> at) & 1)
          const order = what.order === 'chain' ? 'chain' : shape
          const needs = order === 'chain' ? ids.slice(index - 1, index).slice(0, index) : order === 'none' ? [] : before
          const { capability, milestone, ...rest } = values[index] as { [key: string]: unknown }
          const steps = children[index] ?? null
          return {
            id: id as TaskName,
            ...rest,
            ...(milestone === undefined || !inner ? {} : { milestone }),
            capabilities: capability,
            ...(needs.length === 0 ? {} : { needs: needs as readonly TaskName[] }),
            action: steps === null ? { type: 'external' as const } : { type: 'subplan' as const, tasks: steps },
          } as TaskDefinition
        }),
      )
  return fc
    .tuple(record(what.plan, PLAN_VALUES), name.filter(isPlanName), tasks(what.subplans))
    .map(([plan, named, all]) => ({ name: named as unknown as PlanName, ...plan, tasks: all }) as PlanDefinition)
}

function record(keys: readonly string[], values: { readonly [key: string]: fc.Arbitrary<unknown> }) {
  const model = Object.fromEntries(keys.map(one => [one, values[one]!]))
  return fc.record(model, { requiredKeys: [], noNullPrototype: true }) as fc.Arbitrary<{ [key: string]: unknown }>
}

/** -0 is written as 0. */
function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}
