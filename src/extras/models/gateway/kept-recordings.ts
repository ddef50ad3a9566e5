// The exchanges of an attempt, on disk as they come: one line each in `models/attempts/` of the state folder. After a crash they say what
// was answered, so that the next attempt need not pay for it again. So do those of a drafting, until it is done. They are redacted
// already, and only the user can read them.

import { createHash } from 'node:crypto'
import { appendFileSync, rmSync } from 'node:fs'
import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { ModelExchange, ModelRecording } from '../../../runners/models.ts'
import { makeFolder } from '../../../safety/files/directory.ts'
import { codeOf } from '../../../safety/safety-refusal.ts'
import type { AskedModel } from './ledger.ts'

interface Line {
  readonly asked: AskedModel
  readonly exchange: ModelExchange
}

/** What a crash left is of no use for longer. */
export const KEPT_MS = 7 * 24 * 60 * 60_000

export class KeptRecordings {
  readonly #folder: string

  constructor(stateDir: string) {
    this.#folder = join(stateDir, 'models', 'attempts')
  }

  append(name: string, asked: AskedModel, exchange: ModelExchange): void {
    const text = `${JSON.stringify({ asked, exchange } satisfies Line)}\n`
    makeFolder(this.#folder, 0o700)
    appendFileSync(this.#file(name), text, { mode: 0o600 })
  }

  /** One for each model; nothing when nothing was kept. A line that a crash left half is left out. */
  async read(name: string): Promise<readonly ModelRecording[]> {
    let text: string
    try {
      text = await readFile(this.#file(name), 'utf8')
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return []
      throw error
    }
    const found = new Map<string, { asked: AskedModel; exchanges: ModelExchange[] }>()
    for (const line of text.split('\n').map(lineOf)) {
      if (line === null) continue
      const { asked, exchange } = line
      const known = found.get(asked.model) ?? { asked, exchanges: [] }
      known.exchanges.push(exchange)
      found.set(asked.model, known)
    }
    return [...found.values()].map(({ asked, exchanges }) => ({
      planfold: 'model-recording',
      version: 1,
      ...asked,
      exchanges,
    }))
  }

  dropNow(name: string): void {
    rmSync(this.#file(name), { force: true })
  }

  async dropBefore(time: number): Promise<void> {
    for (const name of await readdir(this.#folder).catch(() => [])) {
      const file = join(this.#folder, name)
      const found = await stat(file).catch(() => null)
      if (found !== null && found.mtimeMs < time) await rm(file, { force: true })
    }
  }

  /** Whatever the name is, the file stays in its folder. */
  #file(name: string): string {
    return join(this.#folder, `${createHash('sha256').update(name).digest('hex').slice(0, 32)}.jsonl`)
  }
}

function lineOf(line: string): Line | null {
  try {
    return line === '' ? null : (JSON.parse(line) as Line)
  } catch {
    return null
  }
}
