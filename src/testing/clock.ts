// Time that moves only when a test says so.

import type { Millis } from '../domain/id.ts'

/** 2026-01-01T00:00:00Z: round enough to read in a failing test. */
export const EPOCH: Millis = 1_767_225_600_000

export class ClockFake {
  #now: Millis

  constructor(now: Millis = EPOCH) {
    this.#now = now
  }

  now(): Millis {
    return this.#now
  }

  advance(ms: number): void {
    this.#now += ms
  }
}
