// A document: plain JSON read from YAML or JSON text, that still knows where everything was written. What no plan needs and
// attackers like is refused here: duplicate keys, `__proto__`, cyclic aliases, NUL, numbers that JSON cannot hold.

import { type Alias, isAlias, isMap, isScalar, isSeq, type ParsedNode, type Scalar, type YAMLMap } from 'yaml'
import type { Json } from '../domain/json.ts'
import { DEPTH_MAX, DOCUMENT_MAX_BYTES } from '../domain/limits.ts'
import { type Complaint, type Diagnostic, DIAGNOSTICS_MAX, type Path } from './diagnostic.ts'
import { place, writtenAt } from './place.ts'
import { type Grown, position, readTree } from './yaml-stream.ts'

export const NODES_MAX = 1_000_000
/** How many nodes may come from following aliases. */
const COPIES_MAX = 10_000
const RESERVED = new Set(['__proto__', 'constructor', 'prototype'])

export type ReadDocument =
  | { readonly ok: true; readonly document: Document }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] }

export interface Document {
  readonly value: Json
  /** Turns a complaint about a path into a diagnostic with line and column. */
  readonly place: (complaint: Complaint) => Diagnostic
  /** The scalar at a path as it was written, e.g. `0o755`; null when there is none. */
  readonly written: (path: Path) => string | null
}

export function readDocument(text: string): ReadDocument {
  if (Buffer.byteLength(text) > DOCUMENT_MAX_BYTES) {
    const message = `the document is larger than ${DOCUMENT_MAX_BYTES / 1024 / 1024} MB`
    return { ok: false, diagnostics: [{ severity: 'error', message, hint: 'put large content into files', line: 1, column: 1 }] }
  }
  const tree = readTree(text.startsWith('\uFEFF') ? text.slice(1) : text)
  if (!tree.ok) return tree
  const reader = new TreeReader(tree)
  const value = reader.read(tree.root, 0)
  if (reader.diagnostics.length > 0) return { ok: false, diagnostics: reader.diagnostics }
  return {
    ok: true,
    document: { value, place: complaint => place(tree, complaint), written: path => writtenAt(tree, path) },
  }
}

class TreeReader {
  readonly diagnostics: Diagnostic[] = []
  readonly #tree: Grown
  readonly #anchors = new Map<string, ParsedNode>()
  readonly #open = new Set<unknown>()
  #nodes = 0
  #copies = 0
  #copying = 0

  constructor(tree: Grown) {
    this.#tree = tree
  }

  read(node: ParsedNode | null, depth: number): Json {
    if (this.diagnostics.length >= DIAGNOSTICS_MAX || node === null) return null
    if (depth > DEPTH_MAX) return this.#refuse(node, `the document is nested deeper than ${DEPTH_MAX} levels`, 'flatten it')
    if (++this.#nodes > NODES_MAX) return this.#stop(node, 'the document has too many parts', 'split the plan up')
    if (this.#copying > 0 && ++this.#copies > COPIES_MAX) return this.#stop(node, 'the aliases stand for too much', 'write the values out')
    if (isAlias(node)) return this.#follow(node, depth)
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node)
    if (isScalar(node)) return this.#scalar(node)
    this.#open.add(node)
    const value = isMap(node) ? this.#map(node as YAMLMap.Parsed, depth) : this.#list(node, depth)
    this.#open.delete(node)
    return value
  }

  #list(node: ParsedNode, depth: number): Json {
    return isSeq(node) ? node.items.map(item => this.read(item as ParsedNode, depth + 1)) : null
  }

  #map(node: YAMLMap.Parsed, depth: number): Json {
    const map: { [key: string]: Json } = {}
    for (const pair of node.items) {
      const key = this.#key(pair.key)
      if (key === null) continue
      if (Object.hasOwn(map, key)) this.#refuse(pair.key, `the key '${clip(key)}' is there twice`, 'remove one of the two')
      else map[key] = this.read(pair.value, depth + 1)
    }
    return map
  }

  #key(node: ParsedNode | null): string | null {
    if (node === null || !isScalar(node)) {
      return this.#refuse(node ?? this.#tree.root, 'a key must be a single word or a quoted text', 'write key: value') as null
    }
    const key = node.value
    if (typeof key !== 'string') return this.#refuse(node, `the key ${String(key)} is read as ${kindOf(key)}, not as text`, `put it in quotes: "${clip(String(node.source))}"`) as null
    if (key === '<<') return this.#refuse(node, "merge keys ('<<') are not part of the plan format", 'write the keys out') as null
    if (RESERVED.has(key)) return this.#refuse(node, `'${key}' cannot be a key`, 'choose another name') as null
    return this.#text(node, key) as string | null
  }

  #scalar(node: Scalar.Parsed): Json {
    const value = node.value as unknown
    if (typeof value === 'string') return this.#text(node, value)
    if (typeof value !== 'number') return value as Json
    if (!Number.isFinite(value)) return this.#refuse(node, `${node.source} is not a number that can be kept`, 'write a finite number, or put it in quotes')
    if (/^[-+]?(\d+|0x[\da-f]+|0o[0-7]+)$/i.test(node.source ?? '') && !Number.isSafeInteger(value)) {
      return this.#refuse(node, `the number ${clip(node.source ?? '')} is too large to be kept exactly`, 'put it in quotes')
    }
    return value === 0 ? 0 : value
  }

  #text(node: ParsedNode, text: string): Json {
    if (text.includes('\0')) return this.#refuse(node, 'the text contains a NUL character', 'remove it')
    if (/\p{Surrogate}/u.test(text)) return this.#refuse(node, 'the text contains half a character (a lone surrogate)', 'remove it')
    return text
  }

  #follow(alias: Alias.Parsed, depth: number): Json {
    const target = this.#anchors.get(alias.source)
    if (target === undefined) return this.#refuse(alias, `there is no anchor '&${clip(alias.source)}' before this alias`, 'put quotes around a value that begins with *')
    if (this.#open.has(target)) return this.#refuse(alias, `the alias '*${clip(alias.source)}' contains itself`, 'write the values out')
    this.#copying++
    const value = this.read(target, depth)
    this.#copying--
    return value
  }

  #refuse(node: ParsedNode, message: string, hint: string): null {
    this.diagnostics.push({ severity: 'error', message, hint, ...position(this.#tree.lines, node.range[0]) })
    return null
  }

  /** Refuses and reads no further. */
  #stop(node: ParsedNode, message: string, hint: string): null {
    while (this.diagnostics.length < DIAGNOSTICS_MAX) this.#refuse(node, message, hint)
    return null
  }
}

function kindOf(value: unknown): string {
  if (value === null) return 'nothing'
  return typeof value === 'boolean' ? 'true or false' : `a ${typeof value}`
}

function clip(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
