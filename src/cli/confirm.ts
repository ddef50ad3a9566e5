// A question that is answered by one key at the terminal: y is yes, anything else is no.

import type { Context } from './context.ts'
import { Complaint, EXIT } from './exit.ts'

export async function confirm({ terminal, stderr, onSignal }: Context, question: string): Promise<boolean> {
  if (terminal === null) throw new Error('bug: nobody sits at a terminal to be asked')
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
  if (answer === null) throw new Complaint(EXIT.interrupted, 'interrupted', 'interrupted; nothing was changed')
  return isYes
}
