// The built command in one workspace: starts it, kills it for real, and keeps everything it ever said, so that the oracle can
// hold every acknowledged answer against the journal.

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const DIST = process.env.PLANFOLD_DIST ?? resolve(import.meta.dirname, '../../../dist')
const MAIN = join(DIST, 'cli/main.js')
if (!existsSync(MAIN)) throw new Error(`${MAIN} is missing; build it first: npm run build`)

export interface Call {
  readonly argv: readonly string[]
  readonly pid: number
  readonly startedAt: number
  endedAt: number
  code: number | null
  signal: NodeJS.Signals | null
  out: string
  err: string
}

export interface RunningCall {
  readonly call: Call
  readonly ended: Promise<Call>
  readonly isOver: () => boolean
  /** SIGKILL: to the process alone, or also to the process groups of the tasks it runs. */
  kill(whom: 'owner' | 'family'): Promise<void>
  terminate(): void
}

/** Carries out a command without a process of its own. */
export type Short = (
  folder: string,
  environment: Readonly<Record<string, string>>,
  argv: readonly string[],
) => Promise<Pick<Call, 'code' | 'out' | 'err'>>

export class Cli {
  readonly calls: Call[] = []
  readonly #workspace: string
  readonly #environment: Readonly<Record<string, string>>
  readonly #short: Short | undefined
  readonly #alive = new Set<ChildProcess>()

  /** `short`: who carries out commands that are not killed; a process each when nobody is named. */
  constructor(workspace: string, short?: Short) {
    this.#workspace = workspace
    this.#short = short
    this.#environment = {
      PATH: process.env.PATH ?? '',
      HOME: join(workspace, '..'),
      TZ: 'UTC',
      LANG: 'C.UTF-8',
      PLANFOLD_AS: 'driver',
      NO_COLOR: '1',
    }
  }

  start(...argv: readonly string[]): RunningCall {
    const child = spawn(process.execPath, [MAIN, ...argv], {
      cwd: this.#workspace,
      env: this.#environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#alive.add(child)
    const call = newCall(argv, child.pid ?? -1)
    this.calls.push(call)
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      call.out += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      call.err += text
    })
    const ended = new Promise<Call>((done, fail) => {
      child.once('error', fail)
      child.once('exit', () => {
        call.endedAt = Date.now()
      })
      child.once('close', (code, signal) => {
        this.#alive.delete(child)
        Object.assign(call, { code, signal })
        done(call)
      })
    })
    return {
      call,
      ended,
      isOver: () => child.exitCode !== null || child.signalCode !== null,
      kill: async whom => {
        const family = whom === 'family' ? childrenOf(call.pid) : []
        child.kill('SIGKILL')
        for (const pid of family) killGroup(pid)
        await ended
      },
      terminate: () => child.kill('SIGTERM'),
    }
  }

  /** A command that nobody kills. */
  async say(...argv: readonly string[]): Promise<Call> {
    if (this.#short === undefined) return await this.start(...argv, '--json').ended
    const call = newCall([...argv, '--json'], process.pid)
    this.calls.push(call)
    Object.assign(call, await this.#short(this.#workspace, this.#environment, call.argv))
    call.endedAt = Date.now()
    return call
  }

  /** A question of the oracle: its answer is not held against the documented exit codes. */
  async probe(...argv: readonly string[]): Promise<Call> {
    const call = await this.say(...argv)
    this.calls.splice(this.calls.indexOf(call), 1)
    return call
  }

  /** Ends what a broken episode left behind: only what was started here. */
  endAll(): void {
    for (const child of this.#alive) child.kill('SIGKILL')
  }
}

const newCall = (argv: readonly string[], pid: number): Call => ({
  argv,
  pid,
  startedAt: Date.now(),
  endedAt: 0,
  code: null,
  signal: null,
  out: '',
  err: '',
})

/** Whole lines of JSON that were received; one cut off by a kill was not. */
export function answersOf(call: Call): readonly Answer[] {
  return call.out
    .split('\n')
    .slice(0, -1)
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line) as Answer)
}

export interface Answer {
  readonly planfold: number
  readonly data?: { readonly [field: string]: unknown }
  readonly error?: { readonly code: string; readonly message: string }
}

export const dataOf = (call: Call): { readonly [field: string]: unknown } | null => answersOf(call).at(-1)?.data ?? null

function childrenOf(parent: number): readonly number[] {
  return readdirSync('/proc').flatMap(name => {
    if (!/^\d+$/.test(name)) return []
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      const [, ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return Number(ppid) === parent ? [Number(name)] : []
    } catch {
      return []
    }
  })
}

/** Tasks lead process groups of their own; a child that leads none is killed alone. */
function killGroup(pid: number): void {
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, 'SIGKILL')
      return
    } catch {}
  }
}
