import { expect, it } from 'vitest'
import type { PlanName, TaskName } from '../domain/id.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import { dot, mermaid, text } from './graph-text.ts'
import { paint } from './paint.ts'

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
  expect(text(PLAN, new Map(), paint(false))).toEqual([
    '   1 build',
    '   2 review ← build  rejected → build',
    '   3 push   ← review',
  ])
})

it('prints a graph for Mermaid and Graphviz', () => {
  expect(mermaid(PLAN, new Map([['build', 'completed']]))).toContain(
    '  t3["build"]:::completed\n  t2 --> t1\n  t3 --> t2\n  t2 -. "rejected" .-> t3',
  )
  expect(dot(PLAN, new Map())).toContain('  "review" -> "build" [style=dashed, label="rejected"]')
})

it('does not exhaust the stack on a long chain', () => {
  const tasks = Array.from({ length: 20_000 }, (_, at) => ({
    id: name(`t${at}`),
    ...(at === 0 ? {} : { needs: [name(`t${at - 1}`)] }),
    action: { type: 'external' as const },
  }))
  expect(text({ ...PLAN, tasks }, new Map(), paint(false)).at(-1)).toMatch(/^20000 t19999 /)
})
