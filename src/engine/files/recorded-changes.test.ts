// The recorded versions of a file: through renames by tasks and by people, and what of a task's lines stands today.

import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { edit, realRooms, sh } from '../rollback/perform-rollback.fixture.ts'
import { linesToday, RecordedChanges } from './recorded-changes.ts'

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
  const today = async (task: string, path: string, lines: readonly number[]) => {
    const all = await RecordedChanges.read(scene.rooms)
    const left = (await all.forwards(path)).find(({ record }) => 'task' in record.event && record.event.task === task)!
    const since = await RecordedChanges.read(scene.rooms, { after: left.record.position })
    const found = await linesToday(scene.rooms, since, { path, left: left.after, lines })
    return [found.path, ...found.lines.values()]
  }
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
    expect(await today('make', 'a.txt', [1, 4])).toEqual(['b.txt', 2, null])
  })

  it('follow a person who renamed it, also one who edited it then', async () => {
    renameSync(join(scene.root, 'b.txt'), join(scene.root, 'c.txt'))
    expect(await shown('c.txt')).toEqual(['move a.txt b.txt', 'make a.txt a.txt'])
    put('c.txt', text('zero', 'one', 'two', 'by hand', 'fore'))
    expect(await shown('c.txt')).toEqual(['move a.txt b.txt', 'make a.txt a.txt'])
    put('d.txt', text('nothing', 'in common'))
    expect(await shown('d.txt')).toEqual([])
    renameSync(join(scene.root, 'c.txt'), join(scene.root, 'b.txt'))
    expect(await today('make', 'a.txt', [1, 3])).toEqual(['b.txt', 2, null])
  })

  it('say that the lines of a deleted file are gone', async () => {
    rmSync(join(scene.root, 'b.txt'))
    expect(await today('move', 'a.txt', [1])).toEqual([null, null])
  })
})
