// What the machine lacks so that the engine cannot go on: space, file handles, processes, or a folder that is gone. It is met by
// the engine's own work (capturing, storing, journaling, restoring), so it is no failure of a task. The plan is paused with it as
// the cause, and goes on when it has passed.

import type { Failure } from './result.ts'

export type ShortageKind = 'disk-full' | 'open-files' | 'processes' | 'unavailable'

export interface Shortage {
  readonly kind: ShortageKind
  /** As the operating system says it, such as ENOSPC. */
  readonly code: string
  readonly message: string
  readonly hint: string
}

/** Errors that tell of a shortage wherever the engine's own work meets them. */
const KINDS: ReadonlyMap<string, ShortageKind> = new Map([
  ['ENOSPC', 'disk-full'],
  ['EDQUOT', 'disk-full'],
  ['EMFILE', 'open-files'],
  ['ENFILE', 'open-files'],
  ['EIO', 'unavailable'],
  ['ESTALE', 'unavailable'],
  ['ENOTCONN', 'unavailable'],
  ['ENODEV', 'unavailable'],
])

export const SHORTAGE_HINTS: Readonly<Record<ShortageKind, string>> = {
  'disk-full': 'Free some space.',
  'open-files': 'Raise `ulimit -n`, or lower the concurrency.',
  processes: 'End some processes, or raise the limit (`ulimit -u`).',
  unavailable: 'Bring the folder back: mount it, or move it to where it was.',
}

/** What a full disk was known by; SQLite does not pass on what the system said. */
export const fullCode = (code: string | null): string =>
  code !== null && KINDS.get(code) === 'disk-full' ? code : 'ENOSPC'

/** Null for an error that is no shortage. */
export const shortageKindOf = (code: string): ShortageKind | null => KINDS.get(code) ?? null

/** The shortage that a failure of the engine's own work tells of; null for any other failure, and for all failures of a task. */
export function shortageIn({ shortage, code, message }: Failure): Shortage | null {
  if (shortage === undefined) return null
  return { kind: shortage, code: (code ?? '').replace(/^errno:/, ''), message, hint: SHORTAGE_HINTS[shortage] }
}

/** Why a plan is paused, in a sentence. */
export const shortageReason = ({ message }: Shortage): string => message.replace(/\.$/, '')
