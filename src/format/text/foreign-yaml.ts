// YAML that others wrote for other programs, as plain values: with merge keys, within bounds, and null where it cannot be read.

import { parse } from 'yaml'

const LENGTH_MAX = 100_000

export function readForeignYaml(text: string): unknown {
  if (text.length > LENGTH_MAX) return null
  try {
    return parse(text, { maxAliasCount: 100, merge: true, logLevel: 'silent' })
  } catch {
    return null
  }
}
