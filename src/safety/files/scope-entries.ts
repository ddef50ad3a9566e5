// Lists the current files of a write scope. Names are bytes and links are not followed, so that no name hides a file. The state folder and
// the top-level .git are skipped, as is everything unreadable.

import { lstatSync, readdirSync, type Stats } from 'node:fs'
import { relative } from 'node:path'
import { orElse } from '../../domain/json.ts'
import { isSystemError } from '../safety-refusal.ts'
import { inScope, mayHold, type Patterns } from '../scope.ts'

export interface ScopeEntry {
  readonly path: string
  readonly absolute: Buffer
  readonly stat: Stats
}

const AT_ONCE = 2_000

/** Files, links and folders in the scope below `top`, and their parents. Yields in between. */
export async function* scopeEntries(
  root: string,
  stateDir: string,
  patterns: Patterns,
  top = '',
): AsyncIterable<ScopeEntry> {
  const folders = [top === '' ? '' : `${Buffer.from(top).toString('latin1')}/`]
  const state = relative(root, stateDir)
  let looked = 0
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const name of namesIn(bytesOf(root, folder))) {
      if (++looked % AT_ONCE === 0) await new Promise<void>(next => setImmediate(next))
      const absolute = bytesOf(root, `${folder}${name}`)
      const path = Buffer.from(`${folder}${name}`, 'latin1').toString()
      const isIn = inScope(patterns, path)
      if ((!isIn && !mayHold(patterns, path)) || path === '.git' || path === state) continue
      const stat = statOf(absolute)
      if (stat?.isDirectory() === true && mayHold(patterns, path)) folders.push(`${folder}${name}/`)
      if (stat !== undefined && (isIn || stat.isDirectory())) yield { path, absolute, stat }
    }
  }
}

const statOf = (absolute: Buffer): Stats | undefined =>
  orElse(() => lstatSync(absolute, { throwIfNoEntry: false }), undefined, isSystemError)

const namesIn = (folder: Buffer): readonly string[] =>
  orElse(() => readdirSync(folder, { encoding: 'latin1' }), [], isSystemError)

const bytesOf = (root: string, path: string): Buffer =>
  Buffer.concat([Buffer.from(`${root}/`), Buffer.from(path, 'latin1')])
