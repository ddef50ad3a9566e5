// Talks to `successor.mjs`: a process that goes on where killed ones left off, with any number of workspaces. Only who is to be killed, and
// who has to begin anew, needs a process of its own.

import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type Ended, Real } from './harness.ts'

/** What the act needs to know: a ground has it, for a drive. */
interface Given {
  readonly workspace: string
  readonly definition?: string
  readonly name?: string
  readonly order?: string
}

interface Told {
  readonly number: number
  readonly said?: unknown
  readonly code?: number
  readonly why?: string
}

export class Successor {
  readonly #real = new Real([process.execPath, join(import.meta.dirname, 'successor.mjs')], { stdin: 'pipe' })
  readonly #open = new Map<number, (told: Told) => void>()
  #count = 0

  constructor() {
    createInterface({ input: this.#real.process.stdout! }).on('line', line => {
      const told = JSON.parse(line) as Told
      this.#open.get(told.number)?.(told)
    })
  }

  /** Drives the plan to its end, or goes back; answers as a process that did only this would have ended. */
  async go(act: 'drive' | 'goBack', given: Given, environment: Readonly<Record<string, string>> = {}): Promise<Ended> {
    const number = ++this.#count
    const lines: string[] = []
    const ended = new Promise<Ended>(done => {
      this.#open.set(number, ({ said, code, why = '' }) => {
        if (said !== undefined) lines.push(`${JSON.stringify(said)}\n`)
        if (code !== undefined) done({ code, signal: null, out: lines.join(''), err: why })
      })
    })
    const { workspace, definition, name, order } = given
    const asked = { number, act, environment, workspace, definition, name, order }
    this.#real.process.stdin!.write(`${JSON.stringify(asked)}\n`)
    const died = this.#real.ended.then(({ err }) => {
      throw new Error(`the successor died:\n${err}`)
    })
    try {
      return await Promise.race([ended, died])
    } finally {
      this.#open.delete(number)
    }
  }

  async close(): Promise<void> {
    this.#real.process.stdin?.end()
    await this.#real.end()
  }
}
