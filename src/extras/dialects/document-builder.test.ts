import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cpuMs } from '../../domain/cpu-time.fixture.ts'
import { isTaskName } from '../../domain/id.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import { TASK_STATUSES, type TaskStatus } from '../../domain/status.ts'
import { statusWords } from '../../format/text/status-words.ts'
import { budgetInMinutes, budgetMap, durationText, priorityOf } from './amounts.ts'
import { alternatives, isPlaceholder, Names, planSlug, writtenIds } from './document-builder.ts'

describe('status words', () => {
  const words = statusWords<TaskStatus>({ TODO: 'pending', DOING: 'running', DONE: 'completed', SHIPPED: 'completed' })

  test('go both ways; the first word of a meaning is printed', () => {
    expect(words.read('DONE')).toEqual({ ok: true, status: 'completed', remember: null })
    expect(words.print('completed')).toBe('DONE')
    expect(words.print('skipped')).toBe(null)
  })

  test('another word is remembered, and given back while it is true', () => {
    expect(words.read('shipped')).toEqual({ ok: true, status: 'completed', remember: 'shipped' })
    expect(words.print('completed', 'shipped')).toBe('shipped')
    expect(words.print('pending', 'shipped')).toBe('TODO')
  })

  test('regression 4: an unknown word is refused with a suggestion, never coerced', () => {
    expect(words.read('DOEN')).toEqual({
      ok: false,
      message: '"DOEN" is not a status here',
      hint: "did you mean 'DONE'?",
    })
    for (const word of ['', 'completed!', '__proto__', 'constructor', 7, null, true, {}, []])
      expect(words.read(word)).toMatchObject({ ok: false })
  })

  test('every status of ours survives its own table', () => {
    const same = statusWords<TaskStatus>(Object.fromEntries(TASK_STATUSES.map(status => [status, status])))
    for (const status of TASK_STATUSES)
      expect(same.read(same.print(status)!)).toEqual({ ok: true, status, remember: null })
  })
})

describe('names', () => {
  test('an id that is a name keeps it; others get one of their own', () => {
    const names = new Names(['fetch all', 'fetch-all', 3, '3', '<id>', 'gaps-*', '…', '', null])
    expect(['fetch all', 'fetch-all', 3, '3', '<id>', 'gaps-*', '…'].map(id => names.name(id))).toEqual([
      'fetch-all-2',
      'fetch-all',
      '3',
      '3',
      'id',
      'gaps',
      'task',
    ])
    expect(names.remember('fetch-all')).toBe(undefined)
    expect(names.remember(3)).toBe(3)
    expect(names.name('nobody')).toBe('nobody')
  })

  test('two ids never get one name, and every name is one', () => {
    const id = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1 }),
      fc.constantFrom('a b', 'a-b', 'a-b-2', 'a*b', '__proto__', 'constructor'),
      fc.nat(5),
    )
    fc.assert(
      fc.property(fc.array(id, { maxLength: 12 }), ids => {
        const names = new Names(ids)
        const different = [...new Set(ids.map(String))]
        const given = different.map(one => names.name(one) as string)
        expect(new Set(given).size).toBe(different.length)
        expect(given.every(isTaskName)).toBe(true)
        const tasks = different.map((one, index) => ({
          id: given[index],
          action: { type: 'external' },
          extra: { id: one },
        })) as unknown as TaskDefinition[]
        const written = writtenIds(tasks)
        const again = new Names(written.values())
        for (const [name, one] of written) expect(again.name(one)).toBe(name)
      }),
      { numRuns: 500 },
    )
  })

  test('twenty thousand equal ids are named quickly', () => {
    const ids = Array.from({ length: 20_000 }, (_, index) => '…'.repeat((index % 300) + 1) + '!'.repeat(index / 300))
    expect(cpuMs(() => expect(new Names(ids).has('…')).toBe(true), 3_000)).toBeLessThan(3_000)
  })

  test('a plan keeps a name that is one', () => {
    expect(planSlug('a--b')).toBe('a--b')
    expect(planSlug('Harbour survey')).toBe('Harbour-survey')
    expect(planSlug('…')).toBe(null)
  })
})

describe('amounts', () => {
  test('time in every unit', () => {
    expect(durationText(30, 'min')).toBe('30m')
    expect(durationText(0.5, 'min')).toBe('30s')
    expect(durationText(5e9, 'ns')).toBe('5s')
    expect(
      ['5m', '90 min', '2 hours', '1h30m', 'PT1H30M', '1 day, 2 h'].map(text => durationText(text, 'min')),
    ).toEqual(['5m', '90m', '2h', '90m', '90m', '26h'])
  })

  test('what is no time is handed on, so that the schema says what is wrong', () => {
    for (const value of ['soon', '', '5 parsecs', -3, 0, Number.MAX_VALUE * 2, null, true, '1h!', '5 constructor'])
      expect(durationText(value, 'min')).toBe(value)
  })

  test('a budget in minutes and dollars goes both ways', () => {
    expect(budgetMap({ timeMin: 30, costUSD: 5, attempts: 2 })).toEqual({ attempts: 2, time: '30m', cost: '5 USD' })
    expect(budgetInMinutes({ timeMs: 1_800_000, cost: { amount: 5, currency: 'USD' } })).toEqual({
      timeMin: 30,
      costUSD: 5,
    })
    expect(budgetInMinutes({ cost: { amount: 5, currency: 'EUR' } })).toEqual({ cost: '5 EUR' })
    expect(budgetMap('much')).toBe('much')
  })

  test('priorities are words or numbers', () => {
    expect(['critical', 'High', 'medium', 'low', 'whatever', '__proto__', 3].map(priorityOf)).toEqual([
      20,
      10,
      0,
      -10,
      null,
      null,
      null,
    ])
  })
})

test('sketches are told from values', () => {
  expect(alternatives('a|b|c')).toEqual(['a', 'b', 'c'])
  for (const value of ['a', 'a | b c', 'grep x || true', '|', 7, undefined]) expect(alternatives(value)).toBe(null)
  for (const value of ['<id>', '<task id>', '[<id>...]', ' <x>\n']) expect(isPlaceholder(value)).toBe(true)
  for (const value of ['a < b > c', 'Map<string>', '<>', 'see <x>', 5, undefined])
    expect(isPlaceholder(value)).toBe(false)
})
