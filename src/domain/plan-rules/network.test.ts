import { expect, it } from 'vitest'
import { plan, task } from '../../testing/plan.ts'
import { effectOf } from './effect.ts'
import { isOffline, networkOf, networkWords, reachedBeyond, readNetwork, withOwnRules } from './network.ts'

const ASKS = { allow: ['https://a.example'], unknown: 'ask' } as const

it('a task that says nothing has what the plan says; nothing said is null', () => {
  expect(networkOf({}, {})).toBe(null)
  expect(networkOf({ policy: { network: ['a.example'] } }, {})).toEqual({ allow: ['a.example'], unknown: 'deny' })
  expect(networkOf({ policy: { network: ASKS } }, {})).toEqual(ASKS)
})

it('a list is all there is, whatever the policy would ask about', () => {
  expect(networkOf({ policy: { network: ASKS } }, { network: [] })).toEqual({ allow: [], unknown: 'deny' })
})

it('only who reaches nothing and asks nobody is offline', () => {
  expect(
    [null, readNetwork([]), readNetwork(['a.example']), readNetwork({ allow: [], unknown: 'ask' })].map(isOffline),
  ).toEqual([false, true, false, false])
  const scoped = (network: Parameters<typeof readNetwork>[0]) => {
    const one = task('a', { write: ['x'], network })
    return effectOf(plan('p', one), one)
  }
  expect(scoped({ allow: [], unknown: 'deny' })).toBe('workspace')
  expect(scoped({ allow: [], unknown: 'ask' })).toBe('unsafe')
})

it('people read that others are asked about', () => {
  expect(networkWords(ASKS)).toEqual(['https://a.example', 'others when a person allows them'])
})

it.each([
  [null, readNetwork(['a.example']), null],
  [readNetwork(['a.example']), null, 'anywhere'],
  [readNetwork(['*.example']), readNetwork(['https://a.example', 'a.example:80']), null],
  [readNetwork(['https://a.example']), readNetwork(['a.example']), 'a.example'],
  [readNetwork(['not an address']), readNetwork(['not an address']), null],
  [readNetwork(['https://a.example']), ASKS, 'others when a person allows them'],
  [ASKS, readNetwork(['https://b.example']), 'https://b.example'],
] as const)('beyond %j, %j reaches %j', (limit, use, beyond) => expect(reachedBeyond(limit, use)).toBe(beyond))

it('the rules of the person are added, but not for who reaches nothing', () => {
  expect(withOwnRules(ASKS, ['b.example'])).toEqual({ ...ASKS, allow: ['https://a.example', 'b.example'] })
  expect(withOwnRules(readNetwork([]), ['b.example'])).toEqual({ allow: [], unknown: 'deny' })
})
