// One scene for every kill: a fresh workspace, the twelve-task plan, somebody who kills it; then it goes on, and all who know
// are asked. The folder of a failure is kept and named.

import { expect } from 'vitest'
import { driverEnd, type Ended, Ground, inParallel, Recorder } from './harness.ts'
import { withShift } from './kill-points.ts'
import { expectSound, goOn, type Reference, referenceOf } from './oracles.ts'
import { Successor } from './successor.ts'
import { FILES, twelveTasks } from './twelve-tasks.ts'

export interface Killed {
  readonly fired: boolean
  readonly decisions: number
}

export class Scene {
  readonly recorder: Recorder
  readonly reference: Reference
  /** How many entries the run without a fault has written. */
  readonly entries: number
  readonly #successor: Successor

  private constructor(recorder: Recorder, successor: Successor, reference: Reference, entries: number) {
    this.recorder = recorder
    this.#successor = successor
    this.reference = reference
    this.entries = entries
  }

  /** Runs the plan once without a fault: that is how every other run has to end. */
  static async open(): Promise<Scene> {
    const recorder = await Recorder.open()
    const successor = new Successor()
    const ground = new Ground(twelveTasks(recorder, 1), FILES)
    const ended = await successor.go('drive', ground)
    const end = driverEnd(ended)
    const reference = referenceOf(ground, end)
    expect(reference.status).toBe('completed')
    expectSound(ground, recorder, reference, { end, runs: [ended], crashes: 0 })
    const entries = ground.journal().length
    ground.remove()
    return new Scene(recorder, successor, reference, entries)
  }

  /** One task at a time, so that the k-th commit is the same in every run; or several side by side. */
  ground(concurrency = 1): Ground {
    return new Ground(twelveTasks(this.recorder, concurrency), FILES)
  }

  async play(
    name: string,
    first: (ground: Ground) => Promise<Ended | readonly Ended[]>,
    concurrency = 1,
  ): Promise<Killed> {
    const ground = this.ground(concurrency)
    try {
      const runs = [await first(ground)].flat()
      const crashes = runs.filter(({ signal }) => signal === 'SIGKILL').length
      const {
        end,
        runs: more,
        decisions,
      } = crashes > 0
        ? await goOn(ground, this.recorder, this.#successor)
        : { end: driverEnd(runs[0]!), runs: [], decisions: 0 }
      expectSound(ground, this.recorder, this.reference, { end, runs: [...runs, ...more], crashes })
      ground.remove()
      return { fired: crashes > 0, decisions }
    } catch (error) {
      throw new Error(`${name}, ${withShift()}, see ${ground.base}: ${(error as Error).message}`, { cause: error })
    }
  }

  /** k = 1, 2, 3 … until it no longer fires. */
  async playEach(
    name: string,
    kill: (ground: Ground, k: number) => Promise<Ended>,
    concurrency = 1,
  ): Promise<{ kills: number; decisions: number }> {
    let over = false
    return await this.#count(
      name,
      (function* () {
        for (let k = 1; !over; k++) yield k
      })(),
      kill,
      concurrency,
      fired => {
        over ||= !fired
      },
    )
  }

  async playSome(
    name: string,
    ks: Iterable<number>,
    kill: (ground: Ground, k: number) => Promise<Ended>,
    concurrency = 1,
  ): Promise<{ kills: number; decisions: number }> {
    return await this.#count(name, ks, kill, concurrency, () => {})
  }

  async #count(
    name: string,
    ks: Iterable<number>,
    kill: (ground: Ground, k: number) => Promise<Ended>,
    concurrency: number,
    played: (fired: boolean) => void,
  ) {
    const began = performance.now()
    const all = await inParallel(
      (function* (scene: Scene) {
        for (const k of ks) {
          yield async () => {
            const killed = await scene.play(`killed at ${name} ${k}`, ground => kill(ground, k), concurrency)
            played(killed.fired)
            return killed
          }
        }
      })(this),
    )
    const kills = all.filter(({ fired }) => fired).length
    const decisions = all.reduce((sum, one) => sum + one.decisions, 0)
    console.log(
      `${name}: killed ${kills} times, ${decisions} decisions, ${Math.round((performance.now() - began) / Math.max(1, kills))} ms a kill`,
    )
    return { kills, decisions }
  }

  async close(): Promise<void> {
    await this.#successor.close()
    await this.recorder.close()
  }
}
