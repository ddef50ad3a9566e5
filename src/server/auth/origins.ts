// Checks where a request comes from. A foreign web page can make a browser call this machine, also under a DNS name that it
// points here (DNS rebinding). So Host, Origin and Sec-Fetch-Site are compared with exact lists.

import type { IncomingMessage } from 'node:http'
import { type Problem, problem } from '../problem.ts'

export interface Origins {
  check(request: IncomingMessage): From | Problem
}

export interface From {
  readonly origin: string
  readonly source: string
  readonly isOurPage: boolean
}

export interface OriginsOptions {
  readonly tls: boolean
  /** Additional host names of this service, with or without a port. */
  readonly hosts: readonly string[]
  /** Additional listen addresses, with port, as a browser writes them. */
  readonly addresses?: readonly string[]
  /** The origin of a reverse proxy in front of the service. The proxy names the client in X-Forwarded-For. */
  readonly proxy: string | null
}

const LOOPBACK_SOURCE = /^(?:::ffff:)?127\.|^::1$/

/** From this machine, under a name of this machine: not through a proxy in front of the service. */
export const isHere = (from: From | undefined): boolean =>
  from !== undefined && LOOPBACK_NAMES.includes(new URL(from.origin).hostname) && LOOPBACK_SOURCE.test(from.source)

export const LOOPBACK_ONLY: OriginsOptions = { tls: false, hosts: [], proxy: null }

const LOOPBACK_NAMES = ['127.0.0.1', 'localhost', '[::1]']

export function openOrigins(options: OriginsOptions): Origins {
  const scheme = options.tls ? 'https' : 'http'
  const proxyHost = options.proxy === null ? null : new URL(options.proxy).host
  let known: { readonly port: number | undefined; readonly hosts: ReadonlySet<string> } | null = null
  /** Uses the port of the socket: the port the service really listens on. */
  const hostsAt = (port: number | undefined): ReadonlySet<string> => {
    if (known === null || known.port !== port) known = { port, hosts: hostsOf(options, port) }
    return known.hosts
  }
  return {
    check: request => {
      const { headers, socket } = request
      const host = headers.host?.toLowerCase() ?? ''
      const isProxied = host === proxyHost
      if (!isProxied && !hostsAt(socket.localPort).has(host)) return misdirected(host)
      if (hasTwoHosts(request.rawHeaders)) return TWO_HOSTS
      if (!(request.url ?? '').startsWith('/')) return wholeAddress(request.url ?? '')
      const origin = isProxied ? options.proxy! : `${scheme}://${host}`
      const site = headers['sec-fetch-site']
      if (headers.origin !== undefined && headers.origin !== origin)
        return crossSite(`the origin ${shown(headers.origin)}`)
      if (site !== undefined && site !== 'same-origin' && site !== 'none') return crossSite('another site')
      return {
        origin,
        source: sourceOf(request, isProxied),
        isOurPage: headers.origin === origin || site === 'same-origin',
      }
    },
  }
}

function hostsOf({ tls, hosts, addresses = [] }: OriginsOptions, port: number | undefined): ReadonlySet<string> {
  const isUsual = port === (tls ? 443 : 80)
  const all = new Set<string>()
  for (const name of [...LOOPBACK_NAMES, ...addresses]) {
    all.add(`${name}:${port}`)
    if (isUsual) all.add(name)
  }
  for (const given of hosts) {
    const name = given.toLowerCase()
    all.add(name)
    if (!/:\d+$/.test(name)) all.add(`${name}:${port}`)
  }
  return all
}

/** Node keeps the first of two Host headers; a proxy in between may have used the other. */
function hasTwoHosts(raw: readonly string[]): boolean {
  let found = 0
  for (let at = 0; at < raw.length; at += 2) if (raw[at]!.length === 4 && raw[at]!.toLowerCase() === 'host') found++
  return found > 1
}

/** The last entry in X-Forwarded-For is the one our own proxy wrote. */
function sourceOf({ headers, socket }: IncomingMessage, isProxied: boolean): string {
  const forwarded = isProxied ? headers['x-forwarded-for'] : undefined
  const last = typeof forwarded === 'string' ? forwarded.slice(forwarded.lastIndexOf(',') + 1).trim() : ''
  return last !== '' && last.length <= 100 ? last : (socket.remoteAddress ?? '')
}

const misdirected = (host: string): Problem =>
  problem(421, 'misdirected', `this service is not called ${shown(host)}`, {
    hint: 'call it by the address it printed, or start it with --allow-host',
    headers: { connection: 'close' },
  })

const wholeAddress = (url: string): Problem =>
  problem(421, 'misdirected', `the request names a whole address, ${shown(url)}, as one to a proxy would`, {
    hint: 'send the path only, and the name of the service as Host',
    headers: { connection: 'close' },
  })

const TWO_HOSTS = problem(421, 'misdirected', 'the request has two Host headers', {
  hint: 'send one',
  headers: { connection: 'close' },
})

const crossSite = (from: string): Problem =>
  problem(403, 'cross-site', `requests on behalf of ${from} are not taken`, {
    hint: 'put the address of the service into the address bar, or call it without a browser',
  })

const shown = (text: string): string => JSON.stringify(text.slice(0, 100))
