// What programs print for a terminal, also what is meant to do harm.

import { expect, test } from 'vitest'
import { shownText } from '../data/shown.ts'
import { LINE_MAX, PLAIN, plainLine, readTerminalLine, readTerminalText } from './terminal-line.ts'

/** `look:text@address`, piece by piece. */
const read = (line: string): string[] =>
  readTerminalLine(line).pieces.map(({ text, look, href }) => `${look}:${text}${href === null ? '' : `@${href}`}`)

test('colours and weights are kept until they are switched off', () => {
  expect(read('\u001b[31mnot ok\u001b[0m 4 \u001b[1;4mbold\u001b[22m line\u001b[24m.')).toEqual([
    't-red:not ok',
    ': 4 ',
    't-bold t-underline:bold',
    't-underline: line',
    ':.',
  ])
  expect(read('\u001b[92mbright\u001b[39m \u001b[90mgrey\u001b[m')).toEqual(['t-green:bright', ': ', 't-grey:grey'])
})

test('the style of a line lasts into the next', () => {
  const { style } = readTerminalLine('\u001b[1;32mone')
  expect(readTerminalLine('two', style).pieces).toEqual([{ text: 'two', look: 't-green t-bold', href: null }])
  expect(readTerminalLine('\u001b[0m', style).style).toEqual(PLAIN)
})

test('256 and true colours become the nearest colour that can be read on light and dark paper', () => {
  expect(read('\u001b[38;5;196ma\u001b[38;2;20;200;30mb\u001b[38:2::0:0:255mc\u001b[38;5;238md')).toEqual([
    't-red:a',
    't-green:b',
    't-blue:c',
    't-grey:d',
  ])
})

test('no colour hides text: black and white are ink, grounds take ink, hidden text is shown', () => {
  expect(read('\u001b[30ma\u001b[97mb\u001b[0;8mc\u001b[31;41md\u001b[0;7me\u001b[0;7;32mf')).toEqual([
    ':abc',
    't-on-red:d',
    't-on-white:e',
    't-on-green:f',
  ])
})

test('progress is written over, and a backspace takes one back', () => {
  expect(plainLine('progress 1%\rprogress 50%\rprogress 100%')).toBe('progress 100%')
  expect(plainLine('downloading\rdone')).toBe('doneloading')
  expect(plainLine('downloading\r\u001b[Kdone')).toBe('done')
  expect(plainLine('downloading\u001b[2K\u001b[1Gdone')).toBe('done       ')
  expect(plainLine('-\b\\\b|\bok')).toBe('ok')
  expect(plainLine('windows\r')).toBe('windows')
})

test('a link is kept if it leads to the web, and is text otherwise, however it is closed', () => {
  const link = (address: string, end = '\u001b\\'): string => `\u001b]8;;${address}${end}click\u001b]8;;${end} on`
  expect(read(link('https://example.com/a'))).toEqual([':click@https://example.com/a', ': on'])
  expect(read(link('http://example.com', '\u0007'))).toEqual([':click@http://example.com/', ': on'])
  for (const address of [
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc',
    'https://a@evil.example',
    '//x',
    'https://',
  ])
    expect(read(link(address)), address).toEqual([':click on'])
  // A link ends with its line.
  expect(readTerminalLine('b', readTerminalLine('\u001b]8;;https://example.com/\u001b\\a').style).pieces).toEqual([
    { text: 'b', look: '', href: null },
  ])
})

test('nothing else that a terminal obeys has an effect', () => {
  expect(
    plainLine(
      'a\u001b[2J\u001b[H\u001b[3Ab\u001b]52;c;aGk=\u0007\u001b]0;title\u001b\\c\u001bPq#0\u001b\\\u001bc\u0007d',
    ),
  ).toBe('abcd')
  expect(plainLine('\u009b31mred\u009d8;;x\u009c')).toBe('red')
})

test('what is incomplete or turns the reading direction stays visible', () => {
  expect(plainLine('a\u001b[31')).toBe('a\\u{1b}[31')
  expect(plainLine('a\u001b]8;;never closed')).toBe('a\\u{1b}]8;;never closed')
  expect(readTerminalLine('a\u202eb').pieces[0]!.text).toBe('a\\u{202e}b')
})

test('a line of a megabyte is cut at once, a progress of a megabyte at its end', () => {
  expect(plainLine(`\u001b[1m${'x'.repeat(1e6)}`)).toHaveLength(LINE_MAX - 4)
  expect(plainLine(`${'\rprogress'.repeat(1e5)}\rprogress 100%`)).toBe('progress 100%')
  expect(plainLine('\u001b[999999999Cx')).toHaveLength(LINE_MAX + 1)
  expect(plainLine('\u001b]'.repeat(5e4)).length).toBeGreaterThan(0)
})

test('a sentence has the colours of the program that it quotes, which writes over none of its words', () => {
  const sentence = shownText('exit 1: \u001b[31mnot ok\u001b[0m\rapproved\u001b[2K\u001b[1Gby ana\b\b\b')
  const lines = readTerminalText(sentence).map(pieces => pieces.map(({ text, look }) => `${look}:${text}`))
  expect(lines).toEqual([[':exit 1: ', 't-red:not ok'], [':approvedby ana']])
  expect(readTerminalText('plain \u202e')[0]![0]!.text).toBe('plain \\u{202e}')
})
