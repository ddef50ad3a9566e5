// A started child process and its two ends: it has exited, and later its pipes are closed. Ends and output are listened to
// from the first moment, since a quick child is gone before anybody looks, and Node then throws unread output away.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Directory } from '../../safety/directory.ts'
import { startOf } from './process-table.ts'

export interface ChildOptions {
  readonly argv: readonly string[]
  readonly stdin: string | undefined
  readonly env: { readonly [name: string]: string }
  /** An open directory, so that no swapped path can lead the child elsewhere; needed only until it has started. */
  readonly cwd: Directory
  readonly onOutput: (stream: 'stdout' | 'stderr', chunk: Buffer) => void
}

export interface Child {
  readonly leader: { readonly pid: number; readonly start: number }
  readonly process: ChildProcess
  readonly exited: Promise<Exit>
  /** Stops listening for the exit of a process that cannot be ended. */
  giveUp(): void
  /** Reads what is still in the pipes, for a bounded time, and lets go of them. */
  drain(): Promise<void>
}

export interface Exit {
  readonly exit: number | null
  readonly signal: string | null
}

const DRAIN_STEPS = 10
const DRAIN_STEP_MS = 100

/** Starts it in a session of its own, without a terminal. An error is why it could not be started. */
export async function startChild(options: ChildOptions): Promise<Child | Error> {
  const [file = '', ...args] = options.argv
  const stdin = options.stdin === undefined ? 'ignore' : 'pipe'
  let child: ChildProcess
  try {
    // The child changes its directory before it becomes the program, while it still holds our descriptors.
    const cwd = options.cwd.at(null).toString()
    child = spawn(file, args, { cwd, env: options.env, detached: true, stdio: [stdin, 'pipe', 'pipe'] })
  } catch (error) {
    if (error instanceof Error && 'code' in error) return error
    throw error
  }
  if (child.pid === undefined) return (await once(child, 'error'))[0] as Error
  let giveUp = () => {}
  const exited = new Promise<Exit>(resolve => {
    child.once('exit', (exit, signal) => resolve({ exit, signal }))
    giveUp = () => resolve({ exit: null, signal: null })
  })
  let open = true
  const closed = new Promise<void>(resolve => child.once('close', () => resolve())).then(() => {
    open = false
  })
  child.stdout?.on('data', chunk => options.onOutput('stdout', chunk))
  child.stderr?.on('data', chunk => options.onOutput('stderr', chunk))
  // A child that does not read its input to the end is within its rights.
  child.stdin?.on('error', () => {})
  child.stdin?.end(options.stdin)
  return {
    leader: { pid: child.pid, start: startOf(child.pid) },
    process: child,
    exited,
    giveUp,
    // In steps, so that a late timer does not win over output that is already there.
    async drain() {
      for (let step = 0; open && step < DRAIN_STEPS; step++) {
        await Promise.race([closed, sleep(DRAIN_STEP_MS, null, { ref: false })])
      }
      child.stdout?.destroy()
      child.stderr?.destroy()
      child.unref()
    },
  }
}
