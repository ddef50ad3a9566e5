// A new file, whole and durable under a name of ours, before it takes its place: once others can see it nothing is written
// into it any more. Only the sync waits in the background; everything else is done at once, because handing a small write
// to another thread costs more than the write. Many are written first and synced then, side by side: a write that comes between
// two syncs waits for the journal of the file system.

import * as fs from 'node:fs'
import { type HeldFolder, stampOf } from './held-folder.ts'
import type { BytePath } from './manifest.ts'
import type { Stamp } from './stat-cache.ts'

const AT_ONCE_BYTES = 1024 * 1024
/** Each holds a file open. */
const AT_ONCE = 64

export interface Fresh {
  readonly fd: number
  readonly stamp: Stamp
}

/** Written, and not durable yet. */
export async function writeFresh(
  folder: HeldFolder,
  name: BytePath,
  {
    bytes,
    mode,
    breathe,
  }: { readonly bytes: Uint8Array; readonly mode: number; readonly breathe: () => Promise<void> },
): Promise<Fresh> {
  // Seen by nobody else yet: the folder is ours alone.
  const file = fs.openSync(folder.at(name), 'wx', mode & 0o777)
  try {
    for (let at = 0; at < bytes.length; ) {
      if (at > 0) await breathe()
      at += fs.writeSync(file, bytes, at, Math.min(bytes.length - at, AT_ONCE_BYTES))
    }
    let stamp = stampOf(fs.fstatSync(file, { bigint: true }))
    if (stamp.mode !== mode) {
      fs.fchmodSync(file, mode)
      stamp = { ...stamp, mode }
    }
    return { fd: file, stamp }
  } catch (error) {
    fs.closeSync(file)
    throw error
  }
}

/** One after the other, and a bounded number of them synced together; null: there is nothing to write. */
export async function writeDurably<T>(all: readonly T[], write: (each: T) => Promise<Fresh | null>): Promise<void> {
  for (let at = 0; at < all.length; at += AT_ONCE) {
    const syncing: (() => Promise<void>)[] = []
    const writing = async () => {
      for (const each of all.slice(at, at + AT_ONCE)) {
        const fresh = await write(each)
        if (fresh !== null) syncing.push(() => synced(fresh))
      }
    }
    const [written] = await Promise.allSettled([writing()])
    // All are waited for, also when one fails: none may go on behind our back.
    const ended = [written, ...(await Promise.allSettled(syncing.map(sync => sync())))]
    for (const each of ended) if (each.status === 'rejected') throw each.reason
  }
}

async function synced({ fd }: Fresh): Promise<void> {
  try {
    await new Promise<void>((done, fail) => fs.fsync(fd, error => (error === null ? done() : fail(error))))
  } finally {
    fs.closeSync(fd)
  }
}
