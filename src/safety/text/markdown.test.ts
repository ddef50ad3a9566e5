import { expect, test } from 'vitest'
import { inCell, markdownCode, markdownText, plainText } from './markdown.ts'

test('nothing in a text becomes markup, a link or a mention', () => {
  expect(markdownText('# a *b* [c](https://x.y) <b> @ana www | - 1.')).toBe(
    '\\# a \\*b\\* \\[c\\]\\(https&#58;//x.y\\) &lt;b&gt; &#64;ana www \\| \\- 1.',
  )
  expect(markdownText('1. first')).toBe('1\\. first')
  expect(markdownText('a\n\n# b\r\n- c')).toBe('a \\# b \\- c')
})

test('what moves, hides or turns text is shown', () => {
  expect(markdownText('a\u202eb\u200bc\u001b[2J')).toBe('a\\\\u\\{202e\\}b\\\\u\\{200b\\}c\\\\u\\{1b\\}\\[2J')
  expect(markdownCode('a\u202eb')).toBe('`a\\u{202e}b`')
})

test('a code span holds any text on one line', () => {
  expect(markdownCode('a `b` ``c``')).toBe('``` a `b` ``c`` ```')
  expect(markdownCode('')).toBe('`  `')
  expect(markdownCode('a\nb')).toBe('`a b`')
  expect(inCell(markdownCode('a|b'))).toBe('`a\\|b`')
})

test('as plain text it reads as it was written, and code spans stay as they are', () => {
  for (const text of [
    '# a *b* [c](https://x.y) <b> @ana www.x | - 1.',
    '1. first',
    'C:\\new\\table',
    '&lt; is written &amp;lt; and `x`',
    'a `code` ``b`` ```',
    '\\\\`',
  ])
    expect(plainText(markdownText(text))).toBe(text)
  const spans = `${markdownCode('a\\*b &lt; `x`')} ${markdownText('a*b')} ${markdownCode('\\')}`
  expect(plainText(spans)).toBe(`${markdownCode('a\\*b &lt; `x`')} a*b ${markdownCode('\\')}`)
  expect(plainText(markdownText('a\u202eb'))).toBe('a\\u{202e}b')
})
