// Rooms for a replay: a loop that stands in them can ask for the state and say what it wants to write, and nothing else. There
// is no runner, workspace or process in them, and whoever reaches for one is told so by an error: no side effects, by making.

import type { Lease, Store } from '../stores/store.ts'
import type { Clock } from './clock.ts'
import type { Rooms } from './rooms.ts'

/** What the loop needs of a store. */
export interface LoopStore {
  readonly update: Store['update']
  readonly state: Store['state']
  readonly onChange: Store['onChange']
}

export function emptyRooms(store: LoopStore, clock: Clock, { owner }: Lease): Rooms {
  const holder = { owner, host: '', pid: 0, alive: true, since: 0 }
  return {
    store: only<Store>('store', { ...store, leases: only<Store['leases']>('leases', { holder: async () => holder }) }),
    workspace: only('workspace', {}),
    // Asked for a runner, it throws: a map without any would only say that there is none.
    runners: only<Rooms['runners']>('runners', {}),
    processes: only('processes', {}),
    clock,
    random: forbidden('chance'),
    root: '',
    stateDir: '',
    environment: {},
    leaseMs: Number.MAX_SAFE_INTEGER,
    about: 'a replay',
  }
}

function only<T extends object>(name: string, allowed: Partial<T>): T {
  return new Proxy(allowed as T, {
    get: (target, key) =>
      Object.hasOwn(target, key) ? Reflect.get(target, key) : forbidden(`${name}.${String(key)}`)(),
  })
}

function forbidden(what: string): () => never {
  return () => {
    throw new Error(`bug: a replay reached for ${what}; it must touch nothing`)
  }
}
