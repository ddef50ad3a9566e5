// A lack of resources that stops the engine: disk space, file handles, processes, or a missing folder. It affects the engine's own work
// (capture, storage, journal, restore), so no task fails. The plan pauses and resumes when it has passed.

import type { Failure } from './result.ts'

export type ShortageKind = 'disk-full' | 'open-files' | 'processes' | 'unavailable'

export interface Shortage {
  readonly kind: ShortageKind
  /** The error code of the operating system, such as ENOSPC. */
  readonly code: string
  readonly message: string
  readonly hint: string
}

/** Error codes that mean a shortage when the engine's own work gets them. */
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

/** The code for a full disk; SQLite does not report the system's own. */
export const fullCode = (code: string | null): string =>
  code !== null && KINDS.get(code) === 'disk-full' ? code : 'ENOSPC'

/** Null for an error that is no shortage. */
export const shortageKindOf = (code: string): ShortageKind | null => KINDS.get(code) ?? null

/** Null for any other failure, and for all failures of tasks. */
export function shortageIn({ shortage, code, message }: Failure): Shortage | null {
  if (shortage === undefined) return null
  return { kind: shortage, code: (code ?? '').replace(/^errno:/, ''), message, hint: SHORTAGE_HINTS[shortage] }
}

export const shortageReason = ({ message }: Shortage): string => message.replace(/\.$/, '')
