import { expect, test } from 'vitest'
import { cpuMs } from '../domain/cpu-time.fixture.ts'
import { covers, inScope, intersectScopes, mayHold, patternError } from './scope.ts'

test('patterns mean the files one would expect', () => {
  const cases: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ['src/**', ['src', 'src/a', 'src/a/b/c.ts', 'src/.hidden'], ['srcs', 'srcs/a', 'a/src/b']],
    ['test/*.ts', ['test/a.ts', 'test/.ts'], ['test/a.tsx', 'test/a/b.ts', 'test']],
    ['a.txt', ['a.txt', 'a.txt/b'], ['A.txt', 'b/a.txt', 'a.txts', 'axtxt']],
    ['dir', ['dir', 'dir/a', 'dir/b/c'], ['dirs', 'dirs/a']],
    ['dir/', ['dir', 'dir/a', 'dir/b/c'], ['dirs/a']],
    ['./dir/', ['dir', 'dir/a'], ['a/dir']],
    ['.', ['a', 'a/b'], []],
    ['./', ['a', 'a/b'], []],
    ['**', ['a', 'a/b'], []],
    ['**/out', ['out', 'a/out', 'a/out/b'], ['outs', 'a/b']],
    ['dir/.', ['dir'], ['dir/a']],
    ['a/*', ['a/b'], ['a', 'a/b/c']],
    ['**/*.md', ['a.md', 'x/y/a.md'], ['a.mdx']],
    ['a/**/z', ['a/z', 'a/b/z', 'a/b/c/z', 'a/z/b'], ['a/b/c', 'z', 'a']],
    ['a/**/b/**/c', ['a/b/c', 'a/x/b/y/b/z/c'], ['a/c', 'a/b']],
    ['?.ts', ['a.ts', 'ü.ts', '😀.ts'], ['ab.ts', '.ts']],
    ['*a*b', ['ab', 'xaxb', 'aabb'], ['ba']],
    ['app/[id]/p.tsx', ['app/[id]/p.tsx'], ['app/i/p.tsx']],
  ]
  for (const [pattern, yes, no] of cases) {
    expect(patternError(pattern), pattern).toBeNull()
    for (const path of yes) expect(inScope([pattern], path), `${pattern} ${path}`).toBe(true)
    for (const path of no) expect(inScope([pattern], path), `${pattern} ${path}`).toBe(false)
  }
})

test('null is everything and an empty list is nothing', () => {
  expect(inScope(null, 'a/b')).toBe(true)
  expect(inScope([], 'a/b')).toBe(false)
})

test('patterns that leave the workspace or mean something else elsewhere are refused', () => {
  for (const pattern of [
    '',
    '/a',
    '../a',
    'a/../b',
    'a\\b',
    '!a',
    'a//b',
    '~/a',
    'C:/a',
    'a/**b',
    '*.{ts,js}',
    'a\0',
    'x'.repeat(2000),
  ]) {
    expect(patternError(pattern), pattern).not.toBeNull()
  }
})

test('a pattern made to be slow is answered at once', () => {
  const slow = () => {
    const stars = `${'a*'.repeat(500)}b`
    expect(inScope([stars], 'a'.repeat(4000))).toBe(false)
    expect(inScope([`${'**/a/'.repeat(150)}b`], Array(2000).fill('a').join('/'))).toBe(false)
  }
  expect(cpuMs(slow, 2_000)).toBeLessThan(2_000)
})

test('a walk goes only where a match may be', () => {
  expect(mayHold(['src/*/x.ts'], '')).toBe(true)
  expect(mayHold(['src/*/x.ts'], 'src/any')).toBe(true)
  expect(mayHold(['src/*/x.ts'], 'src/any/deep')).toBe(false)
  expect(mayHold(['src/**'], 'src')).toBe(true)
  expect(mayHold(['a/**/z'], 'a/b/c')).toBe(true)
  expect(mayHold(['src/**'], 'lib')).toBe(false)
  expect(mayHold(['a.txt'], 'a.txt')).toBe(true)
  expect(mayHold(['*.txt'], 'a.txt')).toBe(false)
  expect(covers(['dist'], 'dist')).toBe(true)
  expect(covers(['src/**'], 'src')).toBe(true)
  expect(covers(['*/x.ts'], 'src')).toBe(false)
})

test('what two scopes have in common is written as patterns again', () => {
  const cases: readonly (readonly [string, string, readonly string[]])[] = [
    ['src/**', 'src/a/**', ['src/a/**']],
    ['**', 'docs/*.md', ['docs/*.md']],
    ['src/**', '**/*.ts', ['src/**/*.ts']],
    ['src/', 'src/a.ts', ['src/a.ts']],
    ['src/**', 'test/**', []],
    ['src/**', 'src/**', ['src/**']],
    ['src', 'src/**', ['src']],
    ['src', 'src', ['src']],
    ['src', 'src/a/**', ['src/a']],
    ['src', 'src/a.ts', ['src/a.ts']],
    ['**/out', 'a/out/b', ['a/out/b', 'a/out/b/**/out']],
    ['*.md', 'README.md', ['README.md/.']],
    ['README.md/.', 'README.md', ['README.md/.']],
    ['.', 'src', ['src']],
    ['.', '.', ['.']],
    ['*.ts', 'a.*', []],
  ]
  for (const [one, other, common] of cases) {
    expect([one, other, intersectScopes([one], [other])]).toEqual([one, other, common])
    expect(intersectScopes([other], [one])).toEqual(common)
  }
  expect(intersectScopes(null, ['a'])).toEqual(['a'])
  expect(intersectScopes(['a'], null)).toEqual(['a'])
  expect(intersectScopes([], ['a'])).toEqual([])
})
