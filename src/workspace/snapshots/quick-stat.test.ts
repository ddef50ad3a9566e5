// A walk that remembers must say the same as one that sees everything for the first time.

import * as fs from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Sha256 } from '../../domain/id.ts'
import { OpenFolder, stampOf } from '../files/open-folder.ts'
import { dir, file, tree } from '../tree.fixture.ts'
import { isSameStat, quickStatsOf } from './quick-stat.ts'
import { makeGround, open } from './snapshots.fixture.ts'
import type { CachedFile } from './stat-cache.ts'

const RUNS = Math.max(20, Number(process.env.PLANFOLD_TREES ?? 0) / 20)

test('times are rounded as Node rounds them, long ago and far ahead, and any difference counts', () => {
  const { root } = makeGround(tree({ f: file('content') }))
  const path = join(root, 'f')
  fc.assert(
    fc.property(fc.integer({ min: -4_000_000_000, max: 8_000_000_000 }), fc.nat(999_999), (seconds, micros) => {
      fs.utimesSync(path, seconds + micros / 1e6, seconds + micros / 1e6)
      const exact = stampOf(fs.lstatSync(path, { bigint: true }))
      const known: CachedFile = {
        ...exact,
        row: { type: 'file', mode: exact.mode, size: exact.size, sha256: '0'.repeat(64) as Sha256 },
        settled: true,
      }
      const stat = fs.lstatSync(path)
      const glances = quickStatsOf(['f'], new Map([['f', known]]))
      expect(isSameStat(glances, 0, stat)).toBe(true)
      for (const change of [
        { ctimeNs: exact.ctimeNs + 1_000n },
        { mtimeNs: exact.mtimeNs - 1_000n },
        { ino: exact.ino + 1n },
        { size: exact.size + 1 },
      ]) {
        const other = quickStatsOf(['f'], new Map([['f', { ...known, ...change }]]))
        expect(isSameStat(other, 0, stat)).toBe(false)
      }
      expect(quickStatsOf(['f'], new Map([['f', { ...known, settled: false }]])).files).toEqual([null])
    }),
    { numRuns: 200 },
  )
})

test('a folder that was moved is still looked at; at its old place one only glances', () => {
  const { root } = makeGround(tree({ d: dir({ f: file('mine') }), e: dir({ f: file('another') }) }))
  const top = OpenFolder.open(root)
  const held = top.enter('d')
  fs.renameSync(join(root, 'd'), join(root, 'away'))
  expect([held.look('f')?.size, held.glance('f')]).toEqual([4n, null])
  fs.symlinkSync('e', join(root, 'd'))
  expect([held.look('f')?.size, held.glance('f')?.size]).toEqual([4n, 7])
  held.close()
  top.close()
})

const FOLDERS = ['', 'a/', 'a/b/', 'c\xe9/'] as const
const change = fc.record({
  folder: fc.constantFrom(...FOLDERS),
  name: fc.constantFrom('x.o', 'y', '\xff', '.gitignore', '.planfoldignore', 'build'),
  what: fc.constantFrom('write', 'write', 'remove', 'chmod', 'folder'),
  text: fc.constantFrom('*.o\n', 'y\n', '!y\n*.o\n', 'b/\n', 'build\n', '/a/y\n', 'some text', ''),
  scopes: fc.constantFrom<readonly string[]>([], ['a/**'], ['**/*.o']),
})

test('whatever changed since, also what is ignored, a walk that remembers takes the same snapshot', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 8 }), async changes => {
      const ground = makeGround()
      for (const folder of FOLDERS.slice(1)) fs.mkdirSync(Buffer.from(join(ground.root, folder), 'latin1'))
      // Everything counts as settled: nothing is read again unless its stat says so.
      const now = () => Date.now() + 10_000
      const remembering = open(ground, { now, pauseMs: 0 })
      for (const { folder, name, what, text, scopes } of changes) {
        const path = Buffer.from(join(ground.root, folder, name), 'latin1')
        const isFolder = fs.lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true
        if (what === 'remove') fs.rmSync(path, { force: true, recursive: true })
        else if (what === 'folder' && !fs.existsSync(path)) fs.mkdirSync(path)
        else if (what === 'chmod' && fs.existsSync(path)) fs.chmodSync(path, 0o700)
        else if (what === 'write' && !isFolder) fs.writeFileSync(path, text)
        const taken = await remembering.snapshots.snapshot({ scopes })
        const anew = await open({ ...ground, stateDir: `${ground.stateDir}-new` }).snapshots.snapshot({ scopes })
        fs.rmSync(`${ground.stateDir}-new`, { recursive: true, force: true })
        expect(taken).toMatchObject({ ok: true, manifest: anew.ok && anew.manifest })
        passTick(ground.base)
      }
    }),
    { numRuns: RUNS },
  )
})

/** Until the file system's clock has moved on, a change would not show in its times. */
function passTick(folder: string): void {
  const probe = join(folder, 'probe')
  const touched = () => {
    fs.writeFileSync(probe, '')
    return fs.lstatSync(probe, { bigint: true }).ctimeNs
  }
  for (const first = touched(); touched() === first; );
}
