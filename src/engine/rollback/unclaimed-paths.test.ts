// What changed while a task without a scope ran may be a person's: a rollback names it and leaves it, unless it is included. Real files.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { TaskName } from '../../domain/id.ts'
import type { Order } from '../engine.ts'
import { realRooms, sh } from './perform-rollback.fixture.ts'

let place: Awaited<ReturnType<typeof realRooms>>
beforeEach(async () => {
  place = await realRooms()
})
afterEach(async () => await place.close())

const at = (path: string): string => join(place.root, path)
const text = (path: string): string | null => (existsSync(at(path)) ? readFileSync(at(path), 'utf8') : null)
/** As somebody orders it who includes nothing. */
const roll = async (
  order: Partial<Extract<Order, { type: 'rollback' }>> = {},
  type: 'rollback' | 'undo' = 'rollback',
) => {
  const done = await place.submit({ type, includeUnclaimed: undefined, ...order } as never)
  if (!done.ok) throw new Error(done.refusal.message)
  await place.drive()
  const entries = (await place.engine.ask({ type: 'entries', plan: 'plan', limit: 500 })) ?? []
  return entries.flatMap(({ events }) => events).findLast(({ type }) => type === 'rollback.finished')
}
const preview = async (ask: object = {}) => {
  const found = await place.engine.ask({ type: 'rollbackPreview', plan: 'plan', ...ask })
  return found?.ok === true ? found.files : found
}

/** One task says nothing, and somebody edits `mine` while it runs; the other says what it writes. */
async function worked(): Promise<void> {
  writeFileSync(at('mine'), 'mine\n')
  await place.run([
    sh('loose', 'echo edited > mine; echo new > fresh; mkdir -p out; echo loose > out/loose'),
    sh('strict', 'mkdir -p out; echo strict > out/strict', {
      needs: ['loose' as TaskName],
      write: ['out/strict'],
      network: [],
    }),
  ])
}
const states = () => ['mine', 'fresh', 'out/loose', 'out/strict'].map(text)
const AFTER = ['edited\n', 'new\n', 'loose\n', 'strict\n']

describe('what no task declares', () => {
  it('is marked in the preview and stays, with the folders it lies in; what a task declares goes back', async () => {
    await worked()
    const why = 'perhaps yours: it changed while loose ran'
    expect(await preview()).toEqual([
      { path: 'fresh', will: 'leave', why, unclaimed: 'delete' },
      { path: 'mine', will: 'leave', why, unclaimed: 'restore' },
      { path: 'out/loose', will: 'leave', why, unclaimed: 'delete' },
      { path: 'out/strict', will: 'delete' },
    ])
    expect(await roll()).toMatchObject({ paths: 1, left: [{ reason: why }, { reason: why }, { reason: why }] })
    expect(states()).toEqual(['edited\n', 'new\n', 'loose\n', null])
    // Exactly what went back comes back.
    expect(await roll({}, 'undo')).toMatchObject({ paths: 1 })
    expect(states()).toEqual(AFTER)
  })

  it('goes back when it is included, and comes back by undo', async () => {
    await worked()
    expect(await preview({ includeUnclaimed: true })).toContainEqual({
      path: 'mine',
      will: 'restore',
      why: 'perhaps yours: it changed while loose ran',
      unclaimed: 'restore',
    })
    await roll({ includeUnclaimed: true })
    expect([...states(), existsSync(at('out'))]).toEqual(['mine\n', null, null, null, false])
    await roll({}, 'undo')
    expect(states()).toEqual(AFTER)
    // A second rollback asks again.
    expect(await preview()).toContainEqual(expect.objectContaining({ path: 'mine', will: 'leave' }))
    // And to do again what was undone is exact, too.
    await roll({}, 'undo')
    expect(states()).toEqual(['mine\n', null, null, null])
  })

  it('goes back later, when it was left first', async () => {
    await worked()
    await roll()
    await roll({ includeUnclaimed: true })
    expect(states()).toEqual(['mine\n', null, null, null])
  })

  it('goes back by its name', async () => {
    await worked()
    await roll({ choices: { mine: 'take' } })
    expect(states()).toEqual(['mine\n', 'new\n', 'loose\n', null])
    await roll({ files: ['fresh'] })
    expect(text('fresh')).toBe(null)
  })

  it('is claimed by a task that says so, also where all files were compared around it', async () => {
    await place.run([sh('net', 'echo a > got; echo b > other', { write: ['got'] })])
    expect(await preview()).toEqual([
      { path: 'got', will: 'delete' },
      { path: 'other', will: 'leave', why: 'perhaps yours: it changed while net ran', unclaimed: 'delete' },
    ])
  })

  it('stays when a failed plan goes back by itself, and is named', async () => {
    writeFileSync(at('mine'), 'mine\n')
    await place.run([sh('loose', 'echo edited > mine; exit 1')], { policy: { onFailure: 'rollback' } })
    expect(text('mine')).toBe('edited\n')
    expect((await place.engine.ask({ type: 'summary', plan: 'plan' }))?.reason).toContain("except 'mine'")
  })
})

describe('a task that says what it writes', () => {
  const verdicts = async (task: string) => {
    const page = await place.engine.ask({ type: 'taskPage', plan: 'plan', task })
    return page?.attempts.flatMap(one => one.verdicts)
  }
  const look = (until: string) =>
    sh('look', `until test -e ${until}; do sleep 0.02; done; touch seen`, { write: ['seen'], effect: 'idempotent' })

  it('is not told to have changed the new folder of a task beside it', async () => {
    await place.run([
      look('dist/app'),
      sh('build', 'mkdir dist; echo app > dist/app; until test -e seen; do sleep 0.02; done', {
        write: ['dist/**'],
        network: [],
      }),
    ])
    expect(await verdicts('look')).toEqual([])
  })

  it('nor what a task beside it did that says nothing', async () => {
    await place.run([
      look('tmp/asked'),
      sh('flaky', 'mkdir tmp; touch tmp/asked; until test -e seen; do sleep 0.02; done'),
    ])
    expect(await verdicts('look')).toEqual([])
  })

  it('what changed meanwhile is told as what it is', async () => {
    await place.run([sh('look', 'touch seen other', { write: ['seen'] })])
    expect(await verdicts('look')).toMatchObject([{ holds: false, evidence: 'other changed while it ran' }])
  })
})
