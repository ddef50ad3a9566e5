// The path gate: what one file operation through it costs, beside the same done by plain calls of Node on the same path. Writes are
// durable in both (a new file, synced, renamed). Goal: less than 1 ms more for each.

import { closeSync, fsyncSync, mkdirSync, mkdtempSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { readFile, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { openGate } from '../src/safety/files/path-gate.ts'
import { sha256Of } from '../src/safety/files/regular-file.ts'

const FILES = 500
const BYTES = Buffer.alloc(4_096, 'x')

export async function pathGateBench(): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'planfold-bench-gate-'))
  try {
    const opened = await openGate({ root, stateDir: join(root, '.planfold') })
    if (!opened.ok) throw new Error(opened.failure.message)
    const gate = opened.value
    const paths = Array.from({ length: FILES }, (_, at) => `src/deep/folder/of/files/f${at}.txt`)
    mkdirSync(dirname(join(root, paths[0]!)), { recursive: true })
    const copies = paths.map(path => join(root, `${path}.copy`))
    for (const path of paths) await writeFile(join(root, path), BYTES)
    // On the disk, as those are that the gate deletes: to remove a file whose blocks are not written yet is much cheaper.
    for (const path of copies) await writeFile(path, BYTES, { flush: true })
    const other = Buffer.alloc(4_096, 'y')
    const [before, after] = [sha256Of(BYTES), sha256Of(other)]
    const rows = [
      {
        operation: 'check the text of a path',
        'gate µs': await each(paths, path => gate.check(path, 'write')),
        'plain µs': 0,
      },
      {
        operation: 'refuse a protected path',
        'gate µs': await each(paths, path => gate.write(`${path}/.npmrc`, BYTES, { expect: null })),
        'plain µs': 0,
      },
      {
        operation: 'read 4 KB, five folders down',
        'gate µs': await each(paths, path => gate.read(path)),
        'plain µs': await each(paths, path => readFile(join(root, path))),
      },
      {
        operation: 'replace 4 KB durably',
        'gate µs': await each(paths, path => gate.write(path, other, { expect: before })),
        'plain µs': await each(paths, async path => plainReplace(join(root, path), other)),
      },
      {
        operation: 'delete, durable when all are done',
        'gate µs': await all(async () => {
          for (const path of paths) await gate.remove(path, { expect: after })
          await gate.settle()
        }),
        'plain µs': await all(() => plainRemove(copies)),
      },
    ]
    console.log(`path gate, ${FILES} files, µs for each operation; goal: less than 1,000 more than plain`)
    console.table(rows)
    await gate.close()
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

/** Of work on all files, for each of them. */
async function all(work: () => Promise<void>): Promise<number> {
  const began = performance.now()
  await work()
  return Math.round(((performance.now() - began) * 1_000) / FILES)
}

async function plainRemove(paths: readonly string[]): Promise<void> {
  for (const path of paths) await unlink(path)
  const folder = openSync(dirname(paths[0]!), 'r')
  fsyncSync(folder)
  closeSync(folder)
}

async function each(paths: readonly string[], work: (path: string) => Promise<unknown>): Promise<number> {
  const began = performance.now()
  for (const path of paths) await work(path)
  return Math.round(((performance.now() - began) * 1_000) / paths.length)
}

function plainReplace(path: string, bytes: Buffer): void {
  const file = openSync(`${path}.tmp`, 'wx')
  writeSync(file, bytes)
  fsyncSync(file)
  closeSync(file)
  renameSync(`${path}.tmp`, path)
  const folder = openSync(dirname(path), 'r')
  fsyncSync(folder)
  closeSync(folder)
}
