// The format of snapshots (docs/formats/snapshots.md): one content-addressed blob for each directory, so that an unchanged directory is the
// same blob again, and one for the snapshot, which names the top directory. References come first and uncompressed, so that a collector need
// not parse the rest.

import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Sha256 } from '../../domain/id.ts'
import { refuse } from '../../safety/safety-refusal.ts'
import { pathBytes, pathText } from '../files/path-text.ts'
import type { BytePath } from './manifest.ts'

const MAGIC = Buffer.from('PFTREE1\n')
const HEAD_BYTES = MAGIC.length + 8
/** Far above any real directory of ENTRIES_MAX names; a bound for memory. */
const UNPACKED_MAX_BYTES = 512 * 1024 * 1024

/** The number of files below a directory, their size, and how many were left out. */
export interface Totals {
  readonly files: number
  readonly bytes: number
  readonly left: number
}

export type TreeRow =
  | { readonly type: 'file'; readonly mode: number; readonly size: number; readonly sha256: Sha256 }
  | { readonly type: 'link'; readonly target: BytePath }
  | { readonly type: 'directory'; readonly mode: number; readonly tree: Sha256; readonly totals: Totals }
  /** Something that was not captured. */
  | { readonly type: 'left'; readonly reason: string }

export type Tree = ReadonlyMap<BytePath, TreeRow>

type StoredRow =
  | readonly ['f', string, number, number]
  | readonly ['l', string, string]
  | readonly ['d', string, number, number, number, number]
  | readonly ['x', string, string]

/** Rows must be sorted by name. */
export function writeTree(rows: Iterable<readonly [BytePath, TreeRow]>): Buffer {
  const trees: Sha256[] = []
  const files: Sha256[] = []
  const stored: StoredRow[] = []
  for (const [name, row] of rows) {
    const text = pathText(name)
    if (row.type === 'file') {
      files.push(row.sha256)
      stored.push(['f', text, row.mode, row.size])
    } else if (row.type === 'directory') {
      trees.push(row.tree)
      stored.push(['d', text, row.mode, row.totals.files, row.totals.bytes, row.totals.left])
    } else if (row.type === 'link') stored.push(['l', text, pathText(row.target)])
    else stored.push(['x', text, row.reason])
  }
  const head = Buffer.alloc(HEAD_BYTES + (trees.length + files.length) * 32)
  MAGIC.copy(head)
  head.writeUInt32LE(trees.length, MAGIC.length)
  head.writeUInt32LE(files.length, MAGIC.length + 4)
  let at = HEAD_BYTES
  for (const id of [...trees, ...files]) at += head.write(id, at, 'hex')
  return Buffer.concat([head, deflateRawSync(JSON.stringify(stored), { level: 1 })])
}

export function readTree(bytes: Uint8Array): Tree {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (buffer.length < HEAD_BYTES || !buffer.subarray(0, MAGIC.length).equals(MAGIC)) notKnown()
  let tree = HEAD_BYTES
  let file = HEAD_BYTES + buffer.readUInt32LE(MAGIC.length) * 32
  const body = file + buffer.readUInt32LE(MAGIC.length + 4) * 32
  const idAt = (at: number) => buffer.toString('hex', at, at + 32) as Sha256
  const text = inflateRawSync(buffer.subarray(body), { maxOutputLength: UNPACKED_MAX_BYTES }).toString('utf8')
  const rows = new Map<BytePath, TreeRow>()
  for (const row of JSON.parse(text) as readonly StoredRow[]) {
    const name = pathBytes(row[1])
    if (row[0] === 'f') {
      rows.set(name, { type: 'file', mode: row[2], size: row[3], sha256: idAt(file) })
      file += 32
    } else if (row[0] === 'd') {
      const totals = { files: row[3], bytes: row[4], left: row[5] }
      rows.set(name, { type: 'directory', mode: row[2], tree: idAt(tree), totals })
      tree += 32
    } else if (row[0] === 'l') rows.set(name, { type: 'link', target: pathBytes(row[2]) })
    else rows.set(name, { type: 'left', reason: row[2] })
  }
  return rows
}

export interface SnapshotRoot {
  readonly tree: Sha256
  readonly totals: Totals
  readonly scopes: readonly string[]
  readonly only: readonly BytePath[] | null
}

export function writeRoot({ tree, totals, scopes, only }: SnapshotRoot): Buffer {
  const paths = only === null ? {} : { only: only.map(pathText) }
  return Buffer.from(JSON.stringify({ snapshot: 1, tree, totals, scopes, ...paths }))
}

export function readRoot(bytes: Uint8Array): SnapshotRoot {
  let stored: { snapshot?: number; tree: Sha256; totals: Totals; scopes: string[]; only?: string[] }
  try {
    stored = JSON.parse(Buffer.from(bytes).toString('utf8'))
  } catch {
    return notKnown()
  }
  if (stored?.snapshot !== 1) notKnown()
  return { ...stored, only: stored.only?.map(pathBytes) ?? null }
}

function notKnown(): never {
  refuse('logic', 'this is not a snapshot, or it was written by a newer version', 'update planfold')
}
