// Hints when the sandbox may be why a command failed, or why files it made are gone. A guess from error messages of the operating system, so it
// says where the command ran, what that means, and how to change it.

import { numberOf } from '../../domain/phrases.ts'
import type { Leftover } from '../../safety/sandbox/sandboxed-process.ts'

interface Failed {
  readonly exit: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface HeldCommand {
  /** The user's own command, which sees their home. */
  readonly isOwn: boolean
  /** A policy layer demands the sandbox: `sandbox: off` would not help. */
  readonly isRequired: boolean
  readonly home: string | undefined
  readonly write: readonly string[] | null
}

const SAID_MAX = 20_000
const READ_ONLY = /\bEROFS\b|read-only file system/i
const BUSY = /\bEBUSY\b|device or resource busy|resource busy or locked/i
const DENIED = /\b(EACCES|EPERM)\b|permission denied|operation not permitted/i
const REMOVING = /\b(rm|rmdir|unlink|remove|rename|mv|rimraf)\b/i
const MISSING = /\bENOENT\b|no such file or directory/i

/** Null when nothing in the output points to the sandbox. */
export function sandboxHint({ exit, stdout, stderr }: Failed, held: HeldCommand): string | null {
  if (exit === 0) return null
  const output = `${stdout.slice(-SAID_MAX)}\n${stderr.slice(-SAID_MAX)}`
  const folders = (held.write ?? []).flatMap(pattern => /^([^*?]+?)\/?(?:\*\*)?$/.exec(pattern)?.[1] ?? [])
  const kept = output
    .split('\n')
    .flatMap(line => (REMOVING.test(line) ? folders.filter(one => line.includes(one)) : []))
  if (BUSY.test(output) || (READ_ONLY.test(output) && kept.length > 0))
    return `${RAN}; ${busyFolder(kept[0] ?? folders[0])}`
  const isMissing = output.split('\n').some(line => MISSING.test(line) && isOfTheSandbox(line, held.home))
  if (!READ_ONLY.test(output) && !DENIED.test(output) && !isMissing) return null
  const writable = held.write === null ? 'the workspace' : named(held.write)
  return held.isOwn
    ? `${RAN}: writable there are ${writable}, /tmp and the caches of package managers, your home is read-only without credentials, .git is read-only; add what it writes to \`write\`, show it a file with \`read: [~/FILE]\`${held.isRequired ? '; the policy or the origin of the plan requires the sandbox' : ', or let it run as you with `sandbox: off`'}`
    : `${RAN}: writable there are ${writable} and /tmp, the home is empty, .git is read-only; if you trust it, run the command yourself, or put it into a plan of your own`
}

const RAN = 'it ran in the sandbox'

/** A folder that could not be created, or something below the home, which is missing inside. */
const isOfTheSandbox = (line: string, home: string | undefined): boolean =>
  /\bmkdir/i.test(line) || line.includes('~/') || (home !== undefined && home !== '/' && line.includes(`${home}/`))

const busyFolder = (folder = 'dist'): string =>
  `a name that is mounted there (such as a folder in \`write\`) can be changed but not removed or renamed: empty the folder instead (find ${folder} -mindepth 1 -delete)`

const NAMED_MAX = 3

function named(write: readonly string[]): string {
  if (write.length === 0) return 'no files of the workspace'
  const more = write.length > NAMED_MAX ? [`${write.length - NAMED_MAX} more`] : []
  return [...write.slice(0, NAMED_MAX), ...more].join(', ')
}

export function leftoverLine({ names, count }: Leftover): string {
  const more = count > names.length ? `, … and ${count - names.length} more` : ''
  const [were, are] = count === 1 ? ['was', 'is'] : ['were', 'are']
  const where = names.every(name => name.startsWith('/tmp/')) ? '/tmp' : 'home or /tmp'
  const shown = names.map(name => name.replaceAll(/\p{Cc}/gu, '?')).join(', ')
  return `${numberOf(count, 'file', 'files')} ${were} left in the sandbox's own ${where} and ${are} gone: ${shown}${more}\n`
}
