// What `--database` names: the address of a PostgreSQL database, or a folder, which is the same as `--dir`.

import { existsSync, statSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { isDatabaseUrl, withoutPassword } from '../format/text/database-url.ts'
import { usage } from './exit.ts'

/** `database`: an address, or a folder, or the planfold.db in it. Both options together must mean the same folder. */
export function namedDatabase(
  given: { readonly database: string; readonly dir?: string },
  cwd: string,
): { readonly url?: string; readonly dir?: string } {
  const { database, dir } = given
  if (isDatabaseUrl(database)) return { url: database, ...(dir === undefined ? {} : { dir }) }
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(database))
    throw usage(
      `plans cannot be kept in ${withoutPassword(database)}`,
      'name a folder, or a PostgreSQL database: postgres://USER@HOST/NAME',
    )
  const folder = folderOf(database, cwd)
  if (dir !== undefined && resolve(cwd, dir) !== folder)
    throw usage(
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
    throw usage(`there is no folder '${dirname(folder)}' for --database`, 'check the path, or make the folder')
  if (!isFile && statSync(path, { throwIfNoEntry: false })?.isFile() === true)
    throw usage(`'${database}' is not a Planfold data folder`, 'name the folder that contains planfold.db')
  return folder
}
