// One pack: many small blobs in one file, so that a first capture need not sync each of them. The blobs come first, one after
// the other, then an index of them, then its position; the file is named by the hash of its index, so it describes and
// proves itself and needs no second file beside it.
//
//   blob … blob │ id (32 bytes), length (u32) for each, in order │ count (u32), "PFPACK1\n"

import { hash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import type { Sha256 } from '../../domain/id.ts'
import { StoreDamaged } from '../store.ts'

export const PACK_BYTES = 4 * 1024 * 1024
/** Larger blobs get a file of their own. */
export const PACKED_MAX_BYTES = 1024 * 1024

const ROW_BYTES = 36
const MAGIC = Buffer.from('PFPACK1\n')
const TRAILER_BYTES = 4 + MAGIC.length

export interface Member {
  readonly id: Sha256
  readonly offset: number
  readonly length: number
}

/** Collects the bytes of one pack. */
export class PackBytes {
  #bytes = Buffer.allocUnsafe(64 * 1024)
  #length = 0
  readonly members: Member[] = []

  get length(): number {
    return this.#length
  }

  add(id: Sha256, bytes: Uint8Array): void {
    this.#grow(this.#length + bytes.length)
    this.#bytes.set(bytes, this.#length)
    this.members.push({ id, offset: this.#length, length: bytes.length })
    this.#length += bytes.length
  }

  /** The content of a member that is not on disk yet. */
  read = ({ offset, length }: Member): Uint8Array => Buffer.from(this.#bytes.subarray(offset, offset + length))

  /** The whole file and its name. */
  finish(): { readonly name: Sha256; readonly bytes: Buffer } {
    const index = Buffer.alloc(this.members.length * ROW_BYTES)
    for (const [at, { id, length }] of this.members.entries()) {
      index.write(id, at * ROW_BYTES, 'hex')
      index.writeUInt32LE(length, at * ROW_BYTES + 32)
    }
    const trailer = Buffer.alloc(TRAILER_BYTES)
    trailer.writeUInt32LE(this.members.length, 0)
    MAGIC.copy(trailer, 4)
    return {
      name: hash('sha256', index) as Sha256,
      bytes: Buffer.concat([this.#bytes.subarray(0, this.#length), index, trailer]),
    }
  }

  #grow(needed: number): void {
    if (needed <= this.#bytes.length) return
    const wider = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 4))
    this.#bytes.copy(wider, 0, 0, this.#length)
    this.#bytes = wider
  }
}

/** The index of a pack on disk, proved by its name. */
export function readIndex(path: string, name: Sha256): readonly Member[] {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const trailer = readAt(file, size - TRAILER_BYTES, TRAILER_BYTES)
    const count = trailer?.readUInt32LE(0) ?? 0
    const index = readAt(file, size - TRAILER_BYTES - count * ROW_BYTES, count * ROW_BYTES)
    if (trailer === null || !trailer.subarray(4).equals(MAGIC) || index === null || hash('sha256', index) !== name) {
      throw new StoreDamaged(`the index of pack ${name} does not match its hash`)
    }
    let offset = 0
    return Array.from({ length: count }, (_, at) => {
      const length = index.readUInt32LE(at * ROW_BYTES + 32)
      const id = index.toString('hex', at * ROW_BYTES, at * ROW_BYTES + 32) as Sha256
      offset += length
      return { id, offset: offset - length, length }
    })
  } finally {
    closeSync(file)
  }
}

/** The bytes of one member; shorter than it should be when the pack was cut. */
export function readMember(path: string, { offset, length }: Member): Buffer {
  const file = openSync(path, 'r')
  try {
    return readAt(file, offset, length) ?? Buffer.alloc(0)
  } finally {
    closeSync(file)
  }
}

function readAt(file: number, position: number, length: number): Buffer | null {
  if (position < 0) return null
  const bytes = Buffer.alloc(length)
  for (let at = 0; at < length; ) {
    const read = readSync(file, bytes, at, length - at, position + at)
    if (read === 0) return null
    at += read
  }
  return bytes
}
