// Files with secrets are their owner's alone.

import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { makeSecretFile, makeSecretFolder, readSecretFileNow, removeSecretFile } from './secret-file.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'planfold-secret-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))
const mode = (path: string): number => statSync(path).mode & 0o777

describe('a secret file', () => {
  test('is made whole, for its owner alone, whatever the umask is', async () => {
    const path = join(folder, 'token')
    const before = process.umask(0)
    try {
      expect(await makeSecretFile(path, 'x')).toBe(true)
    } finally {
      process.umask(before)
    }
    expect(mode(path)).toBe(0o600)
    expect(readSecretFileNow(path)).toEqual({ ok: true, text: 'x' })
    expect(readdirSync(folder)).toEqual(['token'])
  })

  test('is never written over, also when twenty try at once', async () => {
    const path = join(folder, 'token')
    const made = await Promise.all(Array.from({ length: 20 }, (_, at) => makeSecretFile(path, `${at}`)))
    expect(made.filter(Boolean)).toHaveLength(1)
    expect(readSecretFileNow(path)).toEqual({ ok: true, text: String(made.indexOf(true)) })
    expect(readdirSync(folder)).toEqual(['token'])
  })

  test.each([0o644, 0o640, 0o604, 0o620, 0o602])('with mode %o is refused', async bits => {
    const path = join(folder, 'token')
    await makeSecretFile(path, 'x')
    chmodSync(path, bits)
    expect(readSecretFileNow(path)).toMatchObject({
      ok: false,
      missing: false,
      hint: expect.stringContaining('chmod 600'),
    })
  })

  test('that is a link, a folder, a pipe or too large is refused', async () => {
    writeFileSync(join(folder, 'real'), 'x', { mode: 0o600 })
    symlinkSync(join(folder, 'real'), join(folder, 'link'))
    mkdirSync(join(folder, 'folder'), { mode: 0o700 })
    writeFileSync(join(folder, 'large'), 'x'.repeat(70_000), { mode: 0o600 })
    for (const name of ['link', 'folder', 'large'])
      expect([name, readSecretFileNow(join(folder, name))]).toMatchObject([name, { ok: false, missing: false }])
    expect(readSecretFileNow(join(folder, 'none'))).toMatchObject({ ok: false, missing: true })
  })

  test('goes once', async () => {
    const path = join(folder, 'token')
    await makeSecretFile(path, 'x')
    expect([await removeSecretFile(path), await removeSecretFile(path)]).toEqual([true, false])
  })
})

describe('a secret folder', () => {
  test('is closed to others, also one that was open', async () => {
    const path = join(folder, 'a', 'b')
    await makeSecretFolder(path)
    expect(mode(path)).toBe(0o700)
    chmodSync(path, 0o755)
    await makeSecretFolder(path)
    expect(mode(path)).toBe(0o700)
  })

  test('that is a link is refused', async () => {
    mkdirSync(join(folder, 'real'))
    symlinkSync(join(folder, 'real'), join(folder, 'link'))
    await expect(makeSecretFolder(join(folder, 'link'))).rejects.toThrow(/is not a folder/)
  })
})
