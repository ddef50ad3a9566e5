// The kinds of artifacts, and the types of outputs that are checked: text number boolean json url path file, and list[T]. Any other word is
// information for people.

import { type Json, wordList } from '../json.ts'

/** `links`: a list of them. */
export const ARTIFACT_KINDS = wordList('file report dataset patch log note link links')
export type ArtifactKind = (typeof ARTIFACT_KINDS)[number]

const SIMPLE = wordList('text number boolean json url path file')
type Simple = (typeof SIMPLE)[number]

export type OutputType = { readonly is: Simple } | { readonly is: 'list'; readonly of: OutputType }

const DEPTH_MAX = 5
const SHOWN_MAX = 60

/** Null for a word that is not checked. */
export function readOutputType(text: string, depth = 0): OutputType | null {
  const word = text.trim()
  const inner = /^list\[(.*)\]$/s.exec(word)?.[1]
  if (inner === undefined) return SIMPLE.find(one => one === word) === undefined ? null : { is: word as Simple }
  const of = depth < DEPTH_MAX ? readOutputType(inner, depth + 1) : null
  return of === null ? null : { is: 'list', of }
}

/** Is it read from a file or from standard output as JSON? */
export const isJsonType = ({ is }: OutputType): boolean =>
  is !== 'text' && is !== 'url' && is !== 'path' && is !== 'file'

export const isLinks = (type: OutputType): boolean => type.is === 'url' || (type.is === 'list' && isLinks(type.of))

/** Why the value does not have the type, as a sentence; null if it has. */
export function typeFault(type: OutputType, value: Json, subject = 'it'): string | null {
  if (type.is !== 'list') return has(type.is, value) ? null : `${subject} is not ${NAMED[type.is]}: ${shown(value)}`
  if (!Array.isArray(value)) return `${subject} is not a list: ${shown(value)}`
  for (const [index, one] of (value as readonly Json[]).entries()) {
    const fault = typeFault(type.of, one, `${subject === 'it' ? 'item' : subject} ${index + 1}`)
    if (fault !== null) return fault
  }
  return null
}

const NAMED: { readonly [T in Simple]: string } = {
  text: 'text',
  number: 'a number',
  boolean: 'true or false',
  json: 'JSON',
  url: 'an absolute URL',
  path: 'a path within the workspace',
  file: 'a file',
}

function has(type: Simple, value: Json): boolean {
  switch (type) {
    case 'json':
      return true
    case 'number':
    case 'boolean':
      return typeof value === type
    case 'text':
      return typeof value === 'string' || isStored(value)
    case 'url':
      return typeof value === 'string' && isUrl(value)
    case 'path':
      return typeof value === 'string' && isPath(value)
    case 'file':
      return isStored(value) || (typeof value === 'string' && isPath(value))
    default:
      return type satisfies never
  }
}

/** Content that is stored by its hash, as outputs are recorded. */
export const isStored = (value: Json): value is { readonly artifact: string; readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && 'artifact' in value && typeof value.artifact === 'string'

/** With a scheme and `//`: neither `mailto:` nor `javascript:` leads to a document. */
export const isUrl = (text: string): boolean => /^[a-z][a-z0-9+.-]*:\/\/\S+$/i.test(text) && URL.canParse(text)

function isPath(text: string): boolean {
  if (text === '' || text.length > 4_096 || /^[/\\]|^[a-z]:[\\/]|\p{Cc}/iu.test(text)) return false
  return !text.split(/[\\/]/).includes('..')
}

function shown(value: Json): string {
  const text = JSON.stringify(value)
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text
}
