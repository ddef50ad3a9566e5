// One simulated process: its own connection to the store, with its own caches, and its own worker. It can be killed: everything
// it knows is gone, nothing it set going reaches it any more, only the disk and its children live on. Or stopped longer than
// its lease, and woken.

import type { PlanId } from '../src/domain/id.ts'
import type { Clock } from '../src/engine/clock.ts'
import { EngineLocal } from '../src/engine/engine-local.ts'
import { WorkerLocal } from '../src/engine/loop/worker.ts'
import { trusted } from '../src/engine/roles.ts'
import type { Rooms } from '../src/engine/rooms.ts'
import type { Heartbeat } from '../src/stores/leases/leases.ts'
import { leaseFor } from '../src/stores/leases/liveness.ts'
import { type Asked, CommitUnknown, type Store, type Updated, type UpdateOptions } from '../src/stores/store.ts'
import { EPOCH } from '../src/testing/clock.ts'
import type { Ground, Machine } from './machine.ts'
import { memoryOwners } from './memory-store/memory-side-tables.ts'
import { StoreMemory } from './memory-store/store-memory.ts'
import type { Random } from './random.ts'
import type { Parent } from './world.ts'

/** One run of a process, from start to kill. */
interface Life {
  readonly number: number
  readonly pid: number
  dead: boolean
  stopped: boolean
  /** What would have happened while it was stopped. */
  readonly held: (() => void)[]
  readonly stop: AbortController
  readonly force: AbortController
  readonly looks: Set<() => void>
  looking: boolean
}

export class Process {
  readonly name: string
  readonly #ground: Ground
  readonly #luck: Random
  #life: Life | null = null
  #lives = 0
  /** The connection was cut in the last commit. */
  #cut = false
  engine: EngineLocal | null = null

  constructor(ground: Ground, name: string) {
    this.#ground = ground
    this.name = name
    this.#luck = ground.luck.fork(name)
  }

  get isUp(): boolean {
    return this.#life !== null
  }

  get isStopped(): boolean {
    return this.#life?.stopped === true
  }

  isRunning(pid: number): boolean {
    return this.#life?.pid === pid
  }

  /** Starts it; with a plan it drives that plan for as long as it lives, without one it only takes orders. */
  boot(plan: PlanId | null, machine: Machine): void {
    const life: Life = {
      number: ++this.#lives,
      pid: machine.nextPid(),
      dead: false,
      stopped: false,
      held: [],
      stop: new AbortController(),
      force: new AbortController(),
      looks: new Set(),
      looking: false,
    }
    this.#life = life
    this.#ground.trace(`${this.name} starts, life ${life.number}`)
    const rooms = this.#open(life, machine)
    this.engine = new EngineLocal(rooms, trusted('ana'))
    if (plan !== null) void this.#drive(life, rooms, plan)
  }

  crash(): void {
    if (this.#life === null) return
    this.#ground.trace(`${this.name} is killed`)
    this.#life.dead = true
    this.#life = null
    this.engine = null
  }

  /** SIGSTOP. */
  pause(): void {
    if (this.#life === null || this.#life.stopped) return
    this.#ground.trace(`${this.name} is stopped`)
    this.#life.stopped = true
  }

  /** SIGCONT: everything it missed comes at once, in any order. */
  wake(): void {
    const life = this.#life
    if (life === null || !life.stopped) return
    this.#ground.trace(`${this.name} wakes up`)
    life.stopped = false
    for (const missed of life.held.splice(0)) this.#after(life, this.#luck.between(0, 2), 'missed', missed)
  }

  /** SIGINT: a graceful end; it starts again later. */
  interrupt(force: boolean): void {
    this.#ground.trace(`${this.name} is told to end${force ? ' at once' : ''}`)
    if (force) this.#life?.force.abort()
    this.#life?.stop.abort()
  }

  /** Another connection committed: a listener looks at the disk within its polling time. */
  diskMoved(): void {
    const life = this.#life
    if (life === null || life.looking || life.looks.size === 0) return
    life.looking = true
    this.#after(life, this.#luck.between(0, 100), 'look', () => {
      life.looking = false
      for (const look of [...life.looks]) look()
    })
  }

  async #drive(life: Life, rooms: Rooms, plan: PlanId): Promise<void> {
    const worker = new WorkerLocal(rooms)
    const { trace, stay } = this.#ground
    while (!life.dead) {
      let said: string
      try {
        const driven = await worker.drive(plan, { stop: life.stop.signal, force: life.force.signal, stay })
        said = driven.status === 'rested' ? `rested: ${driven.rest}` : driven.status
      } catch (error) {
        said = `threw ${error instanceof Error ? error.message : String(error)}`
        // Only the faults we asked for may end a drive this way.
        if (!/as the simulation asked|ran out|LeaseLost/.test(said))
          this.#ground.mutant?.expectsThrows === true || this.unexpected(said)
      }
      trace(`${this.name} drove: ${said}`)
      if (life.stop.signal.aborted) {
        await worker.close().catch(() => {})
        life.dead = true
        if (this.#life === life) {
          this.#life = null
          this.engine = null
        }
        return
      }
      await new Promise<void>(resolve => this.#after(life, this.#luck.between(200, 4_000), 'drive again', resolve))
    }
  }

  unexpected: (what: string) => void = () => {}

  #after(life: Life, ms: number, label: string, action: () => void): () => void {
    return this.#ground.scheduler.after(ms, `${this.name} ${label}`, () => this.#enter(life, action))
  }

  /** Runs something inside the process: not at all when it is dead, later when it is stopped. */
  #enter(life: Life, action: () => void): void {
    if (life.dead) return
    if (life.stopped) life.held.push(action)
    else action()
  }

  #clock(life: Life): Clock {
    const { scheduler, wall } = this.#ground
    return {
      now: () => EPOCH + Math.floor(scheduler.now) + wall.offset,
      monotonic: () => scheduler.now,
      after: (ms, callback) => this.#after(life, ms, 'timer', callback),
    }
  }

  #open(life: Life, machine: Machine): Rooms {
    const { disk, world, faults, sameHost, leaseMs, mutant } = this.#ground
    const clock = this.#clock(life)
    let ids = 0
    const raw = new StoreMemory(disk, {
      clock,
      host: {
        host: 'sim',
        boot: 'boot',
        pids: sameHost ? 'all' : this.name,
        pid: life.pid,
        startTime: '',
        isRunning: pid => machine.isRunning(pid),
      },
      newId: () => `${this.name}.${life.number}.${++ids}`,
      later: turn =>
        void this.#after(life, this.#luck.fraction() < 0.7 ? 0 : this.#luck.between(0, 30), 'commit', turn),
      every: (_ms, look) => {
        life.looks.add(look)
        return () => void life.looks.delete(look)
      },
      heartbeat: this.#heartbeat(life),
      faults: {
        beforeCommit: () => {
          if (life.dead) return 'fail'
          if (faults.hit('crash-after-commit')) {
            machine.crash(this)
            return 'lose-reply'
          }
          this.#cut = faults.hit('unknown-unwritten')
          if (this.#cut || faults.hit('commit-failed')) return 'fail'
          return faults.hit('reply-lost') ? 'lose-reply' : 'ok'
        },
      },
    })
    const parent: Parent = {
      name: this.name,
      hear: (_label, deliver) => this.#enter(life, deliver),
    }
    const store = this.#door(life, raw)
    const runners = world.runners(parent)
    const snapshots = world.snapshots(parent, raw.blobs)
    return {
      store,
      snapshots: snapshots === undefined ? undefined : (mutant?.snapshots?.(snapshots) ?? snapshots),
      workspace: mutant?.workspace?.(world.workspace(parent, raw.blobs)) ?? world.workspace(parent, raw.blobs),
      runners: mutant?.runners?.(runners, this.#ground) ?? runners,
      processes: mutant?.processes?.(world.processes(parent)) ?? world.processes(parent),
      clock,
      random: bytes => this.#luck.bytes(bytes),
      root: '/nowhere',
      stateDir: '/nowhere/.planfold',
      environment: {},
      leaseMs,
      about: 'the simulator',
    }
  }

  /** As the thread of the real store does it: a connection of its own, every third of the lease. */
  #heartbeat(life: Life): Heartbeat {
    const { scheduler, disk } = this.#ground
    return ({ id, leaseMs }, lost) => {
      let stopped = false
      const beat = () => {
        if (stopped) return
        const renewed = memoryOwners(disk).renew(id, leaseFor({ clock: this.#clock(life) }, leaseMs), scheduler.now)
        disk.commit()
        if (renewed) this.#after(life, leaseMs / 3, 'beat', beat)
        else {
          this.#ground.trace(`${this.name} lost its lease`)
          lost()
        }
      }
      this.#after(life, leaseMs / 3, 'beat', beat)
      return {
        stop: async () => {
          stopped = true
        },
      }
    }
  }

  /** The store as the process sees it: nothing comes back to the dead, and everything told is written down. */
  #door(life: Life, raw: StoreMemory): Store {
    const { ledger, mutant, faults } = this.#ground
    const update = async (plan: PlanId, asked: Asked, options: UpdateOptions): Promise<Updated> => {
      // Made at the moment of writing, inside the transaction: what the store let pass is seen here.
      const watched = () => {
        ledger.passed(this.name, options)
        const command = typeof asked === 'function' ? asked() : asked
        return options.lease === undefined || faults.healed ? command : ledger.strays(command)
      }
      const write = mutant?.update?.(raw, this.#ground) ?? raw.update
      try {
        const updated = await write(plan, watched, options)
        ledger.acknowledged(this.name, plan, updated)
        return updated
      } catch (error) {
        // A connection cut before the commit arrived: not written, and nobody can say so.
        if (this.#cut && error instanceof Error && error.message.startsWith('the commit failed'))
          throw new CommitUnknown('the connection was cut, as the simulation asked')
        throw error
      }
    }
    const door = this.#guard(life, raw)
    return new Proxy(door, {
      get: (target, key) =>
        key === 'update'
          ? (...args: Parameters<typeof update>) => this.#come(life, update(...args))
          : Reflect.get(target, key),
    })
  }

  #guard<T extends object>(life: Life, target: T): T {
    return new Proxy(target, {
      get: (_, key) => {
        const value = Reflect.get(target, key, target) as unknown
        if (typeof value === 'function') {
          return (...args: unknown[]) => {
            const made = Reflect.apply(value, target, args) as unknown
            return made instanceof Promise ? this.#come(life, made) : made
          }
        }
        const isPart = key === 'leases' || key === 'claims' || key === 'logs' || key === 'blobs'
        return isPart ? this.#guard(life, value as object) : value
      },
    })
  }

  /** A promise that settles inside the process only. */
  #come<T>(life: Life, promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      promise.then(
        value => this.#enter(life, () => resolve(value)),
        error => this.#enter(life, () => reject(error)),
      )
    })
  }
}
