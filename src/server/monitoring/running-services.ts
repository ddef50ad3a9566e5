// The services running on a store: one small file for each, so that other processes can find them. A file of a dead process is
// ignored.

import { readdirSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import {
  makeSecretFile,
  makeSecretFolder,
  readSecretFileNow,
  removeSecretFile,
} from '../../safety/files/secret-file.ts'
import { serverFolder } from '../auth/token-file.ts'

export interface Running {
  readonly pid: number
  readonly address: string
  readonly auth: boolean
  readonly startedAt: number
}

const folderOf = (stateDir: string): string => join(serverFolder(stateDir), 'running')

export async function noteRunning(stateDir: string, running: Running): Promise<() => Promise<void>> {
  await makeSecretFolder(serverFolder(stateDir))
  await makeSecretFolder(folderOf(stateDir))
  listRunning(stateDir)
  const path = join(folderOf(stateDir), `${running.pid}.json`)
  await removeSecretFile(path)
  await makeSecretFile(path, `${JSON.stringify(running)}\n`)
  return async () => {
    await removeSecretFile(path)
  }
}

export function listRunning(stateDir: string): readonly Running[] {
  const folder = folderOf(stateDir)
  let names: readonly string[]
  try {
    names = readdirSync(folder)
  } catch {
    return []
  }
  return names.flatMap(name => readRunning(join(folder, name)) ?? []).sort((a, b) => b.startedAt - a.startedAt)
}

function readRunning(path: string): Running | null {
  const read = readSecretFileNow(path)
  if (!read.ok) return null
  try {
    const { pid, address, auth = true, startedAt } = JSON.parse(read.text) as Partial<Running>
    if (typeof pid !== 'number' || typeof address !== 'string' || typeof startedAt !== 'number') return null
    if (isAlive(pid)) return { pid, address, auth, startedAt }
    unlinkSync(path)
  } catch {}
  return null
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
