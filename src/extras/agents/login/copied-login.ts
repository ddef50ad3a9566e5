// Copies the user's own login into an agent's home for one attempt, and removes it afterwards. A login that the agent renewed is
// copied back, because the old tokens may be invalid. Hashes of the copied files are recorded beside the home first, so that
// leftovers of a crash are removed before the next attempt.
//
// clean up after a crash ──▶ record hashes ──▶ copy in ──▶ … the agent works … ──▶ copy back renewed files ──▶ remove

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
import type { AgentLogin } from '../../../domain/plan-rules/agent-request.ts'
import type { Failure } from '../../../domain/result.ts'
import type { Outcome, RunnerTools, Stop } from '../../../runners/runner.ts'
import { readPrivateFile, writePrivateFile } from '../../../safety/files/private-file.ts'
import { outsideOf } from '../../../safety/files/user-settings.ts'
import { type Answer, answering, failure } from '../../../safety/safety-refusal.ts'
import { type AgentHome, removeLinks, writeNew } from '../agent-home.ts'
import { reportedWords, UseListener } from '../reported-use.ts'

export interface LoginPlace {
  /** Relative to the user's home; the first one must exist. */
  readonly files: readonly string[]
  readonly own: string | undefined
  /** The home of the agent; no agent runs now. */
  readonly home: string
  /** The record of copied files: beside the home, where the agent cannot write. */
  readonly record: string
  readonly root: string
  readonly stateDir: string
}

/** Secrets from the copied files, to be redacted. */
export interface CopiedLogin {
  readonly secrets: readonly string[]
}

interface CopyRecord {
  /** SHA-256 of each copied file. */
  readonly [file: string]: string
}

/** `note` reports leftovers of a crash to the person. */
export async function copyLoginIn(place: LoginPlace, note: (text: string) => void): Promise<Answer<CopiedLogin>> {
  const { own, home, files } = place
  if (own?.startsWith('/') !== true) return no('you have no home that a login could be in', 'set HOME')
  await removeLogin(place, note)
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
    const hashes = Object.fromEntries([...texts].map(([file, text]) => [file, hashOf(text)]))
    writeFileSync(`${place.record}.new`, JSON.stringify(hashes), { mode: 0o600 })
    renameSync(`${place.record}.new`, place.record)
    for (const [file, text] of texts) writeNew(home, file, text)
    return { secrets: [...texts.values()].flatMap(text => secretsIn(text)) }
  })
}

/** Copies back what the agent renewed, and removes its copy. Idempotent. A file that cannot be copied back is reported, no failure. */
export async function removeLogin(place: LoginPlace, note: (text: string) => void): Promise<void> {
  const hashes = recordIn(place.record)
  if (hashes === null || place.own === undefined) return
  for (const file of place.files) {
    const before = hashes[file]
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

/** Overwrites only the version that was copied, and only with a file of the same structure. */
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

/** The text of a regular file, without following links; null for anything else, and for hard links and large files. */
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

/** Both are JSON objects, and no top-level key is missing. After a sign-out, the agent leaves fewer. */
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

function recordIn(record: string): CopyRecord | null {
  try {
    return objectIn(readFileSync(record, 'utf8')) as CopyRecord | null
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

// An attempt with the user's login: asks first if a budget cannot be enforced, copies the login in and out, and records usage as
// the agent reports it. Its model calls bypass our gateway.

interface LoginUse {
  readonly secrets: readonly string[]
  readonly used: UseListener
  /** Call when no process of the agent is alive; idempotent. */
  close(): Promise<void>
}

export async function openLogin(
  { files }: AgentLogin,
  home: AgentHome,
  tools: RunnerTools,
  stop: Stop,
): Promise<{ readonly use: LoginUse } | { readonly outcome: Outcome }> {
  const note = (text: string): void => tools.log('engine', Buffer.from(`${text}\n`))
  // The usage is unknown in advance: with a budget, a person is asked, as for a model without a known price.
  const reserved = await tools.budget?.reserve({ cost: null }, { wait: 'others', signal: stop.signal })
  if (reserved?.ok === false)
    return {
      outcome:
        reserved.why === 'refused'
          ? { type: 'failed', failure: reserved.failure, begun: false }
          : { type: 'interrupted', begun: false, reason: reserved.failure.message },
    }
  const place = {
    files,
    own: tools.environment.HOME,
    home: home.folder,
    record: join(home.beside, 'login.json'),
    root: tools.root,
    stateDir: tools.stateDir,
  }
  const copied = await copyLoginIn(place, note)
  if (!copied.ok) {
    if (reserved !== undefined) await tools.budget?.settle(reserved.id, {})
    return { outcome: { type: 'failed', failure: copied.failure, begun: false } }
  }
  note(`it uses your login (${files.map(file => `~/${file}`).join(', ')}); what it uses is not counted here`)
  const used = new UseListener()
  let isClosed = false
  return {
    use: {
      secrets: copied.value.secrets,
      used,
      async close() {
        if (isClosed) return
        isClosed = true
        await removeLogin(place, note)
        const { use } = used
        note(reportedWords(use))
        if (reserved === undefined) return
        const tokens = (use?.inputTokens ?? 0) + (use?.outputTokens ?? 0)
        await tools.budget?.settle(reserved.id, {
          calls: 1,
          cost: use?.cost ?? null,
          ...(tokens === 0 ? {} : { tokens }),
        })
      },
    },
  }
}
