import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { programsIn, programVersion } from './find-program.ts'

let folder: string
let asked: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'planfold-versions-'))
  asked = join(folder, 'asked')
  writeFileSync(asked, '')
  mkdirSync(join(folder, 'bin'))
  mkdirSync(join(folder, 'work/bin'), { recursive: true })
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const times = (): number => readFileSync(asked, 'utf8').length
function program(path: string, says: string): string {
  const file = join(folder, path)
  writeFileSync(file, `#!/bin/sh\nprintf x >> ${asked}\n${says}\n`)
  chmodSync(file, 0o755)
  return file
}
const opened = () =>
  programsIn({ PATH: `${folder}/work/bin:${folder}/bin` }, join(folder, 'work'), join(folder, 'versions'))

test('what fails or prints none has no version', async () => {
  expect(await programVersion(program('bin/tool', 'echo tool version 1.10'))).toBe('1.10')
  expect(await programVersion(program('bin/mute', 'echo hello'))).toBe(null)
  expect(await programVersion(program('bin/broken', 'echo 1.2.3; exit 1'))).toBe(null)
})

test('programs are found on PATH, never in the workspace, and asked once for each state of their file', async () => {
  program('work/bin/python3', 'echo Python 6.6.6')
  const python = program('bin/python3', 'echo Python 3.9.1')
  const look = opened()
  const version = async (of = look, asks = true) => (await of({ asks })).python
  expect(await version()).toEqual({ path: python, version: '3.9.1' })
  expect([await version(), times()]).toEqual([{ path: python, version: '3.9.1' }, 1])
  // A later process knows it from the file; with that broken it asks again.
  expect([await version(opened()), times()]).toEqual([{ path: python, version: '3.9.1' }, 1])
  for (const broken of ['', '{"a":1}', 'no JSON', '[]']) {
    writeFileSync(join(folder, 'versions'), broken)
    expect(await version(opened())).toEqual({ path: python, version: '3.9.1' })
  }
  expect(times()).toBe(5)
  program('bin/python3', 'echo Python 3.10.12')
  expect(await version(look, false)).toEqual({ path: python, version: null })
  expect(times()).toBe(5)
  expect([await version(), times()]).toEqual([{ path: python, version: '3.10.12' }, 6])
  rmSync(python)
  program('bin/python', 'echo Python 2.7.18')
  expect([await version(), times()]).toEqual([{ path: join(folder, 'bin/python'), version: '2.7.18' }, 7])
})
