// Shortages of the engine itself (disk space, file handles, a missing folder): how they are recognised, which results are held meanwhile,
// when the loop gives up.
//
// A shortage is an error of the operating system or of SQLite, or a folder that has disappeared. A failed fsync is never a shortage:
// earlier writes may be lost silently, so the process stops (P12).

import { accessSync, closeSync, constants, openSync, statSync } from 'node:fs'
import { sep } from 'node:path'
import type { Interrupted } from '../../domain/command.ts'
import type { Failure, Result } from '../../domain/result.ts'
import {
  fullCode,
  SHORTAGE_HINTS,
  type Shortage,
  type ShortageKind,
  shortageIn,
  shortageKindOf,
} from '../../domain/shortage.ts'
import { codeOf, failureOf } from '../../safety/safety-refusal.ts'
import type { Store } from '../../stores/store.ts'
import type { Clock } from '../clock.ts'
import type { Rooms } from '../rooms.ts'

type Folders = Pick<Rooms, 'root' | 'stateDir' | 'store'>

/** Thrown by the engine's own work where the return type has no place for it. */
export class ShortageMet extends Error {
  override readonly name = 'ShortageMet'
  readonly shortage: Shortage
  constructor(shortage: Shortage) {
    super(shortage.message)
    this.shortage = shortage
  }
}

/**
 * An attempt that was interrupted by a shortage on our side. The loop learns of the shortage; the journal records only the interruption.
 */
export interface ShortInterrupt extends Interrupted {
  readonly shortage: Shortage
}

/** `begun: false`: the attempt certainly did nothing. */
export function cutOff(shortage: Shortage, begun?: false): ShortInterrupt {
  const reason = shortage.message
  return { status: 'interrupted', reason, shortage, begun }
}

/** A failure before the attempt began: an interruption if it was a shortage, else a failure of the attempt. */
export function failedBeforeStart(failure: Failure): Result | ShortInterrupt {
  const shortage = shortageIn(failure)
  return shortage === null ? { status: 'failed', failure } : cutOff(shortage, false)
}

export const failureFor = ({ kind, code, message, hint }: Shortage): Failure => ({
  class: 'resource',
  message,
  hint,
  retryable: true,
  code: `errno:${code}`,
  shortage: kind,
})

/** Passes a value through; throws if it is a failure caused by a shortage. */
export function throwIfShort<T extends { readonly ok: boolean }>(answer: T): T {
  const shortage = 'failure' in answer ? shortageIn(answer.failure as Failure) : null
  if (shortage !== null) throw new ShortageMet(shortage)
  return answer
}

/** The shortage behind an error, or a folder of ours that is missing or read-only; null for any other error, and for a fail-stop. */
export function shortageOf(folders: Folders, error: unknown, doing = "Planfold's own work"): Shortage | null {
  if (error instanceof ShortageMet) return error.shortage
  if (isFailStop(error)) return null
  return shortageOfError(error, doing) ?? unusableFolder(folders)
}

/** Errors after which this process must not write any more. */
export function isFailStop(error: unknown): boolean {
  return error instanceof Error && FAIL_STOP.has(error.name)
}

const FAIL_STOP: ReadonlySet<string> = new Set(['CommitUnknown', 'StoreGone', 'SyncFailed'])

/** Like `shortageOf`, without checking the folders. */
export function shortageOfError(error: unknown, doing: string): Shortage | null {
  if (!(error instanceof Error)) return null
  if (error.name === 'StoreFull') return made('disk-full', fullCode(codeOf(error.cause)), `${doing}: the disk is full`)
  const sqlite = 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : null
  if (sqlite !== null) return fromSqlite(sqlite, doing)
  const failure = failureOf(doing, error)
  return failure === null ? null : shortageIn(failure)
}

const SQLITE_FULL = 13
const SQLITE_CANTOPEN = 14
/** SQLite could not enlarge its shared memory file: the disk is full. */
const SQLITE_IOERR_SHMSIZE = 10 | (19 << 8)

function fromSqlite(code: number, doing: string): Shortage | null {
  if ((code & 0xff) === SQLITE_FULL || code === SQLITE_IOERR_SHMSIZE)
    return made('disk-full', 'ENOSPC', `${doing}: the disk is full`)
  if ((code & 0xff) !== SQLITE_CANTOPEN) return null
  const short = handlesShort()
  return short === null ? null : made('open-files', short, `${doing}: ${OPEN_FILES}`)
}

const OPEN_FILES = 'no more files can be opened'

/** The code with which opening a file fails for lack of handles; null if there are some. */
function handlesShort(): string | null {
  try {
    closeSync(openSync('/dev/null', 'r'))
    return null
  } catch (error) {
    const code = codeOf(error) ?? ''
    return shortageKindOf(code) === 'open-files' ? code : null
  }
}

const made = (kind: ShortageKind, code: string, message: string): Shortage => ({
  kind,
  code,
  message,
  hint: SHORTAGE_HINTS[kind],
})

/** A folder of ours, seen before, that is gone or on another device now. A reachable state folder inside the workspace proves both. */
export function missingFolder({ root, stateDir, store }: Folders): Shortage | null {
  const known = devices(store)
  const lost = missing('the state folder', stateDir, known)
  const isInside = stateDir === root || stateDir.startsWith(`${root}${sep}`)
  return lost === null && isInside && known.has(root) ? null : (missing('the workspace', root, known) ?? lost)
}

function missing(what: string, path: string, known: Map<string, number>): Shortage | null {
  const gone = (code: string, why: string): Shortage =>
    made('unavailable', code, `${what} ${JSON.stringify(path)} ${why}`)
  const before = known.get(path)
  try {
    const dev = statSync(path, { throwIfNoEntry: false })?.dev
    if (before === undefined && dev !== undefined) known.set(path, dev)
    if (before === undefined || before === dev) return null
    return dev === undefined
      ? gone('ENOENT', 'is gone')
      : gone('ESTALE', 'is on another file system: its mount is gone')
  } catch (error) {
    const code = codeOf(error) ?? ''
    if (before !== undefined && code === 'ENOTDIR') return gone(code, 'is gone')
    return shortageKindOf(code) === 'unavailable' ? gone(code, 'does not answer') : null
  }
}

/** Like `missingFolder`, and also checks that they are writable. Called after an error. */
export function unusableFolder(folders: Folders): Shortage | null {
  return (
    missingFolder(folders) ?? readOnly('the workspace', folders.root) ?? readOnly('the state folder', folders.stateDir)
  )
}

function readOnly(what: string, path: string): Shortage | null {
  try {
    accessSync(path, constants.W_OK)
    return null
  } catch (error) {
    if (codeOf(error) !== 'EROFS') return null
    return made('unavailable', 'EROFS', `${what} ${JSON.stringify(path)} can only be read`)
  }
}

/** The device of each folder when it was first looked at: an unmounted file system leaves an empty folder behind. */
const DEVICES = new WeakMap<Store, Map<string, number>>()

function devices(store: Store): Map<string, number> {
  let known = DEVICES.get(store)
  if (known === undefined) {
    known = new Map()
    DEVICES.set(store, known)
  }
  return known
}

// Holds results while we lack space or handles: a command has ended, and its result cannot be stored yet. Storing is retried at growing
// intervals for as long as the owner's patience lasts.

export interface HoldOptions {
  readonly onShortage?: (shortage: Shortage) => void
  readonly holdMs?: number
  readonly leaving?: AbortSignal
}

/** How long results are held in a process that is not a service. */
export const HOLD_MS = 5_000

const WAIT_FIRST_MS = 100
const WAIT_MAX_MS = 5_000

type Retried<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly shortage: Shortage }

/** `work` may run several times; it throws a shortage to be retried. Other errors are passed on. */
export async function retryWhileShort<T>(
  rooms: Rooms,
  options: HoldOptions,
  work: () => Promise<T>,
): Promise<Retried<T>> {
  const { clock } = rooms
  const until = clock.monotonic() + (options.holdMs ?? HOLD_MS)
  for (let waitMs = WAIT_FIRST_MS; ; waitMs = Math.min(WAIT_MAX_MS, waitMs * 2)) {
    try {
      return { ok: true, value: await work() }
    } catch (error) {
      const shortage = shortageOf(rooms, error)
      if (shortage === null) throw error
      options.onShortage?.(shortage)
      const leftMs = until - clock.monotonic()
      if (leftMs <= 0 || options.leaving?.aborted === true) return { ok: false, shortage }
      await waited(rooms, Math.min(waitMs, leftMs), options.leaving)
    }
  }
}

/** Like `retryWhileShort`, but throws the shortage. */
export async function retryOrThrow<T>(rooms: Rooms, options: HoldOptions, work: () => Promise<T>): Promise<T> {
  const retried = await retryWhileShort(rooms, options, work)
  if (!retried.ok) throw new ShortageMet(retried.shortage)
  return retried.value
}

function waited({ clock }: Rooms, ms: number, leaving: AbortSignal | undefined): Promise<void> {
  return new Promise(resolve => {
    const end = (): void => {
      cancel()
      leaving?.removeEventListener('abort', end)
      resolve()
    }
    const cancel = clock.after(ms, end)
    leaving?.addEventListener('abort', end, { once: true })
  })
}

/** A loop that a shortage keeps from going on: what is lacking, when to try again, when to give up. */
export class ShortagePause {
  readonly #clock: Clock
  readonly #lastsMs: number
  #shortage: Shortage | null = null
  #since = 0
  #waitMs = 0
  #retryAt = 0

  constructor(clock: Clock, lastsMs: number) {
    this.#clock = clock
    this.#lastsMs = lastsMs
  }

  get shortage(): Shortage | null {
    return this.#shortage
  }

  meet(shortage: Shortage): void {
    const now = this.#clock.monotonic()
    if (this.#shortage === null) {
      this.#since = now
      this.#waitMs = WAIT_FIRST_MS
    } else if (now < this.#retryAt) return
    else this.#waitMs = Math.min(WAIT_MAX_MS, this.#waitMs * 2)
    this.#shortage = shortage
    this.#retryAt = now + this.#waitMs
  }

  pass(): void {
    this.#shortage = null
  }

  /** Time until the next try; null if nothing is lacking or it may be tried now. */
  get waitMs(): number | null {
    const waitMs = this.#retryAt - this.#clock.monotonic()
    return this.#shortage === null || waitMs <= 0 ? null : waitMs
  }

  get isHopeless(): boolean {
    return this.#shortage !== null && this.#clock.monotonic() - this.#since >= this.#lastsMs
  }
}
