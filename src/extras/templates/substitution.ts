// Text with `<< expression >>` in it: the substitutions of a template, made once, when a plan is made of it. The sign is not
// `${{ }}`, which is for values of the running plan, and means nothing to YAML inside a value. `<< '<<' >>` stands for a
// literal `<<`.

export type Piece =
  | { readonly type: 'text'; readonly text: string }
  /** `position` is the offset of the expression inside the whole text. */
  | { readonly type: 'value'; readonly source: string; readonly position: number }

export type Split =
  | { readonly ok: true; readonly pieces: readonly Piece[] }
  | { readonly ok: false; readonly message: string; readonly position: number; readonly hint: string }

export const OPEN = '<<'
const CLOSE = '>>'

export function split(text: string): Split {
  const pieces: Piece[] = []
  let at = 0
  while (true) {
    const open = text.indexOf(OPEN, at)
    if (open === -1) break
    const close = endOfValue(text, open + OPEN.length)
    if (close === -1)
      return {
        ok: false,
        message: "'<<' is never closed",
        position: open,
        hint: "close it with '>>', or write << '<<' >> for the characters themselves",
      }
    if (open > at) pieces.push({ type: 'text', text: text.slice(at, open) })
    const inner = text.slice(open + OPEN.length, close)
    const source = inner.trim()
    pieces.push({
      type: 'value',
      source,
      position: open + OPEN.length + (inner.length - inner.trimStart().length),
    })
    at = close + CLOSE.length
  }
  if (at < text.length || pieces.length === 0) pieces.push({ type: 'text', text: text.slice(at) })
  return { ok: true, pieces }
}

/** A substitution of these names inside a script, where none may be; a here-document `<<EOF` is none. */
export function substitutionIn(script: string, names: readonly string[]): string | null {
  for (const [found, inner] of script.matchAll(/<<([^<>\n]{0,500})>>/g))
    if (names.some(name => new RegExp(`(?<![\\w.])${name}\\b`).test(inner!))) return found
  return null
}

/** The same text, with every `<<` written so that reading it as a template gives the text back. */
export function literal(text: string): string {
  return text.replaceAll(OPEN, "<< '<<' >>")
}

/** The offset of the `>>` that ends a value, minding quotes inside it; -1 when there is none. */
function endOfValue(text: string, from: number): number {
  let quote: string | null = null
  for (let at = from; at < text.length; at++) {
    const sign = text[at] as string
    if (quote !== null) {
      if (sign === '\\') at++
      else if (sign === quote) quote = null
    } else if (sign === "'" || sign === '"') quote = sign
    else if (sign === '>' && text[at + 1] === '>') return at
  }
  return -1
}
