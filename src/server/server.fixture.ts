// For tests: a real service on a real store in a folder of its own, at a port the system chooses.

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { type Composed, compose } from '../compose.ts'
import type { Feed } from '../engine/engine.ts'
import { trusted } from '../engine/roles.ts'
import { openExtra } from '../extras.ts'
import { documentOf, validateAnswer } from './answers.fixture.ts'
import type { AppOptions } from './app.ts'
import { type Guard, openGuard } from './auth/guard.ts'
import { DocumentPool, type DocumentPoolOptions } from './documents/document-pool.ts'
import { LIMITS, type ServerLimits } from './limits.ts'
import { Live } from './live/hub.ts'
import type { Log } from './monitoring/log.ts'
import { openMeter } from './monitoring/metrics.ts'
import type { ListedRoute } from './route.ts'
import { listRoutes } from './routes/route-list.ts'
import { serve } from './serve.ts'
import type { ServerRooms } from './service.ts'

export interface Served {
  readonly url: string
  readonly rooms: ServerRooms
  readonly composed: Composed
  readonly folder: string
  /** What the log was told at `error`; a test that expects nothing there should say so. */
  readonly errors: readonly object[]
  /** What went wrong while it drove plans. */
  readonly troubles: readonly unknown[]
  /** A request with a JSON body; the answer with its body read as JSON, held against what the route says of it. */
  ask(method: string, path: string, body?: unknown, headers?: { readonly [name: string]: string }): Promise<Asked>
  /** How many are connected now. */
  connections(): Promise<number>
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
  readonly routes?: readonly ListedRoute[]
  readonly limits?: Partial<ServerLimits>
  readonly documents?: DocumentPoolOptions
  /** An existing folder; it is kept. */
  readonly folder?: string
  /** Does the service drive plans? */
  readonly attend?: boolean
  /** Instead of the one that keeps errors. */
  readonly log?: Log
  readonly answered?: AppOptions['answered']
  /** What live streams are fed from, instead of the store. */
  readonly feed?: Feed
  /** Added to the environment. */
  readonly environment?: { readonly [name: string]: string }
  /** Instead of real chance. */
  readonly random?: ServerRooms['random']
  /** Instead of those that are installed here. */
  readonly agents?: ServerRooms['agents']
  /** The page for browsers; none when not said. */
  readonly page?: ServerRooms['page']
}

/** One service for all tests of the file, which must not log an error. */
export function servedHere(options?: ServedOptions): Served {
  let service: Served
  beforeAll(async () => {
    service = await served(options)
  })
  afterAll(async () => {
    expect(service.errors).toEqual([])
    await service.close()
  })
  return new Proxy({} as Served, { get: (_, key) => Reflect.get(service, key) })
}

export async function served(options: ServedOptions = {}): Promise<Served> {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'planfold-served-'))
  const environment = { PATH: process.env.PATH, HOME: folder, ...options.environment }
  const composed = await compose({
    cwd: folder,
    environment,
    dir: join(folder, '.planfold'),
    caller: trusted('tester'),
  })
  const stop = new AbortController()
  const errors: object[] = []
  const troubles: unknown[] = []
  const log: Log = {
    debug: () => {},
    info: () => {},
    warn: () => {},
    error: (fields, message) => errors.push({ ...fields, message }),
  }
  const meter = openMeter('0.0.0-test')
  const limits = { ...LIMITS, ...options.limits }
  const documents = new DocumentPool(options.documents)
  const rooms: ServerRooms = {
    engine: composed.engine,
    guard: options.guard ?? openGuard(),
    log: options.log ?? log,
    meter,
    live: new Live({
      feed: options.feed ?? composed.feed,
      log,
      limits,
      now: composed.now,
      monotonic: () => performance.now(),
    }),
    documents,
    models: composed.models,
    agents:
      options.agents ??
      (async () =>
        await (await openExtra('agents')).listAgents({
          environment,
          root: composed.root,
          stateDir: composed.stateDir,
        })),
    mayCommit: async () =>
      (await openExtra('planners')).mayCommit({
        ...{ git: composed.git, root: composed.root, stateDir: composed.stateDir, environment },
      }),
    limits,
    routes: options.routes ?? (await listRoutes()),
    owner: composed.engine.caller.actor,
    now: composed.now,
    random: options.random ?? randomBytes,
    root: composed.root,
    stateDir: composed.stateDir,
    environment,
    version: '0.0.0-test',
    page: options.page ?? null,
    stopping: stop.signal,
  }
  const serving = await serve(rooms, {
    host: '127.0.0.1',
    port: 0,
    monotonic: () => performance.now(),
    answered: options.answered,
  })
  const attending =
    options.attend === true
      ? composed.worker.attend({ stop: stop.signal, onTrouble: error => troubles.push(error) })
      : null
  const url = `http://127.0.0.1:${serving.port}`
  return {
    url,
    rooms,
    composed,
    folder,
    errors,
    troubles,
    ask: async (method, path, body, headers = {}) => {
      const response = await fetch(url + path, {
        method,
        // Client and server share one process here: while it is busy, the server may close a connection that the client is
        // about to use again.
        headers: {
          connection: 'close',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
      })
      const text = await response.text()
      const type = response.headers.get('content-type') ?? ''
      const { status } = response
      const read = /[/+]json\b/.test(type) && text !== '' ? JSON.parse(text) : text
      validateAnswer(documentOf(rooms.routes), method, path, { status, type, body: read, headers: response.headers })
      return { status, headers: response.headers, body: read }
    },
    connections: serving.connections,
    close: async () => {
      stop.abort()
      await serving.close(2_000)
      await documents.close()
      await attending
      await composed.close()
      if (options.folder === undefined) rmSync(folder, { recursive: true, force: true })
    },
  }
}
