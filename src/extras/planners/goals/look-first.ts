// Runs the project's checks before drafting: tests, lint, types and build, each once on a copy of the workspace in the memory of its
// sandbox. Without a sandbox nothing is run. The workspace cannot be written, nothing needs cleaning up, and everything ends with this
// process. Results are cached until a file changes.
//
//   workspace ──tar──▶ stdin of the sandbox ──▶ copy in memory ──▶ the command ──▶ its output ──▶ `Looked`

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
import { ranNoTest } from '../../../format/test-results/test-results.ts'
import { inheritedEnvironment, type Variables } from '../../../safety/environment.ts'
import { findProgram } from '../../../safety/find-program.ts'
import { bubblewrap } from '../../../safety/sandbox/bubblewrap.ts'
import { machineLimits } from '../../../safety/sandbox/resource-limits.ts'
import type { Sandbox } from '../../../safety/sandbox/sandbox.ts'
import { spawnBoxed } from '../../../safety/sandbox/sandboxed-process.ts'
import { redactor, secretsIn } from '../../../safety/secrets/redaction.ts'
import { commandsToLookAt, type Lookable, readPrinted } from '../heuristic-planner.ts'
import {
  type Looked,
  type LookedCommand,
  lookedLine,
  NOT_INSTALLED,
  PlanningFailure,
  type RepositoryView,
  type RunCheck,
} from '../planner.ts'
import { COPY_MAX_BYTES, workspaceParts } from '../repository/repository-view.ts'

export const LOOK_MS = { plan: 20_000, do: 60_000 } as const

export interface LookPlace {
  readonly root: string
  /** Where results are cached, if there is a store. */
  readonly stateDir: string
  readonly environment: Variables
  readonly repository: RepositoryView
  readonly now: () => number
}

export interface LookOptions {
  /** For all commands together. */
  readonly maxMs: number
  /** Called before each command. */
  readonly tell?: ((note: string) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

/** Throws `PlanningFailure` when stopped. */
export async function lookFirst(place: LookPlace, { maxMs, tell, signal }: LookOptions): Promise<Looked> {
  const began = place.now()
  const took = (): number => Math.round(place.now() - began)
  const nothing = (none: string): Looked => ({ commands: [], ms: took(), none })
  const { commands, missing, tools } = await commandsToLookAt(place.repository)
  if (commands.length === 0)
    return nothing(missing.join(', ') || 'no command to test, lint, check types or build was found')
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
      const printed = readPrinted(hide(ended.printed), { root, home, in: command.in, paths, tools })
      const { mark, failed, total, places, lines } = printed
      if (ended.why !== null) unknown(ended.why)
      else if (ended.exit === 0) seen.push({ ...named, status: 'passes', places: [], lines: [] })
      else if (mark !== null || ended.exit === 127) unknown(mark ?? NOT_INSTALLED)
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
    const { exit, printed, why } = await run(
      { ...place, ...ready, signal },
      { run: ['/bin/sh', '-c', script] },
      leftMs * SHARE,
    )
    leftMs -= place.now() - began
    if (signal?.aborted === true) throw new PlanningFailure(STOPPED)
    if (why !== null || exit === null || exit === 126 || exit === 127) return 'unknown'
    if (exit === 0) return 'passes'
    // A runner that finds no test ends with a failure, but none was seen to fail.
    return ranNoTest(printed) ? 'unknown' : 'fails'
  }
}

async function prepare(
  place: LookPlace,
): Promise<(Pick<Running, 'root' | 'sandbox' | 'tar'> & { readonly parts: Parts }) | string> {
  const root = realpathSync(place.root)
  const sandbox = bubblewrap({ environment: place.environment, outside: [root] })
  const checked = await sandbox.check()
  if (!checked.ok) return checked.failure.message
  const tar = findProgram('tar', { path: place.environment.PATH, outside: [root] })
  if (tar === null) return 'tar, which copies the workspace, is not installed'
  const parts = await workspaceParts({ ...place, scratch: join(place.stateDir, 'scratch') })
  return parts === null ? 'the workspace is too large to be copied' : { root, sandbox, tar, parts }
}

type Parts = NonNullable<Awaited<ReturnType<typeof workspaceParts>>>

/** The share of the remaining time for each command but the last, so that one that hangs leaves some to the others. */
const SHARE = 0.6
/** With less time a command would only be started. */
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
  readonly printed: string
  /** Why its result is unusable; null if it ended by itself. */
  readonly why: string | null
}

/** Make must not print its recipes, because their text could be mistaken for errors. Network access fails at once instead of waiting. */
const QUIET = {
  ...{ NO_COLOR: '1', MAKEFLAGS: 's' },
  ...{ npm_config_offline: 'true', CARGO_NET_OFFLINE: 'true', UV_OFFLINE: '1', GOPROXY: 'off' },
}

/** The exit code if the copy could not be made. */
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
  if (!wrapped.ok) return { exit: null, printed: '', why: wrapped.failure.message }
  const { child, exited } = spawnBoxed(wrapped.value, { stdin: 'pipe' })
  const output = new OutputEnds()
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
  const printed = output.text()
  const how = failure?.message ?? excess?.message ?? (exit === NOT_COPIED ? 'the workspace could not be copied' : null)
  return { exit, printed, why: isLate ? `it had not ended after ${Math.round(maxMs / 1000)} s` : how }
}

/** Streams the files into the sandbox's standard input. Files that disappear meanwhile are left out. */
function pack(tar: string, root: string, copied: readonly string[], child: ChildProcess): ChildProcess {
  const packing = spawn(tar, ['-cf', '-', '--null', '-T', '-'], {
    cwd: root,
    env: { PATH: '/usr/bin:/bin' },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  packing.once('error', () => child.stdin?.destroy())
  packing.stdin.on('error', () => {})
  packing.stdin.end(copied.map(path => `./${path}\0`).join(''))
  // Either side may be killed in the middle; what matters is how the command ended.
  pipeline(packing.stdout, child.stdin!).catch(() => {})
  return packing
}

const OUTPUT_MAX = 128 * 1024

class OutputEnds {
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

// A cached result: one file for each state of the workspace.

interface Kept {
  readonly looked: Looked
  readonly maxMs: number
}

const KEPT_MAX = 20

const keptFile = ({ stateDir }: Pick<LookPlace, 'stateDir'>, key: string): string =>
  join(stateDir, 'looks', `${key}.json`)

/** A result with unknown commands is not reused if there is more time now: they may have run out of it. */
function keptLook(place: LookPlace, key: string, maxMs: number): Looked | null {
  try {
    const kept = JSON.parse(readFileSync(keptFile(place, key), 'utf8')) as Kept
    const isWhole = kept.maxMs >= maxMs || kept.looked.commands.every(({ status }) => status !== 'unknown')
    return isWhole ? kept.looked : null
  } catch {
    return null
  }
}

/** Only a cache: if it cannot be written, the next draft runs the checks again. */
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
  } catch {}
}
