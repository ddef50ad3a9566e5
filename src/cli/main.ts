#!/usr/bin/env node

// The `planfold` command: gives commands a context made of this process, prints complaints, and ends with an exit code.
// Every other file is loaded when it is needed; how soon `resume` reaches its next task is decided here.

import { closeSync, openSync } from 'node:fs'
import { extraCommands } from '../extras.ts'
import type { Context, Run } from './context.ts'
import { EXIT } from './exit.ts'
import { processContext } from './process.ts'
import { buildProgram } from './program.ts'
import { VERSION } from './version.ts'

let exit = 0
let context: Context | null = null
const argv = process.argv.slice(2)

const run: Run = async body => {
  context = processContext(program.opts())
  exit = await body(context)
}
const program = buildProgram(VERSION, await extraCommands(), run)
quieten(program)
// One cause makes many errors: only the first is reported.
let isEnding = false
process.on('uncaughtException', error => void end(error))

try {
  // Asking for nothing is asking for help, but it is not a success.
  if (argv.length === 0) {
    process.stdout.write(program.helpInformation())
    exit = 2
  } else await program.parseAsync(argv, { from: 'user' })
  await end(null)
} catch (error) {
  await end(error)
}

/** Errors are printed once, below; help and version go to standard output. */
function quieten(command: typeof program): void {
  command.configureOutput({ writeErr: () => {}, writeOut: text => process.stdout.write(text) })
  for (const part of command.commands) quieten(part)
}

async function end(error: unknown): Promise<void> {
  if (isEnding) return
  isEnding = true
  // A word is missing, as in `planfold --json` or `planfold template`: the help lists what there is.
  if (isHelp(error, 'commander.help') && !isHelp(error)) {
    const group = program.commands.find(command => command.commands.length > 0 && argv.includes(command.name()))
    process.stdout.write((group ?? program).helpInformation())
    exit = 2
  } else if (error !== null && !isHelp(error)) exit = await reported(error)
  // Written out before leaving: pipes may be slow, and an answer must not be cut.
  process.exitCode = exit
  await new Promise<void>(resolve => process.stdout.write('', () => resolve()))
  process.exit(exit)
}

async function reported(error: unknown): Promise<number> {
  const { stdout, stderr } = process
  const json = context?.settings.json ?? argv.includes('--json')
  const limited = reportFileLimit(error, { json, stdout, stderr })
  if (limited !== null) return limited
  try {
    const { complain } = await import('./report-error.ts')
    // Options may not have been read when they are what is wrong.
    return await complain(context ?? processContext({ json, color: !argv.includes('--no-color') }, '/'), error)
  } catch (second) {
    const late = reportFileLimit(second, { json, stdout, stderr })
    if (late !== null) return late
    stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n${String(second)}\n`)
    return EXIT.bug
  }
}

function isHelp(error: unknown, code?: string): boolean {
  if (!(error instanceof Error) || !('exitCode' in error) || !('code' in error)) return false
  if (code !== undefined) return error.code === code
  return error.exitCode === 0 && String(error.code).startsWith('commander.')
}

// Says that this process may not open as many files as it needs (`ulimit -n`). It loads nothing: a process that may open
// no file cannot load the code that prints other errors.

const MESSAGE = 'too many open files: this process may not open as many files at a time as it needs'
const HINT = 'raise the limit and try again: ulimit -n 1024'

/** Writes the complaint and answers with the exit code; null when the error is something else. */
function reportFileLimit(
  error: unknown,
  { json, stdout, stderr }: { readonly json: boolean; readonly stdout: Sink; readonly stderr: Sink },
): number | null {
  if (!isFileLimit(error)) return null
  if (json)
    stdout.write(`${JSON.stringify({ planfold: 1, error: { code: 'system', message: MESSAGE, hint: HINT } })}\n`)
  else stderr.write(`error: ${MESSAGE}\nhint: ${HINT}\n`)
  return EXIT.refused
}

interface Sink {
  write(text: string): unknown
}

const SQLITE_CANTOPEN = 14
const CAUSES_MAX = 10

function isFileLimit(error: unknown): boolean {
  let cause = error
  for (let depth = 0; cause instanceof Error && depth < CAUSES_MAX; depth++) {
    const { code, errcode } = cause as { readonly code?: unknown; readonly errcode?: unknown }
    if (code === 'EMFILE' || code === 'ENFILE') return true
    if (/\b(?:EMFILE|ENFILE)\b|too many open files/i.test(cause.message)) return true
    if (typeof errcode === 'number' && (errcode & 0xff) === SQLITE_CANTOPEN) return isLimitReached()
    cause = cause.cause
  }
  return false
}

/** Tries as many files as a connection to the store has. */
function isLimitReached(): boolean {
  const opened: number[] = []
  try {
    while (opened.length < 4) opened.push(openSync('/dev/null', 'r'))
    return false
  } catch (error) {
    return ['EMFILE', 'ENFILE'].includes(String((error as NodeJS.ErrnoException).code))
  } finally {
    for (const file of opened) closeSync(file)
  }
}
