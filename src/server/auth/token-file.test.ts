// Tokens on disk: made, found, revoked; whatever else lies there lets nobody in.

import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Actor } from '../../domain/id.ts'
import { listRunning, noteRunning } from '../monitoring/running-services.ts'
import { codeHash, keepCode, newCode, takeCode } from './browser-sign-in.ts'
import {
  listTokens,
  makeToken,
  type NewToken,
  openTokenBook,
  ownerSecret,
  ownerTokenFile,
  revokeToken,
  sha256Of,
} from './token-file.ts'

let stateDir: string
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'planfold-tokens-'))
})
afterEach(() => rmSync(stateDir, { recursive: true, force: true }))

const make = (name: string, more: Partial<NewToken> = {}) =>
  makeToken(
    stateDir,
    { name, role: 'viewer', scope: null, createdAt: 1, expiresAt: null, owner: 'olga', ...more },
    randomBytes,
  )

describe("the owner's token", () => {
  test('is made once, with 256 random bits, and only its owner may read it', async () => {
    const first = await ownerSecret(stateDir, randomBytes)
    const again = await ownerSecret(stateDir, randomBytes)
    expect(first).toMatchObject({ ok: true, made: true, secret: expect.stringMatching(/^planfold_[\w-]{43}$/) })
    expect(again).toEqual({ ...first, made: false })
    expect(statSync(ownerTokenFile(stateDir)).mode & 0o777).toBe(0o600)
    expect(statSync(join(stateDir, 'server')).mode & 0o777).toBe(0o700)
  })

  test('two services that start at once have the same', async () => {
    const all = await Promise.all(Array.from({ length: 10 }, () => ownerSecret(stateDir, randomBytes)))
    expect(new Set(all.map(one => one.ok && one.secret)).size).toBe(1)
  })

  test('is not used when others may read it, when it is a link, or no token', async () => {
    await ownerSecret(stateDir, randomBytes)
    const path = ownerTokenFile(stateDir)
    chmodSync(path, 0o644)
    expect(await ownerSecret(stateDir, randomBytes)).toMatchObject({
      ok: false,
      message: expect.stringContaining('644'),
    })
    rmSync(path)
    writeFileSync(join(stateDir, 'elsewhere'), 'x'.repeat(64), { mode: 0o600 })
    symlinkSync(join(stateDir, 'elsewhere'), path)
    expect(await ownerSecret(stateDir, randomBytes)).toMatchObject({ ok: false })
    rmSync(path)
    writeFileSync(path, 'short\n', { mode: 0o600 })
    expect(await ownerSecret(stateDir, randomBytes)).toMatchObject({
      ok: false,
      hint: expect.stringContaining('remove'),
    })
  })

  test('that is removed or replaced lets nobody in any more', async () => {
    const owner = await ownerSecret(stateDir, randomBytes)
    const tokens = openTokenBook(stateDir, 'ada' as Actor, Date.now)
    expect(tokens()).toMatchObject([{ name: 'ada', role: 'admin', sha256: sha256Of(owner.ok ? owner.secret : '') }])
    rmSync(ownerTokenFile(stateDir))
    await nextTurn()
    expect(tokens()).toEqual([])
    const fresh = await ownerSecret(stateDir, randomBytes)
    expect(tokens().map(({ sha256 }) => sha256)).toEqual([sha256Of(fresh.ok ? fresh.secret : '')])
    chmodSync(ownerTokenFile(stateDir), 0o644)
    await nextTurn()
    expect(tokens()).toEqual([])
  })
})

/** Tokens are looked at once in a turn of the event loop; a request after a change comes in a later one. */
const nextTurn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

describe('tokens of others', () => {
  test('are kept as their hash only', async () => {
    const made = await make('bo@example.com', { role: 'approver', expiresAt: 9, scope: { plans: [], sessions: ['s'] } })
    if (!made.ok) throw new Error(made.message)
    expect(listTokens(stateDir)).toEqual([
      {
        name: 'bo@example.com',
        role: 'approver',
        sha256: sha256Of(made.secret),
        scope: { plans: [], sessions: ['s'] },
        createdAt: 1,
        expiresAt: 9,
      },
    ])
    const [file] = readdirSync(join(stateDir, 'server/tokens'))
    const path = join(stateDir, 'server/tokens', file!)
    expect(readFileSync(path, 'utf8')).not.toContain(made.secret)
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  test("never bear the owner's name, and one that does lets nobody in", async () => {
    expect(await make('Olga')).toMatchObject({ ok: false, message: "'Olga' is the name of the owner" })
    await make('bo')
    await make('ada')
    const tokens = openTokenBook(stateDir, 'ADA' as Actor, Date.now)
    expect(tokens().map(({ name }) => name)).toEqual(['bo'])
  })

  test('have names of their own', async () => {
    await make('bo')
    expect(await make('bo')).toMatchObject({ ok: false, exists: true })
    expect(await make('BO')).toMatchObject({ ok: false, exists: true })
    for (const name of [
      '',
      '.',
      '..',
      '../x',
      'a/b',
      'a\0',
      'a b',
      'engine',
      'Janitor',
      'anyone',
      'x'.repeat(101),
      '-a',
    ])
      expect([name, await make(name)]).toMatchObject([name, { ok: false }])
  })

  test('an admin has no scope', async () => {
    expect(await make('bo', { role: 'admin', scope: { plans: [] } })).toMatchObject({ ok: false })
  })

  test('made and revoked at once by many, none gets lost', async () => {
    const names = Array.from({ length: 30 }, (_, at) => `t${at}`)
    await Promise.all(names.map(name => make(name)))
    await Promise.all(names.slice(0, 15).map(name => revokeToken(stateDir, name)))
    expect(
      listTokens(stateDir)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(names.slice(15).sort())
  })

  test('a book that is open sees every change, however quickly they come', async () => {
    const tokens = openTokenBook(stateDir, 'ada' as Actor, Date.now)
    for (let round = 0; round < 50; round++) {
      await make('bo')
      expect(tokens().map(({ name }) => name)).toEqual(['bo'])
      await revokeToken(stateDir, 'bo')
      expect(tokens()).toEqual([])
    }
  })

  test('a file that is not as we write them lets nobody in', async () => {
    await make('bo')
    const folder = join(stateDir, 'server/tokens')
    const good = JSON.parse(readFileSync(join(folder, 'bo.json'), 'utf8')) as object
    const put = (name: string, value: unknown, mode = 0o600) =>
      writeFileSync(join(folder, name), typeof value === 'string' ? value : JSON.stringify(value), { mode })
    put('a.json', 'nonsense')
    put('b.json', { ...good, role: 'constructor' })
    put('c.json', { ...good, sha256: 'x' })
    put('d.json', { ...good, scope: { plans: ['x'] } })
    put('e.json', { ...good, expiresAt: 'never' })
    put('f.json', { ...good, planfold: 2 })
    put('g.json', good, 0o644)
    put('h.json', 'null')
    put('i.json', '[]')
    symlinkSync(join(folder, 'bo.json'), join(folder, 'j.json'))
    expect(listTokens(stateDir).map(({ name }) => name)).toEqual(['bo'])
  })
})

describe('codes made elsewhere', () => {
  test('work once, whoever is first', async () => {
    const token = sha256Of('x')
    const code = newCode(randomBytes)
    await keepCode(stateDir, code, { token, until: 10 }, 5)
    expect(takeCode(stateDir, codeHash(code))).toEqual({ token, until: 10 })
    expect(takeCode(stateDir, codeHash(code))).toBe(null)
    expect(takeCode(stateDir, '../token')).toBe(null)
  })

  test('the old ones are cleared away', async () => {
    for (let at = 0; at < 5; at++)
      await keepCode(stateDir, newCode(randomBytes), { token: sha256Of('x'), until: 10 }, 5)
    await keepCode(stateDir, newCode(randomBytes), { token: sha256Of('x'), until: 30 }, 20)
    expect(readdirSync(join(stateDir, 'server/codes'))).toHaveLength(1)
  })

  test('of more than a thousand, those that end first go, and the others stay', async () => {
    const token = sha256Of('x')
    await keepCode(stateDir, 'first', { token, until: 5_000 }, 5)
    const folder = join(stateDir, 'server/codes')
    const put = (name: string, until: number) =>
      writeFileSync(join(folder, codeHash(name)), JSON.stringify({ token, until }), { mode: 0o600 })
    put('over', 4)
    for (let at = 0; at < 1_001; at++) put(`code-${at}`, 1_000 + at)
    await keepCode(stateDir, 'last', { token, until: 10 }, 5)
    const left = new Set(readdirSync(folder))
    expect(left.size).toBe(1_000)
    const isLeft = (name: string) => left.has(codeHash(name))
    expect(['over', 'code-0', 'code-2'].filter(isLeft)).toEqual([])
    expect(['first', 'code-3', 'code-1000', 'last'].filter(isLeft)).toHaveLength(4)
  })
})

describe('services that run', () => {
  test('are known until they end, and not when their process is gone', async () => {
    const gone = 4_194_303
    await noteRunning(stateDir, { pid: gone, address: 'http://x', auth: true, startedAt: 9 })
    const unnote = await noteRunning(stateDir, { pid: process.pid, address: 'http://y', auth: true, startedAt: 1 })
    expect(listRunning(stateDir)).toEqual([{ pid: process.pid, address: 'http://y', auth: true, startedAt: 1 }])
    await unnote()
    expect(listRunning(stateDir)).toEqual([])
  })
})
