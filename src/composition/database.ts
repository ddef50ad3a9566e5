// Which store is used: what `--database` or PLANFOLD_DATABASE names, or the person's own setting for this workspace.

import { randomUUID } from 'node:crypto'
import { existsSync, linkSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { plainHint } from '../domain/hint.ts'
import { isDatabaseUrl, withoutPassword } from '../format/text/database-url.ts'
import { settingsFile } from '../safety/files/private-file.ts'
import { type Environment, nonEmpty } from './environment.ts'
import { BadConfiguration, locate, type StatePlace } from './state-folder.ts'

/** As in `safety/database-settings.ts`, which is loaded only where the file exists. */
const DATABASES_FILE = 'databases.json'

/** `database`: an address, or a folder, or the planfold.db in it. Both options together must mean the same folder. */
export function namedDatabase(
  named: { readonly database: string; readonly dir?: string },
  cwd: string,
): { readonly url?: string; readonly dir?: string } {
  const { database, dir } = named
  if (isDatabaseUrl(database)) return { url: database, ...(dir === undefined ? {} : { dir }) }
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(database))
    throw new BadConfiguration(
      `plans cannot be kept in ${withoutPassword(database)}`,
      'name a folder, or a PostgreSQL database: postgres://USER@HOST/NAME',
    )
  const folder = folderOf(database, cwd)
  if (dir !== undefined && resolve(cwd, dir) !== folder)
    throw new BadConfiguration(
      `--database names the folder ${folder}, and --dir ${resolve(cwd, dir)}`,
      'use one of them; with a PostgreSQL database, --dir names the folder for what stays on this machine',
    )
  return { dir: folder }
}

function folderOf(database: string, cwd: string): string {
  const path = resolve(cwd, database)
  const isFile = basename(path) === 'planfold.db'
  const folder = isFile ? dirname(path) : path
  // The folder itself is made; one around it that is missing is a slip of the hand.
  if (!existsSync(dirname(folder)))
    throw new BadConfiguration(
      `there is no folder '${dirname(folder)}' for --database`,
      'check the path, or make the folder',
    )
  if (!isFile && statSync(path, { throwIfNoEntry: false })?.isFile() === true)
    throw new BadConfiguration(
      `'${database}' is not a Planfold data folder`,
      'name the folder that contains planfold.db',
    )
  return folder
}

/** What `--database` named, null for a folder; else the usual one of this place. Undefined for the data folder's own store. */
export const databaseOf = async (place: StatePlace, named?: string | null): Promise<string | undefined> =>
  named === undefined ? await usualDatabase(place.environment, locate(place)) : (named ?? undefined)

/** The address in PLANFOLD_DATABASE, or in the person's settings for this workspace; undefined for the data folder's own store. */
export async function usualDatabase(
  environment: Environment,
  place: { readonly root: string; readonly stateDir: string },
): Promise<string | undefined> {
  const named = nonEmpty(environment.PLANFOLD_DATABASE)
  if (named !== undefined) return isDatabaseUrl(named) ? named : undefined
  const file = settingsFile(environment, DATABASES_FILE)
  if (file === null || !existsSync(file) || !existsSync(place.root)) return undefined
  const { databaseSetting } = await import('../safety/database-settings.ts')
  const setting = await databaseSetting({ environment, ...place })
  if (setting.ok) return setting.value ?? undefined
  const { message, hint } = setting.failure
  throw new BadConfiguration(message, hint === undefined ? 'repair the file' : plainHint(hint))
}

/** A number of the workspace, made once and kept in its data folder: machines that share the disk find the same. */
export function workspaceIdIn(stateDir: string): string {
  const file = join(stateDir, 'workspace-id')
  if (existsSync(file)) return readFileSync(file, 'utf8').trim()
  const made = randomUUID()
  try {
    const draft = `${file}.${made}`
    writeFileSync(draft, `${made}\n`, { mode: 0o600 })
    // Another process may be making it: the first one counts, and nobody reads half of it.
    try {
      linkSync(draft, file)
    } finally {
      rmSync(draft)
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  return readFileSync(file, 'utf8').trim()
}
