// The built command in a real terminal: `script` gives it a pseudo-terminal, and keys are typed into it.

import { spawn, spawnSync } from 'node:child_process'
import { MAIN } from './planfold.fixture.ts'

/** False where there is no `script` (util-linux); then nothing can be shown. */
export const hasTerminal = spawnSync('script', ['--version']).status === 0
if (!hasTerminal) console.log('skipped: there is no `script` (util-linux) to make a terminal with')

// biome-ignore lint/suspicious/noControlCharactersInRegex: the colours and moves of the terminal are taken off.
export const CONTROLS = /\u001b\[[0-9;?]*[A-Za-z]/g

export interface Terminal {
  readonly shown: () => string
  readonly press: (keys: string) => void
  /** Waits until the text is shown, whatever its colours, behind what was seen before. */
  readonly sees: (text: string) => Promise<void>
  readonly ended: Promise<number | null>
}

export function terminal(
  { folder, env = process.env }: { readonly folder: string; readonly env?: NodeJS.ProcessEnv },
  ...words: readonly string[]
): Terminal {
  const line = [process.execPath, MAIN, ...words].map(word => `'${word}'`).join(' ')
  const child = spawn('script', ['-qefc', `stty cols 100 rows 30; ${line}`, '/dev/null'], {
    cwd: folder,
    env: { ...env, TERM: 'xterm-256color', NO_COLOR: '' },
  })
  let shown = ''
  let seen = 0
  const waiting = new Set<() => void>()
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text
    for (const look of waiting) look()
  })
  const ended = new Promise<number | null>(resolve => child.once('close', code => resolve(code)))
  return {
    shown: () => shown,
    press: keys => child.stdin.write(keys),
    sees: text =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const at = shown.replace(CONTROLS, '').indexOf(text, seen)
          if (at === -1) return
          seen = at + text.length
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
        void ended.then(() => (waiting.delete(look) ? reject(new Error(`never saw ${text}:\n${shown}`)) : undefined))
      }),
    ended,
  }
}
