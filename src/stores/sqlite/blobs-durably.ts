// Writing files and folders so that they outlive a power cut.

import { closeSync, fsyncSync, futimesSync, openSync, writeSync } from 'node:fs'
import { StoreFull, SyncFailed } from '../store.ts'

export function writeDurably(path: string, bytes: Uint8Array, seconds: number): void {
  const file = openSync(path, 'wx', 0o600)
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
    futimesSync(file, seconds, seconds)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

export function syncFolderNow(folder: string): void {
  const file = openSync(folder, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** A full disk gets its own name, and so does a sync that failed: whoever meets that must stop. */
export function full(error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (syscall === 'fsync' || syscall === 'fdatasync')
    return new SyncFailed(`the disk failed while a file was synced (${code}); what was written may be lost`, {
      cause: error,
    })
  return code === 'ENOSPC' || code === 'EDQUOT'
    ? new StoreFull('the disk is full; nothing was written', { cause: error })
    : error
}
