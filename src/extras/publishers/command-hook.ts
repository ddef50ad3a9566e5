// Tells by starting a command: the message is JSON on its standard input. A list is started without a shell, so a word means itself.
// What it prints is only used to say why it failed. It gets a session of its own, and all of it ends when its time is over. In a sandbox
// it can read the workspace and write nothing of it: what it would write belongs to no task, and could not be undone.

import { type ChildProcess, spawn } from 'node:child_process'
import { realpathSync } from 'node:fs'
import type { CommandLine } from '../../domain/plan.ts'
import { type Message, PUBLISH_MAX_MS, type Published } from '../../engine/notifications/publisher.ts'
import { inheritedEnvironment, type Variables } from '../../safety/environment.ts'
import { foreignFolders, helperPath } from '../../safety/find-program.ts'
import { type SandboxUse, sandboxCommand } from '../../safety/sandbox/command-sandbox.ts'
import { type Boxed, spawnBoxed } from '../../safety/sandbox/sandboxed-process.ts'

export interface HookOptions {
  readonly root: string
  readonly stateDir: string
  readonly environment: Variables
  readonly timeoutMs?: number
  /** Absent: it runs with the rights of this process. */
  readonly sandbox?: SandboxUse
}

const SAID_MAX = 300

export async function tellCommand(
  command: CommandLine,
  { id, kind, owner, body }: Message,
  signal: AbortSignal,
  { root, stateDir, environment, sandbox, timeoutMs = PUBLISH_MAX_MS }: HookOptions,
): Promise<Published> {
  const argv = 'argv' in command ? command.argv : ['/bin/sh', '-eu', '-c', command.script]
  const [file = '', ...args] = argv
  if (signal.aborted) return STOPPED
  let said = ''
  const hear = (chunk: Uint8Array): void => {
    said = `${said}${Buffer.from(chunk).toString('utf8')}`.slice(-SAID_MAX * 4)
  }
  const marks = { PLANFOLD_OWNER: owner, PLANFOLD_NOTICE: kind, PLANFOLD_NOTICE_ID: id }
  const inherited = inheritedEnvironment(environment)
  // A word alone is a program of this machine; one of the workspace is named by its path.
  const PATH = helperPath(inherited.PATH, foreignFolders(root, inherited.HOME))
  const env = { ...inherited, PATH, ...marks }
  const request = { root, stateDir, cwd: realpathSync(root), write: [], argv, env }
  const shut = sandbox === undefined ? null : await sandboxCommand(sandbox, request, (_, chunk) => hear(chunk))
  if (shut?.ok === false) return { ok: false, failure: shut.failure.message, again: false }
  let child: ChildProcess
  let boxed: Boxed | null = null
  try {
    boxed = shut === null ? null : spawnBoxed(shut.value, { stdin: 'pipe' })
    child = boxed?.child ?? spawn(file, args, { cwd: root, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
  } catch (error) {
    await shut?.value.close()
    return cannotStart(file, error)
  }
  const published = await new Promise<Published>(resolve => {
    const end = (published: Published): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      // Processes it left in its session are not waited for, and hold no pipe of ours.
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy()
      child.unref()
      resolve(published)
    }
    const killAnd = (published: Published) => (): void => {
      kill(child)
      end(published)
    }
    const stop = killAnd(STOPPED)
    const timer = setTimeout(
      killAnd({ ok: false, failure: `it had not ended after ${timeoutMs / 1000} s`, again: true }),
      timeoutMs,
    )
    signal.addEventListener('abort', stop, { once: true })
    child.once('error', error => end(cannotStart(file, error)))
    const ended = (exit: number | null, by: string | null) =>
      end(exit === 0 ? { ok: true } : failedWith(exit, by, said))
    if (boxed === null) child.once('exit', ended)
    else
      void boxed.exited.then(({ exit, signal, failure, excess }) => {
        const why = failure ?? excess
        if (why === undefined) ended(exit, signal)
        else end({ ok: false, failure: why.message, again: false })
      })
    child.stdout?.on('data', hear)
    child.stderr?.on('data', hear)
    // One that does not read its input to the end is within its rights.
    child.stdin?.on('error', () => {})
    child.stdin?.end(body)
  })
  await shut?.value.close()
  return published
}

const STOPPED: Published = { ok: false, failure: 'stopped before it was told', again: true }

function cannotStart(file: string, error: unknown): Published {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  // A program that is not there or may not be run will not be there in a second.
  const again = !['ENOENT', 'EACCES', 'ENOTDIR', 'E2BIG', 'ERR_INVALID_ARG_VALUE'].includes(code)
  return { ok: false, failure: `${file} could not be started (${code === '' ? String(error) : code})`, again }
}

function failedWith(exit: number | null, by: string | null, said: string): Published {
  const how = exit === null ? `ended by ${by ?? 'a signal'}` : `exit ${exit}`
  const last = said.trim().split('\n').at(-1)?.slice(0, SAID_MAX) ?? ''
  return { ok: false, failure: last === '' ? how : `${how}: ${last}`, again: true }
}

function kill(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // It is gone already.
  }
}
