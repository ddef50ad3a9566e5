// Journals to replay and ways to attack them: rows in a list, read as a store reads them, and a plan whose life has a bit of
// everything in it.

import type { Command } from '../../domain/command.ts'
import type { Event } from '../../domain/event.ts'
import type { Actor, PlanId, Sha256 } from '../../domain/id.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import { chained } from '../../stores/journal/check.ts'
import {
  entryHash,
  GENESIS,
  type NewEntry,
  readEntry,
  type StoredEntry,
  sealEntry,
} from '../../stores/journal/entry.ts'
import type { Store } from '../../stores/store.ts'
import { EngineLocal } from '../engine-local.ts'
import { WorkerLocal } from '../loop/worker.ts'
import { trusted } from '../roles.ts'
import { exited, ME, name, type Script, setup } from '../rooms.fixture.ts'
import type { Rooms } from '../rooms.ts'

export type Rows = readonly StoredEntry[]

/** Bodies stay in the rows: nothing here is large. */
export const noBlobs = {
  putNow: () => {
    throw new Error('too large for a row')
  },
  getNow: () => null,
}

export function reader(rows: Rows): Pick<Store, 'read'> {
  const reached = rows.length
  return {
    read: async (plan, { after = 0, limit = 1_000, previous } = {}) => {
      const page = rows.filter(row => row.version > after).slice(0, limit)
      if (previous === undefined) return page.map(row => readEntry(plan, row, noBlobs))
      const head = page.length < limit ? { reached } : null
      return chained(plan, page, { after, previous: { hash: previous, format: 1 }, head: head as never }, noBlobs)
    },
  }
}

export type Said = Omit<NewEntry, 'plan' | 'position' | 'version'>

/** A chain over what is said, as whoever holds the pen would make it: written out, so that anything can be said. */
export function sealed(plan: PlanId, entries: readonly Said[]): Rows {
  const rows = entries.map(({ now: at, actor, fence, command, events }, index) => {
    const body = JSON.stringify({ v: 1, command, events })
    const place = { format: 1, position: index + 1, oldPosition: null, version: index + 1 }
    return { ...place, at, actor, fence, body, blob: null, hash: '' as Sha256 }
  })
  return rehashed(plan, rows)
}

/** The chain as the stores write it. */
export function packed(plan: PlanId, entries: readonly Said[]): Rows {
  let previous = GENESIS
  return entries.map((entry, at) => {
    const row = sealEntry(previous, { ...entry, plan, position: at + 1, version: at + 1 }, noBlobs)
    previous = row
    return row
  })
}

/** The same rows with hashes that hold again. */
export function rehashed(plan: PlanId, rows: Rows): Rows {
  let previous = ''
  return rows.map(row => {
    const hash = entryHash(previous, plan, row)
    previous = hash
    return { ...row, hash }
  })
}

export interface Golden {
  readonly version: number
  readonly actor: string
  readonly now: number
  readonly command: Command
  readonly events: readonly Event[]
}

export const ofGolden = ({ actor, now, command, events }: Golden): Said => ({
  actor: actor as Actor,
  now,
  fence: null,
  command,
  events,
})

const run = (id: string, more: Partial<TaskDefinition> = {}): Partial<TaskDefinition> => ({
  id: name(id),
  effect: 'pure',
  ...more,
})

/**
 * Retries, a route back, a condition, captured files, a gate, an agent, a note, a revision, an interruption and a resume; then a
 * checkpoint, a rollback with a compensation that needs two tries, its undoing, another rollback, and a cancel.
 */
export async function lively(open?: (rooms: Rooms) => Promise<Store>) {
  const tries = new Map<string, number>()
  let unpushed = 0
  const script: Script = async ({ definition: { id }, action, visit }) => {
    const count = (tries.get(id) ?? 0) + 1
    tries.set(id, count)
    if (id === 'flaky' && count < 3) return exited(75, '', 'busy')
    if (id === 'judge' && visit === 1) return exited(1, '', 'no')
    if (id === 'push' && action.type === 'run' && 'argv' in action.command && action.command.argv[0] === 'unpush')
      return unpushed++ === 0 ? exited(75, '', 'busy') : exited(0)
    return exited(0, `{"from":"${id}","count":${count}}`)
  }
  const scene = setup(script)
  const rooms: Rooms = open === undefined ? scene.rooms : { ...scene.rooms, store: await open(scene.rooms) }
  const engine = new EngineLocal(rooms, trusted(ME))
  const worker = new WorkerLocal(rooms)
  const retry = { attempts: 4, backoffMs: { min: 1, max: 2 } }
  const scene2 = { ...scene, engine, rooms, worker }
  const tasks = [
    run('first', { outputs: { all: { from: 'stdout', as: 'json' } } }),
    run('flaky', { needs: [name('first')], retry }),
    run('maybe', { needs: [name('first')], when: 'false' }),
    run('files', { needs: [name('first')], effect: 'workspace', write: ['out/**'], network: [] }),
    run('judge', { needs: [name('flaky')], on: { failure: [name('flaky')] } }),
    run('ask', { needs: [name('judge')], action: { type: 'gate', gate: 'approval' } }),
    run('agent', { needs: [name('first')], action: { type: 'external' } }),
    run('push', {
      needs: [name('first')],
      effect: 'idempotent',
      retry,
      compensate: { type: 'run', command: { argv: ['unpush'] } },
    }),
    run('last', { needs: [name('ask'), name('agent'), name('files')] }),
  ]
  const definition = { name: 'lively' as never, tasks: tasks.map(task => ({ action: RUN, ...task }) as TaskDefinition) }
  const made = await engine.submit(null, { type: 'create', definition })
  if (!made.ok) throw new Error(made.refusal.message)
  const { plan } = made
  const drive = () => worker.drive(plan, { stop: new AbortController().signal })
  await engine.submit(plan, { type: 'start' })
  await drive()
  const claimed = await engine.submit(plan, { type: 'claim' })
  if (!claimed.ok || claimed.claim === undefined) throw new Error('nothing to claim')
  const { task, token } = claimed.claim
  await engine.submit(plan, { type: 'report', task, token, result: { status: 'succeeded', outputs: { n: 1 } } })
  await engine.submit(plan, { type: 'note', text: 'looked at it' })
  await engine.submit(plan, { type: 'pause' })
  await engine.submit(plan, { type: 'resume' })
  await engine.submit(plan, { type: 'decide', task: name('ask'), verdict: 'approved', rationale: 'it is right' })
  const more = { ...definition, tasks: [...definition.tasks, { action: RUN, ...run('extra') } as TaskDefinition] }
  await engine.submit(plan, { type: 'revise', definition: more, rationale: 'one more' })
  await drive()
  await engine.submit(plan, { type: 'checkpoint', name: 'finished' })
  for (const order of [{ type: 'rollback' }, { type: 'undo' }, { type: 'rollback', to: 'finished' }] as const) {
    const asked = await engine.submit(plan, order)
    if (!asked.ok) throw new Error(asked.refusal.message)
    await drive()
  }
  await engine.submit(plan, { type: 'cancel', reason: 'enough' })
  await drive()
  return { ...scene2, plan, close: () => worker.close() }
}

const RUN = { type: 'run', command: { argv: ['true'] } } as const

/** Numbers from a seed, the same every time. */
export function luck(seed: number): (below: number) => number {
  let state = seed >>> 0
  return below => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

/** A copy with something changed somewhere: a value, a key taken or added, an item taken, doubled or moved. */
export function mutated<T>(
  value: T,
  draw: (below: number) => number,
  mayTouch: (path: string) => boolean = () => true,
): T {
  const copy = structuredClone(value)
  const places: { readonly tree: Record<string, unknown>; readonly key: string }[] = []
  const walk = (tree: unknown, path: string): void => {
    if (typeof tree !== 'object' || tree === null) return
    for (const key of Object.keys(tree)) {
      const at = `${path}/${key}`
      if (!mayTouch(at)) continue
      places.push({ tree: tree as Record<string, unknown>, key })
      walk((tree as Record<string, unknown>)[key], at)
    }
  }
  walk(copy, '')
  const { tree, key } = places[draw(places.length)]!
  const old = tree[key]
  const ways = [
    () => {
      tree[key] =
        typeof old === 'number' ? old + 1 + draw(3) : typeof old === 'boolean' ? !old : `${JSON.stringify(old)}x`
    },
    () => {
      if (Array.isArray(tree)) tree.splice(Number(key), 1)
      else delete tree[key]
    },
    () => {
      if (Array.isArray(tree)) tree.splice(Number(key), 0, structuredClone(old))
      else tree[`${key}Too`] = old
    },
    () => {
      tree[key] = null
    },
  ]
  ways[draw(ways.length)]!()
  return copy
}
