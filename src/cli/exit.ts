// How a command ends: the exit codes that scripts rely on, and the one place where a refusal or a failure becomes a message, a hint and
// a code. Anything else is a bug of ours. No stack trace passes through here.

import type { Hint } from '../domain/hint.ts'
import type { Refusal, RefusalCode } from '../domain/refusal.ts'
import type { PlanStatus } from '../domain/status.ts'
import type { Diagnostic } from '../format/text/diagnostic.ts'
import { hintText } from './text/hint-text.ts'

export const EXIT = { done: 0, failed: 1, usage: 2, refused: 3, waits: 4, bug: 5, interrupted: 130 } as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** Thrown by commands for every error that the user can act on, so never for a bug. Printed by main. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly exit: ExitCode
  readonly code: string
  readonly hint: string | null
  readonly diagnostics: readonly FileDiagnostic[]
  readonly details: Readonly<Record<string, unknown>>

  constructor(
    exit: ExitCode,
    code: string,
    message: string,
    hint?: Hint,
    diagnostics: readonly FileDiagnostic[] = [],
    details: Readonly<Record<string, unknown>> = {},
  ) {
    super(message)
    this.exit = exit
    this.code = code
    this.hint = hint === undefined ? null : hintText(hint)
    this.diagnostics = diagnostics
    this.details = details
  }
}

export interface FileDiagnostic extends Diagnostic {
  readonly file: string
  readonly source: string
}

export const usage = (message: string, hint?: Hint): CliError => new CliError(EXIT.usage, 'usage', message, hint)
export const notFound = (message: string, hint?: Hint): CliError => new CliError(EXIT.usage, 'not-found', message, hint)

export const notConfirmed = (message: string, hint: Hint): CliError =>
  new CliError(EXIT.refused, 'not-confirmed', message, hint)

/** A person was asked and said no: an answer, not an error. The message says what was left unchanged. */
export const declined = (message: string): CliError => new CliError(EXIT.done, 'declined', message)

export function refused(refusal: Refusal): CliError {
  return new CliError(REFUSAL_EXIT[refusal.code], refusal.code, refusal.message, refusal.hint)
}

const REFUSAL_EXIT: Record<RefusalCode, ExitCode> = {
  'not-found': EXIT.usage,
  invalid: EXIT.usage,
  cycle: EXIT.usage,
  'unknown-reference': EXIT.usage,
  duplicate: EXIT.usage,
  limit: EXIT.usage,
  exists: EXIT.refused,
  conflict: EXIT.refused,
  'illegal-transition': EXIT.refused,
  'not-supported': EXIT.refused,
  'not-allowed': EXIT.refused,
  'not-ready': EXIT.refused,
}

export function exitOf(status: PlanStatus): ExitCode {
  switch (status) {
    case 'completed':
      return EXIT.done
    case 'failed':
    case 'cancelled':
      return EXIT.failed
    case 'draft':
    case 'active':
    case 'paused':
    case 'blocked':
      return EXIT.waits
    default:
      return status satisfies never
  }
}

/** What was thrown, as an error for the user; null if it is a bug of ours. */
export function complaintOf(error: unknown): CliError | null {
  if (error instanceof CliError) return error
  if (!(error instanceof Error)) return null
  const known = KNOWN[error.name]
  if (known !== undefined) {
    const hint = 'hint' in error && error.hint !== undefined ? (error.hint as Hint) : known.hint
    return new CliError(known.exit, known.code, error.message, hint)
  }
  if ('exitCode' in error && 'code' in error && String(error.code).startsWith('commander.')) return fromCommander(error)
  if ('errcode' in error && typeof error.errcode === 'number') return fromSqlite(error.message, error.errcode & 0xff)
  if ('syscall' in error && 'code' in error) return fromSystem(error as NodeJS.ErrnoException)
  return null
}

// By name and not by class, so that an error during startup is reported without loading the rooms that define the classes.
const KNOWN: { readonly [name: string]: { readonly exit: ExitCode; readonly code: string; readonly hint: string } } = {
  NoState: {
    exit: EXIT.usage,
    code: 'no-state',
    hint: 'start here with `planfold init`, or run a plan: planfold run plan.yaml',
  },
  StoreRefused: { exit: EXIT.refused, code: 'store-refused', hint: 'see `planfold doctor store`' },
  SyncFailed: {
    exit: EXIT.refused,
    code: 'sync-failed',
    hint: 'check the disk, then run `planfold resume`: it continues from what is known to be stored',
  },
  StoreBusy: { exit: EXIT.refused, code: 'busy', hint: 'another process is writing; try again' },
  StoreFull: { exit: EXIT.refused, code: 'full', hint: 'free some space and try again; nothing was written' },
  StoreDamaged: {
    exit: EXIT.refused,
    code: 'damaged',
    hint: 'restore the state folder from a copy; if the database opens, `planfold doctor store --read-data` tells what is damaged',
  },
  StoreGone: {
    exit: EXIT.refused,
    code: 'gone',
    hint: 'restore the data folder from a copy, or start again; what happened since it vanished was not recorded',
  },
  CommitUnknown: {
    exit: EXIT.refused,
    code: 'commit-unknown',
    hint: 'look with `planfold status` before trying again',
  },
  LeaseLost: {
    exit: EXIT.refused,
    code: 'lease-lost',
    hint: 'another process drives the plan now; see `planfold status`',
  },
  BadCursor: {
    exit: EXIT.usage,
    code: 'bad-cursor',
    hint: 'use the cursor the previous page printed, or leave it out',
  },
  NotAllowed: { exit: EXIT.refused, code: 'not-allowed', hint: 'ask somebody who may' },
  MissingExtra: { exit: EXIT.usage, code: 'not-in-build', hint: 'use a build of Planfold that has it' },
  BadConfiguration: { exit: EXIT.usage, code: 'configuration', hint: 'correct it and try again' },
}

function fromCommander(error: Error): CliError {
  const [first = '', ...rest] = error.message.replace(/^error: /, '').split('\n')
  const near = /\(Did you mean (one of )?(.+?)\?\)/.exec(rest.join('\n'))
  const command = 'command' in error && typeof error.command === 'string' ? error.command : 'planfold'
  if (near !== null)
    return usage(
      first,
      `did you mean ${near[1] === undefined ? `'${near[2]}'` : near[2]!.replace(/, ([^,]+)$/, ' or $1')}?`,
    )
  const value = /^command-argument value '(.*)' is invalid for argument '(.+?)'\. (?:Allowed choices are )?(.+)$/s.exec(
    first,
  )
  if (value === null) return usage(first, `see \`${command} --help\``)
  const [, given, name, wanted] = value
  return first.includes('Allowed choices are ')
    ? usage(`unknown ${name} '${given}'`, `one of ${wanted}`)
    : usage(`'${given}' is not valid as ${name}. ${wanted}`, `see \`${command} --help\``)
}

/** SQLite's result codes for a database file that cannot be used. Its other codes mean a bug of ours. */
function fromSqlite(message: string, code: number): CliError | null {
  const hint = SQLITE_HINTS[code]
  return hint === undefined ? null : new CliError(EXIT.refused, 'store', `the store cannot be used: ${message}`, hint)
}

const SQLITE_HINTS: { readonly [code: number]: string } = {
  5: 'another process is writing; try again',
  8: 'the state folder can only be read; check who may write there',
  10: 'the disk gives errors; look at it before going on',
  11: 'restore `.planfold` from a backup; keep the damaged one',
  13: 'free some space and try again; nothing was written',
  14: 'check who may read and write the state folder',
}

const SYSTEM_HINTS: { readonly [code: string]: string } = {
  EACCES: 'check who may read and write there',
  EPERM: 'check who may read and write there',
  EROFS: 'that place can only be read; choose another with --dir',
  ENOSPC: 'free some space and try again',
  EDQUOT: 'free some space and try again',
  EMFILE: 'too many open files; raise the limit with `ulimit -n`',
  ENFILE: 'too many open files on this machine',
  EEXIST: 'a file stands where the state folder belongs; move it away, or choose another with --dir',
  ENOTDIR: 'a part of that path is a file, not a folder',
}

function fromSystem(error: NodeJS.ErrnoException): CliError | null {
  const isNoFolder = error.code === 'ENOENT' && error.syscall === 'mkdir'
  const hint = isNoFolder ? 'no folder can be made there; choose another with --dir' : SYSTEM_HINTS[error.code ?? '']
  return hint === undefined ? null : new CliError(EXIT.refused, 'system', error.message, hint)
}
