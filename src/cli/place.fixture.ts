// A folder of its own with the commands of the CLI in it, without a process: what is said is collected, a complaint answers
// with its code.

import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import type { Context, Terminal } from './context.ts'
import { CliError, EXIT } from './exit.ts'
import { openState } from './open-state.ts'
import { paint } from './terminal/paint.ts'

export interface Said {
  readonly exit: number | string
  readonly stdout: string
  readonly stderr: string
}

export interface PlaceOptions {
  readonly json?: boolean
  readonly environment?: { readonly [name: string]: string }
  readonly database?: string
  /** Somebody sits at a terminal, and presses these keys as soon as they are asked. */
  readonly keys?: string
}

/** A new place for each test of the file. */
export function eachPlace(): Place {
  let place: Place
  beforeEach(async () => {
    place = await newPlace()
  })
  afterEach(() => place.remove())
  return new Proxy({} as Place, { get: (_, key) => Reflect.get(place, key) })
}

export async function newPlace() {
  const folder = await mkdtemp(join(tmpdir(), 'planfold-cli-'))
  return {
    folder,
    write: (file: string, text: string): Promise<void> => writeFile(join(folder, file), text),
    read: (file: string): Promise<string> => readFile(join(folder, file), 'utf8'),
    remove: (): Promise<void> => rm(folder, { recursive: true, force: true }),
    async say(body: (context: Context) => Promise<number>, options: PlaceOptions = {}): Promise<Said> {
      const said = { stdout: '', stderr: '' }
      const context: Context = {
        stdout: {
          write: text => {
            said.stdout += text
          },
        },
        stderr: {
          write: text => {
            said.stderr += text
          },
        },
        terminal: options.keys === undefined ? null : pressing(options.keys),
        cwd: folder,
        environment: {
          HOME: folder,
          PATH: process.env.PATH,
          PLANFOLD_AS: 'ana@example.com',
          ...options.environment,
        },
        now: () => Date.now(),
        paint: paint(false),
        settings: {
          json: options.json === true,
          quiet: false,
          color: false,
          ...(options.database === undefined ? {} : { database: options.database }),
        },
        onSignal: () => () => {},
        hangup: new AbortController().signal,
        stdin: async function* () {},
        openState,
        opened: null,
      }
      try {
        return { exit: await body(context), ...said }
      } catch (error) {
        if (!(error instanceof CliError)) throw error
        if (error.exit === EXIT.done) return { exit: 0, ...said, stderr: `${said.stderr}${error.message}\n` }
        return { exit: error.code, stdout: said.stdout, stderr: `${said.stderr}${error.message}` }
      }
    },
    /** One hash over every file, its name, mode and bytes. */
    async hash(): Promise<string> {
      const names = (await readdir(folder, { recursive: true })).sort()
      const sum = createHash('sha256')
      for (const name of names) {
        const found = await stat(join(folder, name))
        sum.update(`${name}\0${found.mode}\0${found.mtimeMs}\0`)
        if (found.isFile()) sum.update(await readFile(join(folder, name)))
      }
      return sum.digest('hex')
    },
  }
}

function pressing(keys: string): Terminal {
  return {
    columns: () => 80,
    rows: () => 24,
    onResize: () => () => {},
    onKey: listener => {
      const timer = setImmediate(() => {
        for (const key of keys) listener(key)
      })
      return () => clearImmediate(timer)
    },
  }
}

export type Place = Awaited<ReturnType<typeof newPlace>>
