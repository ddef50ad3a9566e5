import { expect, it } from 'vitest'
import type { TaskName } from '../../domain/id.ts'
import { OutputLines } from './plain-lines.ts'

const TASK = 'build' as TaskName

it('makes whole lines of chunks of any size, for each task apart', () => {
  const lines = new OutputLines()
  expect(lines.push(TASK, 'on')).toEqual([])
  expect(lines.push('other' as TaskName, 'two\n')).toEqual(['two'])
  expect(lines.push(TASK, 'e\nthree\r\nfo')).toEqual(['one', 'three'])
  expect(lines.current(TASK)).toBe('fo')
  expect(lines.end(TASK)).toBe('fo')
  expect(lines.end(TASK)).toBe('')
})

it('shows of a progress bar only its last state, and does not grow with a line that never ends', () => {
  const lines = new OutputLines()
  expect(lines.push(TASK, '10%\r50%\r100%\n')).toEqual(['100%'])
  expect(lines.push(TASK, 'x'.repeat(9_000))).toHaveLength(2)
  expect(lines.current(TASK)).toHaveLength(1_000)
})
