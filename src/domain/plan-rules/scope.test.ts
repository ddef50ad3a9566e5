import { expect, it } from 'vitest'
import { scopesOverlap } from './effect.ts'

it('two scopes overlap when one may hold a path of the other', () => {
  const cases: readonly [string, string, boolean][] = [
    ['src/**', 'src/a.ts', true],
    ['src/a.ts', 'src/b.ts', false],
    ['src/a.ts', 'src/a.ts', true],
    ['src', 'src/deep/a.ts', true],
    ['src/a', 'src/ab', false],
    ['**', 'anything', true],
    ['./src/a.ts', 'src//a.ts', true],
    ['src/*.ts', 'src/a.ts', true],
    ['src/{a,b}/x', 'src/c/x', true],
    ['SRC/A.ts', 'src/a.ts', true],
    ['caf\u00e9', 'cafe\u0301', true],
    ['test/**', 'src/**', false],
  ]
  for (const [a, b, overlap] of cases) {
    expect([a, b, scopesOverlap([a], [b])]).toEqual([a, b, overlap])
    expect([b, a, scopesOverlap([b], [a])]).toEqual([b, a, overlap])
  }
})

it('an empty scope overlaps nothing, and any pair in two lists is enough', () => {
  expect(scopesOverlap([], ['**'])).toBe(false)
  expect(scopesOverlap(['a', 'b'], ['c', 'b/d'])).toBe(true)
})
