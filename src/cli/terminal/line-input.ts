// One line, typed by the person at the terminal; and one key of a few.

import type { Context } from '../context.ts'
import { CliError, EXIT } from '../exit.ts'

type Asker = Pick<Context, 'terminal' | 'stderr' | 'onSignal'>

const BACKSPACE = /^[\u007f\b]$/
const LINE_MAX = 2_000

/** Null when it was put off with Esc. */
export async function askLine(context: Asker, prompt: string): Promise<string | null> {
  let typed = ''
  context.stderr.write(prompt)
  const answer = await listen<string | null>(context, (key, end) => {
    if (key === '\r' || key === '\n') return end(typed)
    if (key === '\u001b') return end(null)
    if (BACKSPACE.test(key)) {
      if (typed === '') return
      typed = [...typed].slice(0, -1).join('')
      context.stderr.write('\b \b')
      return
    }
    // Arrows and other sequences say nothing here.
    if (key.startsWith('\u001b') || /\p{Cc}/u.test(key) || typed.length >= LINE_MAX) return
    typed += key
    context.stderr.write(key)
  })
  context.stderr.write('\n')
  return answer
}

export async function askKey<K extends string>(context: Asker, prompt: string, keys: readonly K[]): Promise<K> {
  context.stderr.write(prompt)
  const answer = await listen<K>(context, (key, end) => {
    const found = keys.find(each => each === key.toLowerCase())
    if (found !== undefined) end(found)
  })
  context.stderr.write(`${answer}\n`)
  return answer
}

async function listen<T>(
  { terminal, onSignal }: Asker,
  hear: (key: string, end: (value: T) => void) => void,
): Promise<T> {
  if (terminal === null) throw new Error('bug: a question without a terminal')
  return await new Promise<T>((resolve, reject) => {
    let isOver = false
    const stop = (): void => {
      isOver = true
      unlisten()
      unkey()
    }
    const unlisten = onSignal(() => {
      stop()
      reject(new CliError(EXIT.interrupted, 'interrupted', 'interrupted; nothing was decided'))
    })
    const unkey = terminal.onKey(key => {
      if (isOver) return
      hear(key, value => {
        stop()
        resolve(value)
      })
    })
  })
}
