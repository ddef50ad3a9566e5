// What preconditions may ask about this machine: `memory.has_space`, the free bytes where the state is kept, and
// `network.online`, whether any interface but the loopback is up. Looked at only when an expression speaks of them.

import { statfs } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { dirname } from 'node:path'

export interface Facts {
  readonly memory: { readonly has_space: number }
  readonly network: { readonly online: boolean }
}

export async function systemFacts(stateDir: string): Promise<Facts> {
  return { memory: { has_space: await freeBytes(stateDir) }, network: { online: isOnline() } }
}

/** A folder that is not there yet will stand on the disk of the nearest one that is. */
async function freeBytes(folder: string): Promise<number> {
  for (let at = folder; ; at = dirname(at)) {
    try {
      const { bavail, bsize } = await statfs(at)
      return bavail * bsize
    } catch (error) {
      const missing = (error as { code?: string }).code === 'ENOENT'
      if (!missing || dirname(at) === at) throw error
    }
  }
}

const isOnline = (): boolean =>
  Object.values(networkInterfaces()).some(addresses => addresses?.some(({ internal }) => !internal) === true)
