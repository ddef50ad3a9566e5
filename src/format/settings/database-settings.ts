// The person's databases: the whole path of a workspace → the address of the database that keeps its plans.

import { z } from 'zod'
import { isDatabaseUrl } from '../text/database-url.ts'
import type { Diagnostic } from '../text/diagnostic.ts'
import { readDocument } from '../text/document.ts'
import { complaintsOf } from '../text/schema-messages.ts'

export type DatabaseSettings = { readonly [root: string]: string }

const schema = z.record(
  z.string().regex(/^\//, 'write the whole path of a workspace'),
  z.string().refine(isDatabaseUrl, 'write an address: postgres://USER@HOST/NAME'),
)

export function readDatabaseSettings(
  text: string,
):
  | { readonly ok: true; readonly settings: DatabaseSettings }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] } {
  if (text.trim() === '') return { ok: true, settings: {} }
  const read = readDocument(text)
  if (!read.ok) return read
  const { document } = read
  const shaped = schema.safeParse(document.value)
  if (shaped.success) return { ok: true, settings: shaped.data }
  return { ok: false, diagnostics: complaintsOf(schema, shaped.error, document).map(document.place) }
}
