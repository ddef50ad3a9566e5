// A command in its sandbox, seen from outside: it is started, looked at when it says that it is ready, told to go, and heard about
// its end. The lifeline is ours alone, so when this process dies it is cut.

import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import type { Failure } from '../../domain/result.ts'
import { failure } from '../safety-refusal.ts'
import { ARGUMENTS, LIFELINE, STATUS } from './launcher.ts'
import type { Wrapped } from './sandbox.ts'

export interface Boxed {
  readonly child: ChildProcess
  readonly exited: Promise<BoxedExit>
  /** Process 1 of the sandbox, as this machine numbers it; known before the command begins. */
  readonly first: () => number | null
}

export interface BoxedExit {
  /** 128 plus its number when the command was ended by a signal of its own making. */
  readonly exit: number | null
  readonly signal: string | null
  /** The sandbox could not be made, so nothing was begun. */
  readonly failure?: Failure
}

const SAID_MAX = 2_000

/** Throws what `spawn` throws. */
export function spawnBoxed(wrapped: Wrapped, options: { readonly stdin: 'ignore' | 'pipe' }): Boxed {
  const child = spawn(wrapped.file, wrapped.args, {
    cwd: '/',
    env: wrapped.env,
    detached: true,
    stdio: [options.stdin, 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
  })
  const streams: readonly unknown[] = child.stdio
  const lifeline = streams[LIFELINE] as Writable | null
  const status = streams[STATUS] as Readable | null
  const args = streams[ARGUMENTS] as Writable | null
  for (const stream of [lifeline, status, args]) stream?.on('error', () => {})
  args?.end(`${wrapped.mounts.join('\0')}\0`)

  let first: number | null = null
  let ready = false
  let code: number | null = null
  let refused: Failure | null = null
  let said = ''
  const cut = () => lifeline?.destroy()
  const hear = (chunk: Buffer): void => {
    if (!ready) said = `${said}${chunk.toString('utf8')}`.slice(0, SAID_MAX)
  }
  child.stderr?.on('data', hear)
  const begin = (): void => {
    if (lifeline?.destroyed) return
    first = childOf(child.pid ?? 0)
    refused = first === null ? UNSEEN : wrongMount(first, wrapped.writable)
    if (refused !== null) return void cut()
    lifeline?.write('go\n')
  }
  let line = ''
  status?.on('data', (chunk: Buffer) => {
    line += chunk.toString('utf8')
    if (!ready && line.startsWith('ready\n')) {
      ready = true
      begin()
    }
    const ended = /^exit (\d+)$/m.exec(line)?.[1]
    if (ended === undefined || code !== null) return
    code = Number(ended)
    cut()
  })
  // Whoever would have told how it ended is gone: so is the command.
  const toldAll = new Promise<void>(resolve => {
    if (status === null) return resolve()
    status.once('close', resolve)
    status.once('end', cut)
  })
  const exited = new Promise<BoxedExit>(resolve => {
    child.once('exit', (exit, signal) => {
      cut()
      void toldAll.then(() => {
        if (refused !== null) resolve({ exit: null, signal: null, failure: refused })
        else if (code !== null) resolve({ exit: code, signal: null })
        else if (ready || signal !== null) resolve({ exit: null, signal: signal ?? 'SIGKILL' })
        else resolve({ exit, signal, failure: notMade(said, exit) })
      })
    })
  })
  return { child, exited, first: () => first }
}

const UNSEEN = failure('policy', 'the sandbox cannot be looked at from outside', 'is /proc mounted?')

/** Bubblewrap's only child is process 1 inside. It is not asked for it: it would die of telling a parent that is gone, half-way. */
function childOf(wall: number): number | null {
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      if (Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === wall) return Number(name)
    } catch {
      // Gone meanwhile.
    }
  }
  return null
}

/** Is each writable folder inside the one that was meant? A path could have been swapped for a link while it was mounted. */
function wrongMount(first: number, writable: readonly string[]): Failure | null {
  for (const folder of writable) {
    const here = statSync(folder, { throwIfNoEntry: false })
    const inside = statSync(`/proc/${first}/root${folder}`, { throwIfNoEntry: false })
    if (here === undefined || inside === undefined || here.dev !== inside.dev || here.ino !== inside.ino)
      return failure('policy', `${JSON.stringify(folder)} was replaced while it was mounted`, 'try it again')
  }
  return null
}

function notMade(said: string, exit: number | null): Failure {
  const why = said.trim().split('\n')[0] ?? ''
  return failure('policy', `the sandbox could not be made: ${why === '' ? `exit ${exit}` : why}`, [
    'see ',
    { next: 'doctor', quoted: true },
  ])
}
