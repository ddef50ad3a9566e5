// What goes wrong between here and the service, as typed errors that end with what to do. What the store says no to comes back as
// the same errors the store itself throws, so that a caller need not know how far away it is.

import { BadCursor, CommitUnknown, StoreBusy, StoreDamaged, StoreFull, StoreGone } from '../stores/store.ts'

export type TroubleKind =
  /** Nobody answered, or the answer was cut off, also when asked again. */
  | 'unreachable'
  /** The token is unknown, or there is none. */
  | 'not-signed-in'
  /** The token does not reach so far. */
  | 'not-allowed'
  /** Whoever answers there is no Planfold. */
  | 'not-planfold'
  /** It said no to something it should have taken; are both sides of one release? */
  | 'refused'

export class RemoteTrouble extends Error {
  override readonly name = 'RemoteTrouble'
  readonly kind: TroubleKind
  readonly hint: string
  /** Of the answer; null when there was none. */
  readonly status: number | null
  /** Everything that is wrong with what was sent, place by place. */
  readonly faults: readonly RemoteFault[]

  constructor(
    kind: TroubleKind,
    message: string,
    hint: string,
    status: number | null = null,
    { cause, faults = [] }: { readonly cause?: unknown; readonly faults?: readonly RemoteFault[] | undefined } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.kind = kind
    this.hint = hint
    this.status = status
    this.faults = faults
  }
}

/** A problem document, as far as it matters here. */
export interface RemoteProblem {
  readonly code: string
  readonly status: number
  readonly detail: string
  readonly hint?: string
  readonly allowed?: readonly string[]
  /** Everything that is wrong with what was sent, place by place. */
  readonly faults?: readonly RemoteFault[]
}

export interface RemoteFault {
  readonly path: string
  readonly message: string
  readonly hint?: string
}

const PREFIX = 'urn:planfold:problem:'

/** Null for what is no problem document of ours. */
export function problemIn(status: number, body: unknown): RemoteProblem | null {
  if (typeof body !== 'object' || body === null) return null
  const { type, detail, hint, allowed, faults } = body as { readonly [key: string]: unknown }
  if (typeof type !== 'string' || !type.startsWith(PREFIX)) return null
  return {
    code: type.slice(PREFIX.length),
    status,
    detail: typeof detail === 'string' ? detail : 'it said no',
    ...(typeof hint === 'string' ? { hint } : {}),
    ...(Array.isArray(allowed) ? { allowed: allowed.map(String) } : {}),
    ...(Array.isArray(faults) && faults.length > 0 ? { faults: faults.map(faultIn) } : {}),
  }
}

function faultIn(fault: unknown): RemoteFault {
  const { path, message, hint } = (fault ?? {}) as { readonly [key: string]: unknown }
  const text = (value: unknown): string => (typeof value === 'string' ? value : '')
  return { path: text(path), message: text(message), ...(typeof hint === 'string' ? { hint } : {}) }
}

export function troubleOf({ code, status, detail, hint, faults }: RemoteProblem): Error {
  switch (code) {
    case 'bad-cursor':
      return new BadCursor(detail)
    case 'busy':
      return new StoreBusy(detail)
    case 'full':
      return new StoreFull(detail)
    case 'commit-unknown':
      return new CommitUnknown(detail)
    case 'gone':
      return new StoreGone(detail)
    case 'damaged':
      return new StoreDamaged(detail)
    default: {
      const kind = status === 401 ? 'not-signed-in' : status === 403 ? 'not-allowed' : 'refused'
      return new RemoteTrouble(kind, detail, hint ?? HINTS[kind], status, { faults })
    }
  }
}

const HINTS = {
  'not-signed-in': 'hand `connect` the token of the service',
  'not-allowed': 'use a token of another role',
  refused: 'is the service of the same release as this client?',
} as const
