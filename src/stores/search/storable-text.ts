// Text as SQLite can store it: a NUL would end it, and a lone surrogate is no UTF-8. The journal is JSON and escapes both; rows and query
// values are converted here, in every store, so that rows equal the fold (law L2).

const UNKEPT = /\0|\p{Surrogate}/gu

/** Node 20 has it, the types of ES2023 do not; a regular expression is three times slower. */
type Text = string & { isWellFormed(): boolean }

/** Text that is stored differently cannot be an id. */
export const isKept = (text: string): boolean => (text as Text).isWellFormed() && !text.includes('\0')

export const keptText = (text: string): string => (isKept(text) ? text : text.replace(UNKEPT, '\ufffd'))

/** Absent becomes null. */
export const keptOrNull = (text: string | null | undefined): string | null => (text == null ? null : keptText(text))

/** Converts these texts of a query as the rows have them. */
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
