// Where the parts of a derived document come from: a path in the document that was read, or a line of its text. A complaint
// about a place nobody marked is told at the nearest marked place around it.

import type { Json, JsonObject } from '../../domain/json.ts'
import { type Diagnostic, type DocumentFault, type Path, printPath } from './diagnostic.ts'
import type { Document } from './document.ts'
import type { Source } from './source.ts'

export type Where = { readonly path: Path } | { readonly line: number; readonly column: number }

export class Trace {
  readonly #marks = new Map<string, Where>()

  mark(path: Path, where: Where): void {
    this.#marks.set(JSON.stringify(path), where)
  }

  find(path: Path): Where | null {
    for (let length = path.length; length >= 0; length--) {
      const where = this.#marks.get(JSON.stringify(path.slice(0, length)))
      if (where !== undefined) return where
    }
    return null
  }
}

/** The canonical document a dialect derived, which tells places in the text it was derived from. */
export function derived(value: JsonObject, trace: Trace, source: Source): Document {
  return {
    value: value as Json,
    place: complaint => placed(complaint, trace, source),
    // What stands in the text is another dialect's way of writing it.
    written: () => null,
  }
}

function placed(complaint: DocumentFault, trace: Trace, source: Source): Diagnostic {
  const where = trace.find(complaint.path)
  // Only a place given as a path needs the text as a document; Markdown has none, and looking for one takes time.
  if (where !== null && 'path' in where && source.read.ok) {
    const told = source.read.document.place({ ...complaint, path: where.path })
    return { ...told, ...(complaint.path.length === 0 ? {} : { path: printPath(complaint.path) }) }
  }
  const { severity, message, hint, path } = complaint
  return {
    severity: severity ?? 'error',
    message,
    hint,
    line: where !== null && 'line' in where ? where.line : 1,
    column: where !== null && 'line' in where ? where.column : 1,
    ...(path.length === 0 ? {} : { path: printPath(path) }),
  }
}
