// The user's own rules: for all workspaces, and for single ones by their real path. The keys are those of `policy` in a plan. It belongs
// to the user, never to a workspace.

import { z } from 'zod'
import { addresses } from '../plan/schema-values.ts'
import type { Diagnostic } from '../text/diagnostic.ts'
import { readDocument } from '../text/document.ts'
import { complaintsOf } from '../text/schema-messages.ts'

export interface PolicySettings {
  /** Addresses that may be reached from every workspace. */
  readonly network: readonly string[]
  /** The same from one workspace, by its path. */
  readonly projects: { readonly [root: string]: readonly string[] }
  /** Commands of the user's own plans may run where there is no sandbox. */
  readonly withoutSandbox?: boolean
}

export type ReadPolicy =
  | { readonly ok: true; readonly settings: PolicySettings }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] }

export const NO_RULES: PolicySettings = { network: [], projects: {} }

const layer = { network: z.strictObject({ allow: addresses.optional() }).optional() }
const schema = z.strictObject({
  ...layer,
  without_sandbox: z.boolean().optional(),
  projects: z.record(z.string().regex(/^\//, 'write the whole path of a workspace'), z.strictObject(layer)).optional(),
})

export function readPolicySettings(text: string): ReadPolicy {
  if (text.trim() === '') return { ok: true, settings: NO_RULES }
  const read = readDocument(text)
  if (!read.ok) return read
  const { document } = read
  const shaped = schema.safeParse(document.value)
  if (!shaped.success)
    return { ok: false, diagnostics: complaintsOf(schema, shaped.error, document).map(document.place) }
  const { network, projects = {}, without_sandbox: withoutSandbox = false } = shaped.data
  const rules = Object.entries(projects).map(([root, said]) => [root, said.network?.allow ?? []] as const)
  return {
    ok: true,
    settings: { network: network?.allow ?? [], projects: Object.fromEntries(rules), withoutSandbox },
  }
}

/** What says nothing is left out. */
export function printPolicySettings({ network, projects, withoutSandbox }: PolicySettings): string {
  const written = Object.entries(projects).filter(([, allow]) => allow.length > 0)
  const document = {
    ...(network.length === 0 ? {} : { network: { allow: network } }),
    ...(withoutSandbox === true ? { without_sandbox: true } : {}),
    ...(written.length === 0
      ? {}
      : { projects: Object.fromEntries(written.map(([root, allow]) => [root, { network: { allow } }])) }),
  }
  return `${JSON.stringify(document, null, 2)}\n`
}
