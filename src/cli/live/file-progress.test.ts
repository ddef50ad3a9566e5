import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { FileProgressLines } from './file-progress.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('as long as many files are looked at, a line comes each second; when it is over, none', () => {
  const lines: (string | null)[] = []
  const progress = new FileProgressLines({} as never, line => lines.push(line))
  const [one, other] = [{}, {}]
  progress.tell({ work: one, entries: 255 })
  vi.advanceTimersByTime(1_000)
  expect(lines).toEqual([])
  progress.tell({ work: one, entries: 12_000 })
  progress.tell({ work: other, entries: 3 })
  vi.advanceTimersByTime(1_000)
  progress.tell({ work: one, entries: 20_000 })
  vi.advanceTimersByTime(1_000)
  expect(lines).toEqual([
    'looking at the files of the workspace: 12,000 so far',
    'looking at the files of the workspace: 20,000 so far',
  ])
  progress.tell({ work: one, entries: 20_000, done: true })
  progress.tell({ work: other, entries: 3, done: true })
  expect(lines.at(-1)).toBe(null)
  vi.advanceTimersByTime(10_000)
  expect(lines).toHaveLength(3)
})
