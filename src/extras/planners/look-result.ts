// What the project's own commands do today, run once before a draft. A failure is evidence when it names a file of the repository and
// shows no sign of the sandbox; else nobody knows why it failed, and nothing is built on it.

import { shellQuoted } from '../../domain/plan-rules/shell-words.ts'

export interface Looked {
  readonly commands: readonly LookedCommand[]
  readonly ms: number
  /** Why nothing was run, as a sentence. */
  readonly none?: string
}

export interface LookedCommand {
  readonly run: readonly string[]
  readonly env?: { readonly [name: string]: string }
  /** The folder it ran in, when that is not the top. */
  readonly in?: string
  readonly purpose: 'test' | 'lint' | 'types' | 'build'
  readonly status: 'passes' | 'fails' | 'unknown'
  /** Of an unknown one: why, as the end of a sentence. */
  readonly why?: string
  /** How many tests fail, and of how many, where it says so. */
  readonly failed?: number
  readonly total?: number
  /** Files of the repository that the failure names, in its order. */
  readonly places: readonly { readonly file: string; readonly line: number | null }[]
  /** What it printed about them, cut. */
  readonly lines: readonly string[]
}

/** Its words, without variables and folder. */
export const lookedLine = ({ run }: Pick<LookedCommand, 'run'>): string => run.map(shellQuoted).join(' ')

/** `npm test: 2 of 31 fail today (test/a.test.js:12)`. */
export function lookedText(command: LookedCommand): string {
  const { status, why, failed, total, places } = command
  const line = lookedLine(command)
  if (status === 'passes') return `${line}: passes`
  if (status === 'unknown') return `${line}: could not be looked at, ${why}`
  const [place] = places
  const count = failed === undefined ? 'fails' : `${failed}${total === undefined ? '' : ` of ${total}`} fail`
  return `${line}: ${count} today${place === undefined ? '' : ` (${place.file}${place.line === null ? '' : `:${place.line}`})`}`
}

const LINES_TOLD = 12

/** For whoever drafts: each command, and the first lines that a failing one printed about its places. */
export const lookedLines = ({ commands }: Pick<Looked, 'commands'>): readonly string[] =>
  commands.flatMap(command => [lookedText(command), ...command.lines.slice(0, LINES_TOLD).map(line => `  > ${line}`)])

/** Those of which is known that they fail, and where. */
export const failingToday = (looked: Looked | undefined): readonly LookedCommand[] =>
  (looked?.commands ?? []).filter(({ status }) => status === 'fails')
