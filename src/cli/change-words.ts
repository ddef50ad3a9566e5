// What happened to a path between two looks, in words.

import { numberOf } from '../domain/number-of.ts'
import type { Change, TreeEntry } from '../workspace/workspace.ts'

export interface Happened {
  readonly happened: 'added' | 'removed' | 'changed' | 'mode'
  /** More about it, for a person; raw. */
  readonly how: string | null
}

export function happenedTo({ before, after }: Change): Happened {
  if (before === null) return { happened: 'added', how: after === null ? null : kindOf(after) }
  if (after === null) return { happened: 'removed', how: kindOf(before) }
  if (before.type !== after.type) return { happened: 'changed', how: `${kindOf(before)} → ${kindOf(after)}` }
  if (before.type === 'link') return { happened: 'changed', how: `${kindOf(before)} → ${kindOf(after)}` }
  const modes = before.mode === (after as typeof before).mode ? null : modesOf(before, after as typeof before)
  if (before.type === 'directory') return { happened: 'mode', how: modes }
  const now = after as typeof before
  if (before.sha256 === now.sha256) return { happened: 'mode', how: modes }
  const sizes = `${before.size} → ${numberOf(now.size, 'byte')}`
  return { happened: 'changed', how: modes === null ? sizes : `${sizes}, mode ${modes}` }
}

const modesOf = (before: { readonly mode: number }, after: { readonly mode: number }): string =>
  `${octal(before.mode)} → ${octal(after.mode)}`

const octal = (mode: number): string => (mode & 0o7777).toString(8).padStart(3, '0')

function kindOf(entry: TreeEntry): string {
  switch (entry.type) {
    case 'file':
      return `${numberOf(entry.size, 'byte')}`
    case 'link':
      return `link to ${entry.target}`
    case 'directory':
      return 'folder'
    default:
      return entry satisfies never
  }
}
