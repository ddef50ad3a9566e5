// Results of the project's own commands, run once before a draft. A failure counts as evidence if it names a file of the
// repository and shows no sign of the sandbox; otherwise its cause is unknown and it is ignored.

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
  /** The folder it ran in, if not the top. */
  readonly in?: string
  readonly purpose: 'test' | 'lint' | 'types' | 'build'
  readonly status: 'passes' | 'fails' | 'unknown'
  /** The reason, if the result is unknown, as the end of a sentence. */
  readonly why?: string
  /** Number of failed tests, if reported. */
  readonly failed?: number
  readonly total?: number
  /** Repository files named in the failure, in order. */
  readonly places: readonly { readonly file: string; readonly line: number | null }[]
  readonly lines: readonly string[]
}

/** The reason of an unknown result when a program or a package is missing. */
export const NOT_INSTALLED = 'something is not installed'

/** The command as a shell line, without variables and folder. */
export const lookedLine = ({ run }: Pick<LookedCommand, 'run'>): string => run.map(shellQuoted).join(' ')

/** For example `npm test: 2 of 31 fail today (test/a.test.js:12)`. */
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

/** For prompts: each command, and the first lines of each failure. */
export const lookedLines = ({ commands }: Pick<Looked, 'commands'>): readonly string[] =>
  commands.flatMap(command => [lookedText(command), ...command.lines.slice(0, LINES_TOLD).map(line => `  > ${line}`)])

export const failingToday = (looked: Looked | undefined): readonly LookedCommand[] =>
  (looked?.commands ?? []).filter(({ status }) => status === 'fails')
