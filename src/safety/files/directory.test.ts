import { existsSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { makeFolder } from './directory.ts'

function room(): string {
  const folder = mkdtempSync(join(tmpdir(), 'planfold-folder-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('a folder is made with those above it, and is private', () => {
  const folder = room()
  const deep = join(folder, 'a', 'b', 'c')
  expect(makeFolder(deep, 0o700)).toEqual([join(folder, 'a'), join(folder, 'a', 'b'), deep])
  expect(statSync(deep).mode & 0o777).toBe(0o700)
  expect(makeFolder(deep, 0o700)).toEqual([])
})

test('what stands in the way is told, and nothing is tried for ever', () => {
  const folder = room()
  writeFileSync(join(folder, 'file'), '')
  symlinkSync(join(folder, 'nowhere'), join(folder, 'link'))
  expect(() => makeFolder(join(folder, 'file'), 0o700)).toThrow('EEXIST')
  expect(() => makeFolder(join(folder, 'file', 'under'), 0o700)).toThrow('ENOTDIR')
  expect(() => makeFolder(join(folder, 'link'), 0o700)).toThrow('EEXIST')
})

test.skipIf(!existsSync('/proc/self'))('a folder that takes nothing in is a complaint and no endless loop', () => {
  expect(() => makeFolder('/proc/nope', 0o700)).toThrow('ENOENT')
  expect(() => makeFolder('/proc/nope/deeper', 0o700)).toThrow('ENOENT')
})
