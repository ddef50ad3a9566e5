// Kills at system calls, by strace. It counts each kind of call for each thread by itself, so a kill names one kind of call
// and one thread: the main one, by not following others, or the only one of the thread pool, by attaching to it.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Ended, Real } from './harness.ts'

export const killing = (call: string, k: number): readonly string[] => [
  ...tracing(call, '/dev/null'),
  '-e',
  `inject=${call}:signal=SIGKILL:when=${k}`,
]

export const tracing = (calls: string, out: string): readonly string[] => [
  'strace',
  '-qq',
  '-y',
  '-o',
  out,
  '-e',
  `trace=${calls}`,
]

/** Every traced call with its number among those of its kind; writes only where they go into files. */
export function counted(out: string): readonly (readonly [call: string, k: number])[] {
  const counts = new Map<string, number>()
  const found: [string, number][] = []
  for (const [, call, into] of readFileSync(out, 'utf8').matchAll(/^([a-z0-9_]+)\((?:\d+<([^>]*)>)?/gm)) {
    const k = (counts.get(call!) ?? 0) + 1
    counts.set(call!, k)
    if (call !== 'write' || into?.startsWith('/')) found.push([call!, k])
  }
  return found
}

/** What a process needs to wait, before it begins, until its only pool thread is traced. */
export const ONE_POOL_THREAD = {
  UV_THREADPOOL_SIZE: '1',
  NODE_OPTIONS: `--require ${resolve(import.meta.dirname, 'pool-thread.cjs')}`,
} as const

/** Runs a process that was started with `ONE_POOL_THREAD` to its end, traced in its pool thread. */
export async function tracedInPool(engine: Real, trace: readonly string[]): Promise<Ended> {
  const [, thread] = await engine.says(/\{"pool":(\d+)\}/)
  const tracer = new Real([...trace, '-p', thread!])
  const ended = await engine.end()
  await tracer.end()
  return ended
}

/** It must be there, may have been forbidden to trace, and must kill exactly where it is told. */
export function whyNoStrace(): string | null {
  if (process.platform !== 'linux') return 'this is not Linux'
  if (spawnSync('strace', ['--version']).status !== 0) return 'it is not installed'
  const tried = spawnSync('strace', [...killing('getcwd', 1).slice(1), 'bash', '-c', 'cd /; /bin/pwd'])
  return tried.signal === 'SIGKILL'
    ? null
    : `it cannot trace or inject here: ${String(tried.stderr).trim().split('\n')[0] ?? ''}`
}
