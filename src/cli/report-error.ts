// Says what went wrong: one message, one hint, an exit code. A bug is one line; its stack goes to a file or, with
// PLANFOLD_DEBUG=1, to standard error.

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BUG } from '../domain/phrases.ts'
import { escapeForTerminal } from '../safety/text/terminal.ts'
import { errorEnvelope, fitted, withDir } from './answer.ts'
import type { Context } from './context.ts'
import { CliError, complaintOf, EXIT } from './exit.ts'
import { printDiagnostics } from './text/diagnostics.ts'

export async function complain(context: Context, error: unknown): Promise<number> {
  const complaint = inPlace(context, await complaintFor(context, error))
  if (context.settings.json) context.stdout.write(errorEnvelope(complaint))
  else context.stderr.write(`${fitted(context, lines(context, complaint).join('\n'))}\n`)
  return complaint.exit
}

/** Everything that can be thrown; of a bug the details are kept. */
export const complaintFor = async (context: Context, error: unknown): Promise<CliError> =>
  complaintOf(error) ?? (await bug(context, error))

function inPlace(context: Context, complaint: CliError): CliError {
  const { exit, code, message, hint, diagnostics, details } = complaint
  return hint === null
    ? complaint
    : new CliError(exit, code, withDir(context, message), withDir(context, hint), diagnostics, details)
}

function lines({ paint }: Context, { exit, message, hint, diagnostics }: CliError): readonly string[] {
  if (diagnostics.length > 0) return printDiagnostics(paint, diagnostics)
  if (exit === EXIT.done) return [escapeForTerminal(message)]
  const text = `${paint.red('error')}: ${escapeForTerminal(message)}`
  return hint === null ? [text] : [text, `${paint.cyan('hint')}: ${escapeForTerminal(hint)}`]
}

async function bug(context: Context, error: unknown): Promise<CliError> {
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error)
  if (context.environment.PLANFOLD_DEBUG === '1')
    context.stderr.write(`${escapeForTerminal(stack, { keepLines: true })}\n`)
  const place = context.opened === null ? null : await write(join(context.opened, 'bugs'), context.now(), stack)
  const hint = place === null ? 'run it again with PLANFOLD_DEBUG=1 for details' : `details are in ${place}`
  return new CliError(EXIT.bug, 'bug', BUG, `${hint}; please report it`)
}

async function write(folder: string, now: number, stack: string): Promise<string | null> {
  const path = join(folder, `${new Date(now).toISOString().replaceAll(':', '-')}.txt`)
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeFile(path, `${stack}\n`, { mode: 0o600, flag: 'wx' })
    return path
  } catch {
    return null
  }
}
