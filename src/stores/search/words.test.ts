import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { holdsWords, printed, snippetOf, wordsOf } from './words.ts'

describe('words', () => {
  it('are letters and digits in a row; everything else parts them', () => {
    expect(wordsOf('retry-core, "a_b"* NEAR(x) 100%')).toEqual(['retry', 'core', 'a', 'b', 'NEAR', 'x', '100'])
    expect(wordsOf('größe Ελλάδα 한글 é e\u0301')).toEqual(['größe', 'Ελλάδα', '한글', 'é'])
    expect(wordsOf(' \0"%^ \u0301')).toEqual([])
    expect(wordsOf('x'.repeat(1_000))[0]).toHaveLength(64)
    expect(wordsOf(Array.from({ length: 100 }, (_, at) => `w${at}`).join(' '))).toHaveLength(16)
  })

  it('are found at their beginning, without regard to case and accents', () => {
    for (const text of ['Café au lait', 'CAFE', 'cafe\u0301s', 'x cafeteria'])
      expect(holdsWords(text, ['cafe']), text).toBe(true)
    for (const text of ['decaf', 'caf', '']) expect(holdsWords(text, ['cafe']), text).toBe(false)
    expect(holdsWords('one two', ['two', 'on'])).toBe(true)
    expect(holdsWords('one two', ['two', 'three'])).toBe(false)
    expect(holdsWords('한글날', ['한글'])).toBe(true)
  })

  it('of output are those one sees, not those that a terminal is told', () => {
    expect(printed('\u001b[1;31mError\u001b[0m: \u001b]8;;http://x\u0007here\u001b]8;;\u0007')).toBe('Error: here')
    expect(printed('\u001b]0;never closed')).toBe('\u001b]0;never closed')
  })

  it('a snippet is one line of at most 200 units that shows the words, for any text', () => {
    const words = fc.constantFrom('alpha', 'beta', 'é', '한글', '𝒳𝒳', '😀', '\n', '\u001b[0m', '\ud83d', ' ')
    fc.assert(
      fc.property(fc.array(fc.oneof(words, fc.string({ unit: 'binary' })), { maxLength: 80 }), parts => {
        const text = parts.join('')
        const { snippet, matches } = snippetOf(text, ['alpha', 'É'])
        expect(snippet.length).toBeLessThanOrEqual(200)
        expect(snippet).not.toMatch(/[\n\r\p{Cc}]/u)
        for (const [from, to] of matches) {
          expect(from).toBeLessThan(to)
          expect(to).toBeLessThanOrEqual(snippet.length)
          const shown = snippet.slice(from, to).normalize('NFD').replaceAll(/\p{M}/gu, '')
          expect(shown.toLowerCase()).toMatch(/^(alpha|e)/)
        }
        expect(matches.length > 0).toBe(holdsWords(text, ['alpha']) || holdsWords(text, ['É']))
      }),
      { numRuns: Number(process.env.PLANFOLD_RUNS ?? 300) },
    )
  })
})
