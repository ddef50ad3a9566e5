// `planfold serve`: checks the options, opens the service and runs it until it is stopped.

import { randomBytes } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Composed } from '../../../compose.ts'
import { findExtra, openExtra } from '../../../extras.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import type { Answered } from '../../../server/app.ts'
import { openBrowsers, type SessionFiles, sessionFiles, takeCode } from '../../../server/auth/browser-sign-in.ts'
import { type Guard, openGuard } from '../../../server/auth/guard.ts'
import { bracketed, checkBinding, readTls } from '../../../server/auth/listen-address.ts'
import { type Origins, openOrigins } from '../../../server/auth/origins.ts'
import { openTokenBook, ownerSecret, ownerTokenFile, sha256Of } from '../../../server/auth/token-file.ts'
import { openTries, tokenGuard } from '../../../server/auth/token-guard.ts'
import { DocumentPool } from '../../../server/documents/document-pool.ts'
import { LIMITS } from '../../../server/limits.ts'
import { Live } from '../../../server/live/hub.ts'
import { type Log, type LogLevel, openLog } from '../../../server/monitoring/log.ts'
import { followJournal, openMeter } from '../../../server/monitoring/metrics.ts'
import { noteRunning } from '../../../server/monitoring/running-services.ts'
import { openPageFiles } from '../../../server/page-files.ts'
import { listRoutes } from '../../../server/routes/route-list.ts'
import { type Serving, serve } from '../../../server/serve.ts'
import type { ServerRooms } from '../../../server/service.ts'
import { answer, CliError, type Context, EXIT, usage, withState } from '../../command.ts'
import { VERSION } from '../../version.ts'

// The service, with the engine inside, until it is stopped.
//
//   serving ── SIGINT/SIGTERM ──→ stopping (/ready says 503, answers under way end, streams end, then the listener closes; plans come
//                                 to rest and stay active)
//           ── again ──→ forced (connections are cut, what may not be run again is parked)

const GRACE_MS = 10_000

export interface ServiceOptions {
  readonly host: string
  readonly port: number
  readonly auth: boolean
  readonly tls: { readonly cert: string; readonly key: string } | null
  readonly hosts: readonly string[]
  readonly addresses: readonly string[]
  readonly proxy: string | null
  readonly addressOf: (port: number) => string
  readonly logLevel: LogLevel
  /** How many plans are driven at once; 0 for none. */
  readonly maxPlans: number
  readonly state: { readonly create: true; readonly root?: string }
}

export async function runService(context: Context, options: ServiceOptions): Promise<number> {
  return await withState(context, { ...options.state, serving: true }, async composed => {
    const { auth, tls, hosts, addresses, proxy, maxPlans } = options
    const origins = openOrigins({ tls: tls !== null, hosts, addresses, proxy })
    const log = openLog(options.logLevel, context.stderr)
    const { guard, link } = auth ? await guarded(composed, origins, log) : { guard: openGuard(origins), link: null }
    const [stop, force] = [new AbortController(), new AbortController()]
    setMaxListeners(0, stop.signal, force.signal)
    const { environment } = context
    const rooms = roomsOf(composed, { guard, log, stopping: stop.signal, environment, routes: await listRoutes() })
    const serving = await listen(rooms, options)
    const stopped = stoppedBySignal(context, { stop, force, serving, log })
    const address = options.addressOf(serving.port)
    const unnote = await noteRunning(composed.stateDir, { pid: process.pid, address, auth, startedAt: composed.now() })
    tellAddress(context, composed, log, { address, host: serving.host, port: serving.port, auth, fragment: link })
    const attending =
      maxPlans === 0
        ? followJournal(rooms)
        : composed.worker.attend({
            stop: stop.signal,
            force: force.signal,
            max: maxPlans,
            onEntry: entry => rooms.meter.entry(entry),
            onDriving: change => rooms.meter.driven(change),
            onTrouble: (trouble, plan) => log.error({ plan, error: messageOf(trouble) }, 'a plan could not be driven'),
          })
    try {
      await Promise.all([stopped.answered, attending])
    } finally {
      stopped.close()
      await rooms.documents.close()
      await unnote()
    }
    log.info({}, 'stopped')
    return EXIT.done
  })
}

function roomsOf(
  composed: Composed,
  asked: Pick<ServerRooms, 'guard' | 'log' | 'stopping' | 'environment' | 'routes'>,
): ServerRooms {
  const { engine, feed, git, now, root, stateDir, models } = composed
  const { guard, log, stopping, environment, routes } = asked
  const place = { root, stateDir, environment }
  return {
    engine,
    guard,
    log,
    meter: openMeter(VERSION),
    live: new Live({ feed, log, limits: LIMITS, now, monotonic: () => performance.now() }),
    documents: new DocumentPool(),
    models,
    agents: async () => await (await openExtra('agents')).startableAgents(place),
    mayCommit: async () => (await (await findExtra('planners'))?.mayCommit({ ...place, git })) ?? false,
    limits: LIMITS,
    routes,
    owner: engine.caller.actor,
    now,
    random: randomBytes,
    ...place,
    version: VERSION,
    page: openPageFiles(),
    stopping,
  }
}

async function listen(rooms: ServerRooms, { host, port, tls, logLevel }: ServiceOptions): Promise<Serving> {
  // Only with the debug log, because it is called for every request.
  const answered = ({ id, ...answer }: Answered): void => rooms.log.debug({ id, ...answer }, 'answered')
  try {
    return await serve(rooms, {
      host,
      port,
      ...(tls === null ? {} : { tls }),
      monotonic: () => performance.now(),
      ...(logLevel === 'debug' ? { answered } : {}),
    })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    const [exit, why, hint] = LISTEN_TROUBLES[code] ?? []
    if (exit === undefined) throw error
    throw new CliError(exit, 'listen', `${bracketed(host)}:${port} ${why}`, hint)
  }
}

const CHOOSE_PORT = 'choose another with --port, or --port 0 for any that is free'
const LISTEN_TROUBLES: {
  readonly [code: string]: readonly [typeof EXIT.refused | typeof EXIT.usage, string, string]
} = {
  EADDRINUSE: [EXIT.refused, 'is taken by another process', CHOOSE_PORT],
  EACCES: [EXIT.refused, 'may not be used by you', CHOOSE_PORT],
  EADDRNOTAVAIL: [EXIT.usage, 'is not an address of this machine', 'use --host 127.0.0.1'],
  ENOTFOUND: [EXIT.usage, 'is not a known address', 'use --host 127.0.0.1'],
  EAI_AGAIN: [EXIT.usage, 'is not a known address', 'use --host 127.0.0.1'],
  EINVAL: [EXIT.usage, 'is not an address to listen on', 'use --host 127.0.0.1'],
}

/** Asks for tokens; the owner's is made at the first start, and the link lets the owner's browser in once. */
async function guarded(
  { engine, stateDir, now }: Composed,
  origins: Origins,
  log: Log,
): Promise<{ readonly guard: Guard; readonly link: string }> {
  const owner = await ownerSecret(stateDir, randomBytes)
  if (!owner.ok) throw new CliError(EXIT.refused, 'token', owner.message, owner.hint)
  const tries = openTries(now)
  const files = sessionFiles(stateDir, now)
  const sessions: SessionFiles = {
    ...files,
    keep: (hash, session) =>
      files.keep(hash, session).catch((error: unknown) => {
        log.warn({ error: messageOf(error) }, 'a browser session could not be stored; it ends with this process')
      }),
  }
  const browsers = openBrowsers({ now, random: randomBytes, tries, take: hash => takeCode(stateDir, hash), sessions })
  const guard = tokenGuard({ origins, tokens: openTokenBook(stateDir, engine.caller.actor, now), browsers, tries, now })
  return { guard, link: `#code=${browsers.invite(sha256Of(owner.secret)).code}` }
}

interface Listening {
  readonly address: string
  readonly host: string
  readonly port: number
  readonly auth: boolean
  /** What makes a link of the address; null without authentication. */
  readonly fragment: string | null
}

function tellAddress(
  context: Context,
  { root, stateDir, warnings }: Composed,
  log: Log,
  { fragment, ...listening }: Listening,
): void {
  const link = fragment === null ? null : `${listening.address}/${fragment}`
  const tokenFile = fragment === null ? null : ownerTokenFile(stateDir)
  answer(context, { ...listening, link, tokenFile, pid: process.pid, root, stateDir }, () => [
    `planfold serves ${escapeForTerminal(root)} at ${listening.address}`,
    ...(link === null ? [] : [`open ${link} (works once, within 10 minutes)`]),
    ...(tokenFile === null ? [] : [`programs use the token in ${escapeForTerminal(tokenFile)}`]),
  ])
  for (const warning of warnings) log.warn({}, warning)
  if (!listening.auth) log.warn({}, 'anybody on this machine may do everything here (--no-auth)')
}

interface Stopped {
  /** Settles when the service was stopped and every request has been answered. */
  readonly answered: Promise<void>
  close(): void
}

function stoppedBySignal(
  context: Context,
  {
    stop,
    force,
    serving,
    log,
  }: {
    readonly stop: AbortController
    readonly force: AbortController
    readonly serving: Serving
    readonly log: Log
  },
): Stopped {
  let close = (): void => {}
  const answered = new Promise<void>((resolve, reject) => {
    close = context.onSignal(() => {
      if (stop.signal.aborted) {
        log.warn({}, 'stopping at once; interrupted tasks may need a decision')
        force.abort()
        serving.cut()
        return
      }
      log.info({}, 'stopping; signal again to stop at once')
      stop.abort()
      serving.close(GRACE_MS).then(resolve, reject)
    })
  })
  return { answered, close }
}

const messageOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error))

// What was asked for is checked before anything is loaded or opened.

export interface ServeOptions {
  readonly port: number
  readonly host: string
  readonly root?: string
  readonly auth: boolean
  readonly tlsCert?: string
  readonly tlsKey?: string
  readonly trustedProxy?: string
  readonly allowHost?: readonly string[]
  readonly logLevel: LogLevel
  readonly drive: boolean
  readonly maxPlans: number
}

export async function serveStore(context: Context, options: ServeOptions): Promise<number> {
  const tls = await tlsOf(context, options)
  const binding = checkBinding({
    host: options.host,
    auth: options.auth,
    tls: tls !== null,
    proxy: options.trustedProxy ?? null,
    hosts: options.allowHost ?? [],
  })
  if (!binding.ok) throw new CliError(EXIT[binding.is], binding.is, binding.message, binding.hint)
  const { hosts, addresses, proxy } = binding
  const root = folderOf(context, options.root)
  const { runService } = await import('./serve.ts')
  return await runService(context, {
    host: options.host,
    port: options.port,
    auth: options.auth,
    tls,
    hosts,
    addresses,
    proxy,
    addressOf: port => proxy ?? `${tls === null ? 'http' : 'https'}://${shownHost(options, hosts)}:${port}`,
    logLevel: options.logLevel,
    maxPlans: options.drive ? options.maxPlans : 0,
    state: { create: true, root },
  })
}

function shownHost({ host, allowHost }: ServeOptions, hosts: readonly string[]): string {
  if (host !== '0.0.0.0' && host !== '::') return bracketed(host)
  return (allowHost ?? hosts)[0]?.replace(/:\d+$/, '') ?? 'localhost'
}

async function tlsOf(
  context: Context,
  { tlsCert, tlsKey }: ServeOptions,
): Promise<{ readonly cert: string; readonly key: string } | null> {
  if (tlsCert === undefined && tlsKey === undefined) return null
  if (tlsCert === undefined || tlsKey === undefined)
    throw usage('a certificate and its key belong together', 'give both: --tls-cert FILE --tls-key FILE')
  const read = await readTls({ cert: resolve(context.cwd, tlsCert), key: resolve(context.cwd, tlsKey) })
  if (!read.ok) throw new CliError(EXIT.usage, 'tls', read.message, read.hint)
  return { cert: read.cert, key: read.key }
}

function folderOf(context: Context, root: string | undefined): string | undefined {
  if (root === undefined) return undefined
  const path = resolve(context.cwd, root)
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw usage(`there is no folder '${root}'`, 'name the folder plans work in')
  return path
}
