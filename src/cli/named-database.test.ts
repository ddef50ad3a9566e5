import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

import { databaseOf, usualDatabase } from '../composition/database.ts'
import { locate } from '../composition/state-folder.ts'
import { namedDatabase } from './named-database.ts'
import { storeOf } from './process.ts'

const folder = mkdtempSync(join(tmpdir(), 'planfold-database-'))
const URL = 'postgres://ana:s3cret@db/plans'

test('an address, a folder, or the planfold.db in it', () => {
  expect(namedDatabase({ database: URL }, folder)).toEqual({ url: URL })
  expect(namedDatabase({ database: URL, dir: 'here' }, folder)).toEqual({ url: URL, dir: 'here' })
  expect(namedDatabase({ database: 'kept' }, folder)).toEqual({ dir: join(folder, 'kept') })
  expect(namedDatabase({ database: 'kept/planfold.db', dir: join(folder, 'kept') }, join(folder))).toEqual({
    dir: join(folder, 'kept'),
  })
})

test('what cannot be meant is an error, without a password in it', () => {
  const naming = (database: string, dir?: string) => () =>
    namedDatabase({ database, ...(dir === undefined ? {} : { dir }) }, folder)
  expect(naming('mysql://ana:s3cret@db/plans')).toThrow('plans cannot be kept in mysql://ana@db/plans')
  expect(naming('kept', 'other')).toThrow(/--database names the folder .*kept, and --dir .*other/)
  expect(naming('tpyo/kept')).toThrow(/there is no folder/)
  writeFileSync(join(folder, 'notes.txt'), '')
  expect(naming('notes.txt')).toThrow("'notes.txt' is not a Planfold data folder")
})

test('the variable names an address or a folder; the setting of a person an address for one workspace', async () => {
  const [root, other, config] = [join(folder, 'work'), join(folder, 'other'), join(folder, 'config')]
  const place = { root, stateDir: join(root, '.planfold') }
  mkdirSync(root)
  mkdirSync(other)
  mkdirSync(join(config, 'planfold'), { recursive: true, mode: 0o700 })
  expect(await usualDatabase({ PLANFOLD_DATABASE: URL }, place)).toBe(URL)
  expect(await usualDatabase({ PLANFOLD_DATABASE: '/kept' }, place)).toBeUndefined()
  expect(locate({ cwd: root, environment: { PLANFOLD_DATABASE: '/kept/planfold.db' } }).stateDir).toBe('/kept')
  const file = join(config, 'planfold', 'databases.json')
  const environment = { XDG_CONFIG_HOME: config }
  writeFileSync(file, JSON.stringify({ [root]: URL }), { mode: 0o600 })
  expect(await usualDatabase(environment, place)).toBe(URL)
  expect(await usualDatabase(environment, { ...place, root: other })).toBeUndefined()
  writeFileSync(file, '{ "/work": "mysql://db" }', { mode: 0o600 })
  await expect(usualDatabase(environment, place)).rejects.toThrow(`${file}:1:`)
})

test('an option goes before the variable, also where it names a folder', async () => {
  const place = { cwd: folder, environment: { PLANFOLD_DATABASE: URL } }
  expect(storeOf({ database: 'kept' }, folder)).toEqual({ dir: join(folder, 'kept'), database: null })
  expect(await databaseOf(place, null)).toBeUndefined()
  expect(await databaseOf(place, 'postgres://other/plans')).toBe('postgres://other/plans')
  expect(await databaseOf(place)).toBe(URL)
})
