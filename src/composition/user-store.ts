// The store of what a person has in all their projects, below their data folder. Where several machines share a store, it is in that one.

import { existsSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { StoreSqlite, type StoreSqliteOptions } from '../stores/sqlite/store-sqlite.ts'
import { StoreRefused } from '../stores/store.ts'
import { type Environment, nonEmpty } from './environment.ts'

/** Null: there is none yet. */
export async function userStore(
  options: StoreSqliteOptions,
  environment: Environment,
  { create }: { readonly create: boolean },
) {
  const folder = folderOf(environment)
  if (folder === null && !create) return null
  if (folder === null)
    throw new StoreRefused('there is no folder for what you keep in all projects', 'set HOME or XDG_DATA_HOME')
  if (!create && !existsSync(join(folder, 'planfold.db'))) return null
  const { quotaBytes: _, ...rest } = options
  return await StoreSqlite.open({ ...rest, folder })
}

function folderOf({ XDG_DATA_HOME, HOME }: Environment): string | null {
  const data = nonEmpty(XDG_DATA_HOME)
  if (data !== undefined && isAbsolute(data)) return join(data, 'planfold', 'memory')
  const home = nonEmpty(HOME)
  return home !== undefined && isAbsolute(home) ? join(home, '.local', 'share', 'planfold', 'memory') : null
}
