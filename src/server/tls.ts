// Certificate and key of the service, read and tried before it listens, so that a mistake is told at the start and not to the
// first caller.

import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'

export type TlsRead =
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
