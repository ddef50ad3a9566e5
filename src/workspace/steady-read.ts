// Reads a file that others may be writing, from a directory of the path gate: what is returned stood there as a whole.

import { constants, lstatSync, openSync } from 'node:fs'
import type { Sha256 } from '../domain/id.ts'
import type { Directory, Name } from '../safety/directory.ts'
import { type Readable, readSteady } from './held-folder.ts'
import { bytesOf } from './manifest.ts'

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants

export interface SteadyFile {
  readonly bytes: Buffer
  readonly sha256: Sha256
  readonly mode: number
  readonly links: number
}

/** The content, null when the file is gone, or the reason why it cannot be had. */
export function readSteadily(
  directory: Directory,
  name: Name,
  now: (() => number) | undefined,
): SteadyFile | string | null {
  const folder: Readable = {
    openFile: file => openSync(directory.at(bytesOf(file)), O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
    look: file => lstatSync(directory.at(bytesOf(file)), { bigint: true, throwIfNoEntry: false }) ?? null,
  }
  const read = readSteady(folder, name.toString('latin1'), now?.() ?? Number.NEGATIVE_INFINITY)
  if (read === null || typeof read === 'string') return read
  return { bytes: Buffer.from(read.bytes), sha256: read.sha256, mode: read.stamp.mode, links: read.links }
}
