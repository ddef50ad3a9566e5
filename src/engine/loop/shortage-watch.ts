// For long-lived processes: resumes plans that were paused for a shortage once it has passed. Each plan is checked at growing intervals,
// also if it met the same shortage again after it was resumed.

import { closeSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Actor, PlanId } from '../../domain/id.ts'
import type { Shortage } from '../../domain/shortage.ts'
import type { PlanState } from '../../domain/state/state.ts'
import type { Rooms } from '../rooms.ts'
import { unusableFolder } from './shortage.ts'

const ENGINE = 'engine' as Actor
const WAIT_FIRST_MS = 1_000
const WAIT_MAX_MS = 60_000
/** A plan without a shortage for this long starts again with short intervals. */
const FORGET_MS = 10 * 60_000
/** This much must be free: enough for some small commits and a small capture. */
const PROBE_BYTES = 64 * 1024
const PROBE_HANDLES = 16

type WatchRooms = Pick<Rooms, 'clock' | 'store' | 'root' | 'stateDir'>

interface Watched {
  waitMs: number
  /** On the monotonic clock; null while the plan is not paused for a shortage. */
  at: number | null
  seenAt: number
}

export class ShortageWatch {
  readonly #rooms: WatchRooms
  readonly #firstMs: number
  readonly #plans = new Map<PlanId, Watched>()

  constructor(rooms: WatchRooms, firstMs: number = WAIT_FIRST_MS) {
    this.#rooms = rooms
    this.#firstMs = Math.min(WAIT_FIRST_MS, firstMs)
  }

  look({ id, status, shortage }: PlanState): void {
    const now = this.#rooms.clock.monotonic()
    const watched = this.#plans.get(id)
    if (status !== 'paused' || shortage === null) {
      if (watched === undefined) return
      watched.at = null
      if (now - watched.seenAt > FORGET_MS) this.#plans.delete(id)
      return
    }
    if (watched === undefined) this.#plans.set(id, { waitMs: this.#firstMs, at: now + this.#firstMs, seenAt: now })
    else if (watched.at === null) Object.assign(watched, { at: now + watched.waitMs, seenAt: now })
  }

  get nextAt(): number {
    let next = Number.POSITIVE_INFINITY
    for (const { at } of this.#plans.values()) next = Math.min(next, at ?? next)
    return next
  }

  async resumeDue(): Promise<void> {
    const { clock, store } = this.#rooms
    for (const [plan, watched] of this.#plans) {
      if (watched.at === null || watched.at > clock.monotonic()) continue
      watched.waitMs = Math.min(WAIT_MAX_MS, watched.waitMs * 2)
      watched.at = clock.monotonic() + watched.waitMs
      const state = await store.state(plan)
      if (state === null || state.status !== 'paused' || state.shortage === null) {
        watched.at = null
        continue
      }
      if ((await store.halts.get()) !== null || !hasPassed(this.#rooms, state.shortage)) continue
      // An owner that is alive still holds results that it could not write.
      if ((await store.leases.holder(plan))?.alive === true) continue
      await store.update(plan, { type: 'resume' }, { actor: ENGINE })
    }
  }
}

export function hasPassed(rooms: WatchRooms, { kind }: Shortage): boolean {
  try {
    if (unusableFolder(rooms) !== null) return false
    if (kind === 'disk-full') return hasSpace(rooms)
    if (kind === 'open-files') return hasHandles()
    return true
  } catch {
    return false
  }
}

/** The probe is written into the state folder; of the workspace only the free space is read. */
function hasSpace({ root, stateDir, clock }: WatchRooms): boolean {
  const { bavail, bsize } = statfsSync(root)
  if (bavail * bsize < PROBE_BYTES) return false
  const probe = join(stateDir, `space-probe-${process.pid}-${Math.floor(clock.monotonic())}.tmp`)
  const file = openSync(probe, 'wx', 0o600)
  try {
    const bytes = Buffer.alloc(PROBE_BYTES)
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
    return true
  } finally {
    closeSync(file)
    rmSync(probe, { force: true })
  }
}

function hasHandles(): boolean {
  const open: number[] = []
  try {
    for (let count = 0; count < PROBE_HANDLES; count++) open.push(openSync('/dev/null', 'r'))
    return true
  } finally {
    for (const file of open) closeSync(file)
  }
}
