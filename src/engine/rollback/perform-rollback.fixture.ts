// Real rooms in a folder of their own: SQLite, files, snapshots, git, processes.

import { randomBytes, randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Actor, PlanName } from '../../domain/id.ts'
import type { ActionType, PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { QueueLocal } from '../../queues/local.ts'
import { decideRunner } from '../../runners/decide/decide-runner.ts'
import { editRunner } from '../../runners/edit/edit-runner.ts'
import { gitRunner } from '../../runners/git/git-runner.ts'
import { processTree } from '../../runners/run/process-tree.ts'
import { runRunner } from '../../runners/run/run-runner.ts'
import type { Runner } from '../../runners/runner.ts'
import { bubblewrap } from '../../safety/sandbox/bubblewrap.ts'
import { thisHost } from '../../stores/leases/host.ts'
import { StoreSqlite } from '../../stores/sqlite/store-sqlite.ts'
import { openGit } from '../../workspace/git/open-git.ts'
import { shell } from '../../workspace/git/repository.fixture.ts'
import { openWorkspace } from '../../workspace/scope/scope-workspace.ts'
import { openSnapshots } from '../../workspace/snapshots/snapshots.ts'
import { systemClock } from '../clock.ts'
import { EngineLocal } from '../engine-local.ts'
import { WorkerLocal } from '../loop/worker.ts'
import type { Order } from '../orders.ts'
import { trusted } from '../roles.ts'
import type { Rooms } from '../rooms.ts'

export const ME = 'ana@example.com' as Actor

/** `inside`: the workspace is this folder of `base`; else `base` itself. `base`: a folder of earlier rooms. */
export async function realRooms({
  inside = '',
  base = mkdtempSync(join(tmpdir(), 'planfold-back-')),
  runners = [],
  sandboxed = false,
  ...options
}: {
  readonly quotaBytes?: number
  readonly inside?: string
  readonly base?: string
  readonly runners?: readonly Runner[]
  readonly sandboxed?: boolean
} = {}) {
  const root = join(base, inside)
  const stateDir = join(root, '.planfold')
  mkdirSync(stateDir, { recursive: true })
  const store = await StoreSqlite.open({
    folder: stateDir,
    clock: systemClock,
    host: thisHost(process.pid),
    newId: randomUUID,
    ...options,
  })
  const tree = processTree()
  const environment = { PATH: process.env.PATH ?? '', HOME: root }
  const files = (folder: string) => ({
    workspace: openWorkspace({ root: folder, stateDir, blobs: store.blobs, now: systemClock.now }),
    snapshots: openSnapshots({ root: folder, stateDir, blobs: store.blobs, now: systemClock.now, pauseMs: 1 }),
    git: openGit({ root: folder, scratch: stateDir, environment }),
  })
  const rooms: Rooms = {
    store,
    ...files(root),
    at: at => ({ ...rooms, ...files(resolve(root, at)), root: resolve(root, at) }),
    runners: new Map<ActionType, Runner>(
      [runRunner({ tree }), editRunner(), decideRunner(), gitRunner(), ...runners].map(runner => [
        runner.action,
        runner,
      ]),
    ),
    processes: tree,
    ...(sandboxed ? { sandbox: bubblewrap({ environment, outside: [root] }) } : {}),
    clock: systemClock,
    random: randomBytes,
    root,
    stateDir,
    environment,
    leaseMs: 60_000,
    queue: everyMs => new QueueLocal({ store, clock: systemClock, everyMs }),
    about: 'a test',
  }
  const engine = new EngineLocal(rooms, trusted(ME))
  const worker = new WorkerLocal(rooms)
  /** What tasks without a scope changed goes back as well, unless an order says otherwise: nobody else works here. */
  const submit = async (order: Order, plan: string | null = 'plan') => {
    const isBack = order.type === 'rollback' || order.type === 'undo'
    return await engine.submit(plan, isBack ? { includeUnclaimed: true, ...order } : order)
  }
  const drive = async () => {
    const found = await engine.ask({ type: 'find', reference: 'plan' })
    return await worker.drive(found!.plan, { stop: new AbortController().signal })
  }
  return {
    base,
    root,
    rooms,
    engine,
    worker,
    submit,
    drive,
    /** Creates, starts and drives a plan to its end. */
    async run(tasks: readonly TaskDefinition[], rest: Partial<PlanDefinition> = {}) {
      const made = await submit({ type: 'create', definition: { name: 'plan' as PlanName, ...rest, tasks } }, null)
      if (!made.ok) throw new Error(made.refusal.message)
      const started = await submit({ type: 'start' })
      if (!started.ok) throw new Error(started.refusal.message)
      return await drive()
    },
    async statuses(): Promise<Record<string, string>> {
      const cards = (await engine.ask({ type: 'board', plan: 'plan' })) ?? []
      const summary = await engine.ask({ type: 'summary', plan: 'plan' })
      return { plan: summary?.status ?? 'none', ...Object.fromEntries(cards.map(card => [card.name, card.status])) }
    },
    async close() {
      await worker.close()
      await engine.close()
    },
  }
}

export const sh = (id: string, script: string, more: Partial<TaskDefinition> = {}): TaskDefinition => ({
  id: id as TaskDefinition['id'],
  action: { type: 'run', command: { script } },
  ...more,
})

export const edit = (
  id: string,
  file: string,
  content: string,
  more: Partial<TaskDefinition> = {},
): TaskDefinition => ({
  id: id as TaskDefinition['id'],
  action: { type: 'edit', edits: [{ type: 'create', file, content }] },
  ...more,
})

/** A repository with everything a person may have lying around. */
export function busyRepository(root: string): void {
  const git = (...args: string[]): string => shell(root, root, ...args)
  const put = (name: string, text: string): void => writeFileSync(join(root, name), text)
  git('init', '--quiet', '--initial-branch=main')
  put('.gitignore', '.planfold/\ndist/\n*.log\n')
  put('a.txt', 'a\n')
  put('b.txt', 'b\n')
  git('add', '.')
  git('commit', '--quiet', '-m', 'first')
  put('b.txt', 'stashed\n')
  git('stash', '--quiet')
  put('b.txt', 'staged\n')
  git('add', 'b.txt')
  put('b.txt', 'staged and changed\n')
  put('mine.txt', 'untracked\n')
  put('mine.log', 'ignored\n')
}
