// The person's own login, lent to an agent for one attempt: its files are copied into the agent's home, and taken out of it afterwards.
// A login that the agent has renewed is copied back, because the old one may be worth nothing any more. Which bytes were lent is kept
// beside the home before anything is copied, so that what a crash left there is taken back before the next attempt.
//
//   take back what a crash left ──▶ remember what is lent ──▶ copy in ──▶ … the agent works … ──▶ copy back what it renewed ──▶ remove

import { createHash } from 'node:crypto'
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Failure } from '../../../domain/result.ts'
import { readPrivateFile, writePrivateFile } from '../../../safety/files/private-file.ts'
import { outsideOf } from '../../../safety/files/user-settings.ts'
import { type Answer, answering, failure } from '../../../safety/safety-refusal.ts'
import { removeLinks, writeNew } from '../agent-home.ts'

export interface LoginPlace {
  /** In the home of the person; the first must be there. */
  readonly files: readonly string[]
  readonly own: string | undefined
  /** The home of the agent, where no agent runs now. */
  readonly home: string
  /** Where it is remembered what was lent: beside the home, where the agent cannot write. */
  readonly record: string
  readonly root: string
  readonly stateDir: string
}

/** The values in the files that must not be shown. */
export interface LentLogin {
  readonly secrets: readonly string[]
}

interface Lent {
  /** SHA-256 of each file as it was lent. */
  readonly [file: string]: string
}

/** `note`: what a person should know of what a crash left. */
export async function lendLogin(place: LoginPlace, note: (text: string) => void): Promise<Answer<LentLogin>> {
  const { own, home, files } = place
  if (own?.startsWith('/') !== true) return no('you have no home that a login could be in', 'set HOME')
  await takeBackLogin(place, note)
  const texts = new Map<string, string>()
  for (const [at, file] of files.entries()) {
    const path = join(own, file)
    if (isLink(path))
      return no(`your login '${path}' is a link, and is not passed to the agent`, 'replace it by the file itself')
    const read = await readPrivateFile(path, { what: 'your login', outside: outsideOf(place), elsewhere: ELSEWHERE })
    if (read.ok) texts.set(file, read.value)
    else if (!read.missing) return no(read.fault.message, read.fault.hint)
    else if (at === 0)
      return no(`you are not signed in: there is no '${path}'`, 'start the agent yourself and sign in, then try again')
  }
  return await answering('lending your login', async () => {
    const lent = Object.fromEntries([...texts].map(([file, text]) => [file, hashOf(text)]))
    writeFileSync(`${place.record}.new`, JSON.stringify(lent), { mode: 0o600 })
    renameSync(`${place.record}.new`, place.record)
    for (const [file, text] of texts) writeNew(home, file, text)
    return { secrets: [...texts.values()].flatMap(text => secretsIn(text)) }
  })
}

/** Told twice, it does nothing. What cannot be copied back is told, and never stops the plan. */
export async function takeBackLogin(place: LoginPlace, note: (text: string) => void): Promise<void> {
  const lent = lentIn(place.record)
  if (lent === null || place.own === undefined) return
  for (const file of place.files) {
    const before = lent[file]
    const now = before === undefined ? null : leftIn(place.home, file)
    if (before !== undefined && now !== null && hashOf(now) !== before) {
      const copied = await copyBack(place, file, before, now)
      note(
        copied.ok
          ? `the agent renewed your login ~/${file}; it was copied back`
          : `the agent changed your login ~/${file}, and it was not copied back: ${copied.failure.message}; if you are signed out, sign in again`,
      )
    }
    removeLinks(place.home, file.split('/').slice(0, -1))
    rmSync(join(place.home, file), { force: true, recursive: true })
  }
  rmSync(place.record, { force: true })
}

/** Only over what was lent, and only with what still looks like it. */
async function copyBack(place: LoginPlace, file: string, before: string, now: string): Promise<Answer<void>> {
  const path = join(place.own!, file)
  if (isLink(path)) return no('yours is a link now', '')
  const use = { outside: outsideOf(place), elsewhere: ELSEWHERE }
  const own = await readPrivateFile(path, { what: 'your login', ...use })
  if (!own.ok) return no(own.fault.message, own.fault.hint)
  if (hashOf(own.value) !== before) return no('yours has changed meanwhile', '')
  if (!isSameKind(own.value, now)) return no('what it left does not look like a login', '')
  return await answering('copying your login back', () => writePrivateFile(path, now, use))
}

const ELSEWHERE = 'your login must be where no task can write'
const FILE_MAX_BYTES = 1024 * 1024
/** Shorter values are words, not keys. */
const SECRET_MIN = 20

/** The text of a plain file that is reached through plain folders; null for anything else. */
function leftIn(home: string, file: string): string | null {
  const steps = file.split('/')
  for (let depth = 1; depth < steps.length; depth++)
    if (lstatSync(join(home, ...steps.slice(0, depth)), { throwIfNoEntry: false })?.isDirectory() !== true) return null
  let opened: number
  try {
    opened = openSync(join(home, file), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch {
    return null
  }
  try {
    const stat = fstatSync(opened)
    return stat.isFile() && stat.nlink === 1 && stat.size <= FILE_MAX_BYTES ? readFileSync(opened, 'utf8') : null
  } finally {
    closeSync(opened)
  }
}

/** Both are objects of JSON, and nothing is missing at the top. An agent that is signed out leaves less. */
function isSameKind(before: string, now: string): boolean {
  const [one, other] = [objectIn(before), objectIn(now)]
  return one !== null && other !== null && Object.keys(one).every(key => Object.hasOwn(other, key))
}

function objectIn(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null
  } catch {
    return null
  }
}

function lentIn(record: string): Lent | null {
  try {
    return objectIn(readFileSync(record, 'utf8')) as Lent | null
  } catch {
    return null
  }
}

function secretsIn(text: string): readonly string[] {
  const found: string[] = []
  const look = (value: unknown): void => {
    if (typeof value === 'string' && value.length >= SECRET_MIN) found.push(value)
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(look)
  }
  look(objectIn(text))
  return found
}

const isLink = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')

const no = (message: string, hint: string): { readonly ok: false; readonly failure: Failure } => ({
  ok: false,
  failure: { ...failure('policy', message, hint), code: 'agent:login' },
})
