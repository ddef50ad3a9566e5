// A guarded YAML parser. Tokens are counted by the lexer, so a YAML bomb is refused before its tree is built. Tags, directives
// and merge keys are refused; aliases are limited.

import {
  type Alias,
  Composer,
  CST,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  type Pair,
  type ParsedNode,
  Parser,
  type Scalar,
  type YAMLError,
  type YAMLMap,
} from 'yaml'
import type { Json } from '../../domain/json.ts'
import { DEPTH_MAX } from '../../domain/limits.ts'
import { clip, DIAGNOSTICS_MAX, type Diagnostic, type Path } from './diagnostic.ts'
import { RESERVED_KEYS } from './json.ts'
import { positionAt, type Spans } from './place.ts'

// Converts a YAML tree to plain JSON, and paths back to nodes. Refuses what plans do not need and attacks use: duplicate keys,
// `__proto__`, merge keys, cyclic aliases, NUL, numbers that JSON cannot represent.

const NODES_MAX = 1_000_000
/** Nodes that may come from following aliases. */
const COPIES_MAX = 10_000

export function treeValue(tree: Grown): {
  readonly value: Json
  readonly diagnostics: readonly Diagnostic[]
  /** False if too much was left out to check the rest. */
  readonly isWhole: boolean
} {
  const reader = new TreeReader(tree)
  const value = reader.read(tree.root, 0)
  return { value, diagnostics: reader.diagnostics, isWhole: reader.isWhole }
}

export function treeSpans(tree: Grown, path: Path): Spans {
  const { key, value, exact } = locate(tree, path)
  const span = (node: ParsedNode | null) => (node === null ? null : { start: node.range[0], end: node.range[1] })
  return { key: span(key), value: span(value), exact }
}

class TreeReader {
  readonly diagnostics: Diagnostic[] = []
  isWhole = true
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
    if (depth > DEPTH_MAX)
      return this.#refuse(node, `the document is nested deeper than ${DEPTH_MAX} levels`, 'flatten it')
    if (++this.#nodes > NODES_MAX) return this.#stop(node, 'the document has too many parts', 'split the plan up')
    if (this.#copying > 0 && ++this.#copies > COPIES_MAX)
      return this.#stop(node, 'the aliases expand to too much', 'write the values out')
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
      // Locating an error takes a walk through the text, so their number is limited.
      if (this.diagnostics.length >= DIAGNOSTICS_MAX) break
      const key = this.#key(pair.key)
      if (key === null) continue
      if (Object.hasOwn(map, key)) {
        this.#refuse(pair.key, `the key '${clip(key)}' is there twice`, 'remove one of the two')
        // A duplicate `tasks` list may contain names that the first one refers to.
        if (depth === 0) this.isWhole = false
      } else map[key] = this.read(pair.value, depth + 1)
    }
    return map
  }

  #key(node: ParsedNode | null): string | null {
    if (node === null || !isScalar(node)) {
      return this.#refuse(
        node ?? this.#tree.root,
        'a key must be a single word or a quoted text',
        'write key: value',
      ) as null
    }
    const key = node.value
    if (typeof key !== 'string')
      return this.#refuse(
        node,
        `the key ${String(key)} is read as ${kindOf(key)}, not as text`,
        `put it in quotes: "${clip(String(node.source))}"`,
      ) as null
    if (key === '<<')
      return this.#refuse(node, "merge keys ('<<') are not part of the plan format", 'write the keys out') as null
    if (RESERVED_KEYS.has(key)) return this.#refuse(node, `'${key}' cannot be a key`, 'choose another name') as null
    return this.#text(node, key) as string | null
  }

  #scalar(node: Scalar.Parsed): Json {
    const value = node.value as unknown
    if (typeof value === 'string') return this.#text(node, value)
    if (typeof value !== 'number') return value as Json
    if (!Number.isFinite(value))
      return this.#refuse(
        node,
        `${node.source} is not a number that can be kept`,
        'write a finite number, or put it in quotes',
      )
    if (/^[-+]?(\d+|0x[\da-f]+|0o[0-7]+)$/i.test(node.source ?? '') && !Number.isSafeInteger(value)) {
      return this.#refuse(
        node,
        `the number ${clip(node.source ?? '')} is too large to be kept exactly`,
        'put it in quotes',
      )
    }
    return value === 0 ? 0 : value
  }

  #text(node: ParsedNode, text: string): Json {
    if (text.includes('\0')) return this.#refuse(node, 'the text contains a NUL character', 'remove it')
    if (/\p{Surrogate}/u.test(text))
      return this.#refuse(node, 'the text contains half a character (a lone surrogate)', 'remove it')
    return text
  }

  #follow(alias: Alias.Parsed, depth: number): Json {
    const target = this.#anchors.get(alias.source)
    if (target === undefined)
      return this.#refuse(
        alias,
        `there is no anchor '&${clip(alias.source)}' before this alias`,
        'put quotes around a value that begins with *',
      )
    if (this.#open.has(target))
      return this.#refuse(alias, `the alias '*${clip(alias.source)}' contains itself`, 'write the values out')
    this.#copying++
    const value = this.read(target, depth)
    this.#copying--
    return value
  }

  #refuse(node: ParsedNode, message: string, hint: string): null {
    this.diagnostics.push({ severity: 'error', message, hint, ...positionAt(this.#tree.source, node.range[0]) })
    return null
  }

  /** Ends the reading: with the maximum number of diagnostics, everything else stops too. */
  #stop(node: ParsedNode, message: string, hint: string): null {
    this.isWhole = false
    while (this.diagnostics.length < DIAGNOSTICS_MAX) this.#refuse(node, message, hint)
    return null
  }
}

function kindOf(value: unknown): string {
  if (value === null) return 'nothing'
  return typeof value === 'boolean' ? 'true or false' : `a ${typeof value}`
}

/** The nodes at a path, or at its longest existing prefix. */
function locate(tree: Grown, path: Path): { key: ParsedNode | null; value: ParsedNode | null; exact: boolean } {
  let key: ParsedNode | null = null
  let value: ParsedNode | null = tree.root
  for (const step of path) {
    const here: ParsedNode | null = isAlias(value) ? anchored(tree, value) : value
    if (isMap(here)) {
      const pair: Pair<ParsedNode, ParsedNode | null> | undefined = (here as YAMLMap.Parsed).items.find(
        item => isScalar(item.key) && item.key.value === step,
      )
      if (pair === undefined) return { key, value, exact: false }
      key = pair.key
      value = pair.value ?? pair.key
    } else if (isSeq(here) && typeof step === 'number' && here.items[step] !== undefined) {
      key = null
      value = here.items[step] as ParsedNode
    } else return { key, value, exact: false }
  }
  return { key, value, exact: true }
}

function anchored(tree: Grown, alias: Alias.Parsed): ParsedNode | null {
  const pending: (ParsedNode | null)[] = [tree.root]
  let found: ParsedNode | null = null
  while (pending.length > 0) {
    const node = pending.pop()
    if (node === null || node === undefined || isAlias(node) || node.range[0] > alias.range[0]) continue
    if (node.anchor === alias.source && (found === null || node.range[0] > found.range[0])) found = node
    if (isMap(node)) for (const pair of (node as YAMLMap.Parsed).items) pending.push(pair.key, pair.value)
    else if (isSeq(node)) for (const item of node.items) pending.push(item as ParsedNode)
  }
  return found
}

/** A plan of 20,000 tasks has about 1.3 million tokens. Each takes microseconds, so this also bounds the time. */
const TOKENS_MAX = 1_500_000
const ALIASES_MAX = 100

/** The tree, and the text its nodes point into. */
interface Grown {
  readonly ok: true
  readonly root: ParsedNode
  readonly source: string
}

type Tree = Grown | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] }

type Trouble = { readonly message: string; readonly hint: string }
class Refused extends Error {
  readonly trouble: Trouble
  readonly offset: number
  constructor(trouble: Trouble, offset: number) {
    super(trouble.message)
    this.trouble = trouble
    this.offset = offset
  }
}

export function readTree(source: string): Tree {
  const documents: Document.Parsed[] = []
  // Each YAML error is an Error; the stack traces of ten thousand of them took half of the parsing time.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    for (const document of composer().compose(tokens(source), true, source.length)) {
      documents.push(document)
      if (documents.length > 1) throw new Refused(MULTIPLE, document.range[0])
    }
  } catch (error) {
    if (error instanceof Refused) return { ok: false, diagnostics: [at(source, error.offset, error.trouble)] }
    if (error instanceof RangeError) return { ok: false, diagnostics: [at(source, 0, DEEP)] }
    throw error
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
  const [document] = documents
  const errors = document?.errors ?? []
  if (errors.length > 0) {
    const decisive = errors.filter(error => error.code === 'TAB_AS_INDENT' || error.code === 'RESOURCE_EXHAUSTION')
    return {
      ok: false,
      diagnostics: (decisive.length > 0 ? decisive : errors)
        .slice(0, 20)
        .map(error => at(source, error.pos[0], explain(error))),
    }
  }
  const root = document?.contents ?? null
  if (root === null) return { ok: false, diagnostics: [at(source, 0, EMPTY)] }
  return { ok: true, root: root as ParsedNode, source }
}

/** Duplicate keys are found later in linear time; the composer's own check is quadratic. */
function composer(): Composer {
  return new Composer({
    version: '1.2',
    schema: 'core',
    merge: false,
    uniqueKeys: false,
    strict: true,
    prettyErrors: false,
    logLevel: 'silent',
  })
}

function* tokens(source: string): Generator<CST.Token> {
  const parser = new Parser()
  const guard = new Guard()
  for (const lexeme of new Lexer().lex(source)) {
    const trouble = guard.look(lexeme)
    if (trouble !== null) throw new Refused(trouble, parser.offset)
    yield* parser.next(lexeme)
  }
  yield* parser.end()
}

class Guard {
  #count = 0
  #aliases = 0
  #flow = 0
  #inLine = 0
  #scalarFollows = false

  look(lexeme: string): Trouble | null {
    if (++this.#count > TOKENS_MAX)
      return { message: 'the document has too many parts', hint: 'split the plan up, or write it as JSON' }
    if (this.#scalarFollows) {
      this.#scalarFollows = false
      return null
    }
    switch (CST.tokenType(lexeme)) {
      case 'scalar':
        this.#scalarFollows = true
        return null
      case 'tag':
        return {
          message: `tags such as '${lexeme.slice(0, 40)}' are not part of the plan format`,
          hint: 'remove the tag; quote the value when it must be text',
        }
      case 'directive-line':
        return { message: "directives ('%…') are not part of the plan format", hint: 'remove the line' }
      case 'alias':
        return ++this.#aliases > ALIASES_MAX
          ? { message: `the document has more than ${ALIASES_MAX} aliases`, hint: 'write the values out' }
          : null
      case 'flow-map-start':
      case 'flow-seq-start':
        return ++this.#flow > DEPTH_MAX ? DEEP : null
      case 'flow-map-end':
      case 'flow-seq-end':
        this.#flow--
        return null
      case 'seq-item-ind':
      case 'explicit-key-ind':
        return ++this.#inLine > DEPTH_MAX ? DEEP : null
      case 'newline':
        this.#inLine = 0
        return null
      default:
        return null
    }
  }
}

const DEEP: Trouble = { message: `the document is nested deeper than ${DEPTH_MAX} levels`, hint: 'flatten it' }
const EMPTY: Trouble = { message: 'the document is empty', hint: "begin with 'planfold: 1' and a list of 'tasks'" }
const MULTIPLE: Trouble = { message: "the file holds more than one document ('---')", hint: 'keep one plan per file' }

function explain(error: YAMLError): Trouble {
  const hint = HINTS[error.code]
  if (error.code === 'TAB_AS_INDENT') return { message: 'a tab is used as indentation', hint: 'indent with spaces' }
  if (error.code === 'RESOURCE_EXHAUSTION') return DEEP
  const sentence = error.message.charAt(0).toLowerCase() + error.message.slice(1, 200)
  return {
    message: `this is not valid YAML: ${sentence}`,
    hint: hint ?? 'look at the indentation and the quotes around this place',
  }
}

const HINTS: { readonly [code: string]: string } = {
  BLOCK_AS_IMPLICIT_KEY: "put quotes around a value that contains ': '",
  MULTILINE_IMPLICIT_KEY: "a key is missing its ':', or a value needs quotes",
  BAD_INDENT: 'check the indentation: align it with the key above; close every bracket',
  BAD_SCALAR_START: 'put quotes around a value that begins with @ or `',
  MISSING_CHAR: 'something is not closed: a quote, a bracket or a colon is missing',
  BAD_ALIAS: "put quotes around a value that begins with '*' or '&'",
}

function at(source: string, offset: number, trouble: Trouble): Diagnostic {
  return { severity: 'error', ...trouble, ...positionAt(source, offset) }
}
