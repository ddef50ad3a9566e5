// Ids for tasks without one: readable, stable, never given twice.

import { describe, expect, test } from 'vitest'
import { isTaskName } from '../../domain/id.ts'
import { slug } from '../../format/text/slug.ts'
import { generatedIds, idsFor, idsToWrite } from './names.ts'

describe('generated ids', () => {
  test('are made of the words of the task, and numbered when the words repeat', () => {
    const next = generatedIds()
    expect(['Fix the Pârser!', 'Fix the parser', 'fix-the-parser', '汉字'].map(next)).toEqual([
      'fix-the-parser',
      'fix-the-parser-2',
      'fix-the-parser-3',
      'step',
    ])
  })

  test('never take an id that somebody wrote, wherever it stands', () => {
    expect(idsFor([{ text: 'Test' }, { text: '🙂' }, { id: 'test', text: 'x' }, { text: 'Test' }])).toEqual([
      'test-2',
      'step-2',
      'test',
      'test-3',
    ])
  })

  test('need not be written where the words give them again', () => {
    const tasks = [
      { id: 'test', text: 'Test' },
      { id: 'test-2', text: 'Test' },
      { id: 'other', text: 'Test' },
    ] as never
    expect([...idsToWrite(tasks)]).toEqual(['other'])
  })

  test('are names, short ones, and quickly made for ten thousand equal titles', () => {
    expect(slug('word '.repeat(100))!.length).toBeLessThanOrEqual(48)
    expect(slug('x'.repeat(1_000))).toBe('x'.repeat(48))
    expect(slug('constructor.prototype')).toBe('constructor-prototype')
    expect(slug('constructor')).toBe(null)
    expect(slug('__proto__')).toBe('proto')
    const ids = idsFor(Array.from({ length: 10_000 }, () => ({ text: 'Same' })))
    expect(new Set(ids).size).toBe(10_000)
    expect(ids.every(isTaskName)).toBe(true)
  })
})
