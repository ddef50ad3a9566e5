// The world outside the engine: children that work for a while and, at some moment, have their effect; files that can be
// captured and set back; a recorder that sees everything and belongs to no process, so that it survives them all.

import { createHash } from 'node:crypto'
import type { Sha256, TaskName } from '../src/domain/id.ts'
import type { ActionType, EffectClass } from '../src/domain/plan.ts'
import { effectOf } from '../src/domain/plan-rules/effect.ts'
import { isSame } from '../src/engine/rollback/write-set.ts'
import { decideRunner } from '../src/runners/decide/decide-runner.ts'
import type { Attempt, AttemptBudget, Outcome, ProcessTree, Runner } from '../src/runners/runner.ts'
import type { Blobs, Change, Snapshots, TreeEntry, Workspace } from '../src/workspace/workspace.ts'
import type { Random } from './random.ts'
import type { Scheduler } from './scheduler.ts'
import { type Shelf, simSnapshots, type Unsettled } from './snapshots.ts'
import type { Spending } from './spending.ts'
import type { Workload } from './workload.ts'

/** One child process doing one thing. */
export interface Execution {
  readonly number: number
  readonly owner: string
  readonly key: string
  readonly task: TaskName
  readonly visit: number
  readonly attempt: number
  readonly kind: 'work' | 'probe' | 'undo' | 'check'
  readonly effect: EffectClass
  /** The file it writes, for effect class `workspace`. */
  readonly file: string | null
  running: boolean
  /** Its effect happened. */
  happened: boolean
  ended: 'well' | 'badly' | 'interrupted' | 'killed' | null
}

/** What a process lends its children: who owns them, and a way to hear from them while it lives. */
export interface Parent {
  readonly name: string
  /** Runs `deliver` in the process, unless it died; later, if it is stopped. */
  hear(label: string, deliver: () => void): void
}

export interface Watcher {
  /** A child began; called before its effect can happen. */
  began(execution: Execution): void
  /** The effect of a child is about to happen. */
  happens(execution: Execution): void
}

export class World implements Shelf {
  readonly files = new Map<string, string>()
  /** A rollback of files that was begun and is not recorded yet. */
  unsettled: Unsettled | null = null
  readonly executions: Execution[] = []
  /** Effects at the other side, by idempotency key: the second time does nothing. */
  readonly byKey = new Set<string>()
  watcher: Watcher = { began: () => {}, happens: () => {} }
  readonly #scheduler: Scheduler
  readonly #luck: Random
  readonly #workload: Workload
  readonly #trace: (line: string) => void

  constructor(scheduler: Scheduler, luck: Random, workload: Workload, trace: (line: string) => void) {
    this.#scheduler = scheduler
    this.#luck = luck
    this.#workload = workload
    this.#trace = trace
  }

  /** The runners of one process. */
  runners(parent: Parent): ReadonlyMap<ActionType, Runner> {
    const attempt: Runner['attempt'] = (attempt, tools, stop) => {
      const carryOut = () => this.#carryOut(parent, attempt, tools.owner, stop.signal)
      const spending = this.#workload.spending?.get(attempt.task)
      const isWork = attempt.action === attempt.definition.action
      if (spending === undefined || tools.budget === undefined || !isWork) return carryOut()
      return this.#spend(parent, attempt, spending, tools.budget, stop.signal).then(unpaid => unpaid ?? carryOut())
    }
    return new Map<ActionType, Runner>([
      ['run', { action: 'run', attempt }],
      ['edit', { action: 'edit', attempt }],
      ['decide', decideRunner()],
    ])
  }

  /** Ends what an owner left behind. It takes a while, and ends in the middle if the process asking for it does. */
  processes(parent: Parent): ProcessTree {
    return {
      endOwner: owner =>
        new Promise(resolve => {
          const kill = () => {
            const left = this.executions.filter(execution => execution.running && execution.owner === owner)
            for (const execution of left) this.#kill(execution)
            this.#trace(`${parent.name} ended ${left.length} of ${owner}`)
            resolve({ ended: left.length, left: 0 })
          }
          this.#scheduler.after(this.#luck.between(0, 300), 'endOwner', () => parent.hear('endOwner', kill))
        }),
      endAttempt: async () => ({ ended: 0, left: 0 }),
    }
  }

  /** Captures and sets back the files of the model; blobs stand in the store, as they really do. */
  workspace(parent: Parent, blobs: Blobs): Workspace {
    // It is done when it is asked for, and heard of later: a process stopped in the middle of it is not part of this model.
    const later = async <T>(work: () => Promise<T>) => {
      const done = await work()
      return await new Promise<T>(resolve => {
        this.#scheduler.after(this.#luck.between(0, 40), 'workspace', () =>
          parent.hear('workspace', () => resolve(done)),
        )
      })
    }
    const put = (paths: readonly string[]) =>
      blobs.put(Buffer.from(JSON.stringify(paths.map(path => [path, this.files.get(path) ?? null]))))
    const entryOf = async (content: string | null): Promise<TreeEntry | null> =>
      content === null
        ? null
        : { type: 'file', mode: 0o644, size: content.length, sha256: await blobs.put(Buffer.from(content)) }
    return {
      capture: paths =>
        later(async () => ({ ok: true, manifest: await put(paths), files: paths.length, bytes: 0, left: [] })),
      restore: (manifest, { judged } = {}) =>
        later(async () => {
          const bytes = await blobs.get(manifest)
          if (bytes === null)
            return { ok: false, failure: { class: 'resource', message: `no manifest ${manifest}`, retryable: false } }
          const kept = JSON.parse(Buffer.from(bytes).toString()) as [string, string | null][]
          for (const [path, content] of kept) {
            const now = this.files.get(path) ?? null
            const seen = judged?.find(change => change.path === path)
            const isJudged = now === content || (seen !== undefined && isSame(seen.after, await entryOf(now)))
            if (judged !== undefined && !isJudged)
              return { ok: false, failure: { class: 'transient', message: `${path} has changed`, retryable: true } }
          }
          const saved = await put(kept.map(([path]) => path))
          const changed = kept.filter(([path, content]) => (this.files.get(path) ?? null) !== content)
          for (const [path, content] of changed) {
            if (content === null) this.files.delete(path)
            else this.files.set(path, content)
          }
          this.#trace(`${parent.name} restored ${changed.map(([path]) => path).join(' ')}`)
          return { ok: true, saved, changed: changed.map(([path]) => path), manifest, left: [] }
        }),
      changesSince: manifest =>
        later(async () => {
          const bytes = await blobs.get(manifest)
          if (bytes === null)
            return { ok: false, failure: { class: 'resource', message: `no manifest ${manifest}`, retryable: false } }
          const changes: Change[] = []
          for (const [path, content] of JSON.parse(Buffer.from(bytes).toString()) as [string, string | null][]) {
            const now = this.files.get(path) ?? null
            if (now !== content) changes.push({ path, before: await entryOf(content), after: await entryOf(now) })
          }
          return { ok: true, changes, left: [], changedAt: new Map() }
        }),
      compare: async () => ({ ok: true, changes: [], left: [] }),
      merge: async () => null,
    }
  }

  /** All files, where people go back and forth; elsewhere nobody looks at them. */
  snapshots(parent: Parent, blobs: Blobs): Snapshots | undefined {
    if (!this.#workload.travels) return undefined
    return simSnapshots(
      this,
      blobs,
      () =>
        new Promise(resolve => {
          this.#scheduler.after(this.#luck.between(0, 40), 'files', () => parent.hear('files', resolve))
        }),
    )
  }

  /** How often a visit of a task has left its mark in its file. */
  marks(file: string, task: string, visit: number): number {
    return (this.files.get(file) ?? '').split(mark(task, visit)).length - 1
  }

  /** Everything as one value, for the trace. */
  digest(): Sha256 {
    const all = [[...this.files].sort(), [...this.byKey].sort(), this.executions.map(({ owner: _, ...rest }) => rest)]
    return createHash('sha256').update(JSON.stringify(all)).digest('hex') as Sha256
  }

  /** Told what was really used, at the moment it is. */
  onUse: (task: TaskName, amount: { readonly cost: number; readonly tokens: number; readonly calls: number }) => void =
    () => {}
  /** Sends calls also when nothing could be reserved; planted, to see that it is found. */
  greedy = false

  /** A few calls at a time, each reserved, sent and settled; null when all were answered. */
  async #spend(
    parent: Parent,
    attempt: Attempt,
    { calls, atOnce, cost, tokens }: Spending,
    budget: AttemptBudget,
    signal: AbortSignal,
  ): Promise<Outcome | null> {
    let [left, sent] = [calls, 0]
    let unpaid: Outcome | null = null
    const pause = (ms: number, label: string) =>
      new Promise<void>(resolve => this.#scheduler.after(ms, label, () => parent.hear(label, resolve)))
    const caller = async (): Promise<void> => {
      while (left > 0 && unpaid === null && !signal.aborted) {
        left--
        const most = { calls: 1, cost, tokens }
        const patience = new AbortController()
        this.#scheduler.after(8_000, 'patience', () => parent.hear('patience', () => patience.abort()))
        const reserved = await budget.reserve(most, {
          wait: sent === 0 ? 'others' : 'person',
          signal: AbortSignal.any([signal, patience.signal]),
        })
        if (!reserved.ok && !this.greedy) {
          unpaid ??=
            reserved.why === 'refused'
              ? { type: 'failed', failure: reserved.failure }
              : { type: 'interrupted', reason: 'no budget', ...(sent === 0 ? { begun: false as const } : {}) }
          return
        }
        sent++
        const share = this.#luck.fraction()
        const actual = { calls: 1, cost: Math.floor(cost * share * 1e6) / 1e6, tokens: Math.floor(tokens * share) }
        // It is used somewhere between sending and answering, whatever becomes of us.
        this.#scheduler.after(this.#luck.between(0, 300), 'call', () => this.onUse(attempt.task, actual))
        await pause(this.#luck.between(300, 1_500), 'answer')
        if (reserved.ok && !this.#luck.chance(0.1)) await budget.settle(reserved.id, actual)
      }
    }
    await Promise.all(Array.from({ length: atOnce }, caller))
    return signal.aborted ? { type: 'interrupted' } : unpaid
  }

  #carryOut(parent: Parent, attempt: Attempt, owner: string, signal: AbortSignal): Promise<Outcome> {
    if (signal.aborted) return Promise.resolve({ type: 'interrupted' })
    const execution = this.#begin(attempt, owner)
    const luck = this.#luck
    const { leastMs, mostMs, failRate } = this.#workload.scripts.get(attempt.task) ?? {
      leastMs: 0,
      mostMs: 100,
      failRate: 0,
    }
    const lasts = execution.kind === 'work' ? luck.between(leastMs, Math.max(leastMs, mostMs)) : luck.between(0, 500)
    const drawn = !luck.chance(execution.kind === 'check' ? 0.05 : failRate)
    const isWell = () => (execution.kind === 'probe' ? this.#probe(execution) : drawn)
    const retryable = luck.chance(0.8)
    // One that says no may have had its effect all the same; one that says yes always has.
    const acts = execution.kind === 'work' || execution.kind === 'undo' ? drawn || luck.chance(0.5) : false
    const timesOut = lasts > attempt.timeoutMs
    const endsAfter = timesOut ? attempt.timeoutMs : lasts
    const actsAfter = Math.floor(luck.fraction() * lasts)
    return new Promise(resolve => {
      const deliver = (outcome: Outcome) => parent.hear(`${execution.task} ended`, () => resolve(outcome))
      const after = (ms: number, label: string, action: () => void) => {
        this.#scheduler.after(ms, label, () => {
          if (execution.running) action()
        })
      }
      if (acts && actsAfter <= endsAfter) after(actsAfter, 'effect', () => this.#act(execution))
      after(endsAfter, 'exit', () => {
        // A success always has had its effect, even when both fall on the same moment.
        if (acts && !timesOut && !execution.happened) this.#act(execution)
        const well = isWell()
        this.#end(execution, timesOut || !well ? 'badly' : 'well')
        deliver(
          exited(
            timesOut ? { timedOut: true, exit: null, signal: 'SIGTERM' } : { exit: well ? 0 : retryable ? 75 : 1 },
          ),
        )
      })
      this.#onKill.set(execution, () => deliver(exited({ exit: null, signal: 'SIGKILL' })))
      // Asked to stop, it takes a moment, in which its effect may still happen.
      signal.addEventListener('abort', () => {
        after(luck.between(0, 400), 'interrupted', () => {
          this.#end(execution, 'interrupted')
          deliver({ type: 'interrupted' })
        })
      })
    })
  }

  readonly #onKill = new Map<Execution, () => void>()

  #begin(attempt: Attempt, owner: string): Execution {
    const { action, definition } = attempt
    const word = action.type === 'run' && 'argv' in action.command ? action.command.argv[0]! : 'work'
    const effect = effectOf(this.#workload.definition, definition)
    const written = action.type === 'edit' ? action.edits[0]?.file : definition.write?.[0]
    const execution: Execution = {
      number: this.executions.length + 1,
      owner,
      key: attempt.key,
      task: attempt.task,
      visit: attempt.visit,
      attempt: attempt.attempt,
      kind: word === 'probe' || word === 'undo' || word === 'check' ? word : 'work',
      effect,
      file: effect === 'workspace' ? (written ?? null) : null,
      running: true,
      happened: false,
      ended: null,
    }
    this.executions.push(execution)
    this.#trace(`child ${execution.number} begins: ${execution.kind} ${execution.key}/${execution.attempt} (${effect})`)
    this.watcher.began(execution)
    return execution
  }

  #probe({ key }: Execution): boolean {
    return this.executions.some(other => other.key === key && other.kind === 'work' && other.happened)
  }

  #act(execution: Execution): void {
    if (execution.happened) return
    this.watcher.happens(execution)
    execution.happened = true
    this.#trace(`child ${execution.number} has its effect: ${execution.kind} ${execution.key}/${execution.attempt}`)
    if (execution.kind !== 'work') return
    if (execution.effect === 'idempotent') this.byKey.add(execution.key)
    if (execution.file !== null)
      this.files.set(execution.file, (this.files.get(execution.file) ?? '') + mark(execution.task, execution.visit))
  }

  #end(execution: Execution, how: NonNullable<Execution['ended']>): void {
    execution.running = false
    execution.ended = how
    this.#trace(`child ${execution.number} ends: ${how}`)
  }

  #kill(execution: Execution): void {
    this.#end(execution, 'killed')
    this.#onKill.get(execution)?.()
  }
}

const mark = (task: string, visit: number): string => `[${task}#${visit}]`

function exited(how: { readonly exit: number | null; readonly signal?: string; readonly timedOut?: boolean }): Outcome {
  return {
    type: 'exited',
    exit: how.exit,
    signal: how.signal ?? null,
    timedOut: how.timedOut === true,
    stdout: '',
    stderr: '',
    truncated: false,
  }
}
