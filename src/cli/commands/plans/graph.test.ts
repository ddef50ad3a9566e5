import { expect, it } from 'vitest'
import type { PlanName, TaskName } from '../../../domain/id.ts'
import type { PlanDefinition } from '../../../domain/plan.ts'
import { pictureOf } from '../../../format/plan/scene.ts'
import { paint } from '../../terminal/paint.ts'
import { text } from './graph.ts'

const name = (word: string): TaskName => word as TaskName
const PLAN: PlanDefinition = {
  name: 'demo' as PlanName,
  tasks: [
    { id: name('push'), needs: [name('review')], action: { type: 'run', command: { argv: ['true'] } } },
    {
      id: name('review'),
      needs: [name('build')],
      action: { type: 'gate', gate: 'approval' },
      on: { rejected: [name('build')] },
    },
    { id: name('build'), action: { type: 'run', command: { argv: ['true'] } } },
  ],
}

it('prints a graph as text in the order of work', () => {
  expect(text(pictureOf(PLAN, new Map()), paint(false))).toEqual([
    '   1 build',
    '   2 review ← build  rejected → build',
    '   3 push   ← review',
  ])
})

it('shows where each task stands, and puts what has no place at the end', () => {
  const circle = {
    ...PLAN,
    tasks: [...PLAN.tasks, { id: name('me'), needs: [name('me')], action: { type: 'external' } as const }],
  }
  expect(text(pictureOf(circle, new Map([['build', 'completed']])), paint(false))).toEqual([
    '   1 ✔ build',
    '   2 review ← build  rejected → build',
    '   3 push   ← review',
    '   ? me     ← me',
  ])
})

it('does not exhaust the stack on a long chain', () => {
  const tasks = Array.from({ length: 20_000 }, (_, at) => ({
    id: name(`t${at}`),
    ...(at === 0 ? {} : { needs: [name(`t${at - 1}`)] }),
    action: { type: 'external' as const },
  }))
  expect(text(pictureOf({ ...PLAN, tasks }, new Map()), paint(false)).at(-1)).toMatch(/^20000 t19999 /)
})
