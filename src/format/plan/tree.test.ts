// A plan as a tree of text.

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { expandTasks } from '../../domain/plan-rules/expand.ts'
import type { TaskStatus } from '../../domain/status.ts'
import { decision, external, gate, plan, task } from '../../testing/plan.ts'
import { planDefinition } from './definition.arbitrary.ts'
import { parsePlan } from './parse.ts'
import { ROLLBACK_PLAN } from './plan-texts.fixture.ts'
import { tree } from './tree.ts'

const PLAN = plan(
  'release',
  task('build', {
    title: 'Build it',
    action: { type: 'subplan', tasks: [task('lint'), task('test', { needs: ['lint'] })] },
  }),
  gate('review', { needs: ['build'], on: { rejected: 'build' } }),
  decision('which', { needs: ['review'], on: { yes: 'ship', no: 'end' } }),
  task('ship', { milestone: 'out', accept: [{ type: 'check', command: { script: 'curl -f localhost' } }] }),
  external('end', { milestone: 'out', description: 'Tell everybody.\n# loudly' }),
  { title: 'Release', goal: 'It is out', done: [{ type: 'prose', text: 'People use it' }] },
)
const STATUSES = new Map<string, TaskStatus>([
  ['build', 'completed'],
  ['build/lint', 'completed'],
  ['build/test', 'completed'],
  ['review', 'waiting'],
  ['which', 'pending'],
])

it('a tree shows milestones, groups and where outcomes lead', () => {
  expect(tree(PLAN, STATUSES, { sign: status => status[0]! })).toEqual([
    'release — Release',
    '├─ c build Build it (group)',
    '│  ├─ c build/lint (run)',
    '│  └─ c build/test (run) ← build/lint',
    '├─ w review (gate) ← build; rejected → build/lint',
    '├─ p which (decide) ← review; yes → ship; no → end',
    '└─ milestone out',
    '   ├─ ship (run)',
    '   └─ end (external)',
  ])
})

it('shows what compensates a task', () => {
  const parsed = parsePlan(ROLLBACK_PLAN)
  expect(parsed.ok && tree(parsed.definition).join('\n')).toContain('push (run) ← mark; compensate → undo-push')
})

it('shows every task of any plan, and does not exhaust the stack', () => {
  fc.assert(
    fc.property(planDefinition, definition => {
      const lines = tree(definition).slice(1)
      const names = new Set(expandTasks(definition).map(({ id }) => id))
      expect(lines.filter(line => !/^[│ ]*[├└]─ milestone /.test(line)).length).toBe(names.size)
    }),
    { numRuns: Number(process.env.PLANFOLD_RUNS ?? 50) },
  )
  const tasks = Array.from({ length: 20_000 }, (_, at) => task(`t${at}`, at === 0 ? {} : { needs: [`t${at - 1}`] }))
  expect(tree(plan('p', ...tasks)).length).toBe(20_001)
})
