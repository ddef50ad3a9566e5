// One document must not hold everybody else up: whatever is wrong with it, and however often, reading it takes about a second at most.

import { describe, expect, test } from 'vitest'
import { checkGraph } from '../../domain/plan-rules/graph-rules.ts'
import { plan as planWire } from '../wire/plans.ts'
import { cpuMs } from './cpu-time.fixture.ts'
import { parsePlan } from './parse.ts'

const many = <T>(length: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length }, (_, index) => make(index))
const keys = (length: number, pad = '') => Object.fromEntries(many(length, index => [`k${pad}${index}`, 1]))
const plan = (tasks: readonly unknown[]) => JSON.stringify({ planfold: 1, name: 'x', tasks })
/**
 * Four times as much may take about four times as long, not sixteen. Half a second is meant for the longest; what others do on the
 * machine makes each of them slower, but not one more than the other.
 */
const GROWTH = 10
const SLACK_MS = 100
const LIMIT_MS = 2_000
const LONG = 'x'.repeat(36)

/** Documents with so many things wrong with them. */
const documents: readonly (readonly [what: string, most: number, wrong: (times: number) => string])[] = [
  ['45,000 unknown keys', 45_000, times => JSON.stringify(keys(times))],
  ['2 MB of unknown keys', 45_000, times => JSON.stringify(keys(times, LONG))],
  ['2 MB of unknown keys of a task', 45_000, times => plan([{ id: 'a', ...keys(times, LONG) }])],
  [
    '2 MB of keys that a dialect keeps',
    45_000,
    times => JSON.stringify({ steps: [{ id: 'a', ...keys(times, LONG) }] }),
  ],
  [
    '9,500 misspelt needs',
    9_500,
    times => plan(many(times, at => ({ id: `task${at}`, needs: at === 0 ? [] : [`tsak${at}`] }))),
  ],
  ['9,500 misspelt keys', 9_500, times => plan(many(times, at => ({ id: `task${at}`, rnu: 'true' })))],
  [
    '9,500 expressions about no task',
    9_500,
    times => plan(many(times, at => ({ id: `task${at}`, run: `echo \${{ tasks.tsak${at} }}` }))),
  ],
  ['10,000 tasks of one name', 10_000, times => plan(many(times, () => ({ id: 'task' })))],
  [
    'faults at the end of 2 MB',
    9_500,
    times =>
      plan(many(times, at => ({ id: `task${at}`, title: 'x'.repeat(150), ...(at > times - 300 ? { rnu: 1 } : {}) }))),
  ],
]

const linear: readonly (readonly [what: string, repeated: (times: number) => string])[] = [
  ['empty lines', times => '\n'.repeat(times)],
  ['lines of blanks', times => '  \n'.repeat(times)],
  ['carriage returns', times => '\r'.repeat(times)],
  ['one key many times', times => 'a:\n'.repeat(times)],
  ['many items', times => `# Plan\n\n${many(times / 4, at => `- [ ] step ${at}\n`).join('')}`],
]

test.each(linear)(
  '%s: the time grows as the text does',
  (_, repeated) => {
    const [short, long] = [4_000, 16_000].map(times => {
      const text = repeated(times)
      return cpuMs(() => void parsePlan(text, { fallbackName: 'x', check: checkGraph }))
    }) as [number, number]
    expect(long).toBeLessThan(GROWTH * short + SLACK_MS)
  },
  60_000,
)

describe('is read in a time that grows as the document does', () => {
  test.each(documents)(
    '%s',
    (_, most, wrong) => {
      const [short, long] = [Math.round(most / 4), most].map(times => {
        const text = wrong(times)
        return cpuMs(() => void parsePlan(text, { fallbackName: 'x', check: checkGraph }))
      }) as [number, number]
      expect(long).toBeLessThan(GROWTH * short + SLACK_MS)
      expect(long).toBeLessThan(LIMIT_MS)
    },
    60_000,
  )

  test('a body of 45,000 unknown keys', () => {
    expect(planWire.read(keys(45_000))).toMatchObject({ ok: false })
    const [short, long] = [11_250, 45_000].map(times => {
      const body = keys(times)
      return cpuMs(() => void planWire.read(body))
    }) as [number, number]
    expect(long).toBeLessThan(GROWTH * short + SLACK_MS)
    expect(long).toBeLessThan(LIMIT_MS)
  }, 120_000)
})
