// The process that opens a database for one attempt. SQLite cannot be interrupted from outside, so it runs in a separate process, which is
// killed on a timeout; the next one to open the file rolls back what was not committed.
//
// SQLite's authorizer decides what a statement may do while it is prepared, not its text: no other file, no extension, no transaction of its
// own, no persistent setting, and in a query no write.
//
// The memory of a query is limited by watching its process: SQLite's own limit (hard_heap_limit) has no effect in a build that does not
// count allocations, like ours. SQLite blocks the main thread, so another thread watches.

import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import type { DbRequest } from '../../domain/actions/db-action.ts'
import { type Json, type JsonObject, orElse } from '../../domain/json.ts'
import type { FailureClass } from '../../domain/result.ts'

export interface DbJob {
  /** An open path of the folder; the name in it follows. */
  readonly folder: string
  readonly name: string
  readonly request: DbRequest
  /** For `migrate`: the contents of the files. */
  readonly scripts: readonly { readonly name: string; readonly sql: string; readonly sha256: string }[]
  /** Recorded in the database with the change; null: none. */
  readonly key: string | null
  readonly bytesMax: number
  readonly env: { readonly [name: string]: string }
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

export type DbDone =
  | { readonly is: 'done'; readonly outputs: JsonObject }
  | {
      readonly is: 'no'
      readonly class: FailureClass
      readonly message: string
      readonly hint?: string
      readonly code?: string
    }
  /** It was killed, and may have committed. */
  | { readonly is: 'ended'; readonly by: 'stop' | 'time' | 'death' }

const PROGRAM = `
import { lstatSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
const job = JSON.parse(readFileSync(0, 'utf8'))
const { DatabaseSync, constants: c } = createRequire(job.driver)(job.driver)
const { request, key, bytesMax, name } = job
const writes = request.do !== 'query'
class No extends Error {
  constructor(message, hint, kind = 'logic') {
    super(message)
    this.no = { is: 'no', class: kind, message, hint }
  }
}
const mb = bytes => Math.round(bytes / 1048576) + ' MB'
const tooMuch = { is: 'no', class: 'logic', message: 'the query used more than ' + mb(job.memoryMax) + ' of memory, and was ended', hint: 'ask for less: a limit, fewer columns, smaller values' }
const watch = writes ? null : new Worker(
  "const { writeSync } = require('node:fs'); const { workerData: w } = require('node:worker_threads');" +
  "setInterval(() => { if (process.memoryUsage.rss() > w.max) { writeSync(1, w.said); process.kill(process.pid, 'SIGKILL') } }, 20)",
  { eval: true, execArgv: [], workerData: { max: job.memoryMax, said: JSON.stringify(tooMuch) } },
)
const READ = [c.SQLITE_SELECT, c.SQLITE_READ, c.SQLITE_RECURSIVE]
const NEVER = new Map([
  [c.SQLITE_ATTACH, 'opens another file'],
  [c.SQLITE_DETACH, 'closes a file'],
  [c.SQLITE_TRANSACTION, 'begins or ends a transaction; all statements are one already'],
  [c.SQLITE_SAVEPOINT, 'begins or ends a transaction; all statements are one already'],
])
const FUNCTIONS = /^(load_extension|fts3_tokenizer|readfile|writefile|edit)$/i
const READING = /^(table_info|table_xinfo|table_list|index_list|index_info|index_xinfo|foreign_key_list|foreign_key_check|integrity_check|quick_check|collation_list|function_list|module_list|compile_options|encoding|page_count|page_size|freelist_count|user_version|schema_version|application_id)$/i
const NUMBERS = /^(user_version|schema_version|application_id|encoding|page_size)$/i
let isOurs = true
let why = null
const no = text => {
  why = text
  return c.SQLITE_DENY
}
function allow(code, one, two) {
  if (isOurs || READ.includes(code)) return c.SQLITE_OK
  if (NEVER.has(code)) return no(NEVER.get(code))
  if (code === c.SQLITE_FUNCTION) return FUNCTIONS.test(two ?? '') ? no('calls ' + two) : c.SQLITE_OK
  if (code === c.SQLITE_PRAGMA) {
    const sets = two !== null && NUMBERS.test(one)
    if (sets && writes && /^(user_version|application_id)$/i.test(one)) return c.SQLITE_OK
    if (writes && /^defer_foreign_keys$/i.test(one)) return c.SQLITE_OK
    return READING.test(one) && !sets ? c.SQLITE_OK : no('sets or reads the setting ' + one)
  }
  return writes ? c.SQLITE_OK : no('changes the database, and a query only reads')
}
const plain = value =>
  typeof value === 'bigint'
    ? Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
    : value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value
const given = value => (typeof value === 'boolean' ? Number(value) : value)
const bound = values =>
  Array.isArray(values) ? values.map(given) : [Object.fromEntries(Object.entries(values).map(([k, v]) => [k, given(v)]))]
const withoutTexts = sql => sql.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"|\`[^\`]*\`|\\[[^\\]]*\\]|--[^\\n]*|\\/\\*[\\s\\S]*?(?:\\*\\/|$)/g, ' ')
// Not for a trigger's body, which takes no values and is no query.
const isSeveral = sql => /;\\s*[^\\s;]/.test(withoutTexts(sql))
// SQLite takes a missing value for NULL.
function checkValues(sql, values) {
  const places = withoutTexts(sql).match(/\\?\\d*|(?<![\\w$])[:@$][A-Za-z_]\\w*/g) ?? []
  if (!Array.isArray(values)) {
    const names = new Set(Object.keys(values).map(one => one.replace(/^[:@$]/, '')))
    const lacking = places.find(one => one.startsWith('?') || !names.has(one.slice(1)))
    if (lacking !== undefined) throw new No('there is no value for ' + lacking, 'give one in values; null is a value, too')
    return
  }
  let most = 0
  const named = new Set()
  for (const one of places) {
    if (/^\\?\\d/.test(one)) most = Math.max(most, Number(one.slice(1)))
    else if (one === '?' || !named.has(one)) most++
    named.add(one)
  }
  if (most !== values.length)
    throw new No(most + (most === 1 ? ' value is' : ' values are') + ' needed, and there ' + (values.length === 1 ? 'is ' : 'are ') + values.length, 'give one for each ?; null is a value, too')
}
function regular(path) {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return false
  if (!stat.isFile() || stat.nlink > 1) throw new No(path + ' is a link or no file', 'name the file itself', 'policy')
  return true
}
function run(database, { sql, values }) {
  checkValues(sql, values)
  if (Object.keys(values).length === 0) return database.exec(sql)
  if (isSeveral(sql)) throw new No('values belong to one statement, and there are several', 'write them one by one')
  database.prepare(sql).run(...bound(values))
}
function work(database) {
  if (request.do === 'query') {
    const { sql, values } = request.statement
    isOurs = false
    if (isSeveral(sql)) throw new No('a query is one statement', 'write one task for each')
    checkValues(sql, values)
    const statement = database.prepare(sql)
    statement.setReadBigInts(true)
    const rows = []
    let bytes = 0
    for (const row of statement.iterate(...bound(values))) {
      const made = Object.fromEntries(Object.entries(row).map(([k, v]) => [k, plain(v)]))
      bytes += JSON.stringify(made).length
      if (rows.length >= request.rows) throw new No('there are more than ' + request.rows + ' rows', 'ask for fewer (limit), or raise rows')
      if (bytes > bytesMax) throw new No('the rows are larger than ' + bytesMax + ' bytes', 'ask for fewer rows or columns')
      rows.push(made)
    }
    return { rows }
  }
  database.exec('BEGIN IMMEDIATE')
  let outputs
  if (request.do === 'execute') {
    if (key !== null) {
      database.exec('CREATE TABLE IF NOT EXISTS planfold_applied (key TEXT PRIMARY KEY)')
      if (database.prepare('INSERT OR IGNORE INTO planfold_applied (key) VALUES (?)').run(key).changes === 0)
        return { changes: 0, repeated: true }
    }
    const changed = () => Number(database.prepare('SELECT total_changes() AS n').get().n)
    const before = changed()
    isOurs = false
    for (const one of request.statements) run(database, one)
    outputs = { changes: changed() - before }
  } else {
    database.exec('CREATE TABLE IF NOT EXISTS planfold_migrations (name TEXT PRIMARY KEY, sha256 TEXT NOT NULL)')
    const known = new Map(database.prepare('SELECT name, sha256 FROM planfold_migrations').all().map(row => [row.name, row.sha256]))
    const applied = []
    for (const { name, sql, sha256 } of job.scripts) {
      if (known.get(name) === sha256) continue
      if (known.has(name)) throw new No(name + ' was applied before, and has changed since', 'write another migration instead')
      isOurs = false
      run(database, { sql, values: [] })
      isOurs = true
      database.prepare('INSERT INTO planfold_migrations (name, sha256) VALUES (?, ?)').run(name, sha256)
      applied.push(name)
    }
    outputs = { applied }
  }
  isOurs = true
  database.exec('COMMIT')
  return outputs
}
let said
let database = null
let isThere = true
try {
  isThere = regular(name)
  for (const end of ['-journal', '-wal', '-shm']) regular(name + end)
  if (!isThere && !writes) throw new No('there is no database ' + name, 'make it first')
  database = new DatabaseSync('./' + name, { readOnly: !writes, allowExtension: false, defensive: true, timeout: job.busyMs })
  database.exec('PRAGMA trusted_schema=OFF; PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON')
  database.setAuthorizer(allow)
  if (!writes) database.limits.length = job.valueMax
  said = { is: 'done', outputs: work(database) }
} catch (error) {
  if (error instanceof No) said = error.no
  else if (why !== null) said = { is: 'no', class: 'policy', message: 'the statement ' + why, hint: 'leave it out' }
  else if (!writes && /too big/.test(error.message))
    said = { is: 'no', class: 'logic', message: 'the query makes a value larger than ' + mb(job.valueMax), hint: 'ask for less of it, for instance with substr()' }
  else {
    const isBusy = /locked|busy/i.test(error.message)
    said = { is: 'no', class: isBusy ? 'transient' : 'logic', message: error.message, code: error.errcode === undefined ? undefined : 'sqlite:' + error.errcode }
  }
}
try {
  isOurs = true
  if (database?.isTransaction) database.exec('ROLLBACK')
  database?.close()
  // Opening creates the file; a failure must not leave an empty one.
  if (!isThere && said.is === 'no' && lstatSync(name, { throwIfNoEntry: false })?.size === 0) rmSync(name)
} catch {}
await watch?.terminate()
process.stdout.write(JSON.stringify(said))
`

/** Of the process of a query, and of a single value. */
const MEMORY_MAX_BYTES = 256 * 1024 * 1024
const VALUE_MAX_BYTES = 10 * 1024 * 1024
/** How long it waits for other writers. */
const BUSY_MS = 5_000
/** The output limit; rows are counted before. */
const SAID_MAX_BYTES = 16 * 1024 * 1024

export async function askDatabase(job: DbJob): Promise<DbDone> {
  const { folder, env, timeoutMs, signal, ...work } = job
  const driver = createRequire(import.meta.url).resolve('@photostructure/sqlite')
  const child = spawn(process.execPath, ['--max-old-space-size=512', '--input-type=module', '-e', PROGRAM], {
    cwd: folder,
    env,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  let by: 'stop' | 'time' | 'death' = 'death'
  const end = (because: 'stop' | 'time'): void => {
    by = because
    child.kill('SIGKILL')
  }
  const timer = setTimeout(end, Math.min(timeoutMs, 2 ** 31 - 1), 'time')
  const stop = (): void => end('stop')
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  const parts: Buffer[] = []
  let bytes = 0
  child.stdout.on('data', (part: Buffer) => {
    bytes += part.length
    if (bytes <= SAID_MAX_BYTES) parts.push(part)
  })
  child.stdin.on('error', () => {})
  const limits = { memoryMax: MEMORY_MAX_BYTES, valueMax: VALUE_MAX_BYTES }
  const busyMs = Math.min(BUSY_MS, Math.ceil(timeoutMs / 2))
  child.stdin.end(JSON.stringify({ ...work, ...limits, driver, busyMs }))
  await new Promise<void>(resolve => {
    child.once('error', () => resolve())
    child.once('close', () => resolve())
  })
  clearTimeout(timer)
  signal.removeEventListener('abort', stop)
  return saidBy(Buffer.concat(parts).toString('utf8')) ?? { is: 'ended', by }
}

/** Null for incomplete output. */
const saidBy = (text: string): DbDone | null => orElse(() => JSON.parse(text) as Json as unknown as DbDone, null)
