// Estimates the tokens of a text without a tokenizer: four characters per token in plain English. Text that tokenizers split smaller counts
// more: punctuation, long random words, other scripts, emoji. So a budget holds for them as well.

/** At least a quarter of the characters. */
export const tokensOf = (text: string): number => Math.ceil(unitsOf(text) / UNITS)

/** Quarters of a token, for sums that are rounded once. */
export function unitsOf(text: string): number {
  let units = 0
  for (const [word] of text.matchAll(/[A-Za-z0-9_]+|[^A-Za-z0-9_]/gu))
    units += word.length > 1 ? wordUnits(word) : signUnits(word)
  return units
}

export const UNITS = 4

/** Longer words are hashes or keys. */
const WORD_MAX = 20

function wordUnits(word: string): number {
  if (word.length > WORD_MAX) return word.length * 4
  return /\d/.test(word) ? word.length * 2 : Math.max(UNITS, word.length)
}

/** Rare characters cost one token per byte. */
function signUnits(sign: string): number {
  const code = sign.codePointAt(0)!
  if (sign === ' ') return 1
  if (code < 0x80) return 3
  if (/[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}]/u.test(sign)) return code < 0x800 ? 4 : 12
  if (code < 0x800) return 8
  if (/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u.test(sign) && code < 0x10000) return 8
  return code < 0x10000 ? 12 : 16
}

/** How many lines fit, at least one. `reserved` is shown besides. */
export function linesWithin(lines: readonly string[], maxTokens: number, reserved: string): number {
  let room = maxTokens * UNITS - unitsOf(reserved)
  for (const [at, line] of lines.entries()) {
    room -= unitsOf(`${line}\n`)
    if (room < 0 && at > 0) return at
  }
  return lines.length
}

/** Cuts to what fits and appends `…`. */
export function cutTo(text: string, units: number): string {
  if (unitsOf(text) <= units) return text
  const characters = [...text]
  let [fits, over] = [0, characters.length]
  while (over - fits > 1) {
    const middle = (fits + over) >> 1
    if (unitsOf(characters.slice(0, middle).join('')) + unitsOf('…') <= units) fits = middle
    else over = middle
  }
  return `${characters.slice(0, fits).join('').trimEnd()}…`
}
