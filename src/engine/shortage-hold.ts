// Holds what is already known while our side lacks space or handles: a command has ended, and what it left cannot be stored yet.
// The work of storing it is tried again, later and later, for as long as whoever drives has patience.

import type { Shortage } from '../domain/shortage.ts'
import type { Rooms } from './rooms.ts'
import { ShortageMet, shortageOf } from './shortage.ts'

export interface HoldOptions {
  /** Is told each time that it is still lacking. */
  readonly onShortage?: (shortage: Shortage) => void
  /** How long to go on trying. */
  readonly holdMs?: number
  /** Fires when nothing is to be waited for any more. */
  readonly leaving?: AbortSignal
}

/** So long results are held in a process that is not a service. */
export const HOLD_MS = 5_000
const WAIT_FIRST_MS = 100
const WAIT_MAX_MS = 5_000

export type Held<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly shortage: Shortage }

/** `work` may be done several times; it throws what it lacks. Anything else it throws is passed on. */
export async function holdWhileShort<T>(rooms: Rooms, options: HoldOptions, work: () => Promise<T>): Promise<Held<T>> {
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

/** The value, or the shortage thrown. */
export async function heldOrThrow<T>(rooms: Rooms, options: HoldOptions, work: () => Promise<T>): Promise<T> {
  const held = await holdWhileShort(rooms, options, work)
  if (!held.ok) throw new ShortageMet(held.shortage)
  return held.value
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
