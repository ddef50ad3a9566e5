// A store in its own folder with a fake clock and host, and raw access to its file.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Host } from '../leases/host.ts'
import { FakeClock, fakeHost } from '../store.contract.ts'
import { Connection } from './driver.ts'
import { StoreSqlite, type StoreSqliteOptions } from './store-sqlite.ts'

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'planfold-store-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export function setup(options: Partial<StoreSqliteOptions> = {}) {
  const folder = temporaryFolder()
  const clock = new FakeClock()
  const points: string[] = []
  let next = 0
  const open = async (host: Partial<Host> = {}) => {
    const store = await StoreSqlite.open({
      folder,
      clock,
      host: fakeHost(host),
      newId: () => `id-${++next}`,
      heartbeat: 'manual',
      failpoint: point => points.push(point),
      ...options,
    })
    onTestFinished(() => store.close())
    return store
  }
  const path = join(folder, 'planfold.db')
  /** As another program. */
  const raw = (sql: string) => {
    const connection = new Connection(path, { readOnly: false, busyMs: 1_000 })
    connection.exec(`PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; ${sql}`)
    connection.close()
  }
  const commits = () => points.filter(point => point === 'store.commit:after').length
  return { folder, path, clock, points, open, raw, commits }
}
