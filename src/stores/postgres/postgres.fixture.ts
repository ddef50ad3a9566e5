// A PostgreSQL server of the tests: PLANFOLD_TEST_DATABASE, or Debian's programs with a cluster of their own. Each setup is a database.

import { spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { NetConnectOpts } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import type { Host } from '../leases/host.ts'
import { FakeClock, fakeHost } from '../store.contract.ts'
import { type Migrated, migrateDatabase } from './migrate.ts'
import { counted, named } from './rounds.fixture.ts'
import { StorePostgres, type StorePostgresOptions } from './store-postgres.ts'

export interface Server {
  readonly version: string
  readonly url: (database: string) => string
  /** Where it listens, for a proxy, and the same URL through a port of this machine. */
  readonly address: NetConnectOpts
  readonly through: (port: number, url: string) => string
  stop(): void
}

/** All others are let in without one, over the socket of the server. */
export const WITH_PASSWORD = 'with_password'

/** Null when there is no PostgreSQL here. */
export async function startServer(): Promise<Server | null> {
  const given = process.env.PLANFOLD_TEST_DATABASE
  if (given !== undefined) {
    const { hostname: host, port } = new URL(given)
    const url = (database: string) => Object.assign(new URL(given), { pathname: `/${database}` }).href
    return await serverAt(url, { host, port: Number(port || 5432) }, () => {})
  }
  const programs = programsHere()
  if (programs === null) return null
  // Not in the folder of the tests, which only their user may enter.
  const folder = mkdtempSync('/tmp/planfold-postgres-')
  const run = asDatabaseUser(folder)
  const data = join(folder, 'data')
  run(join(programs, 'initdb'), '-D', data, '-U', 'planfold', '-A', 'trust', '-E', 'UTF8', '--no-sync')
  const access = join(data, 'pg_hba.conf')
  writeFileSync(access, `local all ${WITH_PASSWORD} scram-sha-256\n${readFileSync(access, 'utf8')}`)
  const settings = `-k ${folder} -c listen_addresses= -c max_connections=200 -c fsync=off`
  run(join(programs, 'pg_ctl'), '-D', data, '-w', '-l', join(folder, 'log'), '-o', settings, 'start')
  const url = (database: string) => `postgres://planfold@/${database}?host=${encodeURIComponent(folder)}`
  return await serverAt(url, { path: join(folder, '.s.PGSQL.5432') }, () => {
    run(join(programs, 'pg_ctl'), '-D', data, '-m', 'immediate', 'stop')
    rmSync(folder, { recursive: true, force: true })
  })
}

async function serverAt(url: Server['url'], address: NetConnectOpts, stop: () => void): Promise<Server> {
  const [row] = await ask(url('postgres'), 'SHOW server_version')
  const through = (port: number, direct: string) => {
    const { username, password, pathname } = new URL(direct.replace('@/', '@localhost/'))
    return `postgres://${username}:${password}@127.0.0.1:${port}${pathname}`
  }
  return { version: String(row!.server_version), url, address, through, stop }
}

function programsHere(): string | null {
  const versions = existsSync('/usr/lib/postgresql') ? readdirSync('/usr/lib/postgresql') : []
  const [newest] = versions.map(Number).sort((a, b) => b - a)
  return newest === undefined ? null : `/usr/lib/postgresql/${newest}/bin`
}

/** PostgreSQL refuses to run as root. */
function asDatabaseUser(folder: string) {
  const isRoot = process.getuid?.() === 0
  if (isRoot) {
    const id = (what: string) => Number(spawnSync('id', [what, 'postgres']).stdout.toString())
    chownSync(folder, id('-u'), id('-g'))
  }
  return (...argv: readonly string[]) => {
    const [program, ...rest] = isRoot ? ['runuser', '-u', 'postgres', '--', ...argv] : argv
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

/** With the tables made once, a new database takes a tenth of the time. */
const TEMPLATE = 'planfold_tables'
let template: Promise<Migrated['roles']> | null = null

async function makeTemplate(server: Server): Promise<Migrated['roles']> {
  await ask(server.url('postgres'), `DROP DATABASE IF EXISTS ${TEMPLATE}`)
  await ask(server.url('postgres'), `CREATE DATABASE ${TEMPLATE}`)
  return (await migrateDatabase(server.url(TEMPLATE), 0)).roles
}

type Options = Partial<
  Pick<StorePostgresOptions, 'url' | 'foldEvery' | 'clock' | 'host' | 'heartbeat' | 'appendUrl' | 'patienceMs'>
>

const migrated = (server: Server) => {
  template ??= makeTemplate(server)
  return template
}

/** As the processes of Planfold log in: two roles, of which one only reads. Not where these roles have unknown passwords. */
async function rolesOf(server: Server, name: string): Promise<{ readonly url: string; readonly appendUrl?: string }> {
  const roles = await migrated(server)
  if (roles.status !== 'made' || !roles.isNew) return { url: server.url(name) }
  return { url: roles.faces.replace(TEMPLATE, name), appendUrl: roles.append.replace(TEMPLATE, name) }
}

/** Databases that a test has left, empty again. */
const free: string[] = []

async function emptyDatabase(server: Server): Promise<string> {
  const left = free.pop()
  if (left !== undefined) return left
  const name = `test_${process.pid}_${++databases}`
  await migrated(server)
  await ask(server.url('postgres'), `CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`)
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
  return { folder, url, roles, name, clock, open, commits, empty }
}
