// One document must not hold everybody else up: whatever is wrong with it, and however often, reading it takes under a second.

import { describe, expect, test } from 'vitest'
import { cpuMs } from '../../domain/cpu-time.fixture.ts'
import { checkGraph } from '../../domain/plan-rules/graph-rules.ts'
import { rollbackBody } from '../wire/plans.ts'
import { parsePlan } from './parse.ts'

const LIMIT_MS = 1_000
const many = <T>(length: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length }, (_, index) => make(index))
const keys = (length: number, pad = '') => Object.fromEntries(many(length, index => [`k${pad}${index}`, 1]))
const plan = (tasks: readonly unknown[]) => JSON.stringify({ planfold: 1, name: 'x', tasks })

const documents: readonly (readonly [what: string, text: string])[] = [
  ['90,000 unknown keys', JSON.stringify(keys(90_000))],
  ['4 MB of unknown keys', JSON.stringify(keys(90_000, 'x'.repeat(36)))],
  ['4 MB of unknown keys of a task', plan([{ id: 'a', ...keys(90_000, 'x'.repeat(36)) }])],
  ['4 MB of keys that a dialect keeps', JSON.stringify({ steps: [{ id: 'a', ...keys(90_000, 'x'.repeat(36)) }] })],
  ['19,000 misspelt needs', plan(many(19_000, at => ({ id: `task${at}`, needs: at === 0 ? [] : [`tsak${at}`] })))],
  ['19,000 misspelt keys', plan(many(19_000, at => ({ id: `task${at}`, rnu: 'true' })))],
  [
    '19,000 expressions about no task',
    plan(many(19_000, at => ({ id: `task${at}`, run: `echo \${{ tasks.tsak${at} }}` }))),
  ],
  ['20,000 tasks of one name', plan(many(20_000, () => ({ id: 'task' })))],
  [
    'faults at the end of 4 MB',
    plan(many(19_000, at => ({ id: `task${at}`, title: 'x'.repeat(150), ...(at > 18_700 ? { rnu: 1 } : {}) }))),
  ],
]

/** Reading them takes long because they are long; four times as much may take about four times as long, not sixteen. */
const linear: readonly (readonly [what: string, repeated: (times: number) => string])[] = [
  ['empty lines', times => '\n'.repeat(times)],
  ['lines of blanks', times => '  \n'.repeat(times)],
  ['carriage returns', times => '\r'.repeat(times)],
  ['one key many times', times => 'a:\n'.repeat(times)],
  ['many items', times => `# Plan\n\n${many(times / 4, at => `- [ ] step ${at}\n`).join('')}`],
]

test.each(linear)('%s: the time grows as the text does', (_, repeated) => {
  const spent = (times: number, enoughMs: number): number => {
    const text = repeated(times)
    return cpuMs(() => void parsePlan(text, { fallbackName: 'x', check: checkGraph }), enoughMs)
  }
  const limit = 10 * spent(4_000, 0) + 100
  expect(spent(16_000, limit)).toBeLessThan(limit)
})

describe('is read in less than a second', () => {
  test.each(documents)('%s', (_, text) => {
    const read = () => parsePlan(text, { fallbackName: 'x', check: checkGraph })
    expect(cpuMs(read, LIMIT_MS)).toBeLessThan(LIMIT_MS)
  })

  test('a body of 90,000 unknown keys', () => {
    const body = keys(90_000)
    expect(rollbackBody.read(body)).toMatchObject({ ok: false })
    expect(cpuMs(() => void rollbackBody.read(body), LIMIT_MS)).toBeLessThan(LIMIT_MS)
  })
})
