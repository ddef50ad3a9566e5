// Choices for paths where somebody has worked since, and the order that goes back.

import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { FilePreview } from '../engine/engine.ts'
import { realRooms, sh } from '../engine/rollback/perform-rollback.fixture.ts'
import { requestRollback } from './agents/request-rollback.ts'
import {
  choiceFor,
  isRollbackEnd,
  orderRollback,
  previewRollback,
  readChoices,
  undecidedFiles,
} from './rollback-plan.ts'

const file = (path: string, conflict?: 'edited since'): FilePreview =>
  ({ path, will: 'restore', conflict }) as FilePreview
const FILES = [file('src/a', 'edited since'), file('src/b', 'edited since'), file('quiet')]
const inFolder = (word: string, paths: readonly string[]) =>
  paths.filter(path => path === word || path.startsWith(`${word}/`))

describe('choices', () => {
  const read = (said: Parameters<typeof readChoices>[1]) => readChoices(FILES, said, inFolder)

  it('are read for single paths, for folders and for all', () => {
    expect(read({})).toEqual({ ok: true, choices: {} })
    expect(read({ keep: ['src/a'], take: ['all'] })).toEqual({
      ok: true,
      choices: { choices: { 'src/a': 'keep' }, every: 'take' },
    })
    expect(read({ merge: ['src'] })).toEqual({
      ok: true,
      choices: { choices: { 'src/a': 'merge', 'src/b': 'merge' } },
    })
  })

  it('do not contradict each other, and mean a path that needs one', () => {
    const fault = (said: Parameters<typeof read>[0]) => {
      const found = read(said)
      return found.ok ? null : found.fault
    }
    expect(fault({ keep: ['all'], take: ['all'] })).toEqual({ what: 'two-for-all' })
    expect(fault({ keep: ['src/a'], merge: ['src'] })).toEqual({ what: 'two-for-path', path: 'src/a' })
    expect(fault({ keep: ['nowhere'] })).toEqual({ what: 'no-path', word: 'nowhere' })
    expect(fault({ take: ['quiet'] })).toEqual({ what: 'no-conflict', word: 'quiet' })
    // What the plan left there can be kept as it is.
    expect(read({ keep: ['quiet'] })).toEqual({ ok: true, choices: { choices: { quiet: 'keep' } } })
  })

  it('leave undecided what nobody chose; force takes theirs', () => {
    const paths = (ask: Parameters<typeof undecidedFiles>[1]) => undecidedFiles(FILES, ask).map(({ path }) => path)
    expect(paths({})).toEqual(['src/a', 'src/b'])
    expect(paths({ choices: { 'src/b': 'keep' } })).toEqual(['src/a'])
    expect([paths({ every: 'merge' }), paths({ force: true })]).toEqual([[], []])
    expect(choiceFor({ every: 'merge', choices: { x: 'keep' } }, 'x')).toBe('keep')
    expect(choiceFor({ force: true }, 'x')).toBe('take')
  })
})

describe('a rollback', () => {
  let place: Awaited<ReturnType<typeof realRooms>>
  afterEach(async () => {
    await place.close()
    rmSync(place.base, { recursive: true, force: true })
  })

  it('is foreseen, ordered and seen through; a plan that nobody drives is held still meanwhile', async () => {
    place = await realRooms()
    const path = join(place.root, 'made')
    writeFileSync(path, 'before\n')
    await place.run([sh('one', 'echo after > made'), { id: 'rest' as never, action: { type: 'external' } }])
    const { engine } = place
    const { plan } = (await engine.ask({ type: 'find', reference: 'plan' }))!
    const wanted = { plan, kind: 'rollback', ask: { filesOnly: true } } as const
    expect(await previewRollback(engine, wanted)).toMatchObject({ ok: true, files: [{ path: 'made' }] })
    const done = await orderRollback(
      engine,
      wanted,
      async accepted => {
        await place.drive()
        const entries = (await engine.ask({ type: 'entries', plan, after: accepted.version, limit: 100 })) ?? []
        return entries.flatMap(entry => entry.events).find(isRollbackEnd) ?? null
      },
      { holdStill: true },
    )
    expect(done).toMatchObject({ status: 'ordered', carried: { type: 'rollback.finished' } })
    const entries = (await engine.ask({ type: 'entries', plan, limit: 100 })) ?? []
    const types = entries.flatMap(entry => entry.events.map(({ type }) => type))
    const held = ['plan.paused', 'rollback.started', 'rollback.finished', 'plan.resumed']
    expect(types.filter(type => held.includes(type))).toEqual([...held.slice(0, 3), 'plan.paused', 'plan.resumed'])
    expect(await orderRollback(engine, { ...wanted, ask: { to: 'nowhere' } }, async () => null)).toMatchObject({
      status: 'refused',
    })
  })

  it('that an agent asked for answers its question, once it is done', async () => {
    place = await realRooms()
    await place.run([sh('one', 'echo after > made'), { id: 'rest' as never, action: { type: 'external' } }])
    const { engine } = place
    const { plan } = (await engine.ask({ type: 'find', reference: 'plan' }))!
    const task = 'one' as never
    expect(await requestRollback(engine, { plan, task }, { why: 'it is wrong', command: () => 'x' })).toMatchObject({
      status: 'asked',
    })
    const asked = async () => (await engine.ask({ type: 'summary', plan }))?.asked ?? []
    expect(await asked()).toMatchObject([{ text: expect.stringContaining('a person resumes the plan afterwards') }])
    const wanted = { plan, kind: 'rollback', ask: { tasks: [task], includeUnclaimed: true } } as const
    await orderRollback(engine, wanted, async () => await place.drive())
    expect(await asked()).toEqual([])
  })
})
