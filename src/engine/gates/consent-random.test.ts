// Whatever is done to a plan between an approval and its execution, nothing is executed but what somebody has seen and agreed to, at
// most once, and in time. What was agreed to is read from the bytes that were shown; what was done is told by the command itself, in
// a file the engine knows nothing of. PLANFOLD_RUNS raises how many random stories are told; a failure names its seed.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Shown, ShownTask } from '../../domain/gates/consent.ts'
import type { Sha256 } from '../../domain/id.ts'
import { changed, gate, run, type Stage, stage } from './consent.fixture.ts'

const RUNS = Number(process.env.PLANFOLD_RUNS ?? 25)
const FIRST = Number(process.env.PLANFOLD_SEED ?? 1)
const STEPS = 9
const HOUR_MS = 60 * 60_000
const VALID_MS = 24 * HOUR_MS
const WORDS = ['one', 'two', 'three']

const scriptOf = (version: number): string => `echo "v${version} $1 $WORD $(basename "$PWD")" >> $REC\n`
const FILES = { 'x.sh': scriptOf(1), 'sub/x.sh': scriptOf(2) }
const sha256 = (text: string | Uint8Array): string => createHash('sha256').update(text).digest('hex')

/** Small, seeded, and the same everywhere. */
function dice(seed: number): (sides: number) => number {
  let state = (seed * 2_654_435_761 + 1) >>> 0
  return sides => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) >>> 0
    return (state >>> 8) % sides
  }
}

interface Agreed {
  readonly line: string
  readonly visit: number
  readonly at: number
  used: boolean
}

class Story {
  readonly #on: Stage
  readonly #roll: (sides: number) => number
  readonly #versions = new Map<string, number>()
  readonly #agreed: Agreed[] = []
  readonly #told: string[] = []
  #version = 0
  #now = 0
  #lines = 0
  #stale: string | null = null

  constructor(on: Stage, roll: (sides: number) => number) {
    this.#on = on
    this.#roll = roll
    for (const file of Object.keys(FILES))
      this.#versions.set(sha256(readFileSync(join(on.root, file))), ++this.#version)
  }

  rewrite(file: string): void {
    this.#on.write(file, scriptOf(++this.#version))
    this.#versions.set(sha256(readFileSync(join(this.#on.root, file))), this.#version)
  }

  async step(): Promise<void> {
    const steps: readonly (readonly [string, () => unknown])[] = [
      ['drive', () => this.drive()],
      ['drive', () => this.drive()],
      ['approve', () => this.approve()],
      ['approve', () => this.approve()],
      ['approve with an old hash', () => this.approveStale()],
      ['rewrite', () => this.rewrite(this.#roll(3) === 0 ? 'sub/x.sh' : 'x.sh')],
      ['another word', () => this.#on.revise(changed('go', () => ({ env: { WORD: this.#word() } })))],
      ['another argument', () => this.#on.revise(changed('go', () => run('go', ['sh', 'x.sh', this.#word()])))],
      ['another folder', () => this.#on.revise(changed('go', () => ({ cwd: this.#roll(2) === 0 ? '.' : 'sub' })))],
      ['another policy', () => this.#on.revise(plan => ({ ...plan, policy: { network: [this.#word()] } }))],
      ['later', () => this.#later((1 + this.#roll(26)) * HOUR_MS)],
      ['again', () => this.#on.engine.submit(this.#on.plan, { type: 'retry', task: 'go' as never })],
      ['meanwhile', () => this.#on.onBegun('go', () => this.rewrite('x.sh'))],
    ]
    const [name, act] = steps[this.#roll(steps.length)]!
    this.#told.push(name)
    await act()
    this.check()
  }

  async drive(): Promise<void> {
    await this.#on.drive()
    this.check()
  }

  /** Both gates, whichever asks; what was agreed to is what the stored bytes say. */
  async approve(): Promise<void> {
    for (const task of ['ok', 'go']) {
      const hash = await this.#on.hash(task)
      if (hash === null) continue
      const shown = await this.#shown(hash)
      if ((await this.#on.decide(task, { hash })) !== 'ok') continue
      this.#stale = hash
      const own = shown.type === 'task' ? shown : shown.tasks.find(one => one.task === 'go')
      if (own !== undefined)
        this.#agreed.push({ line: this.#lineOf(own), visit: own.visit, at: this.#now, used: false })
    }
  }

  async approveStale(): Promise<void> {
    if (this.#stale === null) return
    for (const task of ['ok', 'go']) {
      const isStale = (await this.#on.hash(task)) !== this.#stale
      const said = await this.#on.decide(task, { hash: this.#stale })
      if (isStale) expect(said, this.story()).not.toBe('ok')
      else if (said === 'ok') throw new Error('bug in the test: the hash was not stale')
    }
  }

  /** Every line that was written is one that was agreed to, in time, and not used before. */
  check(): void {
    const done = this.#on.done()
    for (const line of done.slice(this.#lines)) {
      const agreed = this.#agreed.find(one => !one.used && one.line === line && one.at + VALID_MS > this.#now)
      expect(agreed, `${this.story()}: '${line}' was executed`).toBeDefined()
      agreed!.used = true
    }
    this.#lines = done.length
  }

  story(): string {
    return this.#told.join(', ')
  }

  async #shown(hash: string): Promise<Shown> {
    const bytes = await this.#on.rooms.store.blobs.get(hash as Sha256)
    expect(sha256(bytes!)).toBe(hash)
    return JSON.parse(Buffer.from(bytes!).toString()) as Shown
  }

  #lineOf({ does, files, env, cwd, plan }: ShownTask): string {
    if (does.type !== 'argv') throw new Error('bug in the test')
    const version = this.#versions.get(files.find(({ path }) => path.endsWith('x.sh'))!.sha256)
    const word = WORDS.find(one => sha256(`${plan}\0WORD\0${one}`) === env.WORD)
    return `v${version} ${does.argv[2]} ${word} ${cwd === '.' ? 'work' : cwd}`
  }

  #word(): string {
    return WORDS[this.#roll(WORDS.length)]!
  }

  #later(ms: number): void {
    this.#now += ms
    this.#on.later(ms)
  }
}

describe('random stories of a plan that somebody must agree to', () => {
  it(`execute only what was agreed to (${RUNS} seeds)`, { timeout: 600_000 + RUNS * 1_000 }, async () => {
    let executed = 0
    let kept = 0
    for (let seed = FIRST; seed < FIRST + RUNS; seed++) {
      const roll = dice(seed)
      const high = roll(2) === 0 ? { kind: 'deploy' } : {}
      const on = await stage(
        {
          tasks: [
            gate('ok'),
            run('go', ['sh', 'x.sh', 'one'], { needs: ['ok'], env: { WORD: 'one' }, visits: 20, ...high }),
            // Never done, so that the plan is open to the end.
            gate('end'),
          ],
        },
        FILES,
      )
      const story = new Story(on, roll)
      try {
        await story.drive()
        for (let at = 0; at < STEPS; at++) await story.step()
        await story.drive()
      } catch (error) {
        throw new Error(`seed ${seed}: ${story.story()}`, { cause: error })
      }
      executed += on.done().length
      kept += on.done().length === 0 ? 1 : 0
      on.close()
    }
    // The stories are worth something only when some of them execute and some do not.
    expect(executed).toBeGreaterThan(RUNS / 10)
    expect(kept).toBeGreaterThan(RUNS / 10)
  })
})
