// Is the owner of a lease still there? Here, on the same boot, leases are compared by the monotonic clock, and an owner whose process has
// ended is gone at once. An owner on another machine is there until its lease has run out by the wall clock.

import type { OwnerRecord } from '../tables.ts'
import type { Clock, Host } from './host.ts'

export interface Here {
  readonly clock: Clock
  readonly host: Host
}

type Terms = Pick<OwnerRecord, 'expires' | 'until'>

/** When a lease that begins now runs out. */
export function leaseFor({ clock }: Pick<Here, 'clock'>, leaseMs: number): Terms {
  return { expires: Math.floor(clock.monotonic() + leaseMs), until: clock.now() + leaseMs }
}

/** Does this process, on this boot, still hold its lease? */
export function holdsLease({ clock, host }: Here, owner: Pick<OwnerRecord, 'boot' | 'expires'>): boolean {
  return owner.boot === host.boot && owner.expires > clock.monotonic()
}

export function isAlive(here: Here, owner: OwnerRecord): boolean {
  const { clock, host } = here
  if (owner.boot === host.boot)
    return holdsLease(here, owner) && (owner.pids !== host.pids || host.isRunning(owner.pid, owner.startTime))
  // The machine was restarted, and its processes with it.
  if (owner.host === host.host) return false
  return owner.until > clock.now()
}
