// Hints shown once per machine, remembered by an empty file in the user's settings.

import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { settingsFile } from '../../safety/files/private-file.ts'

/** True once for each name; always, if nothing can be stored. */
export function isFirstTime(environment: { readonly [name: string]: string | undefined }, name: string): boolean {
  const path = settingsFile(environment, `told-${name}`)
  if (path === null) return true
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeFileSync(path, '', { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'EEXIST')
  }
}
