import { expect, test } from 'vitest'
import { escapeForTerminal, indentedLines } from './terminal.ts'

test('whatever moves, hides or turns text is shown instead of done', () => {
  expect(escapeForTerminal('\u001b]52;c;aGk=\u0007')).toBe('\\u{1b}]52;c;aGk=\\u{7}')
  expect(escapeForTerminal('\u009b2J\r\u007f\0')).toBe('\\u{9b}2J\\u{d}\\u{7f}\\u{0}')
  expect(escapeForTerminal('a\u202eb\u200bc\ufeffd\u2066\u2028')).toBe(
    'a\\u{202e}b\\u{200b}c\\u{feff}d\\u{2066}\\u{2028}',
  )
  expect(escapeForTerminal('a\ud800b\udc00')).toBe('a\\u{d800}b\\u{dc00}')
  expect(escapeForTerminal('\u{e0041}')).toBe('\\u{e0041}')
})

test('plain text in any language stays as it is', () => {
  expect(escapeForTerminal('naïve 漢字 😀 ✓ е́')).toBe('naïve 漢字 😀 ✓ е́')
})

test('tabs are kept, line feeds only on request', () => {
  expect(escapeForTerminal('a\n\tb')).toBe('a\\u{a}\tb')
  expect(escapeForTerminal('a\n\tb\r\n', { keepLines: true })).toBe('a\n\tb\\u{d}\n')
})

test('of a text with several lines only the first can begin where a line of ours does', () => {
  expect(indentedLines('one\r\ntwo\tx\u001b[1A\n\n✔ p completed\n', 4)).toBe(
    'one\n    two\tx\\u{1b}[1A\n    \n    ✔ p completed',
  )
})
