// The look before a draft: the commands by which the project tests, lints, checks types and builds are run once, each on a copy of the
// workspace that is in the memory of its sandbox. Without a sandbox nothing is run. No file of the workspace can be written, there is
// nothing to clean up, and when this process dies everything ends with it. What was seen is kept until a file changes.
//
//   workspace ──tar──▶ stdin of the sandbox ──▶ copy in memory ──▶ the command ──▶ what it printed ──▶ `Looked`

import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { inheritedEnvironment, type Variables } from '../../../safety/environment.ts'
import { findProgram } from '../../../safety/find-program.ts'
import { spawnBoxed } from '../../../safety/sandbox/boxed-process.ts'
import { bubblewrap } from '../../../safety/sandbox/bubblewrap.ts'
import { machineLimits } from '../../../safety/sandbox/resource-limits.ts'
import type { Sandbox } from '../../../safety/sandbox/sandbox.ts'
import { redactor, secretsIn } from '../../../safety/secrets/redaction.ts'
import { commandsToLookAt, type Lookable, readPrinted } from '../heuristic-planner.ts'
import {
  type Looked,
  type LookedCommand,
  lookedLine,
  PlanningFailure,
  type RepositoryView,
  type RunCheck,
} from '../planner.ts'
import { COPY_MAX_BYTES, workspaceParts } from '../repository/repository-view.ts'

export const LOOK_MS = { plan: 20_000, do: 60_000 } as const

export interface LookPlace {
  readonly root: string
  /** What was seen is kept there, when there is a store. */
  readonly stateDir: string
  readonly environment: Variables
  readonly repository: RepositoryView
  readonly now: () => number
}

export interface LookOptions {
  /** For all commands together. */
  readonly maxMs: number
  /** What is being looked at, before each command. */
  readonly tell?: ((note: string) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

/** Throws `PlanningFailure` when it is stopped. */
export async function lookFirst(place: LookPlace, { maxMs, tell, signal }: LookOptions): Promise<Looked> {
  const began = place.now()
  const took = (): number => Math.round(place.now() - began)
  const nothing = (none: string): Looked => ({ commands: [], ms: took(), none })
  const { commands, tools } = await commandsToLookAt(place.repository)
  if (commands.length === 0) return nothing('no command to test, lint, check types or build was found')
  const ready = await prepare(place)
  if (typeof ready === 'string') return nothing(ready)
  const { root, parts } = ready
  const { commit = null } = (await place.repository.state()) ?? {}
  const key = createHash('sha256')
    .update(JSON.stringify([parts.mark, commit, commands]))
    .digest('hex')
  const kept = keptLook(place, key, maxMs)
  if (kept !== null) return kept
  const paths = (await place.repository.files()).map(({ path }) => path)
  const { HOME: home } = place.environment
  const hide = redactor(secretsIn(place.environment))
  const seen: LookedCommand[] = []
  const last = commands.findLast(one => one.refused === null)
  for (const command of commands) {
    const { refused, ...named } = command
    const unknown = (why: string): number => seen.push({ ...named, status: 'unknown', why, places: [], lines: [] })
    const leftMs = (maxMs - took()) * (command === last ? 1 : SHARE)
    if (refused !== null) unknown(refused)
    else if (leftMs < LEAST_MS) unknown('no time was left for it')
    else {
      tell?.(
        `runs ${lookedLine(command)} on a copy of the workspace, to see what fails today (at most ${Math.round(leftMs / 1000)} s)`,
      )
      const ended = await run({ ...place, ...ready, signal }, command, leftMs)
      if (signal?.aborted === true) throw new PlanningFailure(STOPPED)
      const printed = readPrinted(hide(ended.said), { root, home, in: command.in, paths, tools })
      const { mark, failed, total, places, lines } = printed
      if (ended.why !== null) unknown(ended.why)
      else if (ended.exit === 0) seen.push({ ...named, status: 'passes', places: [], lines: [] })
      else if (mark !== null || ended.exit === 127) unknown(mark ?? 'something is not installed')
      else if (places.length === 0) unknown(`it fails (exit ${ended.exit}) and names no file of the repository`)
      else {
        const counts =
          command.purpose === 'test' && failed !== undefined
            ? { failed, ...(total === undefined ? {} : { total }) }
            : {}
        seen.push({ ...named, status: 'fails', ...counts, places, lines })
      }
    }
  }
  const looked: Looked = { commands: seen, ms: took() }
  keepLook(place, key, { looked, maxMs })
  return looked
}

/** Runs the checks of a draft in the same way, to see whether they fail before the work. */
export async function checksOnCopy(place: LookPlace, { maxMs, signal }: LookOptions): Promise<RunCheck> {
  const ready = await prepare(place)
  let leftMs = maxMs
  return async script => {
    if (typeof ready === 'string' || leftMs < LEAST_MS) return 'unknown'
    const began = place.now()
    const { exit, why } = await run({ ...place, ...ready, signal }, { run: ['/bin/sh', '-c', script] }, leftMs * SHARE)
    leftMs -= place.now() - began
    if (signal?.aborted === true) throw new PlanningFailure(STOPPED)
    if (why !== null || exit === null || exit === 126 || exit === 127) return 'unknown'
    return exit === 0 ? 'passes' : 'fails'
  }
}

async function prepare(
  place: LookPlace,
): Promise<(Pick<Running, 'root' | 'sandbox' | 'tar'> & { readonly parts: Parts }) | string> {
  const root = realpathSync(place.root)
  const sandbox = bubblewrap({ environment: place.environment, outside: [root] })
  const standing = await sandbox.check()
  if (!standing.ok) return standing.failure.message
  const tar = findProgram('tar', { path: place.environment.PATH, outside: [root] })
  if (tar === null) return 'tar, which copies the workspace, is not installed'
  const parts = await workspaceParts({ ...place, scratch: join(place.stateDir, 'scratch') })
  return parts === null ? 'the workspace is too large to be copied' : { root, sandbox, tar, parts }
}

type Parts = NonNullable<Awaited<ReturnType<typeof workspaceParts>>>

/** Of the time that is left, for each but the last: one that hangs leaves some to the others. */
const SHARE = 0.6
/** With less, a command that would succeed is only begun. */
const LEAST_MS = 500

const STOPPED = {
  class: 'unknown',
  code: 'model:cancelled',
  retryable: false,
  message: 'the look at what fails today was stopped',
} as const

interface Running extends Pick<LookPlace, 'root' | 'stateDir' | 'environment'> {
  readonly sandbox: Sandbox
  readonly tar: string
  readonly parts: { readonly copied: readonly string[]; readonly shared: readonly string[] }
  readonly signal: AbortSignal | undefined
}

interface Ended {
  readonly exit: number | null
  readonly said: string
  /** Why its end says nothing; null when it ended by itself. */
  readonly why: string | null
}

/** Make does not print its recipes, as what they name is no fault. Who would wait for the network fails at once. */
const QUIET = {
  ...{ NO_COLOR: '1', MAKEFLAGS: 's' },
  ...{ npm_config_offline: 'true', CARGO_NET_OFFLINE: 'true', UV_OFFLINE: '1', GOPROXY: 'off' },
}

/** It leaves the copy with this when that could not be made. */
const NOT_COPIED = 125
const COPY = `"$1" -xof - -C "$2" || exit ${NOT_COPIED}
cd "$3" || exit ${NOT_COPIED}
shift 3
exec "$@" </dev/null`

async function run(running: Running, command: Pick<Lookable, 'run' | 'in' | 'env'>, maxMs: number): Promise<Ended> {
  const { root, stateDir, environment, sandbox, tar, parts, signal } = running
  const { copied, shared } = parts
  const wrapped = await sandbox.wrap({
    ...{ root, stateDir, cwd: root, write: [], network: 'none' },
    copy: { shared, maxBytes: COPY_MAX_BYTES },
    limits: machineLimits(environment).limits,
    argv: ['/bin/sh', '-c', COPY, 'sh', tar, root, join(root, command.in ?? '.'), ...command.run],
    env: { ...inheritedEnvironment(environment), ...QUIET, ...command.env },
  })
  if (!wrapped.ok) return { exit: null, said: '', why: wrapped.failure.message }
  const { child, exited } = spawnBoxed(wrapped.value, { stdin: 'pipe' })
  const output = new HeadAndTail()
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', chunk => output.add(String(chunk)))
  let isLate = false
  const end = (): void => {
    child.kill('SIGKILL')
  }
  const timer = setTimeout(() => {
    isLate = true
    end()
  }, maxMs)
  signal?.addEventListener('abort', end, { once: true })
  if (signal?.aborted === true) end()
  const packing = pack(tar, root, copied, child)
  const { exit, failure, excess } = await exited
  clearTimeout(timer)
  signal?.removeEventListener('abort', end)
  packing.kill('SIGKILL')
  const said = output.text()
  const how = failure?.message ?? excess?.message ?? (exit === NOT_COPIED ? 'the workspace could not be copied' : null)
  return { exit, said, why: isLate ? `it had not ended after ${Math.round(maxMs / 1000)} s` : how }
}

/** Writes the parts of the workspace into the standard input of the sandbox. What has gone meanwhile is left out. */
function pack(tar: string, root: string, copied: readonly string[], child: ChildProcess): ChildProcess {
  const packing = spawn(tar, ['-cf', '-', '--null', '-T', '-'], {
    cwd: root,
    env: { PATH: '/usr/bin:/bin' },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  packing.once('error', () => child.stdin?.destroy())
  packing.stdin.on('error', () => {})
  packing.stdin.end(copied.map(path => `./${path}\0`).join(''))
  // It may be ended in the middle, on either side.
  pipeline(packing.stdout, child.stdin!).catch(() => {})
  return packing
}

const OUTPUT_MAX = 128 * 1024

/** The beginning and the end of what is printed, however much it is. */
class HeadAndTail {
  #head = ''
  #tail = ''

  add(text: string): void {
    const room = OUTPUT_MAX - this.#head.length
    this.#head += text.slice(0, room)
    if (text.length > room) this.#tail = (this.#tail + text.slice(room)).slice(-OUTPUT_MAX)
  }

  text(): string {
    return this.#head + this.#tail
  }
}

// What was seen, in the state folder: a file for each state of the workspace.

interface Kept {
  readonly looked: Looked
  readonly maxMs: number
}

const KEPT_MAX = 20

const keptFile = ({ stateDir }: Pick<LookPlace, 'stateDir'>, key: string): string =>
  join(stateDir, 'looks', `${key}.json`)

/** One that ran out of time is of no use to who has more. */
function keptLook(place: LookPlace, key: string, maxMs: number): Looked | null {
  try {
    const kept = JSON.parse(readFileSync(keptFile(place, key), 'utf8')) as Kept
    const isWhole = kept.maxMs >= maxMs || kept.looked.commands.every(({ status }) => status !== 'unknown')
    return isWhole ? kept.looked : null
  } catch {
    return null
  }
}

/** It is only a saving of time: where it cannot be written, the next draft looks again. */
function keepLook(place: LookPlace, key: string, kept: Kept): void {
  if (!existsSync(join(place.stateDir, 'planfold.db'))) return
  const file = keptFile(place, key)
  const folder = join(place.stateDir, 'looks')
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(`${file}.${process.pid}`, JSON.stringify(kept), { mode: 0o600 })
    renameSync(`${file}.${process.pid}`, file)
    const names = readdirSync(folder).map(name => join(folder, name))
    const oldest = names.map(path => ({ path, at: statSync(path).mtimeMs })).sort((a, b) => b.at - a.at)
    for (const { path } of oldest.slice(KEPT_MAX)) rmSync(path, { force: true })
  } catch {
    // Perhaps the disk is full, or another look has tidied up.
  }
}
