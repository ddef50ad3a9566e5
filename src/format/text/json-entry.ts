// Sets or removes one entry in another program's JSON settings file and preserves everything else: comments, key order,
// indentation, line endings, byte order mark. An edit that would change anything else is refused.

import {
  applyEdits,
  createScanner,
  type Edit,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser'
import type { Json, JsonObject } from '../../domain/json.ts'

export interface JsonEntry {
  readonly path: readonly string[]
  readonly value: Json
  /** The path leads to a list, and the value is one of its items. */
  readonly item?: true
}

/** `other`: the key exists with another value. */
export type EntryStatus = 'absent' | 'same' | 'other'

export type SettingsEdit =
  /** `made`: how many surrounding objects and lists were created for the entry, and may be removed with it. */
  { readonly ok: true; readonly text: string; readonly made: number } | SettingsFault

export interface SettingsFault {
  readonly ok: false
  /** Follows the file name: `is not valid JSON (line 3, column 7: …)`. */
  readonly why: string
}

export function entryStatus(
  text: string,
  entry: JsonEntry,
): { readonly ok: true; readonly status: EntryStatus } | SettingsFault {
  return faultOr(() => {
    const { found } = reach(read(text), entry)
    if (found === null) return { ok: true, status: 'absent' }
    return { ok: true, status: isSame(contentOf(found), entry.value) ? 'same' : 'other' }
  })
}

/** Appends the entry after its siblings, or replaces the value of an existing key. */
export function setEntry(text: string, entry: JsonEntry): SettingsEdit {
  return faultOr(() => {
    const before = read(text)
    if (before.root === null) {
      const { eol, mark } = before
      const all = JSON.stringify(nested(entry.path, entry), null, 2).replaceAll('\n', eol)
      return { ok: true, text: `${mark}${all}${eol}`, made: entry.path.length }
    }
    const { found, deepest, depth } = reach(before, entry)
    const key = entry.path[depth]
    const made = found !== null ? 0 : entry.path.length - depth - (entry.item === true ? 0 : 1)
    const edits =
      found !== null
        ? [replacement(before, contentOf(found), entry.value)]
        : insertion(before, deepest!, key, key === undefined ? entry.value : nested(entry.path.slice(depth + 1), entry))
    const after = read(`${before.mark}${applyEdits(before.text, edits)}`)
    const added = reach(after, entry).found
    const outermost = added === null ? null : upward(added, made)
    const same = found === null ? signature(before, null) : signature(before, found)
    if (added === null || !isSame(contentOf(added), entry.value)) throw unsafe()
    if (signature(after, outermost) !== same) throw unsafe()
    return { ok: true, text: `${after.mark}${after.text}`, made }
  })
}

/**
 * Removes the entry, and up to `made` surrounding objects and lists that are now empty. A key is removed with any value, an
 * item only if it is equal.
 */
export function removeEntry(text: string, entry: JsonEntry, { made }: { readonly made: number }): SettingsEdit {
  return faultOr(() => {
    const before = read(text)
    const { found } = reach(before, entry)
    if (found === null) return { ok: true, text, made: 0 }
    let [target, left] = [found, made]
    while (left > 0 && containerOf(target).children?.length === 1 && containerOf(target).parent !== undefined) {
      target = upward(target, 1)
      left--
    }
    const after = read(`${before.mark}${applyEdits(before.text, removal(before, target))}`)
    if (signature(after, null) !== signature(before, target)) throw unsafe()
    return { ok: true, text: `${after.mark}${after.text}`, made: left }
  })
}

/** Only whitespace or empty braces. */
export const isEmptyJson = (text: string): boolean => /^\ufeff?\s*(\{\s*\})?\s*$/.test(text)

interface Settings {
  /** Without the byte order mark. */
  readonly text: string
  readonly mark: string
  /** Null for a file of nothing but whitespace. */
  readonly root: Node | null
  readonly eol: string
  readonly step: string
}

class Unusable extends Error {}

const unsafe = (): Unusable => new Unusable('cannot be changed without touching something else in it')

function faultOr<T>(work: () => T): T | SettingsFault {
  try {
    return work()
  } catch (error) {
    if (error instanceof Unusable) return { ok: false, why: error.message }
    if (error instanceof RangeError) return { ok: false, why: 'is nested too deeply' }
    throw error
  }
}

function read(whole: string): Settings {
  const mark = whole.startsWith('\ufeff') ? '\ufeff' : ''
  const text = whole.slice(mark.length)
  const shape = { text, mark, eol: /\r\n/.test(text) ? '\r\n' : '\n', step: stepOf(text) }
  if (text.trim() === '') return { ...shape, root: null }
  const errors: ParseError[] = []
  const root = parseTree(text, errors, { allowTrailingComma: true })
  const [error] = errors
  if (error !== undefined) throw new Unusable(`is not valid JSON (${placeOf(text, error.offset)}: ${nameOf(error)})`)
  if (root?.type !== 'object') throw new Unusable('is not a JSON object')
  return { ...shape, root }
}

const nameOf = ({ error }: ParseError): string =>
  printParseErrorCode(error)
    .replace(/(?<=[a-z])[A-Z]/g, letter => ` ${letter.toLowerCase()}`)
    .toLowerCase()

function placeOf(text: string, offset: number): string {
  const lines = text.slice(0, offset).split('\n')
  return `line ${lines.length}, column ${lines.at(-1)!.length + 1}`
}

/** Taken from the first indented line. */
function stepOf(text: string): string {
  const indent = /\n([ \t]+)\S/.exec(text)?.[1]
  if (indent === undefined) return '  '
  return indent.startsWith('\t') ? '\t' : indent.slice(0, 8)
}

interface Reached {
  /** The property or list item. */
  readonly found: Node | null
  /** The innermost existing object or list on the path, and its depth; null in an empty file. */
  readonly deepest: Node | null
  readonly depth: number
}

function reach({ root }: Settings, { path, value, item }: JsonEntry): Reached {
  if (root === null) return { found: null, deepest: null, depth: 0 }
  let at = root
  for (const [depth, key] of path.entries()) {
    if (at.type !== 'object') throw new Unusable(`has no object at '${path.slice(0, depth).join('.')}'`)
    const named = (at.children ?? []).filter(property => property.children?.[0]?.value === key)
    if (named.length > 1) throw new Unusable(`has '${path.slice(0, depth + 1).join('.')}' twice`)
    const [property] = named
    if (property === undefined) return { found: null, deepest: at, depth }
    if (depth === path.length - 1 && item !== true) return { found: property, deepest: at, depth }
    at = contentOf(property)
  }
  if (at.type !== 'array') throw new Unusable(`has no list at '${path.join('.')}'`)
  const same = (at.children ?? []).find(one => isSame(one, value))
  return { found: same ?? null, deepest: at, depth: path.length }
}

const contentOf = (node: Node): Node => {
  const value = node.type === 'property' ? node.children?.[1] : node
  if (value === undefined) throw unsafe()
  return value
}

/** The order of keys does not matter. */
function isSame(node: Node, value: Json): boolean {
  const children = node.children ?? []
  if (Array.isArray(value))
    return (
      node.type === 'array' && children.length === value.length && children.every((one, at) => isSame(one, value[at]!))
    )
  if (value === null || typeof value !== 'object') return node.children === undefined && node.value === value
  const keys = new Set(children.map(({ children: pair }) => pair?.[0]?.value))
  return (
    node.type === 'object' &&
    children.length === Object.keys(value).length &&
    keys.size === children.length &&
    children.every(property => {
      const key: unknown = property.children?.[0]?.value
      return (
        typeof key === 'string' && Object.hasOwn(value, key) && isSame(contentOf(property), (value as JsonObject)[key]!)
      )
    })
  )
}

const containerOf = (node: Node): Node => {
  if (node.parent === undefined) throw unsafe()
  return node.parent
}

function upward(node: Node, levels: number): Node {
  let at = node
  for (let left = levels; left > 0; left--) {
    const container = containerOf(at)
    at = container.parent?.type === 'property' ? container.parent : container
  }
  return at
}

/** Everything except `skip`, to verify an edit. Numbers are compared as text, because not all of them fit into a double. */
function signature({ text, root }: Settings, skip: Node | null): string {
  const of = (node: Node): string => {
    const children = (node.children ?? []).filter(child => child !== skip)
    if (node.type === 'object') return `{${children.map(of).join()}}`
    if (node.type === 'array') return `[${children.map(of).join()}]`
    if (node.type === 'property') return `${of(node.children![0]!)}:${of(contentOf(node))}`
    return node.type === 'string' ? JSON.stringify(node.value) : text.slice(node.offset, node.offset + node.length)
  }
  return root === null ? '{}' : of(root)
}

/** The value wrapped in the missing part of the path. */
function nested(path: readonly string[], { value, item }: JsonEntry): Json {
  const inner: Json = item === true ? [value] : value
  return path.reduceRight<Json>((nestedValue, key) => ({ [key]: nestedValue }), inner)
}

function insertion(settings: Settings, container: Node, key: string | undefined, value: Json): Edit[] {
  const { text, eol, step } = settings
  const [open, close] = [container.offset, container.offset + container.length - 1]
  const last = container.children?.at(-1)
  const inner = text.slice(open + 1, close)
  const isSpread = inner.includes('\n') || (last === undefined && (close === text.length - 1 || text.includes('\n')))
  const airy = /^\s|[:,] /.test(inner) ? ' ' : ''
  const indent = last !== undefined && isFirstOnLine(text, last.offset) ? indentAt(text, last.offset) : null
  const own = indent ?? `${indentAt(text, open)}${step}`
  const written = isSpread ? JSON.stringify(value, null, step).replaceAll('\n', `${eol}${own}`) : JSON.stringify(value)
  const entry = key === undefined ? written : `${JSON.stringify(key)}:${isSpread ? ' ' : airy}${written}`
  const { comma, end } = tokensBetween(text, last === undefined ? open + 1 : last.offset + last.length, close)
  const lead = isSpread ? `${eol}${own}` : last === undefined ? '' : airy
  // Keeps the style of trailing commas.
  const tail = comma === null ? '' : ','
  const closing = isSpread && !text.slice(end, close).includes('\n') ? `${eol}${indentAt(text, open)}` : ''
  const content = `${lead}${entry}${tail}${closing}`
  if (last === undefined || comma !== null) return [{ offset: end, length: 0, content }]
  const behind = last.offset + last.length
  if (behind === end) return [{ offset: end, length: 0, content: `,${content}` }]
  return [
    { offset: behind, length: 0, content: ',' },
    { offset: end, length: 0, content },
  ]
}

function replacement({ text, eol, step }: Settings, node: Node, value: Json): Edit {
  const isSpread = text.includes('\n')
  const written = isSpread
    ? JSON.stringify(value, null, step).replaceAll('\n', `${eol}${indentAt(text, node.offset)}`)
    : JSON.stringify(value)
  return { offset: node.offset, length: node.length, content: written }
}

function removal({ text }: Settings, node: Node): Edit[] {
  const container = containerOf(node)
  const siblings = container.children ?? []
  const at = siblings.indexOf(node)
  const [previous, next] = [siblings[at - 1], siblings[at + 1]]
  const end = node.offset + node.length
  const limit = next?.offset ?? container.offset + container.length - 1
  const { comma } = tokensBetween(text, end, limit)
  const stop = comma === null ? end : comma + 1
  // The whole line is removed, unless it contains something else.
  const isAlone = isFirstOnLine(text, node.offset) && /^[ \t]*(\r?\n|$)/.test(text.slice(stop))
  const ahead = comma === null && previous !== undefined ? /[ \t]*$/.exec(text.slice(0, node.offset))![0].length : 0
  const start = isAlone ? lineBreakBefore(text, node.offset) : node.offset - ahead
  const blanks = isAlone ? 0 : /^[ \t]*/.exec(text.slice(stop))![0].length
  const cutOut = { offset: start, length: stop + (comma === null ? 0 : blanks) - start, content: '' }
  if (comma !== null || previous === undefined) return [cutOut]
  const before = tokensBetween(text, previous.offset + previous.length, node.offset).comma
  return before === null ? [cutOut] : [{ offset: before, length: 1, content: '' }, cutOut]
}

/** The comma between two offsets, and the end of the last comment or comma. */
function tokensBetween(
  text: string,
  start: number,
  limit: number,
): { readonly comma: number | null; readonly end: number } {
  const scanner = createScanner(text, false)
  scanner.setPosition(start)
  let [comma, end]: [number | null, number] = [null, start]
  for (scanner.scan(); scanner.getTokenOffset() < limit; scanner.scan()) {
    const token = text.slice(scanner.getTokenOffset(), scanner.getTokenOffset() + scanner.getTokenLength())
    if (token.trim() === '') continue
    if (token === ',') comma = scanner.getTokenOffset()
    end = scanner.getTokenOffset() + scanner.getTokenLength()
  }
  return { comma, end }
}

const lineStart = (text: string, offset: number): number => text.lastIndexOf('\n', offset - 1) + 1

const indentAt = (text: string, offset: number): string => /^[ \t]*/.exec(text.slice(lineStart(text, offset)))![0]

const isFirstOnLine = (text: string, offset: number): boolean =>
  lineStart(text, offset) > 0 && /^[ \t]*$/.test(text.slice(lineStart(text, offset), offset))

function lineBreakBefore(text: string, offset: number): number {
  const feed = lineStart(text, offset) - 1
  return text[feed - 1] === '\r' ? feed - 1 : feed
}
