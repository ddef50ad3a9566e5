// A text whose dialect is not known yet. It is read as YAML or JSON at most once, and only when somebody asks.

import { isMap, type Json, type JsonObject } from '../../domain/json.ts'
import { type ReadDocument, readDocument } from './document.ts'

export class Source {
  readonly text: string
  readonly fileName: string | undefined
  #read: ReadDocument | null = null
  #lines: readonly string[] | null = null

  constructor(text: string, fileName?: string) {
    this.text = text
    this.fileName = fileName
  }

  /** The text as a document of YAML or JSON, or what is wrong with it. */
  get read(): ReadDocument {
    this.#read ??= readDocument(this.text)
    return this.#read
  }

  /** The document's value; undefined when the text is neither YAML nor JSON. */
  get value(): Json | undefined {
    return this.read.ok ? this.read.document.value : undefined
  }

  /** The document when it is a map of keys. */
  get map(): JsonObject | null {
    const { value } = this
    return isMap(value) ? value : null
  }

  get lines(): readonly string[] {
    this.#lines ??= this.text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/)
    return this.#lines
  }
}

export function isList(value: unknown): value is readonly Json[] {
  return Array.isArray(value)
}
