// Decides where the service may listen. An address beyond this machine needs TLS, here or at a named proxy; a service without
// tokens never listens beyond it. Checked before anything is opened.

import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { isIP } from 'node:net'
import { createSecureContext } from 'node:tls'

// Certificate and key are read and tested before listening, so that a mistake is reported at start-up and not to the first
// caller.

type TlsRead =
  | { readonly ok: true; readonly cert: string; readonly key: string }
  | { readonly ok: false; readonly message: string; readonly hint: string }

const PEM_MAX_BYTES = 1_000_000
const ANYBODY = 0o007

export async function readTls(paths: { readonly cert: string; readonly key: string }): Promise<TlsRead> {
  const cert = await readPem(paths.cert, { secret: false })
  if (!cert.ok) return cert
  const key = await readPem(paths.key, { secret: true })
  if (!key.ok) return key
  try {
    createSecureContext({ cert: cert.text, key: key.text })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return {
      ok: false,
      message: `certificate and key cannot be used: ${why}`,
      hint: 'both are PEM files; the key must be that of the certificate, and without a passphrase',
    }
  }
  return { ok: true, cert: cert.text, key: key.text }
}

async function readPem(
  path: string,
  { secret }: { readonly secret: boolean },
): Promise<{ readonly ok: true; readonly text: string } | Extract<TlsRead, { readonly ok: false }>> {
  const what = secret ? 'the key' : 'the certificate'
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => null)
  if (file === null)
    return { ok: false, message: `${what} '${path}' cannot be read`, hint: 'check the path and who may read it' }
  try {
    const stat = await file.stat()
    if (!stat.isFile() || stat.size > PEM_MAX_BYTES)
      return { ok: false, message: `${what} '${path}' is no PEM file`, hint: 'name a file in PEM' }
    if (secret && (stat.mode & ANYBODY) !== 0)
      return {
        ok: false,
        message: `${what} '${path}' may be read by anybody (mode ${(stat.mode & 0o777).toString(8)})`,
        hint: `keep it to yourself: chmod 600 ${path}`,
      }
    return { ok: true, text: await file.readFile('utf8') }
  } finally {
    await file.close()
  }
}

export interface Binding {
  readonly host: string
  readonly auth: boolean
  readonly tls: boolean
  readonly proxy: string | null
  readonly hosts: readonly string[]
}

type BindingChecked =
  | {
      readonly ok: true
      readonly proxy: string | null
      readonly hosts: readonly string[]
      /** The addresses as written in a URL; empty when listening on all interfaces. */
      readonly addresses: readonly string[]
    }
  | { readonly ok: false; readonly is: 'usage' | 'refused'; readonly message: string; readonly hint: string }

export function checkBinding({ host, auth, tls, proxy, hosts }: Binding): BindingChecked {
  const isHere = isLoopback(host)
  const public_ = proxy === null ? null : originOf(proxy)
  if (proxy !== null && public_ === null)
    return usage(
      `'${proxy}' is not the origin of a proxy`,
      'write the address people see, with https and without a path: --trusted-proxy https://plans.example.org',
    )
  const odd = hosts.find(name => !isHostName(name))
  if (odd !== undefined)
    return usage(`'${odd}' is not the name of a host`, 'write it as in --allow-host plans.example.org')
  if (!isHere && !isHostName(host)) return usage(`'${host}' is not an address to listen on`, 'write an IP address')
  if (!auth && !isHere)
    return refused(
      `without tokens the service listens only on this machine, not on ${host}`,
      'leave out --no-auth, or use --host 127.0.0.1',
    )
  if (!auth && public_ !== null)
    return refused(
      'refusing to run behind a proxy without tokens: everybody could do everything',
      'leave out --no-auth, or --trusted-proxy',
    )
  if (!isHere && !tls && public_ === null)
    return refused(
      `refusing plain HTTP on ${host}: others on the network could read the tokens`,
      'add --tls-cert and --tls-key, or --trusted-proxy with the https address of a proxy in front; or use --host 127.0.0.1',
    )
  return { ok: true, proxy: public_, hosts, addresses: isAnyAddress(host) ? [] : [bracketed(host)] }
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))

const isAnyAddress = (host: string): boolean => host === '0.0.0.0' || host === '::'

export const bracketed = (host: string): string => (isIP(host) === 6 ? `[${host}]` : host)

function originOf(text: string): string | null {
  if (!URL.canParse(text)) return null
  const { origin, protocol, href } = new URL(text)
  return protocol === 'https:' && (text === origin || text === href) && href === `${origin}/` ? origin : null
}

const isHostName = (text: string): boolean =>
  isIP(text) !== 0 ||
  (text.length <= 255 && /^(\[[0-9a-f:.]+\]|[a-z0-9_]([a-z0-9._-]*[a-z0-9])?)(:\d{1,5})?$/i.test(text))

const usage = (message: string, hint: string) => ({ ok: false, is: 'usage', message, hint }) as const
const refused = (message: string, hint: string) => ({ ok: false, is: 'refused', message, hint }) as const
