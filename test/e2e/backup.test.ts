// Backups and copies with the built command: from folder to file, folder and PostgreSQL, killed in the middle, damaged files.
// Needs the extras: postgres

import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { ask, startServer } from '../../src/stores/postgres/postgres.fixture.ts'
import { GREETING, type Place, place } from './planfold.fixture.ts'

const server = await startServer()
afterAll(() => server?.stop())

async function worked(): Promise<Place> {
  const made = await place()
  await made.write('plan.yaml', GREETING)
  expect(await made.planfold('run', 'plan.yaml')).toMatchObject({ exit: 4 })
  return made
}

const journal = async (at: Place, dir: string): Promise<string> => {
  const said = await at.planfold('export', 'hello', '--to', 'journal', '--dir', dir)
  expect(said).toMatchObject({ exit: 0, stderr: '' })
  return said.stdout
}

describe('planfold backup', () => {
  it('writes a file, verifies it, and restores it into an empty folder only', async () => {
    const at = await worked()
    const created = await at.planfold('backup', 'create', 'all.backup')
    expect(created).toMatchObject({ exit: 0, stderr: '' })
    expect(statSync(join(at.folder, 'all.backup')).mode & 0o777).toBe(0o600)
    expect(await at.planfold('backup', 'create', 'all.backup')).toMatchObject({ exit: 3 })
    const verified = (await at.json('backup', 'verify', 'all.backup')) as { position: number; tables: object }
    expect(verified).toMatchObject({ tables: { plans: { rows: 1 }, entries: { rows: verified.position } } })
    expect(await at.planfold('backup', 'restore', 'all.backup')).toMatchObject({
      exit: 3,
      stderr: expect.stringContaining('is not empty'),
    })
    expect(await at.planfold('backup', 'restore', 'all.backup', '--dir', 'other/.planfold')).toMatchObject({ exit: 0 })
    expect(await journal(at, 'other/.planfold')).toBe(await journal(at, '.planfold'))
    expect(await at.planfold('doctor', 'store', '--read-data', '--dir', 'other/.planfold')).toMatchObject({ exit: 0 })
    const bytes = readFileSync(join(at.folder, 'all.backup'))
    bytes[bytes.length >> 1]! ^= 1
    writeFileSync(join(at.folder, 'bad.backup'), bytes)
    const said = await at.planfold('backup', 'restore', 'bad.backup', '--dir', 'third/.planfold')
    expect(said.exit).toBe(3)
    expect(said.stderr).toMatch(
      /^error: frame \d+, at byte \d+ of .*bad\.backup: does not match its hash\nhint: take another copy/,
    )
    expect(await at.planfold('list', '--dir', 'third/.planfold')).toMatchObject({ exit: 2 })
    await at.remove()
  })
})

describe('planfold copy', () => {
  it('killed in the middle leaves a store that cannot be opened, and goes on when it is started again', async () => {
    const at = await worked()
    const killing = await place({ PLANFOLD_FAILPOINT: 'copy.rows:after:4' })
    const [from, to] = [join(at.folder, '.planfold'), join(at.folder, 'copy/.planfold')]
    expect((await killing.planfold('copy', '--from', from, '--to', to)).exit).toBeNull()
    const opened = await at.planfold('list', '--dir', to)
    expect(opened.exit).toBe(3)
    expect(opened.stderr).toContain(`this store is an unfinished copy of ${from}`)
    const copied = await at.planfold('copy', '--from', from, '--to', to)
    expect(copied).toMatchObject({ exit: 0, stderr: '' })
    expect(copied.stdout).toContain('both were read again, and every row is the same')
    expect(await journal(at, to)).toBe(await journal(at, from))
    expect(await at.planfold('doctor', 'store', '--dir', to)).toMatchObject({ exit: 0 })
    await killing.remove()
    await at.remove()
  })

  it.skipIf(server === null)('to PostgreSQL and back; a backup of the database holds the same', async () => {
    const at = await worked()
    const url = server!.url('e2e_copy')
    await ask(server!.url('postgres'), 'CREATE DATABASE e2e_copy')
    const said = (await at.json('copy', '--from', '.planfold', '--to', url)) as { tables: object }
    const backup = await at.planfold('backup', 'create', 'database.backup', '--database', url)
    expect(backup).toMatchObject({ exit: 0, stderr: '' })
    expect(await at.json('backup', 'verify', 'database.backup')).toMatchObject({ tables: said.tables })
    expect(await at.planfold('copy', '--from', url, '--to', 'back/.planfold')).toMatchObject({ exit: 0, stderr: '' })
    expect(await journal(at, 'back/.planfold')).toBe(await journal(at, '.planfold'))
    await at.remove()
  })
})
