import { describe, expect, it } from 'vitest'
import { nonAscii, quotedWord, visible, visibleLines } from './terminal.ts'

describe('text that somebody agrees to', () => {
  it.each([
    ['turns the reading direction', 'a\u202eb', 'a\\u{202e}b'],
    ['isolates it', 'a\u2066b\u2069', 'a\\u{2066}b\\u{2069}'],
    ['has no width', 'a\u200bb\u2060c\ufeff', 'a\\u{200b}b\\u{2060}c\\u{feff}'],
    ['moves the cursor', 'a\u001b[2Jb\rc', 'a\\u{1b}[2Jb\\u{d}c'],
    ['looks like a space', 'a\u00a0b\u2003c\u3000d\u2800e', 'a\\u{a0}b\\u{2003}c\\u{3000}d\\u{2800}e'],
    ['is a tab, which looks like spaces', 'a\tb', 'a\\u{9}b'],
    ['looks like what we write out', 'a\\u{202e}b', 'a\\\\u{202e}b'],
    ['is plain', 'a b "c"', 'a b "c"'],
  ])('shows what %s', (_, text, shown) => {
    expect(visible(text)).toBe(shown)
  })

  it('has its quotes where it ends, and nowhere else', () => {
    expect(quotedWord('x" "y')).toBe('"x\\" \\"y"')
    expect(quotedWord('')).toBe('""')
  })

  it('cannot begin a line of its own but by a line feed', () => {
    expect(visibleLines('a\u2028b\n\tc\r\n')).toEqual(['a\\u{2028}b', '\tc\\u{d}'])
  })

  it('names letters that may be others', () => {
    expect(nonAscii('p\u0430ypal')).toEqual(['U+0430'])
    expect(nonAscii('paypal')).toEqual([])
  })
})
