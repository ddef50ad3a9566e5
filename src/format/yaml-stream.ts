// Text to a YAML tree, guarded on the way. The lexer's tokens are counted as they pass, so a bomb is refused before it is
// built; tags, directives and merge keys do not exist in plans, and aliases only in small numbers.

import { Composer, CST, type Document, Lexer, type ParsedNode, Parser, type YAMLError } from 'yaml'
import { DEPTH_MAX } from '../domain/limits.ts'
import type { Diagnostic } from './diagnostic.ts'
import { positionAt } from './place.ts'

/** A plan of 20,000 tasks in YAML has about 1.3 million. Each costs microseconds, so this also bounds the time. */
export const TOKENS_MAX = 1_500_000
export const ALIASES_MAX = 100

/** A tree that could be read, and the text its nodes point into. */
export interface Grown {
  readonly ok: true
  readonly root: ParsedNode
  readonly source: string
}

export type Tree = Grown | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] }

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
  // Each fault of a text that is no YAML at all is an Error; the stack traces of ten thousand of them took half the time of reading.
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
    const told = errors.filter(error => error.code === 'TAB_AS_INDENT' || error.code === 'RESOURCE_EXHAUSTION')
    return {
      ok: false,
      diagnostics: (told.length > 0 ? told : errors)
        .slice(0, 20)
        .map(error => at(source, error.pos[0], explain(error))),
    }
  }
  const root = document?.contents ?? null
  if (root === null) return { ok: false, diagnostics: [at(source, 0, EMPTY)] }
  return { ok: true, root: root as ParsedNode, source }
}

/** Duplicate keys are found by the reader of the tree, in linear time; here the check would be quadratic. */
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
  BAD_INDENT: 'line things up with the key above; close every bracket',
  BAD_SCALAR_START: 'put quotes around a value that begins with @ or `',
  MISSING_CHAR: 'something is not closed: a quote, a bracket or a colon is missing',
  BAD_ALIAS: "put quotes around a value that begins with '*' or '&'",
}

function at(source: string, offset: number, trouble: Trouble): Diagnostic {
  return { severity: 'error', ...trouble, ...positionAt(source, offset) }
}
