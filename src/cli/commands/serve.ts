// `planfold serve`: what was asked for is checked before anything is loaded or opened; then `serving.ts` runs the service.

import { existsSync, statSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { bracketed, checkBinding } from '../../server/binding.ts'
import type { LogLevel } from '../../server/log.ts'
import { readTls } from '../../server/tls.ts'
import type { Context } from '../context.ts'
import { Complaint, EXIT, usage } from '../exit.ts'

export interface ServeOptions {
  readonly port: number
  readonly host: string
  readonly database?: string
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
  if (!binding.ok) throw new Complaint(EXIT[binding.is], binding.is, binding.message, binding.hint)
  const { hosts, addresses, proxy } = binding
  const dir = databaseOf(context, options)
  const root = folderOf(context, options.root)
  const { runService } = await import('../serving.ts')
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
    state: { create: true, ...(dir === undefined ? {} : { dir }), ...(root === undefined ? {} : { root }) },
  })
}

/** Nobody calls the address that means all of them. */
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
  if (!read.ok) throw new Complaint(EXIT.usage, 'tls', read.message, read.hint)
  return { cert: read.cert, key: read.key }
}

/** `--database` names the state folder, or the planfold.db in it. */
function databaseOf(context: Context, { database }: ServeOptions): string | undefined {
  if (database === undefined) return undefined
  if (context.settings.dir !== undefined) throw usage('--database and --dir say the same', 'give one of them')
  const path = resolve(context.cwd, database)
  const isFile = basename(path) === 'planfold.db'
  const folder = isFile ? dirname(path) : path
  // The folder itself is made; one around it that is missing is a slip of the hand.
  if (!existsSync(dirname(folder)))
    throw usage(`there is no folder '${dirname(folder)}' for --database`, 'check the path, or make the folder')
  if (isFile) return folder
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === true)
    throw usage(`'${database}' is no state folder`, 'name the folder that holds planfold.db')
  return path
}

function folderOf(context: Context, root: string | undefined): string | undefined {
  if (root === undefined) return undefined
  const path = resolve(context.cwd, root)
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw usage(`there is no folder '${root}'`, 'name the folder plans work in')
  return path
}
