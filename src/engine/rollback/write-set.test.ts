// What is composed of many change sets, where tasks overlap or end nobody knows how. Each case was found by the simulator.

import { describe, expect, it } from 'vitest'
import type { Event } from '../../domain/event.ts'
import type { Sha256 } from '../../domain/id.ts'
import type { Entry } from '../../stores/store.ts'
import { numberedSha } from '../../testing/index.ts'
import type { Change, TreeEntry } from '../../workspace/workspace.ts'
import { name, setup } from '../rooms.fixture.ts'
import type { Rooms } from '../rooms.ts'
import { composeSince } from './write-set.ts'

const file = (number: number): TreeEntry => ({ type: 'file', mode: 0o644, size: 1, sha256: numberedSha(number) })
const [X, Y, Z] = [file(1), file(2), file(3)]
const BEFORE = numberedSha(99)

/** Rooms in which these paths differ now from what any look saw, and entries made of events. */
async function scene(differs: readonly Change[], ...events: readonly (Event | readonly Change[])[]) {
  const { rooms: fake } = setup()
  const found = async () => ({ ok: true, changes: differs, left: [] }) as const
  const rooms = { ...fake, workspace: { ...fake.workspace, changesSince: found }, snapshots: { diff: found } }
  const told = (changes: readonly Change[]) => rooms.store.blobs.put(Buffer.from(JSON.stringify(changes)))
  const all: Entry[] = []
  for (const [at, one] of events.entries()) {
    const event = 'type' in one ? one : ({ type: 'rollback.finished', changes: await told(one), paths: 1 } as const)
    all.push({ version: at + 1, now: at, events: [event] } as unknown as Entry)
  }
  const since = async (to: number) => {
    const by = { until: all.slice(0, to), scopeOf: () => ['**'] }
    return (await composeSince(rooms as unknown as Rooms, all.slice(to), by)).changes
  }
  return { since, told, rooms, all }
}

const started = (task: string, look: { preimage?: Sha256; before?: Sha256 }): Event => ({
  type: 'attempt.started',
  task: name(task),
  visit: 1,
  attempt: 1,
  ...look,
})
const lost = (task: string): Event => ({ type: 'attempt.lost', task: name(task), visit: 1, attempt: 1, reason: 'died' })

async function succeeded(task: string, changes: readonly Change[]): Promise<Event> {
  const { rooms } = setup()
  const id = await rooms.store.blobs.put(Buffer.from(JSON.stringify(changes)))
  const result = { status: 'succeeded', wrote: { changes: id, paths: changes.length } } as const
  return { type: 'attempt.succeeded', task: name(task), visit: 1, attempt: 1, result }
}

describe('what a plan wrote since an entry', () => {
  it('is not what another had told before, although somebody without a scope saw it too', async () => {
    const write = [{ path: 'f', before: null, after: X }]
    const both = [...write, { path: 'g', before: null, after: Y }]
    const { since, told } = await scene(
      [],
      started('watched', { before: BEFORE }),
      started('scoped', { preimage: BEFORE }),
      await succeeded('scoped', write),
      await succeeded('watched', both),
    )
    await told(write)
    await told(both)
    expect(await since(3)).toEqual([{ path: 'g', before: null, after: Y }])
    expect(await since(0)).toEqual([
      { path: 'f', before: null, after: X },
      { path: 'g', before: null, after: Y },
    ])
  })

  it('is what a task with a scope left, although one without looked while it was half written, and told it later', async () => {
    const half = [{ path: 'f', before: null, after: X }]
    const whole = [{ path: 'f', before: null, after: Y }]
    const events = [
      started('watched', { before: BEFORE }),
      started('scoped', { preimage: BEFORE }),
      await succeeded('scoped', whole),
      await succeeded('watched', half),
    ]
    const standing = async (now: TreeEntry | null) => {
      const { since, told } = await scene(now === null ? [] : [{ path: 'f', before: null, after: now }], ...events)
      await told(half)
      await told(whole)
      return await since(0)
    }
    expect(await standing(Y)).toEqual(whole)
    // It wrote over it, and that stands there.
    expect(await standing(X)).toEqual(half)
    // Somebody else was there since: told as an edit, by what the last of them left.
    expect(await standing(Z)).toEqual(half)
  })

  it('holds what an attempt left that was under way at the entry and ended nobody knows how', async () => {
    const { since } = await scene([{ path: 'f', before: X, after: Z }], started('a', { preimage: BEFORE }), lost('a'))
    // A person chooses: it may be theirs.
    expect(await since(1)).toEqual([{ path: 'f', before: X, after: X }])
    // It had ended by then; what stood there stays.
    expect(await since(2)).toEqual([])
  })

  it('goes back to before an attempt nobody knows the end of, not to what a rollback found there', async () => {
    const undone = [{ path: 'f', before: Z, after: X }]
    const back = await scene([], started('a', { preimage: BEFORE }), lost('a'), undone)
    // It stands as it stood before the attempt.
    expect(await back.since(0)).toEqual([])
    const redone = [{ path: 'f', before: X, after: Z }]
    const forth = await scene(
      [{ path: 'f', before: X, after: Z }],
      started('a', { preimage: BEFORE }),
      lost('a'),
      undone,
      redone,
    )
    expect(await forth.since(0)).toEqual([{ path: 'f', before: X, after: Z }])
    // Undoing the rollback itself brings back what stood there, byte for byte.
    expect(await back.since(2)).toEqual([{ path: 'f', before: Z, after: X }])
  })

  it('is credited to the task whose scope holds it, although a task without one was lost, tried again and saw it first', async () => {
    const half = [{ path: 'w/f', before: null, after: X }]
    const whole = [{ path: 'w/f', before: null, after: Y }]
    const { since, told } = await scene(
      [],
      started('loose', { before: BEFORE }),
      started('scoped', { preimage: BEFORE }),
      lost('loose'),
      lost('scoped'),
      { ...started('loose', {}), attempt: 2 } as Event,
      await succeeded('loose', half),
      await succeeded('scoped', whole),
    )
    await told(half)
    await told(whole)
    // As a person's edit it would be `after: null`, and the rollback would stop there.
    expect(await since(0)).toEqual([{ path: 'w/f', before: null, after: Y }])
  })

  it('between two attempts of a task without a scope is the work of the task that told it, and else perhaps a person’s', async () => {
    const beside = [{ path: 'f', before: null, after: X }]
    const seen = [...beside, { path: 'g', before: null, after: Y }]
    const { since, told } = await scene(
      [],
      started('retried', { before: BEFORE }),
      lost('retried'),
      started('beside', { before: BEFORE }),
      await succeeded('beside', beside),
      { ...started('retried', {}), attempt: 2, edited: ['f', 'g'] } as Event,
      await succeeded('retried', seen),
    )
    await told(beside)
    await told(seen)
    expect(await since(0)).toEqual([
      { path: 'f', before: null, after: X },
      { path: 'g', before: null, after: null },
    ])
  })

  it('of two tasks without a scope that ran at the same time is told as that of one writer', async () => {
    const both = [{ path: 'f', before: null, after: X }]
    const { told, rooms, all } = await scene(
      [],
      started('a', { before: BEFORE }),
      started('b', { before: BEFORE }),
      await succeeded('a', both),
      await succeeded('b', both),
    )
    await told(both)
    const one = await composeSince(rooms as unknown as Rooms, all, { tasks: [name('a')] })
    expect(one.shared).toEqual(['b'])
    const together = await composeSince(rooms as unknown as Rooms, all, { tasks: [name('a'), name('b')] })
    expect(together).toMatchObject({ shared: [], changes: [{ path: 'f', before: null, after: X }] })
  })
})
