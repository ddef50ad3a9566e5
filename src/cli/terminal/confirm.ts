// A question that is answered with one key: `y` is yes, everything else is no. `confirm` needs a terminal, and throws when
// interrupted; for `askYesNo`, no terminal and an interruption are a no.

import type { Context } from '../context.ts'
import { CliError, EXIT } from '../exit.ts'

export async function confirm({ terminal, stderr, onSignal }: Context, question: string): Promise<boolean> {
  if (terminal === null) throw new Error('bug: a question without a terminal')
  stderr.write(`${question} [y/N] `)
  const answer = await new Promise<string | null>(resolve => {
    const stop = (value: string | null): void => {
      unlisten()
      unkey()
      resolve(value)
    }
    const unlisten = onSignal(() => stop(null))
    const unkey = terminal.onKey(key => stop(key))
  })
  const isYes = answer === 'y' || answer === 'Y'
  stderr.write(`${isYes ? 'y' : 'n'}\n`)
  if (answer === null) throw new CliError(EXIT.interrupted, 'interrupted', 'interrupted; nothing was changed')
  return isYes
}

export async function askYesNo(
  { terminal, stderr, settings, onSignal }: Pick<Context, 'terminal' | 'stderr' | 'settings' | 'onSignal'>,
  question: string,
): Promise<boolean> {
  if (terminal === null || settings.json || settings.quiet) return false
  stderr.write(`${question} [y/N] `)
  const key = await new Promise<string>(resolve => {
    const offKey = terminal.onKey(pressed => end(pressed))
    const offSignal = onSignal(() => end(''))
    const end = (pressed: string): void => {
      offKey()
      offSignal()
      resolve(pressed)
    }
  })
  const isYes = key === 'y' || key === 'Y'
  stderr.write(`${isYes ? 'yes' : 'no'}\n`)
  return isYes
}
