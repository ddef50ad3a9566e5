// What the simulator wrote under crashes, takeovers, lost replies and people who come and go is replayed: every entry is decided
// as it was, and the real loop asks for every turn of every owner again. Promise P40, and no false alarm. These seeds are held to
// every promise here, too, so that `sim.test.ts` need not run them once more.

import { expect, test } from 'vitest'
import { replay } from '../src/engine/replay/replay.ts'
import { FakeClock, fakeHost } from '../src/stores/store.contract.ts'
import type { SimDisk } from './machine.ts'
import { StoreMemory } from './memory-store/store-memory.ts'
import { failureText, run } from './run.ts'

/** More with `REPLAY_SEEDS=20000`, as in `npm run soak`; `sim.test.ts` counts on fifty. */
const SEEDS = Number(process.env.REPLAY_SEEDS ?? 50)

test(`${SEEDS} simulated lives are the same again`, { timeout: 300_000 + SEEDS * 2_000 }, async () => {
  const sum = { entries: 0, reenacted: 0, owners: 0, attempts: 0, retold: 0 }
  for (let at = 1; at <= SEEDS; at++) {
    const seed = `0x${at.toString(16)}`
    let disk: SimDisk | null = null
    const verdict = await run({
      seed,
      onDisk: it => {
        disk = it
      },
    })
    if (verdict.violation !== null) expect.fail(failureText(verdict))
    const store = new StoreMemory(disk!, { clock: new FakeClock(), host: fakeHost(), newId: () => 'x' })
    const [row] = (await store.plans({})).items
    const told = await replay(store, row!.id, row!.name)
    expect(told.fault, `seed ${seed}`).toBeNull()
    expect((await replay(store, row!.id, row!.name)).trace, `seed ${seed}`).toBe(told.trace)
    sum.entries += told.entries
    sum.reenacted += told.reenacted.entries
    sum.owners += told.reenacted.owners
    sum.attempts += told.reenacted.attempts
    // Only two things are not re-enacted: what others said, and what a loop said twice.
    for (const { why, entries } of told.redecidedOnly) {
      expect(['commands of people and agents', 'turns that say again what a commit had left unsure']).toContain(why)
      if (why.startsWith('turns')) sum.retold += entries
    }
  }
  expect(sum.reenacted).toBeGreaterThan(SEEDS * 5)
  expect(sum.owners).toBeGreaterThan(SEEDS)
  expect(sum.retold).toBeLessThan(sum.reenacted / 100)
})
