// The outer side of a sandboxed command: starts bubblewrap, verifies the mounts when it is ready, lets the command run, and reads its exit.
// Only this process holds the lifeline, so its death ends the sandbox.

import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { orElse } from '../../domain/json.ts'
import type { Failure } from '../../domain/result.ts'
import { failure } from '../safety-refusal.ts'
import { makeControlGroup } from './cgroup.ts'
import { ARGUMENTS, FILTER, LIFELINE, STATUS } from './launcher.ts'
import { type Leftover, leftoverFiles } from './leftover-files.ts'
import { excessOf, watchResources } from './resource-watch.ts'
import type { Wrapped } from './sandbox.ts'
import { syscallFilter } from './syscall-filter.ts'

export type { Leftover }

export interface Boxed {
  readonly child: ChildProcess
  readonly exited: Promise<BoxedExit>
}

export interface BoxedExit {
  /** 128 plus its number when a signal ended the command itself. */
  readonly exit: number | null
  readonly signal: string | null
  /** The sandbox could not be created, so nothing began. */
  readonly failure?: Failure
  /** It used more than its limits, and was ended for that. */
  readonly excess?: Failure
  readonly leftover?: Leftover
}

const OUTPUT_MAX = 2_000

export function spawnBoxed(wrapped: Wrapped, options: { readonly stdin: 'ignore' | 'pipe' }): Boxed {
  const child = spawnBubblewrap(wrapped, options)
  const streams: readonly unknown[] = child.stdio
  const lifeline = streams[LIFELINE] as Writable | null
  const status = streams[STATUS] as Readable | null
  const args = streams[ARGUMENTS] as Writable | null
  const filter = streams[FILTER] as Writable | null
  for (const stream of [lifeline, status, args, filter]) stream?.on('error', () => {})
  // Bubblewrap starts nothing before it has read its arguments, so all its children inherit this.
  if (child.pid !== undefined) raiseOomScore(child.pid)
  const controlGroup = makeControlGroup(wrapped.limits)
  const isEntered = child.pid === undefined ? null : controlGroup?.enterLater(child.pid)
  filter?.end(syscallFilter() ?? '')
  args?.end(`${wrapped.mounts.join('\0')}\0`)

  let ready = false
  let code: number | null = null
  let refused: Failure | null = null
  let excess: Failure | null = null
  let first: number | null = null
  let leftover: Leftover | null = null
  let stopWatch = () => {}
  let output = ''
  const cut = () => lifeline?.destroy()
  const onOutput = (chunk: Buffer): void => {
    if (!ready) output = `${output}${chunk.toString('utf8')}`.slice(0, OUTPUT_MAX)
  }
  child.stderr?.on('data', onOutput)
  const begin = async (): Promise<void> => {
    await isEntered
    if (lifeline?.destroyed) return
    const found = childOf(child.pid ?? 0)
    refused = found === null ? UNSEEN : wrongMount(found, wrapped.writable)
    if (found === null || refused !== null) return void cut()
    first = found
    const { inMemory, limits } = wrapped
    const isLimited = controlGroup?.enter(found) === true
    const met = controlGroup !== null && isLimited ? { met: controlGroup.excess } : {}
    stopWatch = watchResources({ first: found, inMemory, limits, ...met }, failure => {
      excess = failure
      kill(found)
      cut()
    })
    lifeline?.write('go\n')
  }
  let line = ''
  status?.on('data', (chunk: Buffer) => {
    line += chunk.toString('utf8')
    if (!ready && line.startsWith('ready\n')) {
      ready = true
      void begin()
    }
    const ended = /^exit (\d+)$/m.exec(line)?.[1]
    if (ended === undefined || code !== null) return
    code = Number(ended)
    leftover = first === null ? null : leftoverFiles(first, wrapped.temporary)
    cut()
  })
  // If process 1 ends without reporting an exit, the command has ended with it.
  const statusClosed = new Promise<void>(resolve => {
    if (status === null) return resolve()
    status.once('close', resolve)
    status.once('end', cut)
  })
  const exited = new Promise<BoxedExit>(resolve => {
    child.once('exit', (exit, signal) => {
      cut()
      stopWatch()
      const met = controlGroup?.excess() ?? null
      if (met !== null) excess ??= excessOf(met, wrapped.limits)
      controlGroup?.remove()
      void statusClosed.then(() => {
        if (refused !== null) resolve({ exit: null, signal: null, failure: refused })
        else if (excess !== null) resolve({ exit: null, signal: 'SIGKILL', excess })
        else if (code !== null) resolve({ exit: code, signal: null, ...(leftover === null ? {} : { leftover }) })
        else if (ready || signal !== null) resolve({ exit: null, signal: signal ?? 'SIGKILL' })
        else resolve({ exit, signal, failure: notMade(output, exit) })
      })
    })
  })
  return { child, exited }
}

export interface Trial {
  readonly output: string
  readonly exit: number | null
  readonly fault: string | null
  readonly isMade: boolean
}

export async function tryBoxed(wrapped: Wrapped, maxMs: number): Promise<Trial> {
  let output = ''
  let errors = ''
  let isLate = false
  const { child, exited } = spawnBoxed(wrapped, { stdin: 'ignore' })
  if (child.pid === undefined) {
    child.once('error', () => {})
    return { output, exit: null, fault: 'it cannot be started', isMade: false }
  }
  const timer = setTimeout(() => {
    isLate = true
    child.kill('SIGKILL')
  }, maxMs)
  child.stdout?.on('data', chunk => {
    output += String(chunk)
  })
  child.stderr?.on('data', chunk => {
    errors = `${errors}${String(chunk)}`.slice(0, OUTPUT_MAX)
  })
  const { exit, signal, failure, excess } = await exited
  clearTimeout(timer)
  const ended = signal === null ? `its command ended with exit code ${exit}` : `its command was ended by ${signal}`
  const [first = ''] = errors.trim().split('\n')
  const why = isLate ? `its command took more than ${maxMs / 1000} seconds` : `${ended}${first && `: ${first}`}`
  const fault = failure?.message ?? excess?.message ?? (exit === 0 ? null : why)
  return { output, exit, fault, isMade: failure === undefined }
}

function spawnBubblewrap(wrapped: Wrapped, { stdin }: { readonly stdin: 'ignore' | 'pipe' }): ChildProcess {
  const shell = openSync('/bin/sh', 'r')
  try {
    // The command's three streams, then the descriptors of the launcher: lifeline, status, arguments, filter, shell.
    const stdio = [stdin, 'pipe', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe', shell] as const
    return spawn(wrapped.file, wrapped.args, { cwd: '/', env: wrapped.env, detached: true, stdio: [...stdio] })
  } finally {
    closeSync(shell)
  }
}

const OOM_SCORE = '800'

/** When memory runs out, the kernel kills sandboxed processes before the user's own. */
const raiseOomScore = (pid: number): void =>
  orElse(() => writeFileSync(`/proc/${pid}/oom_score_adj`, OOM_SCORE), undefined)

const kill = (pid: number): boolean => orElse(() => process.kill(pid, 'SIGKILL'), false)

const UNSEEN = failure('policy', 'the sandbox cannot be looked at from outside', 'is /proc mounted?')

/**
 * Bubblewrap's only child is process 1 inside. It is looked up here, not reported by `--info-fd`, because bubblewrap would die half-way if
 * its parent is gone.
 */
function childOf(parent: number): number | null {
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = orElse(() => readFileSync(`/proc/${name}/stat`, 'utf8'), '')
    if (Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent) return Number(name)
  }
  return null
}

/** Is each writable mount the intended folder? Its path could have been replaced by a link during the mount. */
function wrongMount(first: number, writable: readonly string[]): Failure | null {
  for (const folder of writable) {
    const here = statSync(folder, { throwIfNoEntry: false })
    const inside = statSync(`/proc/${first}/root${folder}`, { throwIfNoEntry: false })
    if (here === undefined || inside === undefined || here.dev !== inside.dev || here.ino !== inside.ino)
      return {
        ...failure('policy', `${JSON.stringify(folder)} was replaced while it was mounted`, 'try it again'),
        code: MOUNT_REPLACED,
      }
  }
  return null
}

/** A file or folder was replaced between the choice of the mounts and the mount. Nothing began; with new mounts it may succeed. */
export const MOUNT_REPLACED = 'mount-replaced'

/** Bubblewrap's words for it: the file was gone before the mount, or after. */
const REPLACED = /\(deleted\)" in mount table|Can't find source path|Can't get type of source/

function notMade(output: string, exit: number | null): Failure {
  const why = output.trim().split('\n')[0] ?? ''
  const found = failure('policy', `the sandbox could not be made: ${why === '' ? `exit ${exit}` : why}`, [
    'see ',
    { next: 'doctor', quoted: true },
  ])
  return REPLACED.test(why) ? { ...found, code: MOUNT_REPLACED } : found
}
