// Keys and other secrets never leave in a prompt and never arrive in a recording: every text that is sent or received passes here.

const SECRET_MIN_LENGTH = 8
const SECRET_NAME = /_(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$/i
/** A path or a sentence under such a name is no secret, and would be cut out of many texts. */
const SECRET_VALUE = /^[^\s/]{12,}$/

export const REDACTED = '[redacted]'

export type Redact = (text: string) => string

/** What in the environment is called like a secret and looks like one. */
export function secretsIn(environment: { readonly [name: string]: string | undefined }): readonly string[] {
  return Object.entries(environment).flatMap(([name, value]) =>
    value !== undefined && SECRET_NAME.test(name) && SECRET_VALUE.test(value) ? [value] : [],
  )
}

export function redactor(secrets: readonly string[]): Redact {
  const words = wordsOf(secrets)
  return text => {
    let clean = text
    for (const word of words) if (clean.includes(word)) clean = clean.replaceAll(word, REDACTED)
    return clean
  }
}

/** The same for text that comes in parts: what could be the beginning of a secret is held back until more is known. */
export function streamRedactor(secrets: readonly string[]): { next(part: string): string; end(): string } {
  const redact = redactor(secrets)
  const words = wordsOf(secrets)
  let held = ''
  return {
    next(part) {
      held = redact(held + part)
      const kept = Math.max(0, ...words.map(word => overlap(held, word)))
      const ready = held.slice(0, held.length - kept)
      held = held.slice(ready.length)
      return ready
    },
    end() {
      const rest = held
      held = ''
      return rest
    },
  }
}

/** How many characters at the end of the text are the beginning of the word. */
function overlap(text: string, word: string): number {
  for (let length = Math.min(text.length, word.length - 1); length > 0; length--)
    if (text.endsWith(word.slice(0, length))) return length
  return 0
}

/** Also as JSON writes them. The longest first, so that none is left half. */
function wordsOf(secrets: readonly string[]): readonly string[] {
  const long = secrets.filter(({ length }) => length >= SECRET_MIN_LENGTH)
  const words = new Set(long.flatMap(secret => [secret, JSON.stringify(secret).slice(1, -1)]))
  return [...words].sort((a, b) => b.length - a.length)
}
