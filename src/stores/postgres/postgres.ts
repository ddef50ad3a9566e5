// The door of this folder.

import type { SharedStores } from '../shared-stores.ts'
import { StorePostgres } from './store-postgres.ts'

export { openPostgresSource, openPostgresTarget } from './copy-postgres.ts'
export { examineDatabase, migrateDatabase } from './migrate.ts'

export const openStore: SharedStores['openStore'] = options => StorePostgres.open(options)
