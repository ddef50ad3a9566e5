// A response body that is written to a file of the workspace. Received bytes are kept in the state folder until all are there, so that the
// next attempt requests only the rest (Range, If-Range); then the file is put in place atomically through the path gate.
//
//   <state>/scratch/downloads/<hash>.part    the bytes so far        <hash>.json    the request they belong to

import { createHash } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { openGate } from '../../safety/files/path-gate.ts'
import { type Answer, answering, failure, refuse } from '../../safety/safety-refusal.ts'
import { inScope } from '../../safety/scope.ts'
import { byteStreamRedactor } from '../../safety/secrets/redaction.ts'
import type { Attempt, RunnerTools } from '../runner.ts'
import { connectionFailure, type HttpLimits, IdleTimeout } from './http-exchange.ts'

interface Begun {
  readonly url: string
  /** A strong ETag, else the modification time; without one the rest cannot be requested. */
  readonly validator: string
}

export interface Resumption {
  readonly headers: { readonly [name: string]: string }
  readonly offset: number
}

/** How many partial downloads are kept. */
const KEPT_MAX = 20

export class Download {
  readonly #part: string
  readonly #note: string
  readonly #folder: string
  readonly #url: string
  readonly #secrets: readonly string[]

  constructor(attempt: Attempt, url: string, { stateDir, secrets = {} }: RunnerTools) {
    this.#folder = join(stateDir, 'scratch', 'downloads')
    const name = createHash('sha256')
      .update(JSON.stringify([attempt.plan, attempt.task, url]))
      .digest('hex')
    this.#part = join(this.#folder, `${name}.part`)
    this.#note = join(this.#folder, `${name}.json`)
    this.#url = url
    this.#secrets = Object.values(secrets)
  }

  async resume(): Promise<Resumption> {
    const nothing = { headers: {}, offset: 0 }
    try {
      const { size } = await stat(this.#part)
      const begun = JSON.parse(await readFile(this.#note, 'utf8')) as Begun
      if (size === 0 || begun.url !== this.#url) return nothing
      return { headers: { range: `bytes=${size}-`, 'if-range': begun.validator }, offset: size }
    } catch {
      return nothing
    }
  }

  async forget(): Promise<void> {
    await rm(this.#part, { force: true })
    await rm(this.#note, { force: true })
  }

  /** Reads the body to its end; returns its length. */
  async take(
    response: IncomingMessage,
    { offset }: Resumption,
    host: string,
    limits: HttpLimits,
  ): Promise<Answer<number>> {
    const isRest = response.statusCode === 206
    const range = isRest ? rangeOf(response, offset) : null
    if (isRest && range === null) {
      response.destroy()
      await this.forget()
      return no(`${host} sent another part than was asked for`)
    }
    const encoding = response.headers['content-encoding']
    if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
      response.destroy()
      return no(`${host} sent the body as '${encoding.slice(0, 60)}', which nobody asked for`)
    }
    const length = response.headers['content-length']
    const total = range !== null ? range.total : length === undefined ? null : Number(length)
    if (total !== null && total > limits.fileBytes) {
      response.destroy()
      await this.forget()
      return tooLarge(host, limits)
    }
    const from = isRest ? offset : 0
    const validator = validatorOf(response)
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    if (!isRest) await this.#dropOldest()
    if (validator === null) await rm(this.#note, { force: true })
    else await writeFile(this.#note, JSON.stringify({ url: this.#url, validator } satisfies Begun), { mode: 0o600 })
    const file = await open(this.#part, isRest ? 'r+' : 'w', 0o600)
    let size: number | 'secret' | 'large'
    try {
      response.setTimeout(limits.idleMs, () => response.destroy(new IdleTimeout()))
      size = await this.#write(response, file, from, limits)
    } catch (error) {
      return { ok: false, failure: connectionFailure(error, host, true) }
    } finally {
      await file.close()
    }
    if (size === 'large' || size === 'secret') {
      response.destroy()
      await this.forget()
      return size === 'large' ? tooLarge(host, limits) : no(`the answer of ${host} contains a secret of the task`)
    }
    if (!response.complete || (total !== null && size !== total)) {
      if (size > (total ?? size)) await this.forget()
      const message = `${host} sent ${size} of ${total ?? 'more'} bytes`
      return { ok: false, failure: failure('transient', message, 'with `retry`, the next attempt asks for the rest') }
    }
    return { ok: true, value: size }
  }

  async place(path: string, { root, stateDir, write }: RunnerTools, limits: HttpLimits): Promise<Answer<void>> {
    const gate = await openGate({ root, stateDir })
    if (!gate.ok) return gate
    try {
      return await answering(`saving ${JSON.stringify(path)}`, async () => {
        const checked = await gate.value.check(path, 'write')
        if (!checked.ok) return refuse(checked.failure.class, checked.failure.message, checked.failure.hint)
        if (!inScope(write, checked.value))
          refuse('policy', `${JSON.stringify(path)} is outside the write scope`, 'add it to `write` of the task')
        const before = await gate.value.read(checked.value, { maxBytes: limits.fileBytes })
        if (!before.ok) return refuse(before.failure.class, before.failure.message, before.failure.hint)
        const bytes = await readFile(this.#part)
        const written = await gate.value.write(checked.value, bytes, { expect: before.value?.sha256 ?? null })
        if (!written.ok) refuse(written.failure.class, written.failure.message, written.failure.hint)
        await this.forget()
      })
    } finally {
      await gate.value.close()
    }
  }

  async #dropOldest(): Promise<void> {
    const parts = (await readdir(this.#folder)).filter(name => name.endsWith('.part'))
    if (parts.length < KEPT_MAX) return
    const aged = await Promise.all(
      parts.map(async name => ({ name, at: (await stat(join(this.#folder, name))).mtimeMs })),
    )
    for (const { name } of aged.toSorted((a, b) => b.at - a.at).slice(KEPT_MAX - 1))
      for (const file of [name, name.replace(/part$/, 'json')]) await rm(join(this.#folder, file), { force: true })
  }

  /** A possible beginning of a secret is held back until more is known. */
  async #write(
    response: IncomingMessage,
    file: FileHandle,
    from: number,
    limits: HttpLimits,
  ): Promise<number | 'secret' | 'large'> {
    const redacting = byteStreamRedactor(this.#secrets)
    let at = from
    let open: Buffer = Buffer.alloc(0)
    const put = async (clean: Buffer): Promise<boolean> => {
      if (!open.subarray(0, clean.length).equals(clean)) return false
      await file.write(clean, 0, clean.length, at)
      at += clean.length
      open = open.subarray(clean.length)
      return true
    }
    for await (const part of response) {
      open = Buffer.concat([open, part as Buffer])
      if (at + open.length > limits.fileBytes) return 'large'
      if (!(await put(redacting.next(part as Buffer)))) return 'secret'
    }
    if (!(await put(redacting.end()))) return 'secret'
    await file.truncate(at)
    await file.sync()
    return at
  }
}

const no = (message: string): Answer<never> => ({ ok: false, failure: failure('logic', message) })

const tooLarge = (host: string, { fileBytes }: HttpLimits): Answer<never> =>
  no(`the file of ${host} is larger than ${fileBytes} bytes, and no output may be`)

/** The content range that starts at our offset; null for any other. */
function rangeOf(response: IncomingMessage, offset: number): { readonly total: number | null } | null {
  const found = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(response.headers['content-range'] ?? '')
  if (found === null || Number(found[1]) !== offset || Number(found[2]) < offset) return null
  const total = found[3] === '*' ? null : Number(found[3])
  return total !== null && Number(found[2]) + 1 !== total ? null : { total }
}

function validatorOf({ headers: { etag, 'last-modified': changed } }: IncomingMessage): string | null {
  if (etag !== undefined && !etag.startsWith('W/')) return etag
  return changed ?? null
}
