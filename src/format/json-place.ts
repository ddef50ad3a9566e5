// Where the things of a JSON text were written. The text is known to be valid JSON, so this only walks along one path.

import type { Path } from './diagnostic.ts'
import type { Span, Spans } from './place.ts'

export function jsonSpans(text: string, path: Path): Spans {
  let key: Span | null = null
  let at = skipBlank(text, 0)
  for (const step of path) {
    const member = text[at] === '{' ? findMember(text, at, step) : text[at] === '[' ? findItem(text, at, step) : null
    if (member === null) return { key, value: { start: at, end: skipValue(text, at) }, exact: false }
    key = member.key
    at = member.value
  }
  return { key, value: { start: at, end: skipValue(text, at) }, exact: true }
}

type Found = { readonly key: Span | null; readonly value: number }

function findMember(text: string, open: number, step: string | number): Found | null {
  let at = skipBlank(text, open + 1)
  while (text[at] !== '}') {
    const end = skipString(text, at)
    const value = skipBlank(text, skipBlank(text, end) + 1)
    if (JSON.parse(text.slice(at, end)) === step) return { key: { start: at, end }, value }
    at = skipComma(text, skipValue(text, value))
  }
  return null
}

function findItem(text: string, open: number, step: string | number): Found | null {
  let at = skipBlank(text, open + 1)
  for (let index = 0; text[at] !== ']'; index++) {
    if (index === step) return { key: null, value: at }
    at = skipComma(text, skipValue(text, at))
  }
  return null
}

/** The offset behind the value that begins here. */
function skipValue(text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length; ) {
    const sign = text[at] as string
    if (sign === '"') at = skipString(text, at)
    else if (sign === '{' || sign === '[') {
      depth++
      at++
    } else if (sign === '}' || sign === ']') {
      if (depth === 0) return at
      depth--
      at++
    } else if (depth === 0 && (sign === ',' || /\s/.test(sign))) return at
    else {
      at++
      if (depth > 0) continue
      while (at < text.length && /[^\s,\]}]/.test(text[at] as string)) at++
      return at
    }
    if (depth === 0) return at
  }
  return text.length
}

function skipString(text: string, from: number): number {
  let at = from + 1
  while (text[at] !== '"' && at < text.length) at += text[at] === '\\' ? 2 : 1
  return at + 1
}

function skipComma(text: string, from: number): number {
  const at = skipBlank(text, from)
  return text[at] === ',' ? skipBlank(text, at + 1) : at
}

function skipBlank(text: string, from: number): number {
  let at = from
  while (at < text.length && /\s/.test(text[at] as string)) at++
  return at
}
