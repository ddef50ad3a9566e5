// The context of a real process: its streams, its terminal, its signals. The only place besides main that touches them.

import type { Context, Settings, Sink, StopSignal, Terminal } from './context.ts'
import { CliError, EXIT } from './exit.ts'
import { namedDatabase } from './named-database.ts'
import { paint } from './terminal/paint.ts'

export function processContext(options: { readonly [name: string]: unknown }, cwd = currentFolder()): Context {
  const settings = settingsOf(options, cwd)
  const hangup = new AbortController()
  let opened: string | null = null
  return {
    stdout: sink(process.stdout, hangup),
    stderr: sink(process.stderr, hangup),
    terminal: terminal(),
    cwd,
    environment: process.env,
    now: Date.now,
    settings,
    paint: paint(settings.color),
    onSignal,
    hangup: hangup.signal,
    stdin: () => process.stdin,
    get opened() {
      return opened
    },
    openState: async options => {
      const { openState } = await import('./open-state.ts')
      const composed = await openState(options)
      opened = composed.stateDir
      return composed
    },
  }
}

function currentFolder(): string {
  try {
    return process.cwd()
  } catch {
    throw new CliError(EXIT.failed, 'no-folder', 'the current folder no longer exists', 'go to one that does: cd ~')
  }
}

function settingsOf(options: { readonly [name: string]: unknown }, cwd: string): Settings {
  const plain = (process.env.NO_COLOR ?? '') !== '' || process.env.TERM === 'dumb'
  return {
    json: options.json === true,
    quiet: options.quiet === true,
    color: options.color !== false && !plain && process.stdout.isTTY === true,
    ...storeOf(options, cwd),
    ...(typeof options.as === 'string' ? { as: options.as } : {}),
  }
}

/** `--database` may name a folder, which is the same as `--dir`. */
export function storeOf(
  { dir, database }: { readonly [name: string]: unknown },
  cwd: string,
): Pick<Settings, 'dir' | 'database'> {
  const folder = typeof dir === 'string' ? { dir } : {}
  if (typeof database !== 'string') return folder
  const { url = null, ...named } = namedDatabase({ database, ...folder }, cwd)
  return { ...named, database: url }
}

/** A closed pipe (`| head`) is no error: a plan continues to run, a command that only prints stops. */
function sink(stream: NodeJS.WriteStream, hangup: AbortController): Sink {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && error.code !== 'EIO') {
      // The output was not written: the exit code must say so.
      process.exitCode = EXIT.refused
      process.once('exit', () => {
        process.exitCode = EXIT.refused
      })
    }
    hangup.abort()
  })
  return {
    write: text => {
      if (!hangup.signal.aborted) stream.write(text)
    },
  }
}

function onSignal(listener: (signal: StopSignal) => void): () => void {
  const interrupt = (): void => listener('SIGINT')
  const terminate = (): void => listener('SIGTERM')
  process.on('SIGINT', interrupt)
  process.on('SIGTERM', terminate)
  // A closed terminal window is a request to end, like SIGTERM.
  process.on('SIGHUP', terminate)
  return () => {
    process.off('SIGINT', interrupt)
    process.off('SIGTERM', terminate)
    process.off('SIGHUP', terminate)
  }
}

const CTRL_C = '\u0003'
const SHOW_CURSOR = '\u001b[?25h'

function terminal(): Terminal | null {
  const { stdin, stdout } = process
  if (stdin.isTTY !== true || stdout.isTTY !== true || process.env.TERM === 'dumb') return null
  return {
    columns: () => stdout.columns || 80,
    rows: () => stdout.rows || 24,
    onResize: listener => {
      stdout.on('resize', listener)
      return () => stdout.off('resize', listener)
    },
    onKey: listener => {
      const onData = (text: string): void => {
        if (text.includes(CTRL_C)) process.kill(process.pid, 'SIGINT')
        // Escape sequences are one key; anything else may be several, typed fast or pasted.
        else for (const key of text.startsWith('\u001b') ? [text] : text) listener(key)
      }
      const restore = (): void => {
        stdin.setRawMode(false)
        stdout.write(SHOW_CURSOR)
      }
      stdin.setRawMode(true)
      stdin.setEncoding('utf8')
      stdin.on('data', onData)
      stdin.resume()
      process.on('exit', restore)
      return () => {
        process.off('exit', restore)
        stdin.off('data', onData)
        restore()
        stdin.pause()
      }
    },
  }
}
