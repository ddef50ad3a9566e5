// A question to the person at the terminal that is answered with one key: `y` is yes, everything else is no. Where nobody sits at the
// terminal nobody is asked, and the answer is no.

import type { Context } from './context.ts'

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
