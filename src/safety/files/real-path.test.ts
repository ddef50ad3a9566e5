// Where paths lead, as the operating system would go.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { realTarget } from './real-path.ts'

let root: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'planfold-real-')))
  mkdirSync(join(root, 'a/deep'), { recursive: true })
  mkdirSync(join(root, 'b'))
  writeFileSync(join(root, 'a/file'), '')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const from = async (path: string): Promise<string | null> => {
  const real = await realTarget(`${root}/${path}`)
  return real === null ? null : real.slice(root.length + 1)
}

test('links are followed, relative and absolute, one after the other', async () => {
  symlinkSync('a', join(root, 'one'))
  symlinkSync(join(root, 'one'), join(root, 'two'))
  expect(await from('two/file')).toBe('a/file')
  expect(await from('two/./deep//x')).toBe('a/deep/x')
})

test('`..` goes up from where a link led, as the system does', async () => {
  symlinkSync('../a/deep', join(root, 'b/link'))
  expect(await from('b/link/../file')).toBe('a/file')
  expect(await from('b/../b')).toBe('b')
})

test('what is not there stays as it is written, and a link to it is followed', async () => {
  symlinkSync('../a/new', join(root, 'b/dangling'))
  expect(await from('b/none/of/it')).toBe('b/none/of/it')
  expect(await from('b/dangling')).toBe('a/new')
  expect(await from('a/file/below')).toBe('a/file/below')
  expect(await from(`b/${'x'.repeat(300)}`)).toBe(`b/${'x'.repeat(300)}`)
})

test('links in a circle lead nowhere', async () => {
  symlinkSync('round', join(root, 'about'))
  symlinkSync('about', join(root, 'round'))
  expect(await from('round/file')).toBeNull()
})
