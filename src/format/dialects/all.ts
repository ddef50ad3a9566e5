// Every dialect there is, in the order in which they are asked. The narrow ones come first: the first that recognises a text
// reads it. The canonical format is not among them; it is what remains.

import type { Dialect } from './dialect.ts'

export const DIALECTS: readonly Dialect[] = []

export function dialectNamed(name: string): Dialect | null {
  return DIALECTS.find(dialect => dialect.name === name) ?? null
}
