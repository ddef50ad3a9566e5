// Addresses of PostgreSQL databases: `postgres://USER:PASSWORD@HOST/NAME`. A password in one is never shown.

export const isDatabaseUrl = (text: string): boolean => /^postgres(?:ql)?:\/\//i.test(text)

/** For messages and process titles. Not by parsing: what is no valid address may hold a password all the same. */
export const withoutPassword = (url: string): string =>
  url
    .replace(/\/\/([^:/@?]*):[^?]*@/, '//$1@')
    .replace(/([?&])password=[^&]*&?/gi, '$1')
    .replace(/[?&]$/, '')

/** What was typed, with passwords taken out; null when there are none. */
export function withoutPasswords(words: readonly string[]): readonly string[] | null {
  const shown = words.map(word => word.replace(/postgres(?:ql)?:\/\/\S+/gi, withoutPassword))
  return shown.some((word, at) => word !== words[at]) ? shown : null
}
