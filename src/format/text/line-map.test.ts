// Where the lines of one text stand in another.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mapLines, textLines } from './line-map.ts'

const lines = (text: string): readonly string[] => (text === '' ? [] : text.split(' '))
const newer = (a: string, b: string): readonly (number | null)[] => {
  const map = mapLines(lines(a), lines(b))
  return lines(a).map((_, at) => map.newer(at + 1))
}

describe('the lines of a text that was changed', () => {
  it('stand where they stood, further down, or are gone', () => {
    expect(newer('a b c d', 'a b c d')).toEqual([1, 2, 3, 4])
    expect(newer('a b c d', 'x a b d')).toEqual([2, 3, null, 4])
    expect(newer('a b', '')).toEqual([null, null])
    expect(newer('', 'a')).toEqual([])
    expect(newer('a { } b { } c', 'a { } x { } b { } c')).toEqual([1, 2, 3, 7, 8, 9, 10])
  })

  it('count as new where they changed their order, as for git blame', () => {
    expect(newer('a b c d e', 'b c d e a')).toEqual([null, 1, 2, 3, 4])
  })

  it('are the same if only the line ending changed', () => {
    const [unix, dos] = [textLines(Buffer.from('eins\nzwei\nß\n'))!, textLines(Buffer.from('eins\r\nzwei\r\nß'))!]
    expect(dos).toEqual(unix)
    expect(mapLines(unix, dos).kept).toBe(3)
  })

  it('map to equal lines, in order, and both ways alike', () => {
    const text = fc.array(fc.constantFrom(...'abcdefgh{}'), { maxLength: 30 })
    fc.assert(
      fc.property(text, text, (a, b) => {
        const map = mapLines(a, b)
        let [last, kept] = [0, 0]
        for (const [at, line] of a.entries()) {
          const place = map.newer(at + 1)
          if (place === null) continue
          expect([b[place - 1], map.older(place), place > last]).toEqual([line, at + 1, true])
          last = place
          kept++
        }
        expect(map.kept).toBe(kept)
      }),
    )
  })

  it('are looked for in reasonable time where almost all differ, and those that occur once are found', () => {
    const many = (word: string): readonly string[] => Array.from({ length: 3_000 }, (_, at) => `${word} ${at % 2_000}`)
    const [older, newer] = [many('old'), many('new')]
    expect(mapLines([...older, 'same', ...older], [...newer, 'same', ...newer]).newer(3_001)).toBe(3_001)
  })
})

describe('a content', () => {
  it('has no lines if it is binary or not UTF-8', () => {
    expect(textLines(Buffer.from([1, 0, 2]))).toBeNull()
    expect(textLines(Buffer.from([0xff, 0xfe]))).toBeNull()
    expect(textLines(new Uint8Array())).toEqual([])
  })
})
