// Changes outside the write scope of a claimed task: the report waits until somebody has said whose they are, nothing is reverted by
// itself, and the review and the rollback know every path. With real files.

import { existsSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Actor } from '../../domain/id.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import { external, gate, name } from '../../testing/index.ts'
import { EngineLocal } from '../engine-local.ts'
import { trusted } from '../roles.ts'
import { ME, realRooms, sh } from '../rollback/perform-rollback.fixture.ts'

const BOT = 'bot' as Actor
const OTHER = 'other' as Actor
const DONE = { type: 'report', task: name('fix'), result: { status: 'succeeded' } } as const

let place: Awaited<ReturnType<typeof realRooms>>
beforeEach(async () => {
  place = await realRooms()
  put('package.json', 'v1\n')
  put('src/cart.js', 'old\n')
})
afterEach(() => place.close())

function put(file: string, text: string): void {
  mkdirSync(dirname(join(place.root, file)), { recursive: true })
  writeFileSync(join(place.root, file), text)
}
const text = (file: string) => {
  const path = join(place.root, file)
  return existsSync(path) ? readFileSync(path, 'utf8') : null
}

async function claimed(tasks: readonly TaskDefinition[] = [], write: readonly string[] = ['src/**']) {
  await place.run([{ ...external('fix'), write }, ...tasks])
  await claim()
}

async function claim(by = BOT, task = 'fix') {
  const made = await place.engine.as(by).submit('plan', { type: 'claim', task: name(task) })
  if (!made.ok) throw new Error(made.refusal.message)
}

async function report(more: { readonly notMine?: readonly string[] } = {}) {
  const done = await place.engine.as(BOT).submit('plan', { ...DONE, ...more })
  if (!done.ok) throw new Error(done.refusal.message)
  return done.events.find(({ type }) => type === 'report.refused' || type === 'attempt.succeeded')
}

const asked = async () => (await place.engine.ask({ type: 'summary', plan: 'plan' }))?.asked ?? []

async function answer(whose: 'task' | 'other') {
  const [question] = await asked()
  const done = await place.engine.as(ME).submit('plan', { type: 'answer', id: question!.id, answers: { whose } })
  if (!done.ok) throw new Error(done.refusal.message)
}

async function rollBack() {
  const ordered = await place.engine.submit('plan', { type: 'rollback', tasks: [name('fix')] })
  if (!ordered.ok) throw new Error(ordered.refusal.message)
  await place.drive()
}

test('the report waits, names every path, and reverts nothing; taken back, it is accepted', async () => {
  await claimed()
  put('src/cart.js', 'new\n')
  put('package.json', 'v2\n')
  put('lock/deep.json', 'new\n')
  const refused = await report()
  expect(refused).toMatchObject({
    type: 'report.refused',
    failure: {
      code: 'outside-scope',
      message:
        'changed outside its write scope since it was first claimed: lock/deep.json, package.json (it may write src/**)',
    },
  })
  expect([text('package.json'), text('lock/deep.json')]).toEqual(['v2\n', 'new\n'])
  expect(await asked()).toMatchObject([{ by: 'planfold', task: 'fix', form: [{ choices: ['other', 'task'] }] }])
  // Asked once, however often it is reported.
  await report()
  expect(await asked()).toHaveLength(1)
  put('package.json', 'v1\n')
  expect(await report()).toMatchObject({ type: 'report.refused' })
  expect((await asked()).map(one => one.text)).toEqual([expect.stringContaining('claimed: lock/deep.json. Do')])
  put('lock/deep.json', 'kept by the agent\n')
  expect(await report({ notMine: ['lock/**'] })).toMatchObject({
    type: 'attempt.succeeded',
    result: { beside: { appeared: ['lock/deep.json'], disclaimed: true } },
  })
  expect(await asked()).toEqual([])
  expect((await place.rooms.store.check({ readData: true })).faults).toEqual([])
})

test('what a person says is part of the task is its work: a rollback reverts it, and undo brings it back', async () => {
  await claimed()
  put('src/cart.js', 'new\n')
  put('package.json', 'v2\n')
  put('lock/deep.json', 'new\n')
  await report()
  await answer('task')
  expect(await report()).toMatchObject({ type: 'attempt.succeeded', result: { wrote: { paths: 4 } } })
  await rollBack()
  expect([text('src/cart.js'), text('package.json'), text('lock/deep.json')]).toEqual(['old\n', 'v1\n', null])
  await place.submit({ type: 'undo' })
  await place.drive()
  expect([text('src/cart.js'), text('package.json'), text('lock/deep.json')]).toEqual(['new\n', 'v2\n', 'new\n'])
})

test('what runs in the shell of an agent does not answer for the person', async () => {
  await claimed()
  put('package.json', 'v2\n')
  await report()
  const [question] = await asked()
  const order = { type: 'answer', id: question!.id, answers: { whose: 'task' } } as const
  Object.assign(place.rooms.environment, { CLAUDECODE: '1' })
  const { isPerson: _, ...program } = trusted(ME)
  expect(await new EngineLocal(place.rooms, program).submit('plan', order)).toMatchObject({
    ok: false,
    refusal: { message: 'a coding agent may not answer this' },
  })
})

test('what a person says is somebody else’s stays, and the review and the rollback name it', async () => {
  await claimed([{ ...gate('look'), needs: [name('fix')], action: { type: 'gate', gate: 'diff' } }])
  put('src/cart.js', 'new\n')
  put('package.json', 'my own edit\n')
  await report()
  await answer('other')
  expect(await report()).toMatchObject({
    type: 'attempt.succeeded',
    result: { wrote: { paths: 1 }, beside: { changed: ['package.json'], disclaimed: true } },
  })
  await place.drive()
  const [waiting] = (await place.engine.ask({ type: 'summary', plan: 'plan' }))?.waiting ?? []
  const shown = await place.rooms.store.blobs.get(waiting!.shown!)
  expect(JSON.parse(Buffer.from(shown!).toString())).toMatchObject({
    reviewed: [{ path: 'src/cart.js' }],
    beside: [expect.stringMatching(/^package\.json changed while fix ran.*said not to be its work$/)],
  })
  const preview = await place.engine.ask({ type: 'rollbackPreview', plan: 'plan', tasks: [name('fix')] })
  expect(JSON.stringify(preview)).toContain('package.json appeared or changed beside its scope')
  await rollBack()
  expect([text('src/cart.js'), text('package.json')]).toEqual(['old\n', 'my own edit\n'])
})

test('a task that is claimed after the change, by whomever, is no excuse', async () => {
  await claimed([{ ...external('cover'), write: ['package.json'] }])
  put('package.json', 'evil\n')
  // The clock of the file system ticks coarsely: until it is certainly later.
  const mark = (file: string) => statSync(join(place.root, file)).ctimeMs
  await expect
    .poll(() => {
      put('src/tick', `${performance.now()}`)
      return mark('src/tick') - mark('package.json')
    })
    .toBeGreaterThan(100)
  await claim(OTHER, 'cover')
  expect(await report()).toMatchObject({ type: 'report.refused' })
  await place.engine.as(OTHER).submit('plan', { ...DONE, task: name('cover') })
  expect(await report()).toMatchObject({ type: 'report.refused' })
})

test('a new file that ignores everything, and itself, hides nothing', async () => {
  put('pkg/index.js', 'old\n')
  await claimed()
  put('package.json', 'evil\n')
  put('.planfoldignore', '*\n')
  put('pkg/.gitignore', '*\n')
  expect(await report()).toMatchObject({
    failure: { message: expect.stringMatching(/: \.planfoldignore, package\.json, pkg\/\.gitignore \(/) },
  })
})

test('the cache of a tool, which ignores itself in a folder of its own, asks nobody', async () => {
  await claimed()
  put('.pytest_cache/.gitignore', '*\n')
  put('.pytest_cache/v/lastfailed', '{}\n')
  expect(await report()).toMatchObject({ type: 'attempt.succeeded' })
})

test('a file too big to store is named, in the scope or outside, and a rollback never deletes it', async () => {
  put('src/big.bin', '')
  await claimed()
  for (const file of ['src/big.bin', 'other.bin']) {
    put(file, 'x')
    truncateSync(join(place.root, file), 200 << 20)
  }
  expect(await report()).toMatchObject({ failure: { message: expect.stringMatching(/claimed: other\.bin \(/) } })
  await answer('task')
  const done = await report()
  expect(done).toMatchObject({ type: 'attempt.succeeded' })
  expect(JSON.stringify(done)).toMatch(/"uncovered":.*big\.bin.*other\.bin/)
  const ordered = await place.engine.submit('plan', { type: 'rollback', tasks: [name('fix')], every: 'take' })
  if (ordered.ok) await place.drive()
  expect([text('src/big.bin')?.length, text('other.bin')?.length]).toEqual([200 << 20, 200 << 20])
})

test('neither a failed report nor a rollback makes it forgotten', async () => {
  await claimed()
  put('package.json', 'evil\n')
  const failure = { class: 'logic', message: 'I cannot', retryable: false } as const
  await place.engine.as(BOT).submit('plan', { ...DONE, result: { status: 'failed', failure } })
  await place.submit({ type: 'retry', task: name('fix') })
  await claim()
  expect(await report()).toMatchObject({ type: 'report.refused' })
  await place.submit({ type: 'release', task: name('fix') })
  await rollBack()
  await place.submit({ type: 'resume' })
  await claim()
  expect(await report()).toMatchObject({ type: 'report.refused' })
})

test('a task that may write nothing and changed a file does not pass', async () => {
  await claimed([], [])
  put('src/cart.js', 'new\n')
  expect(await report()).toMatchObject({
    failure: { message: expect.stringContaining('src/cart.js (it may write nothing)') },
  })
})

test('what other tasks wrote meanwhile is theirs, whether they declared it or not', async () => {
  const early = sh('early', 'echo early > package.json', { write: ['package.json'] })
  await place.run([
    early,
    { ...external('fix'), write: ['src/**'] },
    { ...external('docs'), write: ['docs/**'] },
    external('any'),
  ])
  await claim()
  await claim(OTHER, 'docs')
  put('docs/a.md', 'theirs\n')
  await claim(OTHER, 'any')
  put('elsewhere.txt', 'theirs as well\n')
  await place.engine.as(OTHER).submit('plan', { ...DONE, task: name('any') })
  expect(await report()).toMatchObject({ type: 'attempt.succeeded' })
})

test('a path of a task that ended before the claim is outside like any other', async () => {
  const early = sh('early', 'echo early > package.json', { write: ['package.json'] })
  await place.run([early, { ...external('fix'), write: ['src/**'], needs: [name('early')] }])
  await claim()
  put('package.json', 'v2\n')
  expect(await report()).toMatchObject({ type: 'report.refused' })
})

test('what a lapsed claim left outside is named, and waits for the next report', async () => {
  await claimed()
  put('package.json', 'v2\n')
  const released = await place.submit({ type: 'release', task: name('fix') })
  expect(released).toMatchObject({
    events: [{ type: 'attempt.lost', reason: expect.stringContaining('outside its write scope: package.json') }],
  })
  await claim()
  expect(await report()).toMatchObject({ failure: { message: expect.stringContaining('package.json') } })
})

test('a failed report records it, and asks nobody', async () => {
  await claimed()
  put('package.json', 'v2\n')
  const failure = { class: 'logic', message: 'I cannot', retryable: false } as const
  const done = await place.engine.as(BOT).submit('plan', { ...DONE, result: { status: 'failed', failure } })
  const ended = done.ok && done.events.find(({ type }) => type === 'attempt.failed')
  expect(ended).toMatchObject({ result: { beside: { changed: ['package.json'] } } })
  expect(await asked()).toEqual([])
})

test('a scope that a person widens makes it part of the work', async () => {
  await claimed()
  put('package.json', 'v2\n')
  await report()
  const definition = (await place.engine.ask({ type: 'definition', plan: 'plan' }))!.definition
  const tasks = definition.tasks.map(task => ({ ...task, write: ['src/**', 'package.json'] }))
  const revised = await place.submit({ type: 'revise', definition: { ...definition, tasks }, rationale: 'it needs it' })
  expect(revised).toMatchObject({ ok: true })
  expect(await report()).toMatchObject({ type: 'attempt.succeeded', result: { wrote: { paths: 1 } } })
  await rollBack()
  expect(text('package.json')).toBe('v1\n')
})
