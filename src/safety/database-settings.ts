// The person's own setting for where the plans of a workspace are kept. No file of a workspace can say so: somebody else's repository could
// then have plans sent to its author.

import { realpath } from 'node:fs/promises'
import { type DatabaseSettings, readDatabaseSettings } from '../format/settings/database-settings.ts'
import { type SettingsPlace, userSettings } from './files/user-settings.ts'
import { type Answer, answering } from './safety-refusal.ts'

const DATABASES = userSettings<DatabaseSettings>({
  name: 'databases.json',
  none: {},
  read: readDatabaseSettings,
  risk: 'have your plans sent elsewhere',
})

/** The address for this workspace; null when its plans are kept in its own folder. */
export async function databaseSetting(place: SettingsPlace): Promise<Answer<string | null>> {
  return await answering('reading your databases', async () => {
    const databases = await DATABASES.read(place)
    const root = await realpath(place.root)
    return Object.hasOwn(databases, root) ? databases[root]! : null
  })
}
