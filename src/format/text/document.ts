// A parsed YAML or JSON document that knows the position of each value.

import type { Json } from '../../domain/json.ts'
import { DOCUMENT_MAX_BYTES } from '../../domain/limits.ts'
import type { Diagnostic, DocumentFault, Path } from './diagnostic.ts'
import { jsonPlaces, readJson } from './json.ts'

import { type Locate, linesOf, place } from './place.ts'
import { readTree, treeSpans, treeValue } from './yaml.ts'

export type ReadDocument =
  | { readonly ok: true; readonly document: Document }
  /** `rest`: the parts that could be read, for further checks. */
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[]; readonly rest?: Document }

export interface Document {
  readonly value: Json
  readonly place: (complaint: DocumentFault) => Diagnostic
  /** The text of a scalar as typed, e.g. `0o755`; null if there is none. */
  readonly written: (path: Path) => string | null
}

export function readDocument(text: string): ReadDocument {
  if (Buffer.byteLength(text) > DOCUMENT_MAX_BYTES) {
    const message = `the document is larger than ${DOCUMENT_MAX_BYTES / 1024 / 1024} MB`
    return {
      ok: false,
      diagnostics: [{ severity: 'error', message, hint: 'put large content into files', line: 1, column: 1 }],
    }
  }
  const source = text.startsWith('\uFEFF') ? text.slice(1) : text
  const json = readJson(source)
  if (json !== null) return { ok: true, document: located(json.value, source, jsonPlaces(source)) }
  const tree = readTree(source)
  if (!tree.ok) return tree
  const { value, diagnostics, isWhole } = treeValue(tree)
  const document = located(value, source, path => treeSpans(tree, path))
  if (diagnostics.length > 0) return { ok: false, diagnostics, ...(isWhole ? { rest: document } : {}) }
  return { ok: true, document }
}

function located(value: Json, source: string, locate: Locate): Document {
  const lines = linesOf(source)
  return {
    value,
    place: complaint => place(source, locate, lines, complaint),
    written: path => {
      const spans = locate(path)
      return spans.exact && spans.value !== null ? source.slice(spans.value.start, spans.value.end) : null
    },
  }
}
