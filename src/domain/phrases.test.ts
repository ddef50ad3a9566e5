import { expect, it } from 'vitest'
import { failedText, haltedBy, numberOf, reasonBesides, suggest } from './phrases.ts'

it('is singular for one only', () => {
  expect([0, 1, 2].map(count => numberOf(count, 'task'))).toEqual(['0 tasks', '1 task', '2 tasks'])
  expect([1, 2].map(count => numberOf(count, 'entry'))).toEqual(['1 entry', '2 entries'])
  expect(numberOf(2, 'try')).toBe('2 tries')
  expect(numberOf(3, 'delay')).toBe('3 delays')
  expect([numberOf(1, 'is', 'are'), numberOf(2, 'is', 'are')]).toEqual(['1 is', '2 are'])
})

it('says why everything was halted, where a reason was given', () => {
  expect(haltedBy({ by: 'ana', reason: 'fire' })).toBe('halted by ana: fire')
  expect(haltedBy({ by: 'ana', reason: null })).toBe('halted by ana')
})

it('is suggested when it is near; one letter is near to itself only', () => {
  expect(suggest('statu', ['show', 'status'])).toBe('status')
  expect(suggest('search', ['serve', 'show'])).toBeNull()
  expect(suggest('c', ['a', 'b'])).toBeNull()
  expect(suggest('A', ['b', 'a'])).toBe('a')
})

it('a reason is left out where it only repeats the status, and a failure without one says so', () => {
  const reasons = [null, '', 'paused', 'lunch']
  expect(reasons.map(reason => reasonBesides('paused', reason))).toEqual(['', '', '', 'lunch'])
  expect(reasons.map(failedText)).toEqual(['rejected, no reason given', 'rejected, no reason given', 'paused', 'lunch'])
})
