import { rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { TaskName } from '../../domain/id.ts'
import { resolveEntry } from './entry-reference.ts'
import { realRooms, sh } from './perform-rollback.fixture.ts'

let place: Awaited<ReturnType<typeof realRooms>>
beforeEach(async () => {
  place = await realRooms()
  await place.run([
    sh('build', 'echo built > out'),
    sh('pack', 'echo packed >> out', { needs: ['build' as TaskName] }),
    sh('ship', 'echo shipped >> out', { needs: ['pack' as TaskName] }),
    { id: 'later' as TaskName, action: { type: 'external' }, needs: ['ship' as TaskName] },
  ])
  await place.submit({ type: 'checkpoint', name: 'good-one' })
})
afterEach(async () => {
  await place.close()
  rmSync(place.root, { recursive: true, force: true })
})

const out = () => readFile(join(place.root, 'out'), 'utf8')
const entries = async () => (await place.engine.ask({ type: 'entries', plan: 'plan', limit: 1000 })) ?? []

async function rolledBack(to: string): Promise<string> {
  const done = await place.submit({ type: 'rollback', to })
  if (!done.ok) throw new Error(done.refusal.message)
  await place.drive()
  return await out()
}

it('goes to a task, to before a task, and to the beginning of a name; fork and checkpoints mean the same', async () => {
  const points = (await place.engine.ask({ type: 'checkpoints', plan: 'plan' })) ?? []
  const after = (task: string) => points.find(one => one.task === task)!
  expect(await place.engine.ask({ type: 'checkpoint', plan: 'plan', checkpoint: 'cp-pack' })).toMatchObject({
    ok: true,
    card: after('pack'),
  })
  expect(await place.engine.ask({ type: 'checkpoint', plan: 'plan', checkpoint: 'good' })).toMatchObject({
    ok: true,
    card: { name: 'good-one' },
  })
  expect(await place.engine.ask({ type: 'checkpoint', plan: 'plan', checkpoint: 'before:pack' })).toMatchObject({
    ok: true,
    card: { why: 'entry', completed: ['build'] },
  })
  expect(await place.engine.ask({ type: 'checkpoint', plan: 'plan', checkpoint: 'cp-' })).toMatchObject({
    ok: false,
    refusal: { message: expect.stringContaining("'cp-' is the beginning of") },
  })
  const diff = await place.engine.ask({ type: 'checkpointDiff', plan: 'plan', from: 'build', to: 'cp-ship' })
  expect(diff).toMatchObject({ ok: true, changes: [{ path: 'out' }] })
  for (const [from, ended] of [
    ['before:pack', ['build']],
    ['pack', ['build', 'pack']],
    ['cp-pack', ['build', 'pack']],
  ] as const)
    expect(await place.submit({ type: 'fork', from })).toMatchObject({ ok: true, fork: { ended } })
  const preview = await place.engine.ask({ type: 'rollbackPreview', plan: 'plan', to: 'before:ship' })
  expect(preview).toMatchObject({ ok: true, label: 'before ship' })

  expect(await rolledBack('before:ship')).toBe('built\npacked\n')
  expect(await place.statuses()).toMatchObject({ pack: 'completed', ship: 'ready' })
  expect(await rolledBack('build')).toBe('built\n')
  expect(await place.statuses()).toMatchObject({ build: 'completed', pack: 'ready' })
})

it('says what is wrong with a word that means several places or none', async () => {
  const all = await entries()
  const say = (word: string) => resolveEntry(all, word)
  expect(say('cp-')).toMatchObject({
    code: 'invalid',
    message: expect.stringContaining('is the beginning of 3 checkpoints: cp-build-'),
  })
  expect(say('later')).toMatchObject({ code: 'not-ready', message: "the task 'later' has not ended" })
  expect(say('before:later')).toMatchObject({ code: 'not-ready', message: "the task 'later' has not begun" })
  expect(say('before:pakc')).toMatchObject({ code: 'not-found', hint: "did you mean 'before:pack'?" })
  expect(say('nowhere-near')).toMatchObject({ code: 'not-found' })
  expect(say('0')).toMatchObject({ code: 'not-found' })
  expect(say('')).toMatchObject({ code: 'not-found' })
  expect(say('9'.repeat(15))).toMatchObject({ code: 'not-found' })
  expect(say('good-one')).toMatchObject({ checkpoint: { name: 'good-one' } })
  expect(say('2')).toMatchObject({ version: 2 })
})

it('a task that a rollback opened and an undo brought back ended where its own work ended', async () => {
  expect(await rolledBack('before:build').catch(() => 'gone')).toBe('gone')
  const undone = await place.submit({ type: 'undo' })
  if (!undone.ok) throw new Error(undone.refusal.message)
  await place.drive()
  expect(await out()).toBe('built\npacked\nshipped\n')
  expect(await rolledBack('build')).toBe('built\n')
  expect(await place.statuses()).toMatchObject({ build: 'completed', pack: 'ready' })
})
