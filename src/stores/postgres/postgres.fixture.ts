// A PostgreSQL server of the tests: PLANFOLD_TEST_DATABASE, or Debian's programs with a cluster that all test files of a run share. Each setup
// is a database.

import { execFile, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import type { NetConnectOpts } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import type { Host } from '../leases/host.ts'
import type { Migrated } from '../shared-stores.ts'
import { FakeClock, fakeHost } from '../store.contract.ts'
import { migrateDatabase } from './migrate.ts'
import { counted, named } from './rounds.fixture.ts'
import { StorePostgres, type StorePostgresOptions } from './store-postgres.ts'

export interface Server {
  readonly version: string
  readonly url: (database: string) => string
  /** Where it listens, for a proxy, and the same URL through a port of this machine. */
  readonly address: NetConnectOpts
  readonly through: (port: number, url: string) => string
  stop(): void
  /** As if its power was cut, and on again; only where `own` was asked for. */
  cutPower(): Promise<void>
}

/** All others are let in without one, over the socket of the server. */
export const WITH_PASSWORD = 'with_password'

/** Null when there is no PostgreSQL here. `own`: for a test that stops it. */
export async function startServer({ own = false } = {}): Promise<Server | null> {
  const given = process.env.PLANFOLD_TEST_DATABASE
  if (given !== undefined) {
    const { hostname: host, port } = new URL(given)
    const url = (database: string) => Object.assign(new URL(given), { pathname: `/${database}` }).href
    return await serverAt(url, { host, port: Number(port || 5432) }, NOT_OURS)
  }
  const run = process.env.PLANFOLD_TEST_FOLDER
  return await (own || run === undefined ? ownServer() : sharedServer(`${ROOM}${basename(run)}`))
}

/** Not in the folder of the tests, which only their user may enter. */
const ROOM = '/tmp/planfold-postgres-'
const READY_MS = 120_000

async function ownServer(): Promise<Server | null> {
  const programs = programsHere()
  if (programs === null) return null
  const folder = mkdtempSync(ROOM)
  const { stop, cutPower } = startCluster(programs, folder)
  const remove = () => {
    stop()
    rmSync(folder, { recursive: true, force: true })
  }
  return await serverIn(folder, { stop: remove, cutPower })
}

/** Whoever comes first starts it; `test/temporary-folder.ts` stops it when the run has ended. */
async function sharedServer(folder: string): Promise<Server | null> {
  const programs = programsHere()
  if (programs === null) return null
  const ready = join(folder, 'ready')
  let isMine = true
  try {
    mkdirSync(folder)
  } catch {
    isMine = false
  }
  if (isMine) {
    startCluster(programs, folder)
    await makeTemplate(await serverIn(folder, NOT_OURS), TEMPLATE)
    writeFileSync(ready, '')
  }
  for (const end = Date.now() + READY_MS; !existsSync(ready); ) {
    if (Date.now() > end) throw new Error(`no PostgreSQL in ${folder}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  return await serverIn(folder, NOT_OURS)
}

type Power = Pick<Server, 'stop' | 'cutPower'>

/** Others use it too. */
const NOT_OURS: Power = {
  stop: () => {},
  cutPower: () => Promise.reject(new Error('the server belongs to others')),
}

function startCluster(programs: string, folder: string): Power {
  const run = asDatabaseUser(folder)
  const data = join(folder, 'data')
  run(join(programs, 'initdb'), '-D', data, '-U', 'planfold', '-A', 'trust', '-E', 'UTF8', '--no-sync')
  const access = join(data, 'pg_hba.conf')
  writeFileSync(access, `local all ${WITH_PASSWORD} scram-sha-256\n${readFileSync(access, 'utf8')}`)
  const settings = `-k ${folder} -c listen_addresses= -c max_connections=200 -c fsync=off`
  const start = [join(programs, 'pg_ctl'), '-D', data, '-w', '-l', join(folder, 'log'), '-o', settings, 'start']
  run(...start)
  const stop = [join(programs, 'pg_ctl'), '-D', data, '-m', 'immediate', 'stop']
  writeFileSync(join(folder, 'stop'), asUser(stop).join(' '))
  // Not in one go, so that the test goes on meanwhile.
  const cutPower = async () => {
    for (const [program, ...rest] of [stop, start].map(asUser))
      await promisify(execFile)(program!, rest, { cwd: folder, maxBuffer: 1_000_000 })
  }
  return { stop: () => run(...stop), cutPower }
}

async function serverIn(folder: string, power: Power): Promise<Server> {
  const url = (database: string) => `postgres://planfold@/${database}?host=${encodeURIComponent(folder)}`
  return await serverAt(url, { path: join(folder, '.s.PGSQL.5432') }, power)
}

async function serverAt(url: Server['url'], address: NetConnectOpts, power: Power): Promise<Server> {
  const [row] = await ask(url('postgres'), 'SHOW server_version')
  const through = (port: number, direct: string) => {
    const { username, password, pathname } = new URL(direct.replace('@/', '@localhost/'))
    return `postgres://${username}:${password}@127.0.0.1:${port}${pathname}`
  }
  return { version: String(row!.server_version), url, address, through, ...power }
}

function programsHere(): string | null {
  const versions = existsSync('/usr/lib/postgresql') ? readdirSync('/usr/lib/postgresql') : []
  const [newest] = versions.map(Number).sort((a, b) => b - a)
  return newest === undefined ? null : `/usr/lib/postgresql/${newest}/bin`
}

/** PostgreSQL refuses to run as root. */
const isRoot = process.getuid?.() === 0
const asUser = (argv: readonly string[]) => (isRoot ? ['runuser', '-u', 'postgres', '--', ...argv] : argv)

function asDatabaseUser(folder: string) {
  if (isRoot) {
    const id = (what: string) => Number(spawnSync('id', [what, 'postgres']).stdout.toString())
    chownSync(folder, id('-u'), id('-g'))
  }
  return (...argv: readonly string[]) => {
    const [program, ...rest] = asUser(argv)
    const { status, stderr, stdout } = spawnSync(program!, rest, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
    if (status !== 0) throw new Error(`${argv.join(' ')}: ${stderr}${stdout ?? ''}`)
  }
}

/** The rows of the last statement. */
export async function ask(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  // It may be ended by a test.
  client.on('error', () => {})
  await client.connect()
  try {
    const result: pg.QueryResult | readonly pg.QueryResult[] = await client.query(text)
    return (Array.isArray(result) ? result.at(-1)! : result).rows
  } finally {
    await client.end()
  }
}

let databases = 0
/** Files of one process may have this module once or each for itself. */
const MINE = randomBytes(4).toString('hex')

/** With the tables made once, a new database takes a tenth of the time. */
const TEMPLATE = 'planfold_tables'

async function makeTemplate(server: Server, name: string): Promise<Migrated['roles']> {
  await ask(server.url('postgres'), `CREATE DATABASE ${name}`)
  return (await migrateDatabase(server.url(name), { now: 0, newPassword: () => randomBytes(24).toString('base64url') }))
    .roles
}

let ownTemplate: Promise<{ readonly name: string; readonly roles: Migrated['roles'] }> | null = null

/** On a server that was given or is its own, a file makes one. */
async function templateOf(
  server: Server,
): Promise<{ readonly name: string; readonly roles: Migrated['roles'] | null }> {
  const found = await ask(server.url('postgres'), `SELECT 1 FROM pg_database WHERE datname = '${TEMPLATE}'`)
  if (found.length > 0) return { name: TEMPLATE, roles: null }
  const name = `${TEMPLATE}_${MINE}`
  ownTemplate ??= makeTemplate(server, name).then(roles => ({ name, roles }))
  return await ownTemplate
}

/** As the processes of Planfold log in: two roles, of which one only reads. Not where these roles have unknown passwords. */
async function rolesOf(
  server: Server,
  database: string,
): Promise<{ readonly url: string; readonly appendUrl?: string }> {
  const { name, roles } = await templateOf(server)
  const url = server.url(database)
  if ('path' in server.address)
    return {
      url: url.replace('planfold@', 'planfold_faces@'),
      appendUrl: url.replace('planfold@', 'planfold_append@'),
    }
  if (roles?.status !== 'made' || !roles.isNew) return { url }
  return { url: roles.faces.replace(name, database), appendUrl: roles.append.replace(name, database) }
}

type Options = Partial<
  Pick<StorePostgresOptions, 'url' | 'foldEvery' | 'clock' | 'host' | 'heartbeat' | 'appendUrl' | 'patienceMs'>
>

/** Databases that a test has left, empty again. */
const free: string[] = []

async function emptyDatabase(server: Server): Promise<string> {
  const left = free.pop()
  if (left !== undefined) return left
  const name = `test_${MINE}_${++databases}`
  await ask(server.url('postgres'), `CREATE DATABASE ${name} TEMPLATE ${(await templateOf(server)).name}`)
  return name
}

/** Deleting a few rows takes a tenth of the time of a new database. */
const EMPTY = `DO $$ DECLARE t text; BEGIN
  FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'planfold' AND tablename NOT IN ('meta', 'migrations') LOOP
    EXECUTE 'DELETE FROM planfold.' || t;
  END LOOP;
  FOR t IN SELECT sequencename FROM pg_sequences WHERE schemaname = 'planfold' LOOP EXECUTE 'ALTER SEQUENCE planfold.' || t || ' RESTART'; END LOOP;
END $$`

export async function setup(server: Server, options: Options = {}) {
  const name = await emptyDatabase(server)
  const url = server.url(name)
  const empty = async () => void (await ask(url, EMPTY))
  onTestFinished(async () => {
    await empty()
    free.push(name)
  })
  const roles = await rolesOf(server, name)
  const folder = mkdtempSync(join(tmpdir(), 'planfold-store-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const clock = new FakeClock()
  const stores: StorePostgres[] = []
  let next = 0
  const open = async (host: Partial<Host> = {}, more: Options = {}) => {
    const store = await StorePostgres.open({
      ...roles,
      folder,
      clock,
      host: fakeHost(host),
      newId: () => `id-${++next}`,
      heartbeat: 'manual',
      ...options,
      ...more,
      counted,
    })
    stores.push(store)
    onTestFinished(() => store.close())
    return named(store)
  }
  const commits = () => stores.reduce((sum, { transactions }) => sum + transactions.sent, 0)
  return { folder, url, roles, name, clock, open, commits, empty, decidesAgain: true } as const
}
