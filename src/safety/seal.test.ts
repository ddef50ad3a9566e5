import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readKeyFile } from './files/secret-file.ts'
import { isSealedBy, makeSeal, readSeal } from './seal.ts'

const HEAD = 'ab'.repeat(32)
const key = Buffer.from('0123456789abcdef0123456789abcdef')
const seal = makeSeal(key, { plan: 'p', name: 'n', version: 7, head: HEAD })

describe('a seal', () => {
  it('holds under its key, and is the same again', () => {
    expect(isSealedBy(key, seal)).toBe(true)
    expect(makeSeal(key, { plan: 'p', name: 'n', version: 7, head: HEAD })).toEqual(seal)
  })

  it('does not hold under another key, nor with any word of it changed', () => {
    expect(isSealedBy(randomBytes(32), seal)).toBe(false)
    const others = [
      { ...seal, plan: 'q' },
      { ...seal, name: 'm' },
      { ...seal, version: 8 },
      { ...seal, head: 'ac'.repeat(32) },
      { ...seal, hmac: `${seal.hmac.slice(0, -1)}${seal.hmac.endsWith('0') ? '1' : '0'}` },
      { ...seal, hmac: '' },
    ]
    for (const other of others) expect(isSealedBy(key, other)).toBe(false)
  })

  it('is read alone and in an envelope, and nothing else is taken for one', () => {
    expect(readSeal(JSON.parse(JSON.stringify(seal)))).toEqual(seal)
    expect(readSeal({ planfold: 1, data: seal })).toEqual(seal)
    const wrong = [null, 1, [], {}, { ...seal, seal: 2 }, { ...seal, version: 0 }, { ...seal, head: 'x' }]
    for (const value of [...wrong, { ...seal, hmac: 'AB' }, { ...seal, plan: 3 }]) expect(readSeal(value)).toBe(null)
  })
})

describe('the file with the key', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'planfold-key-'))
    mkdirSync(join(folder, 'state'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  const outside = () => [{ folder: join(folder, 'state'), is: 'the state folder' }]
  function write(name: string, bytes: Uint8Array, mode = 0o600): string {
    writeFileSync(join(folder, name), bytes, { mode })
    chmodSync(join(folder, name), mode)
    return join(folder, name)
  }

  it('is read when only its owner may', async () => {
    expect(await readKeyFile(write('key', key), outside())).toEqual({ ok: true, key })
  })

  it('is refused where it proves nothing: beside the store, through a link, readable by others, short, or no file', async () => {
    const inside = write('state/key', key)
    symlinkSync(inside, join(folder, 'link'))
    for (const path of [inside, join(folder, 'link')])
      expect(await readKeyFile(path, outside())).toMatchObject({
        ok: false,
        message: expect.stringContaining("' is in "),
      })
    for (const mode of [0o640, 0o604, 0o620])
      expect(await readKeyFile(write(`m${mode}`, key, mode), outside())).toMatchObject({
        ok: false,
        message: expect.stringContaining('others'),
      })
    expect(await readKeyFile(write('short', key.subarray(0, 15)), outside())).toMatchObject({ ok: false })
    expect(await readKeyFile(join(folder, 'nothing'), outside())).toMatchObject({ ok: false })
    mkdirSync(join(folder, 'folder'), { mode: 0o700 })
    expect(await readKeyFile(join(folder, 'folder'), outside())).toMatchObject({ ok: false })
  })
})
