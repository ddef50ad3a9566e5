// The ledger: what the task scripts say happened in the world, one line each. It lies in the workspace, where held tasks see it, too. No task
// may write it, since what a task may write is set back with it; each says its line into a pipe, which can be written whatever is read-only,
// and goes on when the line stands in the ledger. Both are ignored, so that Planfold leaves them alone.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** In each workspace: the script of all tasks, and what keeps the ledger out of snapshots. */
export const LEDGER_FILES: Readonly<Record<string, string>> = {
  'task.sh': readFileSync(join(import.meta.dirname, 'task.sh'), 'utf8'),
  '.planfoldignore': '/ledger\n/.ledger\n',
}
/** In each workspace, and nobody's. */
export const LEDGER_OWN: ReadonlySet<string> = new Set(['ledger', '.ledger'])

/** Writes down what the tasks of a workspace say, from now on until it is closed. */
export class Ledger {
  readonly file: string
  readonly #writer: ChildProcess
  readonly #ended: Promise<void>

  constructor(workspace: string) {
    mkdirSync(workspace, { recursive: true })
    for (const [name, text] of Object.entries(LEDGER_FILES)) writeFileSync(join(workspace, name), text)
    this.file = join(workspace, 'ledger')
    writeFileSync(this.file, '')
    execFileSync('mkfifo', [join(workspace, '.ledger')])
    // Opened for both, the pipe has a reader and a writer at every moment: nobody waits for the other, and it never ends.
    this.#writer = spawn('bash', ['-c', 'exec cat <>.ledger >>ledger'], { cwd: workspace, stdio: 'ignore' })
    this.#ended = new Promise((done, fail) => {
      this.#writer.once('error', fail)
      this.#writer.once('exit', () => done())
    })
  }

  async close(): Promise<void> {
    this.#writer.kill('SIGKILL')
    await this.#ended
  }
}

export interface LedgerLine {
  readonly what: 'begin' | 'effect' | 'undo'
  readonly plan: string
  readonly task: string
  readonly key: string
  readonly attempt: number
  readonly pid: number
  /** Milliseconds since the epoch. */
  readonly at: number
}

export function readLedger(file: string): readonly LedgerLine[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return lines.map(line => {
    const [what, plan, task, key, attempt, pid, microseconds] = line.split(' ')
    return {
      what: what as LedgerLine['what'],
      plan: plan ?? '',
      task: task ?? '',
      key: key ?? '',
      attempt: Number(attempt),
      pid: Number(pid),
      at: Number(microseconds) / 1_000,
    }
  })
}
