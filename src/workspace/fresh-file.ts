// A new file, whole and durable under a name of ours, before it takes its place: once others can see it nothing is written
// into it any more. Only the sync waits in the background; everything else is done at once, because handing a small write
// to another thread costs more than the write.

import * as fs from 'node:fs'
import { type HeldFolder, stampOf } from './held-folder.ts'
import type { BytePath } from './manifest.ts'
import type { Stamp } from './stat-cache.ts'

const AT_ONCE_BYTES = 1024 * 1024

export async function writeFresh(
  folder: HeldFolder,
  name: BytePath,
  {
    bytes,
    mode,
    breathe,
  }: { readonly bytes: Uint8Array; readonly mode: number; readonly breathe: () => Promise<void> },
): Promise<Stamp> {
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
    await new Promise<void>((done, fail) => fs.fsync(file, error => (error === null ? done() : fail(error))))
    return stamp
  } finally {
    fs.closeSync(file)
  }
}
