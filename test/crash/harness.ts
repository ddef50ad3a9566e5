// What every test with real processes stands on: the built package in processes of its own, the effect recorder, an independent
// hash of the workspace, and the journal as SQLite alone shows it. Nothing here sleeps: it waits for lines, files and exits,
// each with a deadline.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as pauseFor } from 'node:timers/promises'
import { DatabaseSync } from '@photostructure/sqlite'
import type { Event } from '../../src/domain/event.ts'
import type { PlanId } from '../../src/domain/id.ts'
import { parsePlan } from '../../src/format/plan/parse.ts'
import { readEntry, type StoredEntry } from '../../src/stores/journal/entry.ts'
import type { Entry } from '../../src/stores/store.ts'

const here = import.meta.dirname
/** The built package; another folder while several people build at once. */
const DIST = process.env.PLANFOLD_DIST ?? resolve(here, '../../dist')
export const CLI = join(DIST, 'cli/main.js')
if (!existsSync(CLI)) throw new Error(`${CLI} is missing; build it first: npm run build`)
const DRIVER = join(here, 'driver.mjs')
const DEADLINE_MS = 180_000

// ── processes ──────────────────────────────────────────────────────────────────────────────────────────────────────

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly out: string
  readonly err: string
}

export const OWN_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: process.env.PATH ?? '',
  HOME: process.env.HOME ?? '',
  PLANFOLD_AS: 'crash test',
}

/** A process we started: its lines as they come, and how it ended. */
export class Real {
  readonly process: ChildProcess
  readonly ended: Promise<Ended>
  out = ''
  err = ''
  #watchers: (() => void)[] = []

  constructor(
    argv: readonly string[],
    options: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>>; readonly stdin?: 'pipe' } = {},
  ) {
    const [file = '', ...args] = argv
    this.process = spawn(file, args, {
      cwd: options.cwd ?? tmpdir(),
      env: { ...OWN_ENVIRONMENT, PLANFOLD_DIST: DIST, ...options.env },
      stdio: [options.stdin ?? 'ignore', 'pipe', 'pipe'],
    })
    this.process.stdout?.setEncoding('utf8').on('data', text => this.#heard('out', text))
    this.process.stderr?.setEncoding('utf8').on('data', text => this.#heard('err', text))
    this.ended = new Promise((done, fail) => {
      this.process.once('error', fail)
      this.process.once('close', (code, signal) => {
        done({ code, signal, out: this.out, err: this.err })
        this.#wake()
      })
    })
    if (options.stdin === undefined) {
      started.add(this)
      void this.ended.catch(() => {}).then(() => started.delete(this))
    }
  }

  get pid(): number {
    return this.process.pid!
  }

  kill(signal: NodeJS.Signals): void {
    this.process.kill(signal)
  }

  /** How it ended; killed, with all it said, when it does not in time. */
  async end(deadlineMs = DEADLINE_MS): Promise<Ended> {
    return await within(deadlineMs, this.ended, () => {
      this.kill('SIGKILL')
      return `${this.process.spawnargs.join(' ')} did not end:\n${this.out}\n${this.err}`
    })
  }

  /** The first match in what it prints. */
  async says(pattern: RegExp, deadlineMs = DEADLINE_MS): Promise<RegExpExecArray> {
    const heard = async (): Promise<RegExpExecArray> => {
      for (;;) {
        const match = pattern.exec(this.out) ?? pattern.exec(this.err)
        if (match !== null) return match
        if (this.process.exitCode !== null || this.process.signalCode !== null)
          throw new Error(`ended without saying ${pattern}:\n${this.out}\n${this.err}`)
        await new Promise<void>(wake => this.#watchers.push(wake))
      }
    }
    return await within(deadlineMs, heard(), () => `never said ${pattern}:\n${this.out}\n${this.err}`)
  }

  #heard(stream: 'out' | 'err', text: string): void {
    this[stream] += text
    this.#wake()
  }

  #wake(): void {
    const watchers = this.#watchers
    this.#watchers = []
    for (const wake of watchers) wake()
  }
}

const started = new Set<Real>()

/** Ends what a failed test left behind: only what was started here, and not the recorder, which ends with us. */
export function endAll(): void {
  for (const one of started) {
    one.kill('SIGCONT')
    one.kill('SIGKILL')
  }
}

async function within<T>(deadlineMs: number, promise: Promise<T>, why: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, fail) => {
    timer = setTimeout(() => fail(new Error(why())), deadlineMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Asks again until it is so; for things that send no signal, such as a file of another process. */
export async function until<T>(
  what: string,
  ask: () => T | null | undefined | false | '',
  deadlineMs = DEADLINE_MS,
): Promise<T> {
  const deadline = performance.now() + deadlineMs
  for (;;) {
    const answer = ask()
    if (answer !== null && answer !== undefined && answer !== false && answer !== '') return answer
    if (performance.now() > deadline) throw new Error(`waited ${deadlineMs} ms for ${what}`)
    await pauseFor(5)
  }
}

export const isRunning = (pid: number): boolean => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return !'ZX'.includes(stat[stat.lastIndexOf(')') + 2] ?? 'X')
  } catch {
    return false
  }
}

/** Runs the jobs, a few at a time. */
export async function inParallel<T>(jobs: Iterable<() => Promise<T>>, width = 2): Promise<T[]> {
  const queue = jobs[Symbol.iterator]()
  const results: T[] = []
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (let next = queue.next(); next.done !== true; next = queue.next()) results.push(await next.value())
    }),
  )
  return results
}

/** In memory where there is room: a kill loses nothing that the system has taken, and syncing a disk proves nothing more. */
export function makeFolder(): string {
  const memory = '/dev/shm'
  const fits = existsSync(memory) && statfsSync(memory).bavail * statfsSync(memory).bsize > 512 * 1024 * 1024
  return mkdtempSync(join(fits ? memory : tmpdir(), 'planfold-crash-'))
}

// ── the workspace of one run ───────────────────────────────────────────────────────────────────────────────────────

export class Ground {
  readonly base: string
  readonly workspace: string
  readonly definition: string
  readonly #plan: string

  constructor(plan: string, files: Readonly<Record<string, string>> = {}) {
    this.#plan = plan
    this.base = makeFolder()
    this.workspace = join(this.base, 'work')
    this.definition = join(this.base, 'definition.json')
    mkdirSync(join(this.workspace, '.planfold'), { recursive: true })
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(this.workspace, path, '..'), { recursive: true })
      writeFileSync(join(this.workspace, path), text)
      chmodSync(join(this.workspace, path), 0o644)
    }
    writeFileSync(join(this.base, 'plan.yaml'), plan)
    const parsed = parsePlan(plan, { fileName: 'plan.yaml' })
    if (!parsed.ok)
      throw new Error(parsed.diagnostics.map(each => `${each.line}:${each.column} ${each.message}`).join('\n'))
    writeFileSync(this.definition, JSON.stringify(parsed.definition))
  }

  /** Another with the same plan and the same files, its state among them. */
  copy(): Ground {
    const copy = new Ground(this.#plan)
    cpSync(this.workspace, copy.workspace, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true })
    return copy
  }

  drive(env: Readonly<Record<string, string>> = {}, wrap: readonly string[] = []): Real {
    return new Real([...wrap, process.execPath, DRIVER, this.workspace, this.definition], { cwd: this.workspace, env })
  }

  planfold(args: readonly string[], env: Readonly<Record<string, string>> = {}): Real {
    return new Real([process.execPath, CLI, ...args], { cwd: this.workspace, env })
  }

  runPlan(env: Readonly<Record<string, string>> = {}, options: readonly string[] = []): Real {
    return this.planfold(['run', join(this.base, 'plan.yaml'), ...options], env)
  }

  path(name: string): string {
    return join(this.workspace, name)
  }

  write(name: string, text: string): void {
    writeFileSync(this.path(name), text)
  }

  has(name: string): boolean {
    return existsSync(this.path(name))
  }

  text(name: string): string {
    return this.has(name) ? readFileSync(this.path(name), 'utf8') : ''
  }

  /** By the shell's tools, not by ours: names, kinds, modes, link targets and contents of everything but our own state. */
  treeHash(): string {
    const script = `{ find . -name .planfold -prune -o -printf '%P\\0%y\\0%m\\0%l\\0\\n' | LC_ALL=C sort; find . -name .planfold -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum; } | sha256sum`
    const done = spawnSync('bash', ['-c', script], { cwd: this.workspace, encoding: 'utf8' })
    if (done.status !== 0) throw new Error(`the tree hasher failed: ${done.stderr}`)
    return done.stdout.slice(0, 64)
  }

  /** The store as SQLite alone shows it. */
  query<T = Record<string, unknown>>(sql: string): readonly T[] {
    const database = new DatabaseSync(this.path('.planfold/planfold.db'), { readOnly: true })
    try {
      return database.prepare(sql).all() as T[]
    } finally {
      database.close()
    }
  }

  journal(): readonly Entry[] {
    const plan = this.plan() as PlanId
    const rows = this.query<StoredEntry>(
      'SELECT format, position, old_position AS oldPosition, version, at, actor, fence, body, NULL AS blob, lower(hex(hash)) AS hash FROM entries ORDER BY position',
    )
    return rows.map(row => readEntry(plan, row, NO_BLOBS))
  }

  events<T extends Event['type']>(type: T): readonly (Extract<Event, { type: T }> & { readonly at: number })[] {
    return this.journal().flatMap(({ now: at, events }) =>
      events.flatMap(event => (event.type === type ? [{ ...(event as Extract<Event, { type: T }>), at }] : [])),
    )
  }

  plan(): string {
    return String(this.query<{ id: string }>('SELECT id FROM plans')[0]?.id)
  }

  integrity(): string {
    return String(this.query<{ integrity_check: string }>('PRAGMA integrity_check')[0]?.integrity_check)
  }

  remove(): void {
    rmSync(this.base, { recursive: true, force: true })
  }
}

const NO_BLOBS = { putNow: () => unreachable(), getNow: () => unreachable() }
const unreachable = (): never => {
  throw new Error('the journals of these tests hold no large entries')
}

/** What the driver said last. */
export interface DriverEnd {
  readonly plan: string
  readonly driven: { readonly status: string; readonly rest?: string }
  readonly status: string
  readonly parked: readonly {
    readonly task: string
    readonly asks: {
      readonly evidence: { readonly reason: string; readonly effect: string; readonly startedAt: number }
    }
  }[]
  readonly tasks: Readonly<Record<string, string>>
  readonly outputs: Readonly<Record<string, unknown>>
  readonly check: { readonly ok: boolean; readonly faults: readonly unknown[] }
}

export function driverEnd({ out, err, code, signal }: Ended): DriverEnd {
  const line = out.trimEnd().split('\n').at(-1) ?? ''
  if (code !== 0 || !line.startsWith('{"end"'))
    throw new Error(`the driver did not reach its end (${code ?? signal}):\n${out}\n${err}`)
  return (JSON.parse(line) as { end: DriverEnd }).end
}

// ── the effect recorder ────────────────────────────────────────────────────────────────────────────────────────────

export interface Effect {
  readonly key: string
  readonly attempt: number
  readonly name: string
  readonly pid: number
  readonly at: string
}

export class Recorder {
  readonly port: number
  readonly #file: string
  readonly #folder: string
  readonly #process: Real

  private constructor(folder: string, file: string, process: Real, port: number) {
    this.#folder = folder
    this.#file = file
    this.#process = process
    this.port = port
  }

  static async open(): Promise<Recorder> {
    const folder = makeFolder()
    const file = join(folder, 'effects.jsonl')
    const real = new Real([process.execPath, join(here, 'recorder.mjs'), file], { stdin: 'pipe' })
    const [, port] = await real.says(/^(\d+)\n/)
    return new Recorder(folder, file, real, Number(port))
  }

  /** Lines for a bash script that do the effect `name` and wait until it is recorded. */
  effect(name: string): string {
    return `exec 3<>/dev/tcp/127.0.0.1/${this.port}; printf 'effect %s %s ${name} %s\\n' "$PLANFOLD_KEY" "$PLANFOLD_ATTEMPT" "$$" >&3; read -r -u 3 answer; exec 3>&-`
  }

  /** A bash script that exits 0 when the key has had its effect. */
  probe(): string {
    return `exec 3<>/dev/tcp/127.0.0.1/${this.port}; printf 'seen %s\\n' "$PLANFOLD_KEY" >&3; read -r -u 3 answer; [ "$answer" = yes ]`
  }

  effects(plan?: string): readonly Effect[] {
    const lines = existsSync(this.#file) ? readFileSync(this.#file, 'utf8').split('\n').slice(0, -1) : []
    const all = lines.map(line => JSON.parse(line) as Effect)
    return plan === undefined ? all : all.filter(({ key }) => key.startsWith(`${plan}/`))
  }

  block(name: string): Promise<void> {
    return this.#tell(`block ${name}`)
  }

  release(name: string): Promise<void> {
    return this.#tell(`release ${name}`)
  }

  async #tell(line: string): Promise<void> {
    const answered = new Promise<void>((done, fail) => {
      const socket = connect(this.port, '127.0.0.1', () => socket.write(`${line}\n`))
      socket.once('data', () => done(void socket.destroy()))
      socket.once('error', fail)
    })
    await within(DEADLINE_MS, answered, () => `the recorder did not answer '${line}'`)
  }

  async close(): Promise<void> {
    this.#process.process.stdin?.end()
    await this.#process.end()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
