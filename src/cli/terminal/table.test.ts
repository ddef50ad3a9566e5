import { expect, it } from 'vitest'
import { cut, fittingEnd, hanging, padded, width, wrap } from './table.ts'

it('counts columns as a terminal does', () => {
  expect([width('abc'), width('日本'), width('e\u0301'), width('✔ ok'), width('🚀')]).toEqual([3, 4, 1, 4, 2])
  expect([width('👩‍👩‍👧'), width('🇨🇭'), width('☁️'), width('\x1b[31mred\x1b[39m')]).toEqual([2, 2, 2, 3])
})

it('wraps between words, and through a word that is too long, with nothing left out', () => {
  expect(wrap('one two three four', 9)).toEqual(['one two', 'three', 'four'])
  expect(wrap('one two three', 8)).toEqual(['one two', 'three'])
  expect(wrap('abcdefghijkl mn', 8)).toEqual(['abcdefgh', 'ijkl mn'])
  expect(wrap('日本語日本語', 8)).toEqual(['日本語日', '本語'])
  expect(wrap('', 8)).toEqual([''])
})

it('indents what does not fit below the first line, and keeps a command together', () => {
  expect(hanging('remains publish: run `npm i -g` by hand', 2, 20)).toBe(
    'remains publish:\n  run `npm i -g` by\n  hand',
  )
  expect(hanging('it fits', 2, 20)).toBe('it fits')
  expect(hanging('nobody looks at a window of this width', 2, undefined)).toBe('nobody looks at a window of this width')
})

it('cuts and fills to exactly that many columns, never through a wide character', () => {
  expect(cut('abcdef', 4)).toBe('abc…')
  expect(cut('日本語', 4)).toBe('日…')
  expect(cut('abc', 0)).toBe('')
  expect(padded('日本語', 4)).toBe('日… ')
  expect(padded('ab', 4)).toBe('ab  ')
})

it('cuts through a cluster only when that alone is too wide, and comes to an end', () => {
  expect(cut('a👩‍👩‍👧b', 3)).toBe('a…')
  const marks = `क${'ा'.repeat(40)}`
  expect(wrap(marks, 8).join('')).toBe(marks)
  expect(cut('ᄀ'.repeat(9), 2)).toBe('…')
})

it('keeps the end of what is too long', () => {
  expect(fittingEnd('abcdef', 4)).toBe('cdef')
  expect(fittingEnd('ab日本', 4)).toBe('日本')
  expect(fittingEnd('ab日本', 3)).toBe('本')
  expect(fittingEnd('', 3)).toBe('')
})
