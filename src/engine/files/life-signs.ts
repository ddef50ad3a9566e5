// Heartbeat files of the processes that work on a plan's files: one empty file per plan, touched twice a second while an attempt runs whose
// files are compared, or that a budget limits. After a crash its time tells until when those processes can have written; a clearly later
// change is a person's work. A lost or late heartbeat is harmless: the person is then asked, or the file is kept.

import { closeSync, futimesSync, mkdirSync, openSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Millis, PlanId } from '../../domain/id.ts'

export interface LifeSigns {
  /** Touches the file until the returned function is called. */
  watch(plan: PlanId): () => void
  touch(plan: PlanId): void
  /** The last heartbeat; null if it is unknown. */
  last(plan: PlanId): Millis | null
  forget(plan: PlanId): void
}

const EVERY_MS = 500

export class LifeSignFiles implements LifeSigns {
  readonly #folder: string
  readonly #now: () => Millis
  readonly #watched = new Map<PlanId, number>()
  #timer: NodeJS.Timeout | null = null

  constructor(options: { readonly stateDir: string; readonly now: () => Millis }) {
    this.#folder = join(options.stateDir, 'alive')
    this.#now = options.now
  }

  watch(plan: PlanId): () => void {
    this.touch(plan)
    this.#watched.set(plan, (this.#watched.get(plan) ?? 0) + 1)
    this.#timer ??= setInterval(() => {
      for (const each of this.#watched.keys()) this.touch(each)
    }, EVERY_MS).unref()
    let ended = false
    return () => {
      if (ended) return
      ended = true
      this.touch(plan)
      const left = (this.#watched.get(plan) ?? 1) - 1
      if (left > 0) this.#watched.set(plan, left)
      else this.#watched.delete(plan)
      if (this.#watched.size > 0 || this.#timer === null) return
      clearInterval(this.#timer)
      this.#timer = null
    }
  }

  touch(plan: PlanId): void {
    const seconds = this.#now() / 1_000
    try {
      const file = this.#open(plan)
      try {
        futimesSync(file, seconds, seconds)
      } finally {
        closeSync(file)
      }
    } catch {
      // A missed heartbeat costs a question after a crash, nothing else.
    }
  }

  last(plan: PlanId): Millis | null {
    const stat = statSync(join(this.#folder, plan), { throwIfNoEntry: false })
    return stat === undefined ? null : Math.floor(stat.mtimeMs)
  }

  forget(plan: PlanId): void {
    rmSync(join(this.#folder, plan), { force: true })
  }

  #open(plan: PlanId): number {
    const path = join(this.#folder, plan)
    try {
      return openSync(path, 'a', 0o600)
    } catch {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
      return openSync(path, 'a', 0o600)
    }
  }
}
