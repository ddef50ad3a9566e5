import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeGround, must, open, written } from '../snapshots/snapshots.fixture.ts'
import { placeName } from './path-text.ts'

test('the workspace has the plain name, every other folder one of its own, and both may move together', () => {
  const { base } = makeGround()
  const folders = (at: string) => {
    const stateDir = join(at, 'w', '.planfold')
    fs.mkdirSync(join(stateDir, 'work', 'a'), { recursive: true })
    fs.mkdirSync(join(stateDir, 'work', 'b'), { recursive: true })
    return [join(at, 'w'), join(stateDir, 'work', 'a'), join(stateDir, 'work', 'b'), at].map(root =>
      placeName('rollback', { root, stateDir }),
    )
  }
  const names = folders(join(base, 'one'))
  expect(names[0]).toBe('rollback')
  expect(new Set(names).size).toBe(4)
  expect(names.every(name => /^[a-z][a-z0-9-]{0,60}$/.test(name))).toBe(true)
  expect(folders(join(base, 'elsewhere'))).toEqual(names)
  // A way through a link is the same way.
  fs.symlinkSync(join(base, 'one', 'w'), join(base, 'link'))
  expect(placeName('rollback', { root: join(base, 'link'), stateDir: join(base, 'one', 'w', '.planfold') })).toBe(
    'rollback',
  )
})

test('a rollback in one folder is not told of, finished or settled in another of the same store', async () => {
  const ground = makeGround()
  const other = { ...ground, root: join(ground.base, 'other') }
  fs.mkdirSync(other.root)
  for (const { root } of [ground, other]) fs.writeFileSync(join(root, 'a'), 'before')
  const [one, two] = [open(ground), open(other)]
  const before = await one.snapshot()
  fs.writeFileSync(join(ground.root, 'a'), 'after')
  const changes = await one.diff(before.manifest, 'now')
  must(await one.snapshots.rollback(before.manifest, written(changes.changes), { about: 'one' }))
  expect(await two.snapshots.resume()).toBeNull()
  await two.snapshots.settled()
  expect(await open(ground).snapshots.resume()).toMatchObject({ ok: true, about: 'one' })
  await one.snapshots.settled()
  expect(await one.snapshots.resume()).toBeNull()
})
