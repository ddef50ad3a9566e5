// The door of the extra that keeps plans in PostgreSQL.

import type { CopySource, CopyTarget } from './copy/store-copy.ts'
import type { Clock, Host } from './leases/host.ts'
import type { PlansWorkspace } from './store.ts'
import type { StoreOnTables } from './store-on-tables.ts'

export interface SharedStores {
  openStore(options: SharedStoreOptions): Promise<StoreOnTables>
  migrateDatabase(url: string, making: { readonly now: number; readonly newPassword: () => string }): Promise<Migrated>
  examineDatabase(url: string): Promise<{ readonly version: string; readonly isWalled: boolean }>
  openPostgresSource(options: SharedCopyOptions): Promise<CopySource>
  openPostgresTarget(options: SharedCopyOptions, source: string): Promise<CopyTarget>
}

export interface SharedStoreOptions {
  readonly url: string
  /** For appends; a role that may do nothing else. Absent: `url`. */
  readonly appendUrl?: string | undefined
  /** Where plans made here work; others are driven by workers of theirs. */
  readonly workspace?: PlansWorkspace
  /** For contents of files; the first copy is kept here. */
  readonly folder: string
  readonly clock: Clock
  readonly host: Host
  readonly newId: () => string
}

export interface SharedCopyOptions {
  readonly url: string
  /** The local folder, with the contents of files. */
  readonly folder: string
  readonly now: () => number
  readonly newId: () => string
  readonly host: string
  /** Also plans with confidential tasks, whose inputs and outputs then stand in the database. */
  readonly withConfidential?: boolean
}

export interface Migrated {
  readonly schema: number
  readonly roles:
    | { readonly status: 'made'; readonly faces: string; readonly append: string; readonly isNew: boolean }
    | { readonly status: 'refused'; readonly sql: string }
}
