// What every step list and every Markdown plan must hold: printing and reading gives the same plan and the same statuses, damaged
// and hostile text is answered with values, and long text is answered soon.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import type { TaskStatus } from '../../../domain/status.ts'
import { planDefinition } from '../../../format/plan/definition.arbitrary.ts'
import type { Dialect } from '../../../format/plan/dialect.ts'
import { Source } from '../../../format/text/source.ts'
import { parsePlan } from '../dialects.fixture.ts'
import { markdownChecklist } from '../markdown/markdown-checklist.ts'
import { markdownInspect } from '../markdown/markdown-inspect.ts'
import { markdownPhases } from '../markdown/markdown-phases.ts'
import { markdownSteps } from '../markdown/markdown-steps.ts'
import { todoPlan } from '../markdown/todo-plan.ts'
import { planRecord } from './plan-record.ts'
import { type Expressible, expressible } from './plan-steps.arbitrary.ts'
import { planSteps } from './plan-steps.ts'
import { stepList } from './step-list.ts'

const JSON_PLAN = ['title', 'goal', 'owner', 'session', 'labels', 'extra'] as const
const MARKDOWN_PLAN = ['title', 'goal', 'owner', 'session', 'labels', 'done'] as const
const MARKDOWN_TASK = [
  'description',
  'kind',
  'assignee',
  'owner',
  'priority',
  'estimateMs',
  'deadline',
  'labels',
  'capabilities',
  'write',
  'accept',
] as const

interface Case {
  readonly dialect: Dialect
  readonly says: Expressible
  readonly statuses: readonly TaskStatus[]
}

const MOST: readonly TaskStatus[] = ['pending', 'ready', 'running', 'waiting', 'completed', 'failed', 'skipped']
const EVERY: readonly TaskStatus[] = [...MOST, 'blocked', 'abandoned', 'cancelled']

const CASES: readonly Case[] = [
  {
    dialect: planSteps,
    says: {
      task: [
        'title',
        'description',
        'kind',
        'assignee',
        'owner',
        'priority',
        'estimateMs',
        'labels',
        'inputs',
        'accept',
        'extra',
      ],
      plan: JSON_PLAN,
      order: 'graph',
      subplans: true,
      text: 'any',
    },
    statuses: [...MOST, 'blocked', 'cancelled'],
  },
  {
    dialect: planRecord,
    says: {
      task: [
        'title',
        'description',
        'kind',
        'assignee',
        'instruction',
        'priority',
        'timeoutMs',
        'labels',
        'inputs',
        'accept',
        'extra',
      ],
      plan: JSON_PLAN,
      order: 'graph',
      subplans: false,
      text: 'any',
    },
    statuses: [...MOST, 'blocked', 'cancelled'],
  },
  {
    dialect: stepList,
    says: {
      task: ['title', 'description', 'capability', 'inputs', 'retry', 'accept', 'extra'],
      plan: JSON_PLAN,
      order: 'graph',
      subplans: false,
      text: 'any',
    },
    statuses: [...MOST, 'cancelled'],
  },
  {
    dialect: todoPlan,
    says: {
      task: ['title', 'description', 'accept', 'extra'],
      plan: JSON_PLAN,
      order: 'chain',
      subplans: false,
      text: 'any',
    },
    statuses: ['pending', 'ready', 'running', 'waiting', 'completed', 'blocked'],
  },
  {
    dialect: markdownSteps,
    says: {
      task: ['title', 'milestone', ...MARKDOWN_TASK],
      plan: MARKDOWN_PLAN,
      order: 'graph',
      subplans: true,
      text: 'lines',
    },
    statuses: EVERY,
  },
  {
    dialect: markdownPhases,
    says: {
      task: ['title', 'milestone', ...MARKDOWN_TASK],
      plan: MARKDOWN_PLAN,
      order: 'graph',
      subplans: true,
      text: 'lines',
    },
    statuses: EVERY,
  },
  {
    dialect: markdownChecklist,
    says: { task: ['title', ...MARKDOWN_TASK], plan: MARKDOWN_PLAN, order: 'graph', subplans: true, text: 'lines' },
    statuses: EVERY,
  },
  {
    dialect: markdownInspect,
    says: { task: MARKDOWN_TASK, plan: MARKDOWN_PLAN, order: 'graph', subplans: true, text: 'lines' },
    statuses: EVERY,
  },
]

/** More when somebody looks for what is rare. */
const RUNS = Number(process.env.PLANFOLD_RUNS ?? 20)

describe.each(CASES.map(one => [one.dialect.name, one] as const))('%s', (_, { dialect, says, statuses }) => {
  test('a plan it can express is the same after printing and reading, with the statuses of its tasks', () => {
    fc.assert(
      fc.property(
        expressible(says),
        fc.array(fc.constantFrom(...statuses), { minLength: 1, maxLength: 7 }),
        (plan, some) => {
          const status = statusesOf(plan, some)
          const { text, lost } = dialect.print!(plan, name => status.get(name) ?? 'pending')
          expect(lost, text).toEqual([])
          expect(dialect.recognises(new Source(text)) || isBare(dialect, plan), text).toBe(true)
          const parsed = parsePlan(text, { dialect })
          expect(parsed.ok ? still(parsed.definition) : parsed.diagnostics, text).toEqual(plan)
          for (const [name, now] of status)
            if (parsed.ok)
              expect([name, parsed.ended.get(name as never)]).toEqual([name, ENDED.has(now) ? now : undefined])
        },
      ),
      { numRuns: RUNS },
    )
  })

  test('any plan can be printed; when nothing is lost, it reads the same', () => {
    fc.assert(
      fc.property(planDefinition, plan => {
        const { text, lost } = dialect.print!(plan, () => 'pending')
        const parsed = parsePlan(text, { dialect, fallbackName: 'x' })
        if (lost.length === 0) expect(parsed.ok ? parsed.definition : parsed.diagnostics, text).toEqual(plan)
      }),
      { numRuns: RUNS },
    )
  })

  test('damaged texts are answered with values', () => {
    const samples = fc
      .sample(expressible(says), { numRuns: 60, seed: 4 })
      .map(plan => dialect.print!({ ...plan, tasks: plan.tasks.slice(0, 2) }, () => 'completed').text)
      .sort((a, b) => a.length - b.length)
      .slice(0, 12)
    fc.assert(
      fc.property(fc.constantFrom(...samples), fc.array(damage, { minLength: 1, maxLength: 4 }), (text, steps) => {
        const damaged = steps.reduce((now, step) => step(now), text)
        // Recognising reads the text once more, so not all of them are asked.
        if (damaged.length % 5 === 0) dialect.recognises(new Source(damaged))
        const parsed = parsePlan(damaged, { dialect, fallbackName: 'x' })
        if (!parsed.ok)
          expect(
            parsed.diagnostics.every(({ line, column, message }) => line > 0 && column > 0 && message !== ''),
          ).toBe(true)
        else for (const ended of parsed.ended.keys()) expect(typeof ended).toBe('string')
      }),
      { numRuns: RUNS * 4 },
    )
    expect(Object.keys(Object.prototype)).toEqual([])
  })
})

const ENDED: ReadonlySet<TaskStatus> = new Set(['completed', 'failed', 'skipped', 'abandoned', 'cancelled'])

function statusesOf(plan: PlanDefinition, some: readonly TaskStatus[]): Map<string, TaskStatus> {
  const status = new Map<string, TaskStatus>()
  let next = 0
  const visit = (tasks: readonly TaskDefinition[], prefix: string): readonly TaskStatus[] =>
    tasks.map(({ id, action }) => {
      const inner = action.type === 'subplan' ? visit(action.tasks, `${prefix}${id}/`) : []
      const own = some[next++ % some.length]!
      // A task is not completed while something in it is open.
      const now = own === 'completed' && !inner.every(one => ENDED.has(one)) ? 'pending' : own
      status.set(`${prefix}${id}`, now)
      return now
    })
  visit(plan.tasks, '')
  return status
}

/** A list in which no step has a tool could be anybody's. */
function isBare(dialect: Dialect, plan: PlanDefinition): boolean {
  return (
    dialect === stepList &&
    plan.tasks.every(({ capabilities, retry }) => capabilities === undefined && retry === undefined)
  )
}

/** Without the words for statuses, which are no part of what the plan says. */
function still(plan: PlanDefinition): PlanDefinition {
  const strip = (tasks: readonly TaskDefinition[]): readonly TaskDefinition[] =>
    tasks.map(({ extra, action, ...task }) => {
      const { status: _, ...rest } = extra ?? {}
      const inner = action.type === 'subplan' ? { ...action, tasks: strip(action.tasks) } : action
      return { ...task, action: inner, ...(Object.keys(rest).length === 0 ? {} : { extra: rest }) }
    })
  return { ...plan, tasks: strip(plan.tasks) }
}

type Damage = (text: string) => string
const spot = fc.double({ min: 0, max: 1, noNaN: true })
const junk = fc.constantFrom(
  '\0',
  '\r',
  '\n',
  '\t',
  '\u2028',
  '\uFEFF',
  '\ud800',
  '"',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '- [ ] ',
  '- [?] x\n',
  '# ',
  '## Phase 9999999999999\n',
  '### 1.1.1.1.1.1 x\n',
  '```\n',
  '999999999. **x**\n',
  'Depends: 1-99999\n',
  'Depends: x\n',
  '**',
  '`',
  '\\',
  '"__proto__":{"a":1},',
  '"depends_on":[[]],',
  '"steps":[],',
  '"status":"NOPE",',
  '"step":1e999,',
  '"constructor":{"prototype":{}},',
  'null',
  '${{ x }}',
  '<id>',
  'a|b',
)
const damage: fc.Arbitrary<Damage> = fc.oneof(
  fc.tuple(spot, junk).map(
    ([at, what]): Damage =>
      text =>
        cut(text, at, 0, what),
  ),
  fc.tuple(spot, fc.nat(40)).map(
    ([at, length]): Damage =>
      text =>
        cut(text, at, length, ''),
  ),
  fc.tuple(spot, spot, fc.nat(60)).map(
    ([at, from, length]): Damage =>
      text =>
        cut(text, at, 0, text.slice(Math.floor(from * text.length)).slice(0, length)),
  ),
  fc.constant<Damage>(text => text.replaceAll('\n', '\r\n')),
  fc.constant<Damage>(text => text.replace(/^ +/gm, blanks => '\t'.repeat(blanks.length / 2))),
)

function cut(text: string, at: number, length: number, instead: string): string {
  const from = Math.floor(at * text.length)
  return text.slice(0, from) + instead + text.slice(from + length)
}
