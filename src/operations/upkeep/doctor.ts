// Checks whether this machine and this state folder work. Each part is really tried: a store is created, a sandbox must hold, a connection
// out of it must fail. Every finding other than `ok` has a repair. The state folder is not changed, and need not exist.

import { accessSync, constants, existsSync, lstatSync, mkdtempSync, rmSync, statfsSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Hint } from '../../domain/hint.ts'
import { orElse } from '../../domain/json.ts'
import { numberOf } from '../../domain/phrases.ts'
import type { Failure } from '../../domain/result.ts'
import type { Models } from '../../runners/models.ts'
import type { Variables } from '../../safety/environment.ts'
import { findProgram, foreignFolders, helperPath, programVersion } from '../../safety/find-program.ts'
import { readPolicyLayers } from '../../safety/policy/policy-files.ts'
import { bubblewrap } from '../../safety/sandbox/bubblewrap.ts'
import { tryConnection } from '../../safety/sandbox/connection-trial.ts'
import { machineLimits } from '../../safety/sandbox/resource-limits.ts'
import type { Sandbox } from '../../safety/sandbox/sandbox.ts'

export interface Finding {
  readonly part: DoctorPart
  readonly status: 'ok' | 'warning' | 'problem'
  readonly message: string
  readonly repair: Hint | null
}

export type DoctorPart =
  | 'node'
  | 'sqlite'
  | 'database'
  | 'git'
  | 'sandbox'
  | 'network'
  | 'disk'
  | 'clock'
  | 'state'
  | 'permissions'
  | 'policy'
  | 'models'

export interface DoctorReport {
  readonly ok: boolean
  readonly findings: readonly Finding[]
}

export type Tried<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly message: string; readonly hint: Hint | null }

export interface DoctorRooms {
  readonly root: string
  readonly stateDir: string
  readonly environment: Variables
  readonly now: () => number
  readonly models: Pick<Models, 'list'>
  /** Opens the state folder read-only: the time of the last write, or null. */
  readStore(): Promise<Tried<number | null>>
  makeStore(folder: string): Promise<Tried<null>>
  /** The PostgreSQL database that was named; null when none was. */
  readDatabase?(): Promise<Tried<{ readonly version: string; readonly isWalled: boolean }> | null>
  readonly nodeVersion?: string
  readonly sandbox?: Sandbox
}

export async function examine(rooms: DoctorRooms): Promise<DoctorReport> {
  const findings = [
    nodeFinding(rooms.nodeVersion ?? process.versions.node),
    await sqliteFinding(rooms),
    ...(await databaseFindings(rooms)),
    await gitFinding(rooms),
    ...(await sandboxFindings(rooms)),
    ...limitFindings(rooms),
    diskFinding(rooms),
    ...(await stateFindings(rooms)),
    permissionFinding(rooms),
    ...(await policyFindings(rooms)),
    ...(await modelFindings(rooms)),
  ]
  return { ok: findings.every(({ status }) => status !== 'problem'), findings }
}

const finding =
  (status: Finding['status']) =>
  (part: DoctorPart, message: string, repair: Hint | null = null): Finding => ({ part, status, message, repair })
const fine = finding('ok')
const warning = finding('warning')
const problem = finding('problem')

const NODE_MIN = [20, 19] as const
const GIT_MIN = [2, 38] as const

/** Nothing starts under an unusable policy. */
async function policyFindings({ environment, root, stateDir }: DoctorRooms): Promise<readonly Finding[]> {
  const read = await readPolicyLayers({ environment, root, stateDir })
  if (!read.ok) return [problem('policy', `no plan can start: ${read.failure.message}`, read.failure.hint)]
  const files = read.value.map(({ file, from }) => `${from} (${file})`)
  return files.length === 0 ? [] : [fine('policy', `the policy of ${files.join(', ')}`)]
}

function nodeFinding(version: string): Finding {
  if (isAtLeast(version, NODE_MIN)) return fine('node', `Node ${version}`)
  return problem('node', `Node ${version} is too old`, `install Node ${NODE_MIN.join('.')} or newer`)
}

async function sqliteFinding({ makeStore }: DoctorRooms): Promise<Finding> {
  let folder: string
  try {
    folder = mkdtempSync(join(tmpdir(), 'planfold-doctor-'))
  } catch (error) {
    return problem('sqlite', `no temporary folder can be made: ${wordsOf(error)}`, 'set TMPDIR to a writable folder')
  }
  try {
    const made = await makeStore(join(folder, '.planfold'))
    if (made.ok) return fine('sqlite', 'SQLite: a database could be created and opened')
    return problem(
      'sqlite',
      `no database can be created: ${made.message}`,
      made.hint ?? 'install Planfold again: npm ci',
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function databaseFindings({ readDatabase }: DoctorRooms): Promise<readonly Finding[]> {
  const found = (await readDatabase?.()) ?? null
  if (found === null) return []
  if (!found.ok) return [problem('database', found.message, found.hint ?? 'see whether the server runs')]
  const { version, isWalled } = found.value
  return [
    isWalled
      ? fine('database', `PostgreSQL ${version}; tenants are walled off by the database`)
      : warning(
          'database',
          `PostgreSQL ${version}; tenants are not walled off by the database, because this user may read and write everything`,
          'let an administrator of the database make the roles for processes (command `migrate`), and use the addresses that it prints',
        ),
  ]
}

async function gitFinding({ root, environment }: DoctorRooms): Promise<Finding> {
  const outside = foreignFolders(root, environment.HOME)
  const PATH = helperPath(environment.PATH, outside)
  const program = findProgram('git', { path: PATH, outside, usual: 'no' })
  const needed = `install git ${GIT_MIN.join('.')} or newer`
  if (program === null)
    return warning(
      'git',
      'there is no git program on the PATH, so plans cannot commit',
      `${needed}, outside the workspace`,
    )
  const version = await programVersion(program, { PATH })
  if (version === null) return problem('git', `${program} does not say its version`, needed)
  if (!isAtLeast(version, GIT_MIN)) return problem('git', `git ${version} is too old`, needed)
  return fine('git', `git ${version} (${program})`)
}

/** Why commands cannot be sandboxed here; null if they can. */
export async function whyNoSandbox({
  root,
  environment,
}: Pick<DoctorRooms, 'root' | 'environment'>): Promise<Failure | null> {
  const checked = await bubblewrap({ environment, outside: [root] }).check()
  return checked.ok ? null : checked.failure
}

async function sandboxFindings(rooms: DoctorRooms): Promise<readonly Finding[]> {
  const { root, environment } = rooms
  const sandbox = rooms.sandbox ?? bubblewrap({ environment, outside: foreignFolders(root, environment.HOME) })
  const checked = await sandbox.check()
  if (!checked.ok) {
    const { message, hint = 'install bubblewrap 0.8 or newer' } = checked.failure
    return [warning('sandbox', `commands cannot be sandboxed: ${message}`, hint)]
  }
  const holds = fine('sandbox', `bubblewrap ${checked.version} (${checked.program}) works`)
  const trial = await tryConnection(sandbox, environment)
  if ('fault' in trial)
    return [
      holds,
      warning(
        'network',
        `the network test inside the sandbox did not run: ${trial.fault}`,
        trial.lacks === 'node' ? NODE_INSIDE : 'fix what the message names, and try again',
      ),
    ]
  if (trial.reached)
    return [
      holds,
      problem('network', 'a program in the sandbox reached a port of this machine', 'do not run plans of others here'),
    ]
  return [holds, fine('network', 'the network is blocked inside the sandbox, as intended')]
}

const NODE_INSIDE = 'put the folder of the node program on PATH, so that it can be seen inside'

/** Only wrong values; valid ones are rarely of interest. */
function limitFindings({ environment }: DoctorRooms): readonly Finding[] {
  return machineLimits(environment).faults.map(fault =>
    problem('sandbox', `${fault}; the default limit is used`, 'write a size such as 8GiB, and a number such as 2000'),
  )
}

const MEGABYTE = 1_000_000
const FREE_SPACE: Hint = ['free some space, or remove old plans: ', { next: 'prune', quoted: true }]
const FREE_MIN_BYTES = 100 * MEGABYTE
const FREE_GOOD_BYTES = 1_000 * MEGABYTE

function diskFinding({ stateDir }: DoctorRooms): Finding {
  const folder = nearest(stateDir)
  try {
    const { bavail, bsize } = statfsSync(folder)
    const free = bavail * bsize
    const text = `${Math.floor(free / MEGABYTE)} MB free at ${folder}`
    if (free < FREE_MIN_BYTES) return problem('disk', text, FREE_SPACE)
    if (free < FREE_GOOD_BYTES) return warning('disk', text, 'free some space before long plans')
    return fine('disk', text)
  } catch (error) {
    return problem('disk', `${folder} cannot be checked: ${wordsOf(error)}`, 'check the disk and who may enter')
  }
}

/** A correct clock cannot be earlier than this program. */
const EARLIEST = Date.UTC(2026, 0, 1)
/** Clocks of machines that share a folder differ slightly. */
const AHEAD_MS = 60_000
const SET_CLOCK =
  'set the clock of this machine, for instance by turning on NTP; the order of entries is kept meanwhile'

const HEADER_BYTES = 100
const CUT_OFF: Tried<number | null> = {
  ok: false,
  message: 'planfold.db is empty or cut off, so what it held is lost',
  hint: 'put a copy of the folder in its place, or remove planfold.db to start again',
}

const COPY_FIRST: Hint = [
  'keep a copy of the folder before you change anything, then see ',
  { next: 'check', quoted: true },
]

async function stateFindings({ stateDir, now, readStore }: DoctorRooms): Promise<readonly Finding[]> {
  const time = now()
  const early = time < EARLIEST ? 'the clock shows a time before this program was made' : null
  const database = join(stateDir, 'planfold.db')
  if (!existsSync(database)) {
    const clock = early === null ? fine('clock', 'the clock is OK') : problem('clock', early, SET_CLOCK)
    return [clock, fine('state', `no data in ${stateDir} yet`)]
  }
  // SQLite treats an empty file as a new store.
  const isCut = sizeOf(database) < HEADER_BYTES && sizeOf(`${database}-wal`) === 0
  const read = isCut ? CUT_OFF : await readStore()
  const written = Math.max(changedAt(database), changedAt(`${database}-wal`), read.ok ? (read.value ?? 0) : 0)
  const clock =
    early !== null
      ? problem('clock', early, SET_CLOCK)
      : written > time + AHEAD_MS
        ? problem('clock', `the data was last written ${shownAhead(written - time)} after now`, SET_CLOCK)
        : fine('clock', 'the clock is OK: it is not behind the last entry of the event log')
  if (read.ok) return [clock, fine('state', `the data in ${stateDir} can be read`)]
  const repair = read.hint ?? COPY_FIRST
  return [clock, problem('state', `the data in ${stateDir} cannot be read: ${read.message}`, repair)]
}

function sizeOf(file: string): number {
  const stat = statSync(file, { throwIfNoEntry: false })
  return stat === undefined ? 0 : stat.isFile() ? stat.size : HEADER_BYTES
}

const changedAt = (file: string): number => orElse(() => statSync(file).mtimeMs, 0)

const shownAhead = (ms: number): string =>
  ms < 3_600_000 ? `${Math.ceil(ms / 60_000)} minutes` : `${Math.ceil(ms / 3_600_000)} hours`

/** Only the owner may read the state folder: it holds output of commands. */
function permissionFinding({ stateDir }: DoctorRooms): Finding {
  try {
    const stat = lstatSync(stateDir, { throwIfNoEntry: false })
    if (stat === undefined) return folderFinding(nearest(stateDir))
    if (stat.isSymbolicLink() && !existsSync(stateDir))
      return problem('permissions', `${stateDir} is a broken symbolic link`, 'remove the link')
    const folder = statSync(stateDir)
    if (!folder.isDirectory())
      return problem('permissions', `${stateDir} is not a folder`, 'move it away; a folder is made in its place')
    const mine = process.getuid?.()
    if (mine !== undefined && mine !== folder.uid)
      return problem(
        'permissions',
        `${stateDir} belongs to another user`,
        `run as that user, or: chown -R ${mine} ${stateDir}`,
      )
    const written = folderFinding(stateDir)
    if (written.status !== 'ok') return written
    if ((folder.mode & 0o022) !== 0)
      return problem('permissions', `others can write to ${stateDir} (mode ${shownMode(folder.mode)})`, only(stateDir))
    if ((folder.mode & 0o055) !== 0)
      return warning('permissions', `others can read ${stateDir} (mode ${shownMode(folder.mode)})`, only(stateDir))
    const above = statSync(dirname(stateDir))
    if ((above.mode & 0o002) !== 0 && (above.mode & 0o1000) === 0)
      return warning(
        'permissions',
        `everybody can write to ${dirname(stateDir)}, and so replace the data folder`,
        `chmod o-w ${dirname(stateDir)}`,
      )
    return written
  } catch (error) {
    return problem('permissions', `${stateDir} cannot be checked: ${wordsOf(error)}`, 'check owner and mode')
  }
}

function folderFinding(folder: string): Finding {
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    return fine('permissions', `${folder} can be written`)
  } catch {
    return problem('permissions', `${folder} cannot be written`, 'check owner and mode, or use --dir')
  }
}

const only = (folder: string): string => `chmod 700 ${folder}`
const shownMode = (mode: number): string => (mode & 0o777).toString(8)

async function modelFindings({ models }: DoctorRooms): Promise<readonly Finding[]> {
  const { file, faults, models: named } = await models.list()
  const where = file === null ? 'no settings file' : file
  if (faults.length > 0) return faults.map(({ message, hint }) => problem('models', `model settings: ${message}`, hint))
  return [
    fine(
      'models',
      named.length === 0 && file === null
        ? 'no model settings'
        : `model settings: ${numberOf(named.length, 'model')} (${where})`,
    ),
  ]
}

function nearest(folder: string): string {
  let at = folder
  while (!existsSync(at) && at !== dirname(at)) at = dirname(at)
  return at
}

function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [first = 0, second = 0] = version.split('.').map(Number)
  return first > major || (first === major && second >= minor)
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
