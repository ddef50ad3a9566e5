// Contents of files beside a store on PostgreSQL. They are stored in the local folder first. Before an entry is appended, what it names is
// published to the database, with everything that this refers to; what is missing locally is fetched from there. What belongs to a plan with
// confidential tasks is never published.

import { hash } from 'node:crypto'
import { inflateSync } from 'node:zlib'
import { isSha256, type Millis, type Sha256 } from '../../domain/id.ts'
import { BlobsFiles, type BlobsOptions } from '../blobs/blobs.ts'
import { PACK_BYTES } from '../blobs/pack-files.ts'
import type { StoredEntry } from '../journal/entry.ts'
import { referencesOf, WORD } from '../journal/prune.ts'
import { StoreDamaged } from '../store.ts'
import { MissingRow } from './answers.ts'
import { AS_OWNER } from './append.ts'
import { connect, type Link, type Query, queryOn, type Row } from './connection/connection.ts'

/** For a role that may write in no other way. */
export const BLOBS = `
CREATE FUNCTION touch_blobs(ids text[], now bigint) RETURNS SETOF text LANGUAGE sql ${AS_OWNER} AS $$
  UPDATE blobs SET at = now WHERE id = ANY(ids) RETURNING id
$$;
CREATE FUNCTION put_blobs(ids text[], contents bytea[], its_pack text, now bigint) RETURNS void LANGUAGE sql ${AS_OWNER} AS $$
  INSERT INTO blobs (id, pack, at, bytes) SELECT id, its_pack, now, bytes FROM unnest(ids, contents) AS b(id, bytes)
    ON CONFLICT (id, tenant) DO UPDATE SET at = excluded.at
$$;
CREATE FUNCTION drop_blobs(ids text[], before bigint) RETURNS void LANGUAGE sql ${AS_OWNER} AS $$
  DELETE FROM blobs WHERE id = ANY(ids) AND at < before
$$;`

/** Shorter than the age at which `prune` removes contents, so that what was published stays until it is named. */
const KNOWN_MS = 10 * 60_000
const ABSENT_MS = 5_000
const ASKED_AT_ONCE = 5_000
const KEPT = 'planfold:kept:'

export class BlobsPostgres extends BlobsFiles {
  readonly #now: () => Millis
  readonly #query: Query
  /** When this process published them, or found them published. */
  readonly #published = new Map<Sha256, Millis>()
  readonly #absent = new Map<Sha256, Millis>()
  /** Bodies of confidential plans that this process stored. */
  readonly #kept = new Set<Sha256>()
  readonly elsewhere = 'contents of plans with confidential tasks are only on the host that made them'

  constructor(options: BlobsOptions, link: Pick<Link, 'query'>) {
    super(options)
    this.#now = options.now
    this.#query = link.query
  }

  /** Never published. */
  keepNow(bytes: Uint8Array): Sha256 {
    const id = this.putNow(bytes)
    this.#kept.add(id)
    return id
  }

  /** Stands in the database for output of a confidential plan. */
  keepText = (text: string): string => `${KEPT}${this.keepNow(Buffer.from(text))}`

  openText(text: string): string {
    const id = text.startsWith(KEPT) ? text.slice(KEPT.length) : ''
    if (!isSha256(id)) return text
    const here = super.getNow(id)
    return here === null ? '[confidential: only on the host that made it]' : Buffer.from(here).toString()
  }

  override async get(id: Sha256): Promise<Uint8Array | null> {
    const here = super.getNow(id)
    if (here !== null) return here
    await this.#fetch([id], this.#query)
    return super.getNow(id)
  }

  /** In a rule: one that is not here is fetched, and the rule runs again. */
  override getNow(id: Sha256): Uint8Array | null {
    const here = super.getNow(id)
    if (here !== null || this.#isAbsent(id)) return here
    throw new MissingRow(`blob ${id}`, query => this.#fetch([id], query))
  }

  #isAbsent = (id: Sha256): boolean => (this.#absent.get(id) ?? 0) > this.#now() - ABSENT_MS

  /** Everything that these entries name is in the database on return. */
  async publish(entries: readonly StoredEntry[], query: Query): Promise<void> {
    const named = entries.flatMap(entry => this.#namedBy(entry))
    const ids = named.length === 0 ? [] : this.#reach(named)
    const now = this.#now()
    for (let at = 0; at < ids.length; at += ASKED_AT_ONCE) {
      const some = ids.slice(at, at + ASKED_AT_ONCE)
      const text = 'SELECT touch_blobs($1, $2) AS id'
      const there = new Set((await query(text, [some, now])).map(row => row.id as Sha256))
      await this.#send(
        some.filter(id => !there.has(id)),
        query,
      )
    }
    // Only now: what a published one refers to is published too.
    for (const id of ids) this.#published.set(id, now)
  }

  /** All, here and in the database. */
  async allIds(): Promise<Set<Sha256>> {
    const rows = await this.#query('SELECT id FROM blobs')
    return new Set([...this.ids(), ...rows.map(row => row.id as Sha256)])
  }

  #namedBy({ body, blob }: StoredEntry): readonly Sha256[] {
    if (blob !== null && this.#kept.has(blob)) return []
    const text = blob === null ? (body ?? '') : inflateSync(super.getNow(blob) ?? new Uint8Array()).toString()
    const words = Array.from(text.matchAll(WORD), ([word]) => word as Sha256)
    return blob === null ? words : [blob, ...words]
  }

  #reach(named: readonly Sha256[]): readonly Sha256[] {
    const since = this.#now() - KNOWN_MS
    const isNew = (id: Sha256) => (this.#published.get(id) ?? Number.NEGATIVE_INFINITY) < since && this.has(id)
    const found = new Set(named.filter(isNew))
    const leaves = new Set<Sha256>()
    // Grows during iteration, because manifests name other blobs. File contents are not read.
    for (const id of found) {
      const { more, files } = referencesOf(super.getNow(id) ?? new Uint8Array())
      for (const one of more) if (isNew(one)) found.add(one)
      for (const one of files) if (isNew(one)) leaves.add(one)
    }
    return [...new Set([...leaves, ...found])]
  }

  async #send(ids: readonly Sha256[], query: Query): Promise<void> {
    let group: [Sha256, Uint8Array][] = []
    let bytes = 0
    const flush = async () => {
      if (group.length === 0) return
      const pack = hash('sha256', group.map(([id]) => id).join(''))
      await query('SELECT put_blobs($1, $2, $3, $4)', [
        group.map(([id]) => id),
        group.map(([, content]) => Buffer.from(content)),
        pack,
        this.#now(),
      ])
      group = []
      bytes = 0
    }
    for (const id of ids) {
      const content = super.getNow(id)
      if (content === null) throw new StoreDamaged(`blob ${id} was removed before it was published`)
      if (bytes + content.length > PACK_BYTES) await flush()
      group.push([id, content])
      bytes += content.length
    }
    await flush()
  }

  /** With those that were published together, because they are often needed together. */
  /** The large bodies of these entries, in one question. */
  async fetchAll(entries: readonly Row[], query: Query): Promise<void> {
    const named = entries.flatMap(({ blob }) => (typeof blob === 'string' && isSha256(blob) ? [blob] : []))
    const missing = named.filter(id => super.getNow(id) === null && !this.#isAbsent(id))
    if (missing.length > 0) await this.#fetch(missing, query)
  }

  async #fetch(ids: readonly Sha256[], query: Query): Promise<void> {
    const text = 'SELECT id, bytes FROM blobs WHERE pack IN (SELECT pack FROM blobs WHERE id = ANY ($1::text[]))'
    const asked = ids.filter(isSha256)
    const rows = asked.length > 0 ? await query(text, [asked]) : []
    const batch = this.batch()
    for (const { id: name, bytes } of rows)
      if (batch.add(bytes as Uint8Array) !== name)
        throw new StoreDamaged(`blob ${String(name)} in the database does not match its hash`)
    await batch.close()
    const found = new Set(rows.map(row => row.id))
    for (const id of ids) if (!found.has(id)) this.#absent.set(id, this.#now())
  }
}

/** Removes from the database what no journal names and nothing used since `before`. */
export async function pruneBlobs(
  url: string,
  options: {
    readonly write: Query
    readonly before: Millis
    readonly dryRun: boolean
    readonly read: (id: Sha256) => Promise<Uint8Array | null>
  },
): Promise<{ readonly blobs: number; readonly bytes: number }> {
  const client = await connect(url)
  const query = queryOn(client)
  try {
    const old = await query('SELECT id, length(bytes) AS length FROM blobs WHERE at < $1', [options.before])
    if (old.length === 0) return { blobs: 0, bytes: 0 }
    const all = new Set((await query('SELECT id FROM blobs')).map(row => row.id as Sha256))
    const reachable = new Set<Sha256>()
    const name = (text: string) => {
      for (const [word] of text.matchAll(WORD)) if (all.has(word as Sha256)) reachable.add(word as Sha256)
    }
    for (let position = 0; ; ) {
      const page = await query(
        `SELECT position, body, encode(blob, 'hex') AS blob FROM entries WHERE position > $1 ORDER BY position LIMIT 500`,
        [position],
      )
      for (const { body, blob } of page) {
        name(`${String(body)} ${String(blob)}`)
        const large = blob === null ? null : await options.read(blob as Sha256)
        if (large !== null) name(inflateSync(large).toString())
      }
      if (page.length === 0) break
      position = page.at(-1)!.position as number
    }
    const files = new Set<Sha256>()
    for (const id of reachable) {
      const found = referencesOf((await options.read(id)) ?? new Uint8Array())
      for (const one of found.more) reachable.add(one)
      for (const one of found.files) files.add(one)
    }
    const gone = old.filter(({ id }) => !reachable.has(id as Sha256) && !files.has(id as Sha256))
    if (!options.dryRun) await options.write('SELECT drop_blobs($1, $2)', [gone.map(({ id }) => id), options.before])
    return { blobs: gone.length, bytes: gone.reduce((sum, { length }) => sum + (length as number), 0) }
  } finally {
    await client.end()
  }
}
