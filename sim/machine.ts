// A machine with one disk and a few processes on it, and what may happen to them: crashes, stops, a clock that jumps.

import type { Command } from '../src/domain/command.ts'
import type { PlanId } from '../src/domain/id.ts'
import type { PlanState } from '../src/domain/state/state.ts'
import type { Updated, UpdateOptions } from '../src/stores/store.ts'
import type { Faults } from './faults.ts'
import { MemoryDisk } from './memory-store/memory-disk.ts'
import type { Mutant } from './mutants.ts'
import { Process } from './process.ts'
import type { Random } from './random.ts'
import type { Scheduler } from './scheduler.ts'
import type { World } from './world.ts'

/** The disk, which tells whoever watches after every commit. */
export class SimDisk extends MemoryDisk {
  onCommit: () => void = () => {}

  override commit(): void {
    super.commit()
    this.onCommit()
  }
}

export interface Ledger {
  /** The store let this command pass; called inside the transaction, before anything is written. */
  passed(process: string, options: UpdateOptions): void
  /** A promise of `update` was kept: this was told to whoever asked. */
  acknowledged(process: string, plan: PlanId, updated: Updated): void
  /** Completions that come late or twice, to be put into a turn; each names an attempt that has ended long since. */
  strays(command: Command): Command
}

export interface Ground {
  readonly scheduler: Scheduler
  readonly disk: SimDisk
  readonly world: World
  readonly faults: Faults
  readonly luck: Random
  readonly trace: (line: string) => void
  readonly ledger: Ledger
  readonly mutant: Mutant | null
  /** The fold of what is durable. */
  readonly truth: () => PlanState
  /** All in one pid namespace: a dead owner is seen at once. Else only its lease tells. */
  readonly sameHost: boolean
  readonly leaseMs: number
  readonly stay: boolean
  /** How far the wall clock is off. */
  readonly wall: { offset: number }
}

export class Machine {
  readonly ground: Ground
  readonly processes: Process[] = []
  /** Where people's orders go through; it drives nothing. */
  readonly desk: Process
  readonly #luck: Random
  readonly #booting = new Set<Process>()
  #plan: PlanId | null = null
  #inRow = 0
  #pid = 0

  constructor(ground: Ground) {
    this.ground = ground
    this.#luck = ground.luck.fork('machine')
    this.desk = new Process(ground, 'desk')
    this.desk.boot(null, this)
  }

  nextPid(): number {
    return ++this.#pid
  }

  isRunning(pid: number): boolean {
    return this.all.some(process => process.isRunning(pid))
  }

  get all(): readonly Process[] {
    return [...(this.desk === undefined ? [] : [this.desk]), ...this.processes]
  }

  /** Starts `count` processes that drive the plan. */
  start(plan: PlanId, count: number): void {
    this.#plan = plan
    for (let at = 1; at <= count; at++) this.processes.push(new Process(this.ground, `p${at}`))
    for (const process of this.processes) this.#boot(process, this.#luck.between(0, 2_000))
  }

  diskMoved(): void {
    for (const process of this.all) process.diskMoved()
  }

  crash(process: Process): void {
    process.crash()
    this.#boot(process, this.#luck.between(1, this.#luck.pick([50, 2_000, 30_000])))
  }

  pause(process: Process): void {
    process.pause()
    const { leaseMs, scheduler } = this.ground
    scheduler.after(this.#luck.between(leaseMs / 2, leaseMs * 4), `${process.name} wakes`, () => process.wake())
  }

  /** Before each step: may something go wrong now? */
  disturb(): void {
    const { faults, wall } = this.ground
    const up = this.all.filter(process => process.isUp && !process.isStopped)
    if (up.length > 0 && faults.hit('crash')) this.crash(this.#luck.pick(up))
    const driving = up.filter(process => process !== this.desk && process.isUp)
    if (driving.length > 0 && faults.hit('pause')) this.pause(this.#luck.pick(driving))
    if (faults.hit('clock-jump')) {
      wall.offset += this.#luck.pick([3_600_000, -3_600_000, 86_400_000, -86_400_000, 1, -1_500])
      this.ground.trace(`the wall clock jumps, now off by ${wall.offset}`)
    }
  }

  /** Everything runs again. */
  heal(): void {
    for (const process of this.all) {
      if (process.isStopped) process.wake()
      if (!process.isUp) process.boot(process === this.desk ? null : this.#plan, this)
    }
  }

  /** A process that ended in good order is started again. */
  reviveEnded(): void {
    for (const process of this.all)
      if (!process.isUp && !this.#booting.has(process)) this.#boot(process, this.#luck.between(100, 5_000))
  }

  #boot(process: Process, ms: number): void {
    if (this.#booting.has(process)) return
    this.#booting.add(process)
    this.ground.scheduler.after(ms, `${process.name} boots`, () => {
      this.#booting.delete(process)
      if (process.isUp) return
      process.boot(process === this.desk ? null : this.#plan, this)
      // Up to five crashes in a row, each soon after the start: in the middle of recovery.
      if (process === this.desk || this.#inRow >= 5 || !this.ground.faults.hit('crash-in-recovery')) {
        this.#inRow = 0
        return
      }
      this.#inRow++
      this.ground.scheduler.after(this.#luck.between(0, 400), `${process.name} crashes again`, () => {
        if (process.isUp && !this.ground.faults.healed) this.crash(process)
      })
    })
  }
}
