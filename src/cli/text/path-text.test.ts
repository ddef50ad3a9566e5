import { describe, expect, it } from 'vitest'
import { shellWord } from '../../safety/text/terminal.ts'
import { resolvePaths, resolvePattern, shownPath } from './path-text.ts'

const known = ['a.txt', 'src/a.txt', 'src/deep/b.txt', 'docs/note.md', 'esc\u001b[31m', 'bad\udcff', "it's", 'all']
const at = (cwd: string) => ({ root: '/place', cwd })

describe('words for paths', () => {
  it('mean what stands where the person is, and else what stands in the workspace', () => {
    expect(resolvePaths(at('/place'), 'a.txt', known)).toEqual(['a.txt'])
    expect(resolvePaths(at('/place/src'), 'a.txt', known)).toEqual(['src/a.txt'])
    expect(resolvePaths(at('/place/src'), '../a.txt', known)).toEqual(['a.txt'])
    expect(resolvePaths(at('/place/src'), 'docs/note.md', known)).toEqual(['docs/note.md'])
    expect(resolvePaths(at('/place/src'), '/place/docs/note.md', known)).toEqual(['docs/note.md'])
  })

  it('may be folders and patterns', () => {
    expect(resolvePaths(at('/place'), 'src', known)).toEqual(['src/a.txt', 'src/deep/b.txt'])
    expect(resolvePaths(at('/place'), 'src/', known)).toEqual(['src/a.txt', 'src/deep/b.txt'])
    expect(resolvePaths(at('/place'), '**/*.txt', known)).toEqual(['a.txt', 'src/a.txt', 'src/deep/b.txt'])
    expect(resolvePaths(at('/place/src'), '*.txt', known)).toEqual(['src/a.txt'])
    expect(resolvePaths(at('/place/src'), '.', known)).toEqual(['src/a.txt', 'src/deep/b.txt'])
    expect(resolvePaths(at('/place'), '.', known)).toEqual(known)
  })

  it('may be typed as they were shown', () => {
    for (const path of known) expect(resolvePaths(at('/place'), shownPath(path), known)).toEqual([path])
  })

  it('mean nothing, or are refused outside of the workspace', () => {
    expect(resolvePattern(at('/place'), 'nothing', known)).toBe(null)
    expect(() => resolvePattern(at('/place'), '../other', known)).toThrow(/outside the workspace/)
    expect(() => resolvePattern(at('/place'), '/etc/passwd', known)).toThrow(/outside the workspace/)
  })

  it('are one word for a shell, in characters that can be seen', () => {
    expect(['src/a.txt', 'two words', "it's", 'esc\u001b[31m', '$(x)', ''].map(shellWord)).toEqual([
      'src/a.txt',
      "'two words'",
      "'it'\\''s'",
      "'esc\\u{1b}[31m'",
      "'$(x)'",
      "''",
    ])
    expect(shownPath(' sp ace ')).toBe("' sp ace '")
  })
})
