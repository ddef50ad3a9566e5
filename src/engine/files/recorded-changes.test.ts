// The recorded versions of a file: through renames by tasks and by people, and what it is called today.

import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { edit, realRooms, sh } from '../rollback/perform-rollback.fixture.ts'
import { RecordedChanges } from './recorded-changes.ts'

const text = (...lines: readonly string[]): string => lines.map(line => `${line}\n`).join('')

describe('the recorded changes of a file', () => {
  let scene: Awaited<ReturnType<typeof realRooms>>
  const put = (path: string, content: string): void => writeFileSync(join(scene.root, path), content)
  const shown = async (path: string) => {
    const changes = await RecordedChanges.read(scene.rooms)
    const size = readFileSync(join(scene.root, path)).length
    const sha256 = (await scene.rooms.store.blobs.put(readFileSync(join(scene.root, path)))) as never
    const found = await changes.backwards(path, { type: 'file', mode: 0o644, size, sha256 })
    return found.map(
      ({ record, from, path }) => `${'task' in record.event ? record.event.task : 'engine'} ${from} ${path}`,
    )
  }
  const today = async () => await (await RecordedChanges.read(scene.rooms)).today('a.txt', 0)
  beforeAll(async () => {
    scene = await realRooms()
    await scene.run([
      edit('make', 'a.txt', text('one', 'two', 'three', 'four')),
      sh('move', `sed -i 's/four/fore/; 1i zero' a.txt && mv a.txt b.txt`, { needs: ['make' as never] }),
    ])
  })
  afterAll(async () => {
    await scene.close()
    rmSync(scene.base, { recursive: true, force: true })
  })

  it('follow a task that renamed and changed it', async () => {
    expect(await shown('b.txt')).toEqual(['move a.txt b.txt', 'make a.txt a.txt'])
    expect(await today()).toBe('b.txt')
  })

  it('follow a person who renamed it, also one who edited it then', async () => {
    renameSync(join(scene.root, 'b.txt'), join(scene.root, 'c.txt'))
    expect(await shown('c.txt')).toEqual(['move a.txt b.txt', 'make a.txt a.txt'])
    put('c.txt', text('zero', 'one', 'two', 'by hand', 'fore'))
    expect(await shown('c.txt')).toEqual(['move a.txt b.txt', 'make a.txt a.txt'])
    put('d.txt', text('nothing', 'in common'))
    expect(await shown('d.txt')).toEqual([])
    const definition = {
      name: 'later' as never,
      tasks: [edit('again', 'b.txt', text('a new file', 'of the old name'))],
    }
    const later = await scene.engine.submit(null, { type: 'create', definition })
    if (!later.ok) throw new Error(later.refusal.message)
    await scene.engine.submit(later.plan, { type: 'start' })
    await scene.worker.drive(later.plan, { stop: new AbortController().signal })
    expect(readFileSync(join(scene.root, 'b.txt'), 'utf8')).toContain('a new file')
    expect(await shown('c.txt')).toEqual(['move a.txt b.txt', 'make a.txt a.txt'])
    // Not looked for: what no plan renamed.
    expect(await today()).toBe('b.txt')
  })
})
