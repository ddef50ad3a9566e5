// The sums of `run-modes.ts`, printed at the end of a run.

import { existsSync, readFileSync } from 'node:fs'

/** `none`: an engine that was opened without a sandbox to hold anything, as tests of single rooms do with scripted runners. */
export type CommandMode = 'held' | 'as you' | 'agent' | 'off' | 'none'

/** A line of the file: how the commands of one test ran. */
export interface TestModes {
  readonly test: string
  readonly modes: readonly CommandMode[]
}

/** The variable that names the file in which the test processes write. */
export const MODES_FILE = 'PLANFOLD_TEST_MODES'

export function reportModes(file: string): readonly string[] {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
  const tests = lines.map(line => JSON.parse(line) as TestModes)
  if (tests.length === 0) return []
  const having = (mode: CommandMode): readonly TestModes[] => tests.filter(({ modes }) => modes.includes(mode))
  const off = having('off')
  const percent = ((100 * off.length) / tests.length).toFixed(1)
  return [
    `${tests.length} tests run commands of plans: ${having('held').length} a held one, ${having('as you').length} one that runs as the user, ` +
      `${having('agent').length} an agent; ${off.length} (${percent} %) with the sandbox switched off`,
    `  ${having('none').length} of them drive an engine that has no sandbox room: stores, rules and runners by themselves`,
    ...off.map(({ test }) => `  switched off: ${test}`),
  ]
}
