// The frame around the tasks of somebody else: nothing in them takes its place.

import { expect, test } from 'vitest'
import type { PlanName, TaskName } from '../../../domain/id.ts'
import type { PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import { framed } from './plan-frame.ts'

const work = (id: string, more: Partial<TaskDefinition> = {}): TaskDefinition => ({
  id: id as TaskName,
  action: { type: 'external' },
  instruction: 'Do it.',
  ...more,
})
const names = (...ids: readonly string[]) => ids as readonly TaskName[]

const around = (...tasks: readonly TaskDefinition[]): PlanDefinition =>
  framed(
    { name: 'p' as PlanName, goal: 'Sort the list by 2027-03-01', tasks },
    {
      known: {
        definition: {
          name: 'p' as PlanName,
          tasks: [],
          extra: { planning: { constraints: ['without new packages'] } },
        },
        kind: 'bug',
        analysis: { commands: { test: { run: ['npm', 'test'], from: 'package.json', exists: true } } } as never,
      },
      questions: [],
    },
  )

const outline = ({ tasks }: PlanDefinition) => tasks.map(({ id, needs = [] }) => [id, ...needs].join(' '))

test('the tests are recorded and the state is saved before, and a person looks at the end', () => {
  const plan = around(work('a', { write: ['a.ts'] }), work('b', { needs: names('a'), write: ['b.ts'] }))
  expect(outline(plan)).toEqual(['baseline', 'safe-point baseline', 'a safe-point', 'b a', 'review b'])
  expect(plan.tasks.at(-1)).toMatchObject({
    action: { type: 'gate', gate: 'diff', show: [expect.stringContaining('Keep to this: without new packages')] },
    on: { rejected: ['b'] },
  })
})

test('work that writes nothing is read at the end, and needs no safe point', () => {
  const plan = around(work('look', { write: [] }))
  expect(outline(plan)).toEqual(['look', 'review look'])
  expect(plan.tasks.at(-1)).toMatchObject({ title: 'Read the answer' })
})

test('a gate of the work, and a name of the frame that the work took, replace nothing', () => {
  const gate = { type: 'gate', gate: 'approval', show: ['diff'] } as const
  const plan = around(work('baseline'), work('review', { needs: names('baseline'), action: gate }))
  expect(outline(plan)).toEqual([
    'baseline-2',
    'safe-point baseline-2',
    'baseline safe-point',
    'review baseline',
    'review-2 review',
  ])
})

test('what pushes comes after the look, with its approval; what only a failure or an outcome starts is not waited for', () => {
  const gate = { type: 'gate', gate: 'approval', show: ['diff'] } as const
  const plan = around(
    work('fix', {
      write: ['a.ts'],
      on: { odd: names('other') },
      recover: [{ do: { type: 'repair', task: 'mend' as TaskName } }],
    }),
    work('other', { write: ['c.ts'] }),
    work('mend', { write: ['d.ts'] }),
    work('agree', { needs: names('fix'), action: gate }),
    work('push', { needs: names('agree'), kind: 'push', write: [] }),
  )
  expect(outline(plan)).toEqual([
    'baseline',
    'safe-point baseline',
    'fix safe-point',
    'other',
    'mend',
    'review fix',
    'agree review',
    'push agree',
  ])
})
