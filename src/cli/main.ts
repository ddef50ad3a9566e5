#!/usr/bin/env node
// The `planfold` command: gives commands a context made of this process, prints complaints, and ends with an exit code.
// Every other file is loaded when it is needed; how soon `resume` reaches its next task is decided here.

import { extraCommands } from '../extras.ts'
import { withoutPasswords } from '../format/text/database-url.ts'
import type { Context, Run } from './context.ts'
import { EXIT } from './exit.ts'
import { reportFileLimit } from './file-limit.ts'
import { processContext } from './process.ts'
import { buildProgram } from './program.ts'
import { VERSION } from './version.ts'

let exit = 0
let context: Context | null = null
const argv = process.argv.slice(2)
// Deprecations of packages are not for people who type commands; `pg` prints one when it reads .pgpass.
Object.assign(process, { noDeprecation: true })
// Others on this machine see the words of a process.
const shown = withoutPasswords(argv)
if (shown !== null) process.title = ['planfold', ...shown].join(' ')

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
