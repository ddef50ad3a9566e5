// Conflicts between tasks and orders that write files outside any task (`restore`, adopting a fork): such an order first asks here which
// tasks have reserved the files, in any plan. A task keeps its reservation from its first attempt until its visit ends, also between
// attempts, because a retry restores the files.
//
// Each side first sets its own mark and then looks for the other's. The order takes the rollback lock (workspace/rollback/rollback-lock.ts)
// and asks here again. The task reserves, then waits until the lock is free. So if both start at once, at least one sees the other.

import { join, relative, sep } from 'node:path'
import { advise, quoted } from '../../domain/hint.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import { reservedBy } from '../../domain/reservation.ts'
import type { Failure } from '../../domain/result.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { inScope } from '../../safety/scope.ts'
import type { ScopeHolder } from '../../stores/store.ts'
import type { Rooms } from '../rooms.ts'
import { enclosingPlans, realPath, realScope } from './scope-reservation.ts'

export async function reservedFailure(rooms: Rooms, owner: Owner, paths: readonly string[]): Promise<Failure | null> {
  const refusal = await refuseReservedFiles(rooms, owner, paths)
  if (refusal === null) return null
  const { message, hint } = refusal
  return { class: 'transient', message, hint, retryable: true }
}

type Owner = Pick<PlanState, 'id' | 'tasks'>

/** Null if none of these files is reserved. `rooms`: those of the folder in which the files are written. */
export async function refuseReservedFiles(
  rooms: Rooms,
  { id, tasks }: Owner,
  paths: readonly string[],
): Promise<Refusal | null> {
  const { reservations } = rooms.store
  const own = await reservations.held(id)
  const within = await enclosingPlans(rooms)
  const { root } = realScope(rooms, [])
  const { holders } = await reservations.holders(id, { root, paths: ['**'], ...(within.length > 0 && { within }) })
  if (own.length === 0 && holders.length === 0) return null
  const realRoot = realPath(rooms.root)
  for (const path of paths) {
    const names = [
      path,
      relative(realRoot, realPath(join(realRoot, path)))
        .split(sep)
        .join('/'),
    ]
    const holds = ({ paths: held }: ScopeHolder) => held.some(pattern => names.some(name => isTouched(pattern, name)))
    const mine = own.find(holds)
    if (mine !== undefined) return reservedByOwn(path, mine, tasks.get(mine.task)?.status === 'running')
    const holder = holders.find(holds)
    if (holder === undefined) continue
    const refusal = reservedBy(null, holder)
    return { ...refusal, message: `'${path}' would be written, and ${refusal.message}; nothing was changed` }
  }
  return null
}

function reservedByOwn(path: string, { name, task }: ScopeHolder, isRunning: boolean): Refusal {
  const [what, hint] = isRunning
    ? ['is running and may write', 'wait until it has ended, or pause the plan']
    : [
        'is between two attempts and will restore',
        advise`let it end first (${quoted('resume', { plan: name })}), or give it up: ${quoted('skip', { plan: name, task })}`,
      ]
  return refuse('not-ready', `task '${task}' of plan '${name}' ${what} '${path}'; nothing was changed`, hint)
}

/** Would writing this path affect the pattern: the path itself, a parent folder, or a file in its way? */
function isTouched(pattern: string, path: string): boolean {
  const held = componentsOf(pattern)
  const written = componentsOf(path)
  const wild = held.findIndex(part => /[*?]/.test(part))
  const literal = wild < 0 ? held : held.slice(0, wild)
  if (isBeginning(written, literal)) return true
  if (wild < 0 && isBeginning(held, written)) return true
  return wild >= 0 && inScope([held.join('/')], written.join('/'))
}

const isBeginning = (short: readonly string[], long: readonly string[]): boolean =>
  short.length <= long.length && short.every((part, at) => part === long[at])

/** Case-folded like reservations: two names of one file on a case-insensitive file system are equal. */
const componentsOf = (path: string): readonly string[] =>
  path
    .normalize('NFC')
    .toUpperCase()
    .toLowerCase()
    .split('/')
    .filter(part => part !== '' && part !== '.')
