import { expect, it } from 'vitest'
import { cut, padded, width } from './width.ts'

it('counts columns as a terminal does', () => {
  expect([width('abc'), width('日本'), width('e\u0301'), width('✔ ok'), width('🚀')]).toEqual([3, 4, 1, 4, 2])
})

it('cuts and fills to exactly that many columns, never through a wide character', () => {
  expect(cut('abcdef', 4)).toBe('abc…')
  expect(cut('日本語', 4)).toBe('日…')
  expect(cut('abc', 0)).toBe('')
  expect(padded('日本語', 4)).toBe('日… ')
  expect(padded('ab', 4)).toBe('ab  ')
})
