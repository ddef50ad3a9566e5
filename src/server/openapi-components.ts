// Schemas that are told once: those with a name, and what a description defines for itself. A name that means one thing when it
// is sent and another when it is answered gets a second one.

import type { Json, JsonObject } from '../domain/json.ts'
import type { Schema } from '../format/wire/wire.ts'

type Side = 'input' | 'output'

export interface Components {
  /** A reference when it has a name, else the description itself. */
  use(schema: Schema<unknown>, side: Side): JsonObject
  /** The description itself, whatever its name. */
  inline(schema: Schema<unknown>, side: Side): JsonObject
  all(): { readonly [name: string]: JsonObject }
}

export function openComponents(): Components {
  /** By name, what was described under it. */
  const texts = new Map<string, string>()
  const schemas = new Map<string, JsonObject>()

  /** Its name, or the next that is free or means the same. */
  const reserve = (wanted: string, text: string, side: Side): string => {
    for (let count = 0; ; count++) {
      const name = count === 0 ? wanted : `${wanted}${side === 'input' ? 'Input' : 'Answer'}${count === 1 ? '' : count}`
      if ((texts.get(name) ?? text) !== text) continue
      texts.set(name, text)
      return name
    }
  }

  /** Names are given before anything is kept: definitions may refer to each other and to the whole. */
  const take = (schema: Schema<unknown>, side: Side, name: string | null): JsonObject => {
    const { $defs, ...described } = schema.describe(side)
    const defined = Object.entries(($defs ?? {}) as { readonly [name: string]: JsonObject })
    const text = JSON.stringify(described)
    const own = name ?? (text.includes('"$ref":"#"') ? partName(text) : null)
    const whole = own === null ? null : reserve(own, text, side)
    const names = new Map<string, string>(whole === null ? [] : [['#', whole]])
    for (const [each, one] of defined) {
      // Called something else from one description to the next, it is still the same.
      const meant = JSON.stringify(one).replaceAll(`"#/$defs/${each}"`, '"#"')
      const wanted = meant === ANY_JSON ? 'Json' : each.startsWith('__') ? partName(meant) : each
      names.set(`#/$defs/${each}`, reserve(wanted, meant, side))
    }
    for (const [each, one] of defined) {
      const named = names.get(`#/$defs/${each}`)!
      schemas.set(named, named === 'Json' ? ANYTHING : renamed(one, names))
    }
    if (whole === null) return renamed(described, names)
    schemas.set(whole, renamed(described, names))
    return { $ref: `#/components/schemas/${whole}` }
  }

  return {
    use: (schema, side) => take(schema, side, schema.name),
    inline: (schema, side) => take(schema, side, null),
    all: () => Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}

/** What may be anything says so: written out as a union that is part of itself, generated types would not compile. */
const ANYTHING: JsonObject = { description: 'Any JSON value.' }

/** How the schema library describes any JSON value. */
const ANY_JSON = JSON.stringify({
  anyOf: [
    { type: 'string' },
    { type: 'number' },
    { type: 'boolean' },
    { type: 'null' },
    { type: 'array', items: { $ref: '#' } },
    { type: 'object', propertyNames: { type: 'string' }, additionalProperties: { $ref: '#' } },
  ],
})

/** A short name for what has none; the same thing gets the same. */
function partName(text: string): string {
  let hash = 5381
  for (const char of text) hash = ((hash * 33) ^ char.codePointAt(0)!) >>> 0
  return `Part${hash.toString(36)}`
}

function renamed<T extends Json>(value: T, names: ReadonlyMap<string, string>): T {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(item => renamed(item as Json, names)) as unknown as T
  const made: Record<string, Json> = {}
  for (const [key, inner] of Object.entries(value as JsonObject)) {
    const name = key === '$ref' && typeof inner === 'string' ? names.get(inner) : undefined
    made[key] = name === undefined ? renamed(inner, names) : `#/components/schemas/${name}`
  }
  return made as unknown as T
}
