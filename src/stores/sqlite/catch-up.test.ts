import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { name, plan, task } from '../../testing/index.ts'
import { carryOut, given, must } from '../store.contract.ts'
import { Connection } from './driver.ts'
import { setup } from './store-sqlite.fixture.ts'

const FILLER = 'filler '.repeat(9_000)
const log = (plan: Awaited<ReturnType<typeof given>>, text: string, to = 'a') =>
  ({ plan, task: name(to), visit: 1, attempt: 1, stream: 'stdout', at: 7, text }) as const

const marksIn = (path: string) => {
  const connection = new Connection(path, { readOnly: true, busyMs: 1_000 })
  try {
    return connection.prepare('SELECT position, log FROM caught_up').get()!
  } finally {
    connection.close()
  }
}

describe('sqlite: catching up', () => {
  it('regression 27: killed between any two batches, nothing is lost and nothing is found twice', async () => {
    const { open, folder, path } = setup()
    const store = await open()
    const id = await given(store, plan('first', task('a'), task('b', { needs: ['a'] })))
    await carryOut(store, id)
    await store.logs.append(Array.from({ length: 40 }, (_, part) => log(id, `${FILLER} part${part}`)))
    const program = fileURLToPath(new URL('./catch-up.process.fixture.ts', import.meta.url))
    const seen: number[] = []
    for (const [point, nth] of [
      ['store.commit:before', 1],
      ['store.commit:after', 1],
      ['store.commit:before', 2],
    ] as const) {
      const child = spawnSync(process.execPath, ['--import', 'tsx', program, folder, point, String(nth)])
      expect(child.signal, String(child.stderr)).toBe('SIGKILL')
      seen.push(marksIn(path).log as number)
      expect((await store.check()).faults).toEqual([])
    }
    // The first left nothing, the second one batch, the third another one.
    expect(seen[0]).toBe(0)
    expect(seen[1]).toBeGreaterThan(0)
    expect(seen[2]).toBeGreaterThan(seen[1]!)
    expect(seen[2]).toBeLessThan(40)
    const { items, complete } = await store.search({ text: 'filler', limit: 100 })
    expect(complete).toBe(true)
    expect(items.map(hit => hit.log!.seq)).toEqual(Array.from({ length: 40 }, (_, at) => 40 - at))
    expect(await store.steps({ by: 'plan' })).toMatchObject({ items: [{ attempts: 2, succeeded: 2 }] })
    expect((await store.check()).faults).toEqual([])
  })

  it('of what one task prints, ten megabytes can be found', async () => {
    const { open } = setup()
    const store = await open()
    const id = await given(store, plan('first', task('a'), task('b')))
    for (let at = 0; at < 170; at += 17)
      await store.logs.append(Array.from({ length: 17 }, (_, part) => log(id, `${FILLER} part${at + part}`)))
    await store.logs.append([log(id, 'toolate'), log(id, 'another', 'b')])
    const count = async (text: string) => (await store.search({ text })).items.length
    expect([await count('part165'), await count('part169'), await count('toolate')]).toEqual([1, 0, 0])
    expect(await count('another')).toBe(1)
    expect((await store.logs.read({ plan: id, after: 169 })).map(each => each.text)).toContain('toolate')
  })

  it('costs a step of a plan nothing: what a running plan writes is in none of its tables until somebody asks', async () => {
    const { open, path, commits } = setup()
    const store = await open()
    const id = await given(store, plan('first', task('a'), task('b', { needs: ['a'] })))
    await carryOut(store, id)
    expect(marksIn(path)).toMatchObject({ position: 0, log: 0 })
    const before = commits()
    await store.search({ text: 'first' })
    expect(commits()).toBe(before + 1)
    await store.search({ text: 'first' })
    await store.steps({ by: 'plan' })
    expect(commits()).toBe(before + 1)
    expect(marksIn(path)).toMatchObject({ position: await store.position() })
  })

  it('an entry that cannot be read hides nothing that stands behind it', async () => {
    const { open, raw } = setup()
    const store = await open()
    const id = await given(store, plan('first', task('a')))
    await must(store, id, { type: 'note', text: 'x' })
    await given(store, plan('second', task('a')), 2)
    raw(`UPDATE entries SET body = '{' WHERE position = 2`)
    expect((await store.search({ text: 'second' })).items).toHaveLength(1)
    expect((await store.search({ text: 'first' })).items).toHaveLength(1)
  })

  it('an item of memory that was being replaced when its process was killed is the old or the new one, with its words', async () => {
    const { folder, open } = setup()
    const store = await open()
    const place = { scope: 'project', owner: '' } as const
    await store.memories.put({ ...place, key: 'k', at: 7, expiresAt: null, body: 'older' }, 'older')
    const program = fileURLToPath(new URL('./catch-up.process.fixture.ts', import.meta.url))
    for (const [point, there, gone] of [
      ['store.commit:before', 'older', 'newer'],
      ['store.commit:after', 'newer', 'older'],
    ] as const) {
      const child = spawnSync(process.execPath, ['--import', 'tsx', program, folder, point, '1', 'newer'])
      expect(child.signal, String(child.stderr)).toBe('SIGKILL')
      expect(await store.memories.get([place], ['k'])).toMatchObject([{ body: there }])
      const found = async (word: string) =>
        (await store.memories.find({ places: [place], now: 7, words: [word] })).length
      expect([await found(there), await found(gone)]).toEqual([1, 0])
    }
  })
})
