// Takes the setuid and setgid bits from files that a sandboxed task made or changed: outside the sandbox such a file would run with the rights of
// its owner, who may be root. Works on names as bytes and follows no link, so that no name hides a file.

import { chmodSync, closeSync, constants, fstatSync, lstatSync, openSync, readdirSync } from 'node:fs'
import { codeOf } from '../safety-refusal.ts'
import { inScope, mayHold, type Patterns } from '../scope.ts'

const O_PATH = 0o10000000
const SPECIAL = 0o6000
const AT_ONCE = 2_000

/** The paths below `root` from which bits were taken. The state folder and that of git are not entered: no sandboxed task writes there. */
export async function clearSpecialModes(root: string, write: Patterns, since: number): Promise<readonly string[]> {
  const cleared: string[] = []
  const folders = ['']
  let looked = 0
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const name of namesIn(root, folder)) {
      if (++looked % AT_ONCE === 0) await new Promise<void>(resolve => setImmediate(resolve))
      const path = `${folder}${name}`
      const stat = lstatSync(bytesOf(root, path), { throwIfNoEntry: false })
      const text = Buffer.from(path, 'latin1').toString()
      if (stat?.isDirectory() === true && path !== '.git' && path !== '.planfold' && mayHold(write, text))
        folders.push(`${path}/`)
      if (stat?.isFile() !== true || (stat.mode & SPECIAL) === 0 || stat.ctimeMs < since) continue
      if (inScope(write, text) && clear(bytesOf(root, path))) cleared.push(text)
    }
  }
  return cleared.sort()
}

/** One character for each byte. */
function namesIn(root: string, folder: string): readonly string[] {
  try {
    return readdirSync(bytesOf(root, folder), { encoding: 'latin1' })
  } catch (error) {
    if (codeOf(error) === null) throw error
    return []
  }
}

const bytesOf = (root: string, path: string): Buffer =>
  Buffer.concat([Buffer.from(`${root}/`), Buffer.from(path, 'latin1')])

/** By the open file, so that a name that leads elsewhere by now changes nothing else. False where it is not ours to change. */
function clear(path: Buffer): boolean {
  try {
    const file = openSync(path, O_PATH | constants.O_NOFOLLOW)
    try {
      const stat = fstatSync(file)
      if (stat.isFile()) chmodSync(`/proc/self/fd/${file}`, stat.mode & ~SPECIAL & 0o7777)
      return stat.isFile()
    } finally {
      closeSync(file)
    }
  } catch (error) {
    if (codeOf(error) === null) throw error
    return false
  }
}
