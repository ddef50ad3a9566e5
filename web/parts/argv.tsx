// A command as it will run: without a shell, word by word, with visible word boundaries.

import { spelled } from '../../src/domain/views/pages/foreign-text.ts'

export function Argv({ argv }: { readonly argv: readonly string[] }) {
  return (
    <div className="argv" role="img" aria-label={`Command: ${argv.map(word => JSON.stringify(word)).join(' ')}`}>
      {argv.map((word, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: words are in order, and may repeat.
        <code key={at} className={at === 0 ? 'first' : ''}>
          {visible(word)}
        </code>
      ))}
    </div>
  )
}

/** Escapes invisible characters, so that two commands that look the same are the same. */
export const visible = (text: string): string =>
  text === ''
    ? "''"
    : spelled(text).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, char =>
        char === '\n' ? '⏎' : `\\u{${char.codePointAt(0)!.toString(16)}}`,
      )
