// Test support of runners: a workspace in a temporary directory, an attempt in it, and a captured log.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { PlanId, TaskName } from '../domain/id.ts'
import type { Action, TaskDefinition } from '../domain/plan.ts'
import type { Attempt, RunnerTools, Stop } from './runner.ts'

export function setup() {
  const base = mkdtempSync(join(tmpdir(), 'runner-'))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  const root = join(base, 'work')
  mkdirSync(root)
  const logged: { readonly stream: string; readonly chunk: Buffer }[] = []
  const tools: RunnerTools = {
    root,
    stateDir: join(root, '.planfold'),
    owner: `test-${base.slice(-6)}`,
    write: null,
    environment: { ...process.env, SECRET_TOKEN: 'hush', LD_PRELOAD: '' },
    evaluate: () => ({ ok: false, message: 'no expressions here' }),
    // Without messages of the engine itself.
    log: (stream, chunk) => void (stream !== 'engine' && logged.push({ stream, chunk: Buffer.from(chunk) })),
    about: 'a test',
    monotonic: () => performance.now(),
  }
  const attempt = (action: Action, more: Partial<Attempt> & { readonly cwd?: string } = {}): Attempt => {
    const { cwd, ...rest } = more
    const definition: TaskDefinition = { id: 'task' as TaskName, action, ...(cwd !== undefined && { cwd }) }
    return {
      plan: '0190c8a0-0000-7000-8000-000000000000' as PlanId,
      task: 'task' as TaskName,
      visit: 1,
      attempt: 1,
      key: `plan/${base.slice(-6)}/1`,
      definition,
      action,
      inputs: {},
      env: {},
      timeoutMs: 30_000,
      ...rest,
    }
  }
  const going = stopBy(new AbortController().signal)
  return { base, root, tools, attempt, going, logged }
}

export const stopBy = (signal: AbortSignal): Stop => ({
  get aborted() {
    return signal.aborted
  },
  signal,
})

/** Polls, because real processes give no other signal. */
export async function until(holds: () => boolean, what: string): Promise<void> {
  for (let round = 0; round < 12_000; round++) {
    if (holds()) return
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  throw new Error(`waited too long until ${what}`)
}
