// Between a dialect's words for a status and ours. A table says what each word means; the first word of a meaning is the one
// we print. A word the table does not know is refused with its place, never taken for the nearest one. A word that is not the
// one we would print is kept in `extra.status`, so that printing gives it back for as long as it still says the truth.

import type { Json } from '../../domain/json.ts'
import { suggest } from '../../domain/phrases.ts'

export interface StatusWords<S extends string> {
  /** Every word of the dialect, in the order of its table. */
  readonly words: readonly string[]
  /** What a word means. Letters may be upper or lower case. */
  read(word: Json): StatusRead<S>
  /**
   * The word for a status: the remembered one while it still means this status, else the first of the table. Null when the
   * dialect has no word for it.
   */
  print(status: S, remembered?: Json): string | null
}

export type StatusRead<S extends string> =
  /** `remember` is the word as it was written, when printing the status would give another one. */
  | { readonly ok: true; readonly status: S; readonly remember: string | null }
  | { readonly ok: false; readonly message: string; readonly hint: string }

export function statusWords<S extends string>(table: { readonly [word: string]: S }): StatusWords<S> {
  const words = Object.keys(table)
  const exact = new Map(Object.entries(table))
  const folded = new Map(words.toReversed().map(word => [word.toLowerCase(), table[word] as S]))
  const first = new Map<S, string>(words.toReversed().map(word => [table[word] as S, word]))
  const meaning = (word: string): S | undefined => exact.get(word) ?? folded.get(word.toLowerCase())

  return {
    words,
    read(word) {
      const status = typeof word === 'string' ? meaning(word.trim()) : undefined
      if (status === undefined) return { ok: false, ...unknown(word, words) }
      return { ok: true, status, remember: first.get(status) === word ? null : (word as string) }
    },
    print(status, remembered) {
      if (typeof remembered === 'string' && meaning(remembered.trim()) === status) return remembered
      return first.get(status) ?? null
    },
  }
}

function unknown(word: Json, words: readonly string[]): { readonly message: string; readonly hint: string } {
  const shown = JSON.stringify(word)
  const near = typeof word === 'string' ? suggest(word.slice(0, 60), words) : null
  return {
    message: `${shown.length > 60 ? `${shown.slice(0, 60)}…` : shown} is not a status here`,
    hint: near === null ? `write one of ${words.join(', ')}` : `did you mean '${near}'?`,
  }
}
