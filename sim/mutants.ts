// Bugs planted on purpose. A harness that cannot fail proves nothing: each mutant must be caught by a named invariant within a
// few seeds. They are wrapped around the real parts in the simulation; nothing in src/ is changed.

import type { Turn } from '../src/domain/command.ts'
import { decide } from '../src/domain/decide.ts'
import type { Actor } from '../src/domain/id.ts'
import type { JsonObject } from '../src/domain/json.ts'
import type { ActionType } from '../src/domain/plan.ts'
import { packFold, unpackFold } from '../src/domain/state/fold.ts'
import type { PlanState } from '../src/domain/state/state.ts'
import type { ProcessTree, Runner } from '../src/runners/runner.ts'
import { GENESIS, openEntry, sealEntry } from '../src/stores/journal/entry.ts'
import { type Asked, CommitUnknown, type Store } from '../src/stores/store.ts'
import type { Snapshots, Workspace } from '../src/workspace/workspace.ts'
import type { Fault } from './faults.ts'
import type { InvariantId } from './invariants.ts'
import type { Ground } from './machine.ts'
import { MemoryJournal } from './memory-store/memory-tables.ts'
import type { StoreMemory } from './memory-store/store-memory.ts'

export interface Mutant {
  readonly name: string
  /** Any of these may see it first. */
  readonly caughtBy: readonly InvariantId[]
  /** Faults without which it would never show. */
  readonly needs: readonly Fault[]
  /** A seed that found it; tried before all others. */
  readonly seed?: string
  readonly expectsThrows?: true
  readonly update?: (store: StoreMemory, ground: Ground) => Store['update']
  readonly runners?: (runners: ReadonlyMap<ActionType, Runner>, ground: Ground) => ReadonlyMap<ActionType, Runner>
  readonly workspace?: (workspace: Workspace) => Workspace
  readonly processes?: (processes: ProcessTree) => ProcessTree
  readonly snapshots?: (snapshots: Snapshots) => Snapshots
}

const taken = (asked: Asked) => (typeof asked === 'function' ? asked() : asked)

export const MUTANTS: readonly Mutant[] = [
  {
    // M2: the store takes whatever fence is written there for the writer's own.
    name: 'fence not checked',
    seed: '0x24',
    caughtBy: ['I2'],
    needs: ['pause', 'crash'],
    update:
      (store, { disk }) =>
      (plan, asked, options) => {
        const row = disk.plans.get(1)!
        const fresh =
          options.lease === undefined || row.owner === null
            ? options
            : { ...options, lease: { owner: row.owner, fence: row.fence } }
        return store.update(plan, asked, fresh)
      },
  },
  {
    // M4: the reply was lost, so the entry is written once more, unasked.
    name: 'unknown commit written again',
    caughtBy: ['I13', 'I4', 'I5', 'I3', 'I16'],
    needs: ['reply-lost'],
    update:
      (store, { disk }) =>
      async (plan, asked, options) => {
        try {
          return await store.update(plan, asked, options)
        } catch (error) {
          const kept = disk.plans.get(1)!
          const last = kept.entries.at(-1)
          if (error instanceof CommitUnknown && last !== undefined && options.lease !== undefined) {
            const previous = kept.entries.at(-2) ?? GENESIS
            const entry = openEntry(previous, plan, last, store.blobs)
            const journal = new MemoryJournal(disk)
            const position = journal.nextPosition()
            journal.addEntry(1, sealEntry(last, { ...entry, position, version: entry.version + 1 }, store.blobs))
            disk.commit()
          }
          throw error
        }
      },
  },
  {
    // M6: the answer goes out before the commit.
    name: 'acknowledged before the commit',
    caughtBy: ['I7'],
    needs: ['commit-failed'],
    update:
      (store, { disk, scheduler }) =>
      async (plan, asked, options) => {
        if (options.lease !== undefined) return await store.update(plan, asked, options)
        const command = taken(asked)
        const state = await store.state(plan)
        const guess = unpackFold(JSON.parse(JSON.stringify(packFold(state!))) as JsonObject, state!.definition)
        const decision = decide(guess, command, Math.max(disk.plans.get(1)!.at, scheduler.now))
        store.update(plan, command, options).catch(() => {})
        if (!decision.ok) return decision
        return {
          ok: true,
          version: state!.version + 1,
          position: disk.position + 1,
          events: decision.events,
          state: guess,
        }
      },
  },
  {
    // M9: nobody knows whether it was written, and it is taken for written: what was in it is dropped.
    name: 'unknown commit taken for a success',
    caughtBy: ['I6', 'L'],
    needs: ['commit-failed', 'unknown-unwritten'],
    update: store => async (plan, asked, options) => {
      try {
        return await store.update(plan, asked, options)
      } catch (error) {
        if (options.lease === undefined || !(error instanceof Error) || !error.message.startsWith('the commit failed'))
          throw error
        const state = (await store.state(plan)) as PlanState
        return { ok: true, version: state.version, position: 0, events: [], state }
      }
    },
  },
  {
    // M5: every attempt has a key of its own.
    name: 'a new key for every attempt',
    caughtBy: ['I5', 'I6'],
    needs: ['crash'],
    runners: runners =>
      wrapped(
        runners,
        runner => (attempt, tools, stop) =>
          runner.attempt({ ...attempt, key: `${attempt.key}/${attempt.attempt}` }, tools, stop),
      ),
  },
  {
    // A completion is taken for that of whatever attempt is open now.
    name: 'stale settlement accepted',
    caughtBy: ['I6'],
    needs: ['late-completion', 'duplicate-completion', 'crash'],
    update:
      (store, { truth }) =>
      (plan, asked, options) =>
        store.update(
          plan,
          options.lease === undefined
            ? asked
            : () => {
                const command = taken(asked)
                const state = truth()
                if (command.type !== 'turn' || command.settled === undefined) return command
                const settled = command.settled.map(item => {
                  const task = state.tasks.get(item.task)
                  return task === undefined ? item : { ...item, visit: task.visit, attempt: task.attempt }
                })
                return { ...command, settled } satisfies Turn
              },
          options,
        ),
  },
  {
    // M10: a parked task is answered by the engine itself.
    name: 'unsafe run again by itself',
    caughtBy: ['I6'],
    needs: ['crash', 'crash-after-commit'],
    update: store => async (plan, asked, options) => {
      const updated = await store.update(plan, asked, options)
      if (updated.ok && options.lease !== undefined) {
        const parked = updated.events.find(event => event.type === 'attempt.parked')
        if (parked !== undefined)
          store
            .update(
              plan,
              { type: 'decide', task: parked.task, verdict: 'again', rationale: 'why not' },
              { actor: 'engine' as Actor },
            )
            .catch(() => {})
      }
      return updated
    },
  },
  {
    // M1: the result is told before the effect.
    name: 'result before effect',
    caughtBy: ['I6'],
    needs: [],
    runners: runners =>
      wrapped(runners, runner => (attempt, tools, stop) => {
        if (attempt.action.type === 'decide') return runner.attempt(attempt, tools, stop)
        void runner.attempt(attempt, tools, stop)
        return Promise.resolve({
          type: 'exited',
          exit: 0,
          signal: null,
          timedOut: false,
          stdout: '',
          stderr: '',
          truncated: false,
        })
      }),
  },
  {
    name: 'files not set back before the next attempt',
    caughtBy: ['I6'],
    needs: ['crash', 'crash-after-commit'],
    workspace: workspace => ({
      ...workspace,
      restore: async manifest => ({ ok: true, saved: manifest, changed: [], manifest, left: [] }),
    }),
  },
  {
    // M20: a takeover leaves the old owner's children alive.
    name: 'children of the dead left alive',
    caughtBy: ['I6'],
    needs: ['crash', 'crash-after-commit'],
    processes: processes => ({ ...processes, endOwner: async () => ({ ended: 0, left: 0 }) }),
  },
  {
    // The journal says that it went back; the files say otherwise.
    name: 'rollback without files',
    seed: '0x30',
    caughtBy: ['I19', 'I6'],
    needs: [],
    snapshots: snapshots => ({
      ...snapshots,
      rollback: async (target, _writeSet, { about = null } = {}) => ({
        ok: true,
        saved: target,
        changed: [],
        left: [],
        merged: [],
        kept: [],
        about,
      }),
    }),
  },
  {
    // Files go back, and tasks stay as if nothing had happened to them.
    name: 'rollback without tasks',
    caughtBy: ['I19'],
    needs: [],
    update: store => (plan, asked, options) =>
      store.update(
        plan,
        () => {
          const command = taken(asked)
          return command.type === 'rollback' ? { ...command, resets: [] } : command
        },
        options,
      ),
  },
  {
    // Whoever goes back a second time undoes once more what was undone the first time.
    name: 'compensated again',
    caughtBy: ['I20', 'I19', 'crashed'],
    needs: [],
    update:
      (store, { truth }) =>
      (plan, asked, options) =>
        store.update(
          plan,
          () => {
            const command = taken(asked)
            if (command.type !== 'rollback') return command
            const undone = truth().order.flatMap(({ definition: { id, compensate } }) =>
              compensate === undefined || command.compensate.includes(id) ? [] : [id],
            )
            return { ...command, compensate: [...command.compensate, ...undone] }
          },
          options,
        ),
  },
]

function wrapped(
  runners: ReadonlyMap<ActionType, Runner>,
  attempt: (runner: Runner) => Runner['attempt'],
): ReadonlyMap<ActionType, Runner> {
  return new Map(Array.from(runners, ([type, runner]) => [type, { ...runner, attempt: attempt(runner) }]))
}
