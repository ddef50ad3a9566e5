// The sources of the user's secrets, by name: an environment variable, a file, or a command that prints the value. The values are
// never stored. It belongs to the user, never to a workspace.

import { z } from 'zod'
import type { Diagnostic } from '../text/diagnostic.ts'
import { readDocument } from '../text/document.ts'
import { complaintsOf } from '../text/schema-messages.ts'

export type SecretSource =
  | { readonly env: string }
  | { readonly file: string }
  | { readonly command: readonly string[] }

export interface SecretSettings {
  readonly [name: string]: SecretSource
}

export type ReadSecrets =
  | { readonly ok: true; readonly settings: SecretSettings }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] }

const variable = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/, 'use letters, digits and _')
const schema = z.record(
  variable,
  z.union([
    z.strictObject({ env: variable }),
    z.strictObject({ file: z.string().regex(/^(?:\/|~\/)/, 'write the whole path of a file') }),
    z.strictObject({ command: z.array(z.string()).min(1) }),
  ]),
)

export function readSecretSettings(text: string): ReadSecrets {
  if (text.trim() === '') return { ok: true, settings: {} }
  const read = readDocument(text)
  if (!read.ok) return read
  const { document } = read
  const shaped = schema.safeParse(document.value)
  if (shaped.success) return { ok: true, settings: shaped.data }
  return { ok: false, diagnostics: complaintsOf(schema, shaped.error, document).map(document.place) }
}

export function printSecretSettings(settings: SecretSettings): string {
  return `${JSON.stringify(settings, null, 2)}\n`
}
