// For tests: a real service on a real store in a folder of its own, at a port the system chooses.

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Composed, compose } from '../compose.ts'
import type { Guard } from './guard.ts'
import { openGuard } from './open-guard.ts'
import { LIMITS, type Log, type ServerLimits, type ServerRooms } from './rooms.ts'
import type { AnyRoute } from './route.ts'
import { ROUTES } from './routes/all.ts'
import { serve } from './serve.ts'

export interface Served {
  readonly url: string
  readonly rooms: ServerRooms
  readonly composed: Composed
  readonly folder: string
  /** What the log was told at `error`; a test that expects nothing there should say so. */
  readonly errors: readonly object[]
  /** A request with a JSON body; the answer with its body read as JSON. */
  ask(method: string, path: string, body?: unknown, headers?: { readonly [name: string]: string }): Promise<Asked>
  close(): Promise<void>
}

export interface Asked {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came.
  readonly body: any
}

export interface ServedOptions {
  readonly guard?: Guard
  readonly routes?: readonly AnyRoute[]
  readonly limits?: Partial<ServerLimits>
  /** An existing folder; it is kept. */
  readonly folder?: string
  /** Does the service drive plans? */
  readonly attend?: boolean
}

export async function served(options: ServedOptions = {}): Promise<Served> {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'planfold-served-'))
  const environment = { PATH: process.env.PATH, HOME: folder, PLANFOLD_AS: 'tester' }
  const composed = await compose({ cwd: folder, environment, dir: join(folder, '.planfold') })
  const stop = new AbortController()
  const errors: object[] = []
  const log: Log = {
    debug: () => {},
    info: () => {},
    warn: () => {},
    error: (fields, message) => errors.push({ ...fields, message }),
  }
  const rooms: ServerRooms = {
    engine: composed.engine,
    worker: composed.worker,
    guard: options.guard ?? openGuard(),
    log,
    limits: { ...LIMITS, ...options.limits },
    routes: options.routes ?? ROUTES,
    now: composed.now,
    random: randomBytes,
    root: composed.root,
    stateDir: composed.stateDir,
    version: '0.0.0-test',
    stopping: stop.signal,
  }
  const serving = await serve(rooms, { host: '127.0.0.1', port: 0, monotonic: () => performance.now() })
  const url = `http://127.0.0.1:${serving.port}`
  return {
    url,
    rooms,
    composed,
    folder,
    errors,
    ask: async (method, path, body, headers = {}) => {
      const response = await fetch(url + path, {
        method,
        headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const text = await response.text()
      const isJson = (response.headers.get('content-type') ?? '').includes('json')
      return { status: response.status, headers: response.headers, body: isJson && text !== '' ? JSON.parse(text) : text }
    },
    close: async () => {
      stop.abort()
      await serving.close(2_000)
      await composed.close()
      if (options.folder === undefined) rmSync(folder, { recursive: true, force: true })
    },
  }
}
