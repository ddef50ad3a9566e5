// Text of others made harmless for a terminal: escaped, quoted for a shell, or with everything hidden made visible.

import { shellQuoted } from '../../domain/plan-rules/shell-words.ts'

// Text on its way to a terminal. Output of tasks, names and messages written by others may hold escape sequences that
// move the cursor, fill the clipboard or turn the reading direction; here they become visible and harmless.

interface EscapeOptions {
  /** Leave line feeds as they are; a lone carriage return is always shown. */
  readonly keepLines?: boolean
}

// C0 and C1 controls, format characters (bidi, zero width, tags), separators that break lines, lone surrogates, and the
// fillers that look like nothing. The joiner in emoji is a format character too; shown is better than hidden.
const UNSAFE = /\p{Cc}|\p{Cf}|\p{Cs}|\p{Zl}|\p{Zp}|\p{Default_Ignorable_Code_Point}/gu

/** Tabs stay: they move nothing back. */
export function escapeForTerminal(text: string, options: EscapeOptions = {}): string {
  const keep = options.keepLines === true
  return text.replace(UNSAFE, character =>
    character === '\t' || (keep && character === '\n') ? character : `\\u{${character.codePointAt(0)!.toString(16)}}`,
  )
}

/** Text of several lines. All but the first are indented, so that none of them can pass for a line of ours. */
export const indentedLines = (text: string, columns: number): string =>
  escapeForTerminal(text.trimEnd().replaceAll('\r\n', '\n'), { keepLines: true }).replaceAll(
    '\n',
    `\n${' '.repeat(columns)}`,
  )

/** A path, or any other text, as one word of a shell, in characters that can be seen. */
export function shellWord(text: string): string {
  return shellQuoted(escapeForTerminal(text))
}

// Text that somebody is about to agree to, with nothing hidden in it: what moves the cursor, turns the reading direction, has no
// width or only looks like a space is written out, and so is whatever could be mistaken for that.

/** Spaces of other widths, and the blank that is no space. */
const LIKE_SPACE = /(?! )[\p{Zs}\u2800\t]/gu
const LIKE_OURS = /\\(?=u\{)/g

export function visible(text: string): string {
  return escapeForTerminal(text.replace(LIKE_OURS, '\\\\')).replace(
    LIKE_SPACE,
    character => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  )
}

/** As one word in quotes: where it ends is plain to see, and a quote in it does not end it. */
export function quotedWord(text: string): string {
  return `"${visible(text.replaceAll('"', '\\"'))}"`
}

/** Line by line; a last line feed ends the last line, and a carriage return is written out. */
export function visibleLines(text: string): readonly string[] {
  const lines = text.split('\n')
  return (lines.at(-1) === '' ? lines.slice(0, -1) : lines).map(line => line.split('\t').map(visible).join('\t'))
}

const NAMED_MAX = 8

/** Letters outside ASCII by their code points: some look like others. Empty when there are none. */
export function nonAscii(text: string): readonly string[] {
  const found = new Set<string>()
  for (const character of text)
    if (character > '\u007f' && /[\p{L}\p{N}\p{P}\p{S}]/u.test(character))
      found.add(`U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`)
  return [...found].slice(0, NAMED_MAX)
}

/** For words of ours that hold text of others, wherever they are shown. */
export const SAFE_TEXT = { visible, visibleLines, quotedWord, nonAscii } as const
