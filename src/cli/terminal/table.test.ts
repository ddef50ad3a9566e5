import { expect, it } from 'vitest'
import { cut, padded, width, wrap } from './table.ts'

it('counts columns as a terminal does', () => {
  expect([width('abc'), width('日本'), width('e\u0301'), width('✔ ok'), width('🚀')]).toEqual([3, 4, 1, 4, 2])
})

it('wraps between words, and through a word that is too long, with nothing left out', () => {
  expect(wrap('one two three four', 9)).toEqual(['one two', 'three', 'four'])
  expect(wrap('one two three', 8)).toEqual(['one two', 'three'])
  expect(wrap('abcdefghijkl mn', 8)).toEqual(['abcdefgh', 'ijkl mn'])
  expect(wrap('日本語日本語', 8)).toEqual(['日本語日', '本語'])
  expect(wrap('', 8)).toEqual([''])
})

it('cuts and fills to exactly that many columns, never through a wide character', () => {
  expect(cut('abcdef', 4)).toBe('abc…')
  expect(cut('日本語', 4)).toBe('日…')
  expect(cut('abc', 0)).toBe('')
  expect(padded('日本語', 4)).toBe('日… ')
  expect(padded('ab', 4)).toBe('ab  ')
})
