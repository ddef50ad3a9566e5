// Words for search: sequences of letters and digits, without case and accents. The same in every store, and as SQLite's tokenizer
// `unicode61` splits text.

const WORD = /[\p{L}\p{N}\p{Co}\p{M}]+/gu
const SNIPPET_MAX = 200
const BEFORE = 60
const WORDS_MAX = 16
const WORD_MAX = 64

const ESC = String.fromCharCode(27)
const BELL = String.fromCharCode(7)
/** Colours, cursor movements, links and titles. */
const SEQUENCES = new RegExp(`${ESC}(?:\\[[0-?]*[ -/]*[@-~]|\\][^${BELL}${ESC}]{0,1000}(?:${BELL}|${ESC}\\\\))`, 'g')

/** Output without terminal sequences, so that a coloured word is found. */
export const printed = (text: string): string => (text.includes(ESC) ? text.replaceAll(SEQUENCES, '') : text)

/** Ignores all other characters. Empty without words. */
export function wordsOf(text: string): readonly string[] {
  const words = text.normalize('NFC').match(WORD) ?? []
  return [...new Set(words.map(word => word.slice(0, wholeCharacter(word, WORD_MAX))))]
    .filter(word => folded(word) !== '')
    .slice(0, WORDS_MAX)
}

export function holdsWords(text: string, words: readonly string[]): boolean {
  const wanted = words.map(folded)
  const found = new Set<string>()
  for (const [word] of text.matchAll(WORD)) {
    const there = folded(word)
    for (const each of wanted) if (there.startsWith(each)) found.add(each)
    if (found.size === new Set(wanted).size) return true
  }
  return wanted.length === 0
}

/** The different words of a text, without case and accents. */
export const foldedWords = (text: string): ReadonlySet<string> =>
  new Set(Array.from(text.matchAll(WORD), ([word]) => folded(word)))

export interface Snippet {
  readonly snippet: string
  readonly matches: readonly (readonly [number, number])[]
}

/** One line around the first hit, and the positions of hits in it. */
export function snippetOf(text: string, words: readonly string[]): Snippet {
  const wanted = words.map(folded)
  let start: number | null = null
  const matches: [number, number][] = []
  for (const match of text.matchAll(WORD)) {
    const { index } = match
    if (start !== null && index >= start + SNIPPET_MAX) break
    const there = folded(match[0])
    if (!wanted.some(each => there.startsWith(each))) continue
    start ??= wholeCharacter(text, Math.max(0, index - BEFORE))
    matches.push([index, Math.min(index + match[0].length, start + SNIPPET_MAX)])
  }
  const from = start ?? 0
  const snippet = text.slice(from, wholeCharacter(text, Math.min(text.length, from + SNIPPET_MAX)))
  return {
    snippet: snippet.replaceAll(/[\s\p{Cc}]/gu, ' '),
    matches: matches.map(([first, end]) => [first - from, Math.min(end - from, snippet.length)] as const),
  }
}

/** Never between the two halves of a surrogate pair. */
const wholeCharacter = (text: string, at: number): number => ((text.charCodeAt(at) & 0xfc00) === 0xdc00 ? at - 1 : at)

export const folded = (word: string): string =>
  word.normalize('NFD').replaceAll(/\p{M}/gu, '').normalize('NFC').toLowerCase()
