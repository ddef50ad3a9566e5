// Says that this process may not open as many files as it needs (`ulimit -n`). It loads nothing: a process that may open
// no file cannot load the code that prints other errors.

import { closeSync, openSync } from 'node:fs'
import { EXIT } from './exit.ts'

const MESSAGE = 'too many open files: this process may not open as many files at a time as it needs'
const HINT = 'raise the limit and try again: ulimit -n 1024'

/** Writes the complaint and answers with the exit code; null when the error is something else. */
export function reportFileLimit(
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

export function isFileLimit(error: unknown): boolean {
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
