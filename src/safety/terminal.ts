// Text on its way to a terminal. Output of tasks, names and messages written by others may hold escape sequences that
// move the cursor, fill the clipboard or turn the reading direction; here they become visible and harmless.

import { shellQuoted } from '../domain/shell-words.ts'

export interface EscapeOptions {
  /** Leave line feeds and tabs as they are; a lone carriage return is always shown. */
  readonly keepLines?: boolean
}

// C0 and C1 controls, format characters (bidi, zero width, tags), separators that break lines, lone surrogates, and the
// fillers that look like nothing. The joiner in emoji is a format character too; shown is better than hidden.
const UNSAFE = /\p{Cc}|\p{Cf}|\p{Cs}|\p{Zl}|\p{Zp}|\p{Default_Ignorable_Code_Point}/gu

export function escapeForTerminal(text: string, options: EscapeOptions = {}): string {
  const keep = options.keepLines === true
  return text.replace(UNSAFE, character =>
    keep && (character === '\n' || character === '\t') ? character : `\\u{${character.codePointAt(0)!.toString(16)}}`,
  )
}

/** A path, or any other text, as one word of a shell, in characters that can be seen. */
export function shellWord(text: string): string {
  return shellQuoted(escapeForTerminal(text))
}
