// Where the things of a JSON text were written. The text is known to be valid JSON, so this only walks along paths.

import type { Path } from './diagnostic.ts'
import type { Span, Spans } from './place.ts'

/** Answers for many paths: what a map or a list holds is looked up once, since hundreds of faults may stand in one long list. */
export function jsonPlaces(text: string): (path: Path) => Spans {
  const members = new Map<number, ReadonlyMap<string | number, Found>>()
  const ends = new Map<number, number>()
  return path => {
    let key: Span | null = null
    let at = skipBlank(text, 0)
    for (const step of path) {
      const member = membersAt(at).get(step)
      if (member === undefined) return { key, value: { start: at, end: endOf(at) }, exact: false }
      key = member.key
      at = member.value
    }
    return { key, value: { start: at, end: endOf(at) }, exact: true }
  }

  function membersAt(open: number): ReadonlyMap<string | number, Found> {
    const found = members.get(open) ?? membersOf(text, open)
    members.set(open, found)
    return found
  }

  function endOf(at: number): number {
    const end = ends.get(at) ?? skipValue(text, at)
    ends.set(at, end)
    return end
  }
}

type Found = { readonly key: Span | null; readonly value: number }

function membersOf(text: string, open: number): ReadonlyMap<string | number, Found> {
  const found = new Map<string | number, Found>()
  let at = skipBlank(text, open + 1)
  if (text[open] === '[')
    for (let index = 0; text[at] !== ']'; index++) {
      found.set(index, { key: null, value: at })
      at = skipComma(text, skipValue(text, at))
    }
  else if (text[open] === '{')
    while (text[at] !== '}') {
      const end = skipString(text, at)
      const value = skipBlank(text, skipBlank(text, end) + 1)
      found.set(JSON.parse(text.slice(at, end)) as string, { key: { start: at, end }, value })
      at = skipComma(text, skipValue(text, value))
    }
  return found
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
