// Virtual time. A queue of actions ordered by when they are due, ties broken by luck; after each action everything it set
// going runs to its end before the next begins. Real time never passes: eight hours of retries take milliseconds.

import { Heap } from '../src/domain/state/heap.ts'
import type { Random } from './random.ts'

interface Due {
  readonly at: number
  readonly tie: number
  readonly order: number
  readonly label: string
  action: (() => void) | null
}

/** Taken before anybody puts a stub in its place. */
const realImmediate = setImmediate

export class Scheduler {
  /** Milliseconds that never go backwards, the same for every process. */
  now = 1_000_000
  steps = 0
  readonly #luck: Random
  readonly #queue = new Heap<Due>(
    (a, b) => a.at - b.at < 0 || (a.at === b.at && (a.tie < b.tie || (a.tie === b.tie && a.order < b.order))),
  )
  #order = 0

  constructor(luck: Random) {
    this.#luck = luck
  }

  /** Puts an action in the queue; returns how to call it off. */
  after(ms: number, label: string, action: () => void): () => void {
    const due: Due = { at: this.now + Math.max(0, ms), tie: this.#luck.u32(), order: this.#order++, label, action }
    this.#queue.push(due)
    return () => {
      due.action = null
    }
  }

  /** Runs the next action and all it sets going. The label of what ran; null when nothing is left. */
  async step(): Promise<string | null> {
    const due = this.#queue.pop(({ action }) => action !== null)
    if (due === undefined) return null
    this.now = Math.max(this.now, due.at)
    this.steps++
    due.action!()
    due.action = null
    await drain()
    return due.label
  }
}

/** An immediate comes only after every microtask, however many they beget. */
export const drain = (): Promise<void> => new Promise(resolve => realImmediate(resolve))
