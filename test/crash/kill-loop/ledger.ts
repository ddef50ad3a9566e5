// The ledger: what the task scripts say happened in the world, one line each, appended by themselves.

import { existsSync, readFileSync } from 'node:fs'

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
