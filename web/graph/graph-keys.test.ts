// Arrow keys in the graph, and where it opens.

import { expect, test } from 'vitest'
import { layoutGraph } from '../../src/domain/views/graph-layout.ts'
import type { TaskView } from '../data/live-messages.ts'
import { focusOf, neighbour } from './graph-keys.ts'

const task = (name: string, needs: readonly string[] = [], look = 'pending'): TaskView =>
  ({ name, needs, look, action: 'run', on: {} }) as unknown as TaskView
const tasks = [task('a'), task('b', ['a']), task('c', ['a']), task('d', ['b', 'c'])]
const layout = layoutGraph(tasks.map(({ name, needs }) => ({ id: name, needs, isGate: false, leads: [] })))
const byName = new Map(tasks.map(one => [one.name, one]))

test('arrows lead along the edges, and up and down between tasks beside each other', () => {
  const after = (name: string, key: string): string | null => neighbour(name, `Arrow${key}`, layout, byName)
  expect(after('a', 'Left')).toBe(null)
  expect(['b', 'c']).toContain(after('a', 'Right'))
  expect(after('b', 'Left')).toBe('a')
  expect(after('c', 'Right')).toBe('d')
  expect(after('b', 'Down') ?? after('b', 'Up')).toBe('c')
  expect(after('nothing', 'Right')).toBe(null)
  expect(neighbour('a', 'x', layout, byName)).toBe(null)
})

test('the graph opens at what failed, then at what waits, then at what runs', () => {
  const looks = (...all: string[]): readonly TaskView[] => all.map(look => task(look, [], look))
  expect(focusOf(looks('completed', 'running', 'waiting', 'failed'))).toBe('failed')
  expect(focusOf(looks('completed', 'running', 'lost'))).toBe('lost')
  expect(focusOf(looks('completed', 'ready', 'running'))).toBe('running')
  expect(focusOf(looks('completed'))).toBe('completed')
  expect(focusOf([])).toBe(null)
})
