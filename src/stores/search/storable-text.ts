// Text as SQLite keeps it: a NUL would end it, and half of a character is no UTF-8. The journal is JSON and escapes both; rows
// and what they are looked for by go through here, in every store, so that rows are what the fold says (law L2).

const UNKEPT = /\0|\p{Surrogate}/gu

/** Node 20 has it, the types of ES2023 do not; output is long, and a pattern is three times slower. */
type Text = string & { isWellFormed(): boolean }

/** What is not kept as it is cannot be anybody's id. */
export const isKept = (text: string): boolean => (text as Text).isWellFormed() && !text.includes('\0')

export const keptText = (text: string): string => (isKept(text) ? text : text.replace(UNKEPT, '\ufffd'))

/** Null is kept as it is; what is absent is null. */
export const keptOrNull = (text: string | null | undefined): string | null => (text == null ? null : keptText(text))

/** A query in which these texts are as the rows have them. */
export function keptQuery<Q extends object, K extends keyof Q>(query: Q, keys: readonly K[]): Q {
  let kept = query
  for (const key of keys) {
    const text = query[key]
    if (typeof text !== 'string') continue
    const clean = keptText(text)
    if (clean !== text) kept = { ...kept, [key]: clean }
  }
  return kept
}
