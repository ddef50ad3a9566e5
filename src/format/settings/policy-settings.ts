// Policy files: the user's own, with rules for all workspaces and for single ones by real path; the organisation's; the
// project's. Their keys are those of `policy` in a plan.

import { z } from 'zod'
import { isMap, type Json, type JsonObject } from '../../domain/json.ts'
import { AGENT_NAME } from '../../domain/plan-rules/agent-request.ts'
import type { CommandRules } from '../../domain/policy/command-rules.ts'
import type { LayerPolicy } from '../../domain/policy/policy-layer.ts'
import { sparse } from '../plan/codec.ts'
import { raisePolicy } from '../plan/definition-to-document.ts'
import { policyLayer } from '../plan/schema.ts'
import { addresses } from '../plan/schema-values.ts'
import type { Diagnostic } from '../text/diagnostic.ts'
import { type Document, readDocument } from '../text/document.ts'
import { complaintsOf } from '../text/schema-messages.ts'

export interface PolicySettings {
  /** Addresses reachable from every workspace. */
  readonly network: readonly string[]
  /** Additional addresses by workspace path. */
  readonly projects: { readonly [root: string]: readonly string[] }
  /** Agents that may use the user's own login. */
  readonly logins?: readonly string[]
  /** The user's policy layer for all plans, with the line of each key. */
  readonly layer?: ReadLayer
}

export interface ReadLayer {
  readonly policy: LayerPolicy
  readonly lines: { readonly [key: string]: number }
}

type Read<T> =
  | { readonly ok: true; readonly settings: T }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] }

export type ReadPolicy = Read<PolicySettings>

export const NO_RULES: PolicySettings = { network: [], projects: {} }
export const NO_LAYER: ReadLayer = { policy: {}, lines: {} }

const userSchema = z.strictObject({
  ...policyLayer.shape,
  without_sandbox: z.boolean().optional(),
  agent_logins: z.array(z.string().regex(AGENT_NAME)).optional(),
  projects: z
    .record(
      z.string().regex(/^\//, 'write the whole path of a workspace'),
      z.strictObject({ network: z.strictObject({ allow: addresses.optional() }).optional() }),
    )
    .optional(),
})
const projectSchema = z.strictObject({ policy: policyLayer.optional() })

/** The user's own file. Addresses alone only allow; with `unknown`, they also limit every plan to them (deny or ask). */
export function readPolicySettings(text: string): ReadPolicy {
  return reading(text, userSchema, NO_RULES, (parsed, document) => {
    const {
      projects = {},
      // Obsolete: from before the user's own plans ran without a sandbox.
      without_sandbox: _,
      agent_logins: logins,
      network,
      commands,
      ...rest
    } = parsed
    const rules = Object.entries(projects).map(([root, own]) => [root, own.network?.allow ?? []] as const)
    const isLimit = network !== undefined && 'allow' in network
    const policy: LayerPolicy = sparse({
      ...rest,
      // The user's command list only allows, unless it says `unknown` itself.
      ...(commands === undefined ? {} : { commands: { unknown: 'allow' as const, ...commands } }),
      ...(isLimit ? { network } : {}),
    })
    return {
      network: network === undefined ? [] : 'allow' in network ? network.allow : network,
      projects: Object.fromEntries(rules),
      ...(logins === undefined ? {} : { logins }),
      ...(Object.keys(policy).length === 0 ? {} : { layer: layerOf(policy, document, []) }),
    }
  })
}

/** `organisation`: the whole file is the policy. `project`: only the key `policy`. */
export function readPolicyLayer(text: string, of: 'organisation' | 'project'): Read<ReadLayer> {
  return of === 'organisation'
    ? reading(text, policyLayer, NO_LAYER, (written, document) => layerOf(written, document, []))
    : reading(text, projectSchema, NO_LAYER, ({ policy = {} }, document) => layerOf(policy, document, ['policy']))
}

/** A layer that limits network or reads, and does not set `sandbox`, requires one: nothing else enforces those limits. */
function layerOf(layer: LayerPolicy, document: Document, at: readonly string[]): ReadLayer {
  const isWalled = layer.sandbox === undefined && (layer.network !== undefined || layer.read !== undefined)
  const policy: LayerPolicy = isWalled ? { ...layer, sandbox: 'required' } : layer
  const lineOf = (...path: readonly string[]): number =>
    document.place({ message: '', path: [...at, ...path], atKey: true }).line
  const written = at.reduce<Json | undefined>((value, key) => (isMap(value) ? value[key] : undefined), document.value)
  const lines = Object.keys(layer).flatMap(key => {
    const value = isMap(written) ? written[key] : undefined
    const inner = isMap(value) ? Object.keys(value) : []
    return [[key, lineOf(key)], ...inner.map(one => [`${key}.${one}`, lineOf(key, one)])]
  })
  return { policy, lines: Object.fromEntries(lines) }
}

function reading<S extends z.ZodType, T>(
  text: string,
  schema: S,
  none: T,
  make: (written: z.output<S>, document: Document) => T,
): Read<T> {
  if (text.trim() === '') return { ok: true, settings: none }
  const read = readDocument(text)
  if (!read.ok) return read
  const { document } = read
  const shaped = schema.safeParse(document.value)
  if (!shaped.success)
    return { ok: false, diagnostics: complaintsOf(schema, shaped.error, document).map(document.place) }
  return { ok: true, settings: make(shaped.data, document) }
}

/** Omits empty parts. */
export function printPolicySettings({ network, projects, logins = [], layer }: PolicySettings): string {
  const written = Object.entries(projects).filter(([, allow]) => allow.length > 0)
  const { network: limit, commands, ...policy } = layer?.policy ?? {}
  const unknown = limit !== undefined && 'allow' in limit ? { unknown: limit.unknown } : {}
  const isNeeded = network.length > 0 || Object.keys(unknown).length > 0
  const demanded: JsonObject = raisePolicy({
    ...policy,
    // Added when the file was read.
    ...(layer !== undefined && layer.lines.sandbox === undefined ? { sandbox: undefined } : {}),
    ...(commands === undefined ? {} : { commands: withoutDefault(commands) }),
  })
  const document = {
    ...(isNeeded ? { network: { allow: network, ...unknown } } : {}),
    ...demanded,
    ...(logins.length === 0 ? {} : { agent_logins: logins }),
    ...(written.length === 0
      ? {}
      : { projects: Object.fromEntries(written.map(([root, allow]) => [root, { network: { allow } }])) }),
  }
  return `${JSON.stringify(document, null, 2)}\n`
}

function withoutDefault({ unknown, ...rules }: CommandRules): CommandRules {
  return unknown === undefined || unknown === 'allow' ? rules : { ...rules, unknown }
}
