// The list of calls: one line before a request is sent, one when it has ended, in `models/calls.jsonl` of the state folder. So what was
// spent is known also when the process was killed in the middle of a call, and a cap holds over retries and crashes. The journal says
// what a task answered; this list says what was sent.

import { appendFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ModelCost, type ModelUsage, tokensOf } from '../../domain/model-use.ts'
import type { ModelCallRecord, ModelSpending } from '../../runners/models.ts'
import { makeFolder } from '../../safety/files/directory.ts'
import { codeOf } from '../../safety/safety-refusal.ts'
import { add, NOTHING_SPENT } from './meter.ts'

type Begun = Omit<ModelCallRecord, 'status' | 'code' | 'durationMs' | 'assumedTokens'>
type Said = Pick<ModelCallRecord, 'usage' | 'cost' | 'assumedTokens'>

interface Ended {
  readonly id: string
  readonly ended: {
    readonly status: ModelCallRecord['status']
    readonly code: string | null
    readonly durationMs: number
    readonly usage: ModelUsage
    readonly cost: ModelCost
    readonly assumedTokens?: number
  }
}

type Line = Begun | Ended | { readonly id: string; readonly said: Said }

export class CallList {
  readonly #folder: string

  constructor(stateDir: string) {
    this.#folder = join(stateDir, 'models')
  }

  /** `usage` and `cost` are the most it can use: they count until its end is known. */
  begin(call: Begun): void {
    this.#append(call)
  }

  /** Notes the provider's count so far, which replaces the estimate. */
  said(id: string, said: Said): void {
    this.#append({ id, said })
  }

  end(id: string, ended: Ended['ended']): void {
    this.#append({ id, ended })
  }

  async all(): Promise<readonly ModelCallRecord[]> {
    let text: string
    try {
      text = await readFile(this.#file, 'utf8')
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return []
      throw error
    }
    const calls = new Map<string, ModelCallRecord>()
    for (const line of text.split('\n')) {
      const said = lineOf(line)
      if (said === null) continue
      if ('ended' in said || 'said' in said) {
        const begun = calls.get(said.id)
        const more = 'said' in said ? said.said : { assumedTokens: 0, ...said.ended }
        if (begun !== undefined) calls.set(said.id, { ...begun, ...more })
      } else {
        const assumedTokens = tokensOf(said.usage)
        calls.set(said.id, { ...said, status: 'cut off', code: null, durationMs: null, assumedTokens })
      }
    }
    return [...calls.values()]
  }

  async spentBy(payer: string): Promise<ModelSpending> {
    return (await this.all())
      .filter(call => call.payer === payer)
      .reduce((sum, { usage, cost }) => add(sum, { calls: 1, usage, cost }), NOTHING_SPENT)
  }

  get #file(): string {
    return join(this.#folder, 'calls.jsonl')
  }

  /** One write of one line, at the end of the file: lines of several processes do not mix. */
  #append(line: Line): void {
    const text = `${JSON.stringify(line)}\n`
    try {
      appendFileSync(this.#file, text, { mode: 0o600 })
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error
      makeFolder(this.#folder, 0o700)
      appendFileSync(this.#file, text, { mode: 0o600 })
    }
  }
}

/** Null for a line that a crash left half. */
function lineOf(line: string): Line | null {
  if (line === '') return null
  try {
    return JSON.parse(line) as Line
  } catch {
    return null
  }
}
