// Foreign text for a terminal: escaped, quoted for a shell, or with everything hidden made visible.

import { shellQuoted } from '../../domain/plan-rules/shell-words.ts'

// Output of tasks, names and messages by others may contain escape sequences that move the cursor, fill the clipboard or reverse the
// reading direction; these become visible text.

interface EscapeOptions {
  /** Keeps line feeds; a lone carriage return is always shown. */
  readonly keepLines?: boolean
}

// C0 and C1 controls, format characters (bidi, zero width, tags), line separators, lone surrogates, and invisible fillers. The joiner in
// emoji is a format character too, and shown.
const UNSAFE = /\p{Cc}|\p{Cf}|\p{Cs}|\p{Zl}|\p{Zp}|\p{Default_Ignorable_Code_Point}/gu

/** Keeps tabs, which cannot hide text. */
export function escapeForTerminal(text: string, options: EscapeOptions = {}): string {
  const keep = options.keepLines === true
  return text.replace(UNSAFE, character =>
    character === '\t' || (keep && character === '\n') ? character : `\\u{${character.codePointAt(0)!.toString(16)}}`,
  )
}

/** Indents all lines but the first, so that none can pass for a line of ours. */
export const indentedLines = (text: string, columns: number): string =>
  escapeForTerminal(text.trimEnd().replaceAll('\r\n', '\n'), { keepLines: true }).replaceAll(
    '\n',
    `\n${' '.repeat(columns)}`,
  )

/** A shell word in visible characters. */
export function shellWord(text: string): string {
  return shellQuoted(escapeForTerminal(text))
}

// Text that a person is about to approve: everything that moves the cursor, changes the reading direction, has no width or looks like a
// space is written out, as is anything that could be mistaken for such an escape.

/** Spaces of other widths, and blank characters. */
const LIKE_SPACE = /(?! )[\p{Zs}\u2800\t]/gu
const LIKE_OURS = /\\(?=u\{)/g

export function visible(text: string): string {
  return escapeForTerminal(text.replace(LIKE_OURS, '\\\\')).replace(
    LIKE_SPACE,
    character => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  )
}

/** As one quoted word, with inner quotes escaped. */
export function quotedWord(text: string): string {
  return `"${visible(text.replaceAll('"', '\\"'))}"`
}

/** Line by line; a final line feed ends the last line, and a carriage return is written out. */
export function visibleLines(text: string): readonly string[] {
  const lines = text.split('\n')
  return (lines.at(-1) === '' ? lines.slice(0, -1) : lines).map(line => line.split('\t').map(visible).join('\t'))
}

const NAMED_MAX = 8

/** Non-ASCII letters by code point, since some look alike. Empty for none. */
export function nonAscii(text: string): readonly string[] {
  const found = new Set<string>()
  for (const character of text)
    if (character > '\u007f' && /[\p{L}\p{N}\p{P}\p{S}]/u.test(character))
      found.add(`U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`)
  return [...found].slice(0, NAMED_MAX)
}

/** For our own sentences that contain foreign text. */
export const SAFE_TEXT = { visible, visibleLines, quotedWord, nonAscii } as const
