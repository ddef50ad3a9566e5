// A network rule: its text, its meaning, and whether it covers a requested address. Hosts are normalised as in the WHATWG URL
// standard, so that `0x7f.1`, `①②⑦.⓪.⓪.①` and `127.0.0.1` are the same host.
//
//   example.org            ports 80 and 443        *.example.org          every name below it, not itself
//   example.org:8443       that port               *                      every host and port
//   https://example.org    a tunnel to port 443; its content is not visible
//   http://example.org/a*  plain HTTP: these paths. With a method in front (`GET http://…`) only that one; GET covers HEAD
//   tcp://127.0.0.1:5432   any connection to that port

import { orElse } from '../json.ts'

export interface NetworkRule {
  readonly text: string
  readonly scheme: 'any' | 'http' | 'https' | 'tcp'
  readonly host: HostPattern
  readonly ports: readonly number[] | 'all'
  /** For plain HTTP only; null: any. */
  readonly method: string | null
  readonly path: { readonly is: 'exactly' | 'prefix'; readonly text: string } | null
}

export type HostPattern =
  | { readonly is: 'all' }
  | { readonly is: 'below'; readonly host: string }
  | { readonly is: 'exactly'; readonly host: string }

/** A requested address: a tunnel to a port, or one plain request. */
export interface NetworkTarget {
  readonly host: string
  readonly port: number
  readonly request: { readonly method: string; readonly path: string } | null
}

export type ParsedRule =
  | { readonly ok: true; readonly rule: NetworkRule }
  | { readonly ok: false; readonly message: string; readonly hint: string }

export const NETWORK_HINT =
  'write a host (example.org), a host and a port (example.org:8443), https://example.org, http://example.org/path*, tcp://host:port, *.example.org or *'

const TEXT_MAX = 2_000

export function parseNetworkRule(text: string): ParsedRule {
  const no = (message: string, hint = NETWORK_HINT): ParsedRule => ({ ok: false, message, hint })
  if (text.length > TEXT_MAX) return no('the address is too long')
  if (hasControl(text)) return no('the address contains an invisible character')
  const found = /^(?:([A-Z]{1,20}) +)?(?:([A-Za-z][A-Za-z0-9+.-]*):\/\/)?([^/?#\\]*)([/?#\\].*)?$/.exec(text)
  if (found === null) return no(`'${shown(text)}' is not an address`)
  const [, method = null, written = 'any', authority = '', path = ''] = found
  const scheme = written.toLowerCase()
  if (scheme !== 'any' && scheme !== 'http' && scheme !== 'https' && scheme !== 'tcp')
    return no(`'${shown(text)}': the scheme '${shown(scheme)}' is not known here`, 'write http, https or tcp')
  if (authority.includes('@')) return no(`'${shown(text)}' names a user`, 'leave out the part before the @')
  if (/[?#\\]/.test(path)) return no(`'${shown(text)}' contains more than host, port and path`, NETWORK_HINT)
  if (scheme !== 'http' && method !== null)
    return no(`'${shown(text)}': a method can be told only of plain HTTP`, `write ${method} http://…`)
  if ((scheme === 'any' || scheme === 'tcp') && path !== '' && path !== '/')
    return no(`'${shown(text)}': a path can be told only of plain HTTP`, 'write http://host/path, or leave it out')
  const place = /^(\[[^\]]*\]|[^:]*)(?::([0-9]{1,5}))?$/.exec(authority)
  if (place === null) return no(`'${shown(text)}' is not an address`)
  const port = place[2] === undefined ? null : Number(place[2])
  if (port === 0 || (port ?? 0) > 65_535) return no(`'${shown(text)}': ${port} is not a port`, 'write 1 to 65535')
  if (scheme === 'tcp' && port === null) return no(`'${shown(text)}' names no port`, 'write tcp://host:port')
  const host = hostPattern(place[1] ?? '')
  if (host === null) return no(`'${shown(text)}': '${shown(place[1] ?? '')}' is not a host`)
  if (scheme === 'tcp' && host.is !== 'exactly')
    return no(`'${shown(text)}' names no single host`, 'write tcp://host:port, one rule for each')
  const ports = port !== null ? [port] : scheme === 'any' && host.is === 'all' ? 'all' : DEFAULT_PORTS[scheme]
  const rule: NetworkRule = { text, scheme, host, ports, method, path: scheme === 'http' ? pathPattern(path) : null }
  return { ok: true, rule }
}

const DEFAULT_PORTS = { any: [80, 443], http: [80], https: [443], tcp: [] } as const

function hostPattern(text: string): HostPattern | null {
  if (text === '*') return { is: 'all' }
  const below = text.startsWith('*.')
  const host = plainHost(below ? text.slice(2) : text)
  if (host === null || (below && isAddress(host))) return null
  return { is: below ? 'below' : 'exactly', host }
}

/** Normalised like the path of a request. */
function pathPattern(text: string): NetworkRule['path'] {
  if (text === '' || text === '/' || text === '/*') return null
  const isPrefix = text.endsWith('*')
  const path = new URL(isPrefix ? text.slice(0, -1) : text, 'http://host').pathname
  return { is: isPrefix ? 'prefix' : 'exactly', text: path }
}

/** The normalised host: lower case, no trailing dot, ASCII, IPv4 in decimals, IPv6 in brackets. Null for an invalid one. */
export function plainHost(text: string): string | null {
  if (text.includes(':') && !text.startsWith('[')) return null
  if (text === '' || text.length > 1_000 || hasControl(text) || /[\s/?#@\\%*<>^|"`{}]/.test(text)) return null
  const host = orElse(() => new URL(`http://${text}/`).hostname, null)
  if (host === null) return null
  if (host.startsWith('[')) return text.startsWith('[') ? host : null
  const name = host.endsWith('.') ? host.slice(0, -1) : host
  return name.length <= 253 && /^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/.test(name) ? name : null
}

/** For a host from `plainHost`: is it an address? */
export const isAddress = (host: string): boolean => host.startsWith('[') || /^\d+(\.\d+){3}$/.test(host)

/** Also characters without width, or that turn the direction of writing. */
const hasControl = (text: string): boolean => /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text)

export function covers(rule: NetworkRule, { host, port, request }: NetworkTarget): boolean {
  if (!coversHost(rule.host, host) || (rule.ports !== 'all' && !rule.ports.includes(port))) return false
  if (rule.scheme === 'https') return request === null
  if (rule.scheme !== 'http') return true
  if (request === null) return false
  if (rule.method !== null && rule.method !== request.method && !(rule.method === 'GET' && request.method === 'HEAD'))
    return false
  if (rule.path === null) return true
  // A path that a server may decode differently is covered by no path rule.
  if (/%(2f|5c|25|00)|\/\/|;/i.test(request.path)) return false
  return rule.path.is === 'exactly' ? request.path === rule.path.text : request.path.startsWith(rule.path.text)
}

function coversHost(pattern: HostPattern, host: string): boolean {
  switch (pattern.is) {
    case 'all':
      return true
    case 'below':
      return !isAddress(host) && host.endsWith(`.${pattern.host}`)
    case 'exactly':
      return host === pattern.host
    default:
      pattern satisfies never
      return false
  }
}

/** Does the first rule allow everything the second one allows? */
export function coversRule(wide: NetworkRule, narrow: NetworkRule): boolean {
  if (!coversPattern(wide.host, narrow.host)) return false
  if (wide.ports !== 'all') {
    if (narrow.ports === 'all') return false
    const { ports } = wide
    if (!narrow.ports.every(port => ports.includes(port))) return false
  }
  if (wide.scheme === 'https') return narrow.scheme === 'https' || isTunnelOnly(narrow)
  if (wide.scheme !== 'http') return true
  if (narrow.scheme !== 'http') return false
  if (wide.method !== null && wide.method !== narrow.method && !(wide.method === 'GET' && narrow.method === 'HEAD'))
    return false
  if (wide.path === null) return true
  if (narrow.path === null) return false
  if (wide.path.is === 'exactly') return narrow.path.is === 'exactly' && narrow.path.text === wide.path.text
  return narrow.path.text.startsWith(wide.path.text)
}

/** Only the HTTPS port of a host, which people write for the same thing. */
const isTunnelOnly = ({ scheme, ports }: NetworkRule): boolean =>
  scheme === 'any' && ports !== 'all' && ports.every(port => port === 443)

function coversPattern(wide: HostPattern, narrow: HostPattern): boolean {
  if (wide.is === 'all') return true
  if (narrow.is === 'all') return false
  if (wide.is === 'exactly') return narrow.is === 'exactly' && narrow.host === wide.host
  return narrow.host.endsWith(`.${wide.host}`) || (narrow.is === 'below' && narrow.host === wide.host)
}

export function ruleFor({ host, port, request }: NetworkTarget): string {
  if (request !== null) return `http://${host}${port === 80 ? '' : `:${port}`}`
  return port === 443 ? `https://${host}` : `${host}:${port}`
}

const shown = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text)
