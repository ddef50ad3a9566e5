import { expect, it } from 'vitest'
import { suggest } from './phrases.ts'

it('names the nearest word when it is a slip of the finger away, and nothing when it is not', () => {
  const known = ['baseline', 'retry-core', 'review', 'push']
  const words = {
    basline: 'baseline',
    'rtery-core': 'retry-core',
    REVIEW: 'review',
    psuh: 'push',
    deploy: null,
    x: null,
  }
  expect(Object.fromEntries(Object.keys(words).map(word => [word, suggest(word, known)]))).toEqual(words)
})
