// Copies and backups of stores, which are named by a data folder or by `postgres://…`. The contents of files of a store on PostgreSQL are
// kept in the data folder of the place.

import { randomUUID } from 'node:crypto'
import { basename, dirname, resolve } from 'node:path'
import { systemClock } from '../engine/clock.ts'
import { openExtra } from '../extras.ts'
import { isDatabaseUrl } from '../format/text/database-url.ts'
import type { Copied, CopySource, CopyTarget } from '../stores/copy/store-copy.ts'
import { thisHost } from '../stores/leases/host.ts'
import { StoreRefused } from '../stores/store.ts'
import { databaseOf } from './database.ts'
import { failpointOf } from './environment.ts'
import { locate, makeStateDir, type StatePlace } from './state-folder.ts'

export interface CopyResult extends Copied {
  /** What the stores are called, without passwords. */
  readonly from: string
  readonly to: string
}

export async function copyStores(
  place: StatePlace,
  names: { from: string; to: string; withConfidential?: boolean },
): Promise<CopyResult> {
  const { copyStore } = await room()
  if ((await storeAt(place, names.from)) === (await storeAt(place, names.to)))
    throw new StoreRefused('both names mean the same store', 'name another one with --to')
  const from = await openSource(place, names.from)
  try {
    const to = await openTarget(place, names.to, from.name, names)
    try {
      return { from: from.name, to: to.name, ...(await copyStore(from, to, options(place))) }
    } finally {
      await to.close()
    }
  } finally {
    await from.close()
  }
}

/** `name`: of the store; without it, the one that commands use here. */
export async function createBackup(place: StatePlace, file: string, name?: string | null): Promise<CopyResult> {
  const path = resolve(place.cwd, file)
  const from = await openSource(place, name)
  try {
    return { from: from.name, to: path, ...(await (await room()).createBackup(from, path, options(place))) }
  } finally {
    await from.close()
  }
}

export async function restoreBackup(
  place: StatePlace,
  file: string,
  options: { database?: string | null; withConfidential?: boolean },
): Promise<CopyResult> {
  const path = resolve(place.cwd, file)
  let to = ''
  const copied = await (await room()).restoreBackup(path, async () => {
    const target = await openTarget(place, options.database, path, options)
    to = target.name
    return target
  })
  return { from: path, to, ...copied }
}

export async function verifyBackup(place: StatePlace, file: string): Promise<Copied & { readonly at: number }> {
  return await (await room()).verifyBackup(resolve(place.cwd, file))
}

const room = () => import('../stores/copy/store-copy.ts')

const options = ({ environment }: StatePlace) => ({
  now: systemClock.now,
  newId: randomUUID,
  failpoint: failpointOf(environment),
})

/** The folder, or the URL. */
async function storeAt(place: StatePlace, name: string | null | undefined): Promise<string> {
  if (name == null) return (await databaseOf(place, name)) ?? locate(place).stateDir
  if (isDatabaseUrl(name)) return name
  const path = resolve(place.cwd, name)
  return basename(path) === 'planfold.db' ? dirname(path) : path
}

async function openSource(place: StatePlace, name: string | null | undefined): Promise<CopySource> {
  const at = await storeAt(place, name)
  if (isDatabaseUrl(at)) return await (await postgres()).openPostgresSource(onPostgres(place, at))
  return await (await sqlite()).openSqliteSource(inFolder(at))
}

async function openTarget(
  place: StatePlace,
  name: string | null | undefined,
  source: string,
  { withConfidential = false }: { readonly withConfidential?: boolean },
): Promise<CopyTarget> {
  const at = await storeAt(place, name)
  if (isDatabaseUrl(at)) {
    makeStateDir(locate(place).stateDir)
    return await (await postgres()).openPostgresTarget({ ...onPostgres(place, at), withConfidential }, source)
  }
  makeStateDir(at)
  return await (await sqlite()).openSqliteTarget(inFolder(at), source)
}

const sqlite = () => import('../stores/sqlite/copy-sqlite.ts')
const postgres = () => openExtra('postgres')

const inFolder = (folder: string) => ({
  folder,
  clock: systemClock,
  host: thisHost(process.pid),
  newId: randomUUID,
})

const onPostgres = (place: StatePlace, url: string) => ({
  url,
  folder: locate(place).stateDir,
  now: systemClock.now,
  newId: randomUUID,
  host: thisHost(process.pid).host,
})
