// Who drives plans on this store, on whichever machine, and which plans wait for one.

import { isMap, type Json } from '../../domain/json.ts'
import type { OwnerRow } from '../../stores/store.ts'
import type { WorkerRow, WorkersView } from '../queries.ts'
import type { Rooms } from '../rooms.ts'

export async function listWorkers({ store }: Rooms): Promise<WorkersView> {
  const owners = await store.leases.owners()
  const workers = owners.filter(({ alive, plans }) => alive || plans.length > 0).map(workerOf)
  return { workers, queue: (await store.shared?.standing()) ?? null }
}

function workerOf({ about, plans, ...owner }: OwnerRow): WorkerRow {
  const { labels, concurrency, version, draining } = described(about)
  return {
    ...owner,
    draining: draining === true,
    labels: Array.isArray(labels) ? labels.filter(label => typeof label === 'string') : [],
    concurrency: typeof concurrency === 'number' ? concurrency : null,
    version: typeof version === 'string' ? version : null,
    plans: plans.length,
  }
}

function described(about: string): { readonly [key: string]: Json | undefined } {
  try {
    const parsed: Json = JSON.parse(about)
    return isMap(parsed) ? parsed : {}
  } catch {
    return {}
  }
}
