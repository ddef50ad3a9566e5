// Which store is used: what `--database` or PLANFOLD_DATABASE names, or the person's own setting for this workspace.

import { randomUUID } from 'node:crypto'
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { plainHint } from '../domain/hint.ts'
import { isDatabaseUrl } from '../format/text/database-url.ts'
import { settingsFile } from '../safety/files/private-file.ts'
import { type Environment, nonEmpty } from './environment.ts'
import { BadConfiguration, locate, type StatePlace } from './state-folder.ts'

/** As in `database-settings.ts`, which is loaded only where the file exists. */
const DATABASES_FILE = 'databases.json'

/** What `--database` named, null for a folder; else the usual one of this place. Undefined for the data folder's own store. */
export const databaseOf = async (place: StatePlace, given?: string | null): Promise<string | undefined> =>
  given === undefined ? await usualDatabase(place.environment, locate(place)) : (given ?? undefined)

/** The address in PLANFOLD_DATABASE, or in the person's settings for this workspace; undefined for the data folder's own store. */
export async function usualDatabase(
  environment: Environment,
  place: { readonly root: string; readonly stateDir: string },
): Promise<string | undefined> {
  const given = nonEmpty(environment.PLANFOLD_DATABASE)
  if (given !== undefined) return isDatabaseUrl(given) ? given : undefined
  const file = settingsFile(environment, DATABASES_FILE)
  if (file === null || !existsSync(file) || !existsSync(place.root)) return undefined
  const { databaseSettings } = await import('./database-settings.ts')
  const setting = await databaseSettings({ environment, ...place })
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
    // Another process may be making it: the first one counts, and no reader sees half of it.
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
