// A restore cut off at every single change it makes, and begun again. Death is played by a file system that, from one call
// on, answers nothing any more, not even to those who tidy up.

import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { clearTree, dir, file, link, makeTree, readTree, setup, tree } from '../tree.fixture.ts'

const life = vi.hoisted(() => ({ left: Number.POSITIVE_INFINITY, changes: 0 }))

vi.mock('node:fs/promises', async importOriginal => {
  const real = await importOriginal<typeof import('node:fs/promises')>()
  const wrapped: { [name: string]: unknown } = { ...real }
  const dies = (name: 'rename' | 'link' | 'unlink' | 'rmdir' | 'mkdir' | 'symlink' | 'chmod' | 'open') => {
    wrapped[name] = (...args: unknown[]) => {
      const changes = name !== 'open' || (typeof args[1] === 'number' && (args[1] & fs.constants.O_CREAT) !== 0)
      if (changes) life.changes++
      if (changes && life.left-- <= 0) life.left = -1
      if (life.left < 0) throw new Error('dead')
      return (real[name] as (...all: unknown[]) => unknown)(...args)
    }
  }
  for (const name of ['rename', 'link', 'unlink', 'rmdir', 'mkdir', 'symlink', 'chmod', 'open'] as const) dies(name)
  return wrapped
})

test('P31 a restore cut off anywhere and run again ends exact, and everything is still stored', async () => {
  const before = tree({
    src: dir({
      a: file('a'),
      gone: file('g', 0o755),
      kept: file('k'),
      turned: file('t'),
      l: link('a'),
      d: dir({ x: file('x'), y: dir({}) }),
    }),
    was: dir({ dir: file('d') }, 0o555),
  })
  const after = tree({
    src: dir({
      a: file('A'),
      kept: file('k', 0o600),
      turned: dir({ n: dir({ m: file('m') }) }),
      l: link('b'),
      d: link('no/where'),
      made: dir({ f: file('f') }),
    }),
    was: file('a file now'),
  })
  for (let cut = 0; ; cut++) {
    const { root, blobs, capture, restore } = setup(before)
    const wanted = readTree(root)
    const { manifest } = await capture('**')
    clearTree(root)
    makeTree(root, after)
    Object.assign(life, { left: cut, changes: 0 })
    const outcome = await restore(manifest).then(
      () => 'done',
      error => (error as Error).message,
    )
    const finished = life.left >= 0
    Object.assign(life, { left: Number.POSITIVE_INFINITY })
    expect(outcome).toBe(finished ? 'done' : 'dead')
    buryTemporaries(root)
    await restore(manifest)
    expect(readTree(root), `cut at ${cut}`).toEqual(wanted)
    for (const content of ['A', 'm', 'f', 'a file now']) {
      expect([...blobs.stored.values()].some(blob => blob.equals(Buffer.from(content)))).toBe(true)
    }
    clearTree(root)
    if (finished) {
      expect(cut).toBeGreaterThan(20)
      return
    }
  }
})

/** In a real crash their writer is dead; here it is us, so they get the name of a process that cannot be. */
function buryTemporaries(root: string): void {
  for (const path of fs.readdirSync(root, { recursive: true }) as string[]) {
    const name = path.split('/').pop()!
    if (!name.startsWith(`.planfold-${process.pid}-`)) continue
    fs.renameSync(join(root, path), join(root, path, '..', name.replace(String(process.pid), '2000000000')))
  }
}
