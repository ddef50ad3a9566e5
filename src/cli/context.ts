// What a command is given: where to write, who looks, which settings hold, and how to open the state. Commands touch the
// process only through this, so a test runs them without one.

import type { Composed, ComposeOptions } from '../composition/composition.ts'
import { FileProgressLines } from './live/file-progress.ts'
import type { Paint } from './terminal/paint.ts'
import { partText } from './text/hint-text.ts'

export interface Context {
  readonly stdout: Sink
  readonly stderr: Sink
  /** The terminal, when a person sits at both ends of it; null for pipes, files and CI. */
  readonly terminal: Terminal | null
  readonly cwd: string
  readonly environment: { readonly [name: string]: string | undefined }
  readonly now: () => number
  readonly settings: Settings
  readonly paint: Paint
  /** Calls back on SIGINT and SIGTERM instead of dying of them; returns how to stop listening. */
  readonly onSignal: (listener: (signal: StopSignal) => void) => () => void
  /** Fires when the reader of our output has closed the pipe. */
  readonly hangup: AbortSignal
  readonly stdin: () => AsyncIterable<Uint8Array>
  readonly openState: (options: OpenOptions) => Promise<Composed>
  readonly opened: string | null
}

export interface OpenOptions extends Omit<ComposeOptions, 'caller'> {
  readonly as?: string
  /** It answers others, whose rights are decided by how they come in. */
  readonly serving?: boolean
}

export interface Settings {
  readonly json: boolean
  readonly quiet: boolean
  readonly color: boolean
  readonly dir?: string
  /** The address of a PostgreSQL database; null where a folder was named, also where the environment names another. */
  readonly database?: string | null
  readonly as?: string
}

export interface Sink {
  write(text: string | Uint8Array): void
}

export type StopSignal = 'SIGINT' | 'SIGTERM'

export interface Terminal {
  columns(): number
  rows(): number
  onResize(listener: () => void): () => void
  /** Single key presses, unechoed, until the returned function is called. Ctrl-C arrives as a signal, not as a key. */
  onKey(listener: (key: string) => void): () => void
}

/** Opens the state, runs `body`, and closes it in any case. */
export async function withState<T>(
  context: Context,
  options: {
    readonly create: boolean /** Instead of the state folder that was asked for or found. */
    readonly dir?: string
    readonly root?: string
    readonly reading?: boolean
    readonly serving?: boolean
    readonly labels?: readonly string[]
  },
  body: (composed: Composed) => Promise<T>,
): Promise<T> {
  const { as, database } = context.settings
  const dir = options.dir ?? context.settings.dir
  const composed = await context.openState({
    cwd: context.cwd,
    environment: context.environment,
    word: partText,
    create: options.create,
    reading: options.reading,
    serving: options.serving,
    ...(options.labels === undefined ? {} : { labels: options.labels }),
    dir,
    root: options.root,
    // A folder that was named for one command has its own store.
    ...(options.dir !== undefined ? { database: null } : database === undefined ? {} : { database }),
    as,
  })
  const mirror =
    options.dir === undefined && options.reading !== true && context.environment.PLANFOLD_MIRROR
      ? (await import('./plan-mirror.ts')).mirroring(context, composed)
      : null
  const progress = new FileProgressLines(context)
  composed.onProgress(update => progress.tell(update))
  try {
    return await body(mirror?.composed ?? composed)
  } finally {
    progress.close()
    await mirror?.flush()
    await composed.close()
  }
}

/** Runs a command in a context, and keeps its exit code. */
export type Run = (body: (context: Context) => Promise<number>) => Promise<void>

/** Makes the action of a command, which loads its code when it is called and passes on what was typed. */
export type Act = <Typed extends readonly unknown[]>(
  load: () => Promise<(context: Context, ...typed: Typed) => Promise<number>>,
) => (...typed: Typed) => Promise<void>
