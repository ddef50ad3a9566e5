// Appends: read back in order, without gaps, in shared commits, each once.

import { describe, expect, it } from 'vitest'
import type { Command } from '../../domain/command.ts'
import { type PlanId, taskId } from '../../domain/id.ts'
import { refuse } from '../../domain/refusal.ts'
import { name, numberedPlanId, numberedSha, START, succeeded } from '../../testing/index.ts'
import { ana, given, must, ok, one, type Setup, two } from './harness.contract.ts'

export function appendingContract(what: string, setup: Setup): void {
  describe(`${what}: appending`, () => {
    it('a plan that was made is found by id, by name, and by the ids of its tasks', async () => {
      const { store } = await one(setup)
      const id = await given(store, two('first'))
      const found = { plan: id, name: 'first' }
      expect(await store.find(id)).toEqual({ ...found, task: null })
      expect(await store.find('first')).toEqual({ ...found, task: null })
      expect(await store.find(taskId(id, 2))).toEqual({ ...found, task: 'b' })
      expect(await store.find(taskId(id, 3))).toBeNull()
      expect(await store.find('nobody')).toBeNull()
      expect(await store.find('')).toBeNull()
    })

    it('a name or an id that is taken is refused', async () => {
      const { store } = await one(setup)
      const id = await given(store, two('first'))
      const again = (plan: PlanId, title: string) =>
        store.create({ type: 'create', plan, definition: two(title), hash: numberedSha(1) }, ana)
      expect(await again(numberedPlanId(2), 'first')).toMatchObject({ ok: false, refusal: { code: 'exists' } })
      expect(await again(id, 'second')).toMatchObject({ ok: false, refusal: { code: 'exists' } })
      expect((await store.plans({})).items).toHaveLength(1)
    })

    it('versions have no gaps, and what was appended is read back as it was', async () => {
      const { store, clock } = await one(setup)
      const id = await given(store, two('first'))
      clock.pass(10)
      const started = await must(store, id, START)
      const turned = await must(store, id, { type: 'turn' })
      const command: Command = {
        type: 'turn',
        settled: [{ task: name('a'), visit: 1, attempt: 1, result: succeeded({ outputs: { x: 'ä' } }) }],
      }
      const settled = await must(store, id, command)
      const entries = await store.read(id)
      expect(entries.map(entry => entry.version)).toEqual([1, 2, 3, 4])
      const positions = entries.map(entry => entry.position)
      expect(positions).toEqual([...new Set(positions)].sort((left, right) => left - right))
      expect(entries[0]!.command).toEqual({ type: 'create', plan: id, definition: two('first'), hash: numberedSha(1) })
      expect(entries[1]).toMatchObject({
        plan: id,
        actor: 'ana',
        now: clock.wall,
        fence: null,
        command: { type: 'start' },
        events: started.events,
      })
      expect(entries[2]!.events).toEqual(turned.events)
      expect(entries[3]!.command).toEqual(command)
      expect(entries[3]!.events).toEqual(settled.events)
      expect(await store.read(id, { after: 2, limit: 1 })).toEqual([entries[2]])
    })

    it('a command that changes nothing writes nothing', async () => {
      const { store, commits } = await one(setup)
      const id = await given(store, two('first'))
      const before = commits()
      expect(await must(store, id, { type: 'turn' })).toMatchObject({ version: 1, events: [] })
      expect(commits()).toBe(before)
      expect(await store.read(id)).toHaveLength(1)
    })

    it('regression 9: a plan that has moved on is refused with conflict', async () => {
      const { store } = await one(setup)
      const id = await given(store, two('first'))
      const late = await store.update(id, START, { actor: ana, expectedVersion: 7 })
      expect(late).toMatchObject({ ok: false, refusal: { code: 'conflict' } })
      ok(await store.update(id, START, { actor: ana, expectedVersion: 1 }))
    })

    it('an unknown plan is refused, and has no state', async () => {
      const { store } = await one(setup)
      expect(await store.update(numberedPlanId(9), START, { actor: ana })).toMatchObject({
        refusal: { code: 'not-found' },
      })
      expect(await store.state(numberedPlanId(9))).toBeNull()
      expect(await store.read(numberedPlanId(9))).toEqual([])
    })

    it('regression 12: updates of one turn share a commit and are all there; nobody waits for a lock of its own', async () => {
      const { store, commits } = await one(setup)
      const id = await given(store, two('first'))
      const before = commits()
      const texts = Array.from({ length: 50 }, (_, at) => `note ${at}`)
      const updates = await Promise.all(texts.map(text => store.update(id, { type: 'note', text }, { actor: ana })))
      expect(updates.map(updated => ok(updated).version)).toEqual(texts.map((_, at) => at + 2))
      expect(commits() - before).toBe(1)
    })

    it('what is worked out inside the transaction is worked out from what the one before it wrote', async () => {
      const { store, commits, decidesAgain } = await one(setup)
      const id = await given(store, two('first'))
      const before = commits()
      const seen: number[] = []
      const updates = await Promise.all(
        Array.from({ length: 10 }, () =>
          store.updateFrom(
            id,
            ({ version }) => {
              seen.push(version)
              return version === 4 ? refuse('not-allowed', 'not at four') : { type: 'note', text: `behind ${version}` }
            },
            { actor: ana },
          ),
        ),
      )
      // A refused command writes nothing, so the later ones see the same state.
      expect(updates.map(updated => (updated.ok ? updated.version : updated.refusal.code))).toEqual([
        2,
        3,
        4,
        ...Array(7).fill('not-allowed'),
      ])
      const exact = [1, 2, 3, ...Array(7).fill(4)]
      expect([decidesAgain === true ? [...new Set(seen)] : seen, commits() - before]).toEqual([
        decidesAgain === true ? [1, 2, 3, 4] : exact,
        1,
      ])
      expect(seen.length).toBeGreaterThanOrEqual(exact.length)
      const late = await store.updateFrom(id, () => START, { actor: ana, expectedVersion: 7 })
      expect(late).toMatchObject({ ok: false, refusal: { code: 'conflict' } })
    })

    it('a refused update does not disturb the others in its commit', async () => {
      const { store } = await one(setup)
      const id = await given(store, two('first'))
      const [note, refused, other] = await Promise.all([
        store.update(id, { type: 'note', text: 'one' }, { actor: ana }),
        store.update(id, { type: 'resume' }, { actor: ana }),
        store.update(id, { type: 'note', text: 'two' }, { actor: ana }),
      ])
      expect([note.ok, refused.ok, other.ok]).toEqual([true, false, true])
      expect((await store.state(id))!.version).toBe(3)
    })

    it('time does not run backwards within a plan', async () => {
      const { store, clock } = await one(setup)
      const id = await given(store, two('first'))
      clock.wall -= 60_000
      await must(store, id, START)
      const [created, started] = await store.read(id)
      expect(started!.now).toBe(created!.now)
    })

    it('an entry larger than 256 KB goes to a blob and comes back', async () => {
      const { store } = await one(setup)
      const id = await given(store, two('first'))
      const text = 'é'.repeat(200_000)
      await must(store, id, { type: 'note', text })
      const [, entry] = await store.read(id)
      expect(entry!.events).toEqual([{ type: 'note.added', text }])
      expect(await store.check({ readData: true })).toMatchObject({ ok: true, blobs: 1, entries: 2 })
    })

    it('a revision may not take the name of another plan', async () => {
      const { store } = await one(setup)
      const id = await given(store, two('first'))
      await given(store, two('second'), 2)
      const revised = await store.update(
        id,
        { type: 'revise', definition: two('second'), hash: numberedSha(2), rationale: 'x' },
        { actor: ana },
      )
      expect(revised).toMatchObject({ ok: false })
      expect((await store.check()).faults).toEqual([])
    })
  })
}
