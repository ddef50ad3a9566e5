// A command line as the system gets it and as a person reads it. A list is handed over word by word, without a shell, so a
// word means itself; a script is one argument of `sh -eu -c`, shown as it was written.

import type { CommandLine } from '../../domain/plan.ts'

export function argvOf(command: CommandLine): readonly string[] {
  return 'argv' in command ? command.argv : ['/bin/sh', '-eu', '-c', command.script]
}

export function shownCommand(command: CommandLine): string {
  return 'argv' in command ? command.argv.map(quoted).join(' ') : command.script
}

/** The word as one would type it in a POSIX shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
