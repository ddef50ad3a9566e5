// The person's own setting for where the plans of a workspace are kept. No file of a workspace can say so: a cloned
// repository could otherwise have plans sent to its author.

import { realpath } from 'node:fs/promises'
import { isMap } from '../domain/json.ts'
import { isDatabaseUrl } from '../format/text/database-url.ts'
import { readDocument } from '../format/text/document.ts'
import { type SettingsPlace, userSettings } from '../safety/files/user-settings.ts'
import { type Answer, answering } from '../safety/safety-refusal.ts'

/** The whole path of a workspace → the address. */
interface Databases {
  readonly [root: string]: string
}

const HINT = 'write { "/path/of/workspace": "postgres://USER@HOST/NAME" }'

const DATABASES = userSettings<Databases>({
  name: 'databases.json',
  none: {},
  read(text) {
    if (text.trim() === '') return { ok: true, settings: {} }
    const read = readDocument(text)
    if (!read.ok) return read
    const { place, value } = read.document
    if (!isMap(value))
      return { ok: false, diagnostics: [place({ path: [], message: 'it is not an object', hint: HINT })] }
    const faults = Object.entries(value).flatMap(([root, url]) => {
      if (!root.startsWith('/')) return [{ path: [root], message: `'${root}' is not a whole path`, hint: HINT }]
      return typeof url === 'string' && isDatabaseUrl(url)
        ? []
        : [{ path: [root], message: 'it names no database', hint: HINT }]
    })
    if (faults.length > 0) return { ok: false, diagnostics: faults.map(fault => place(fault)) }
    return { ok: true, settings: value as Databases }
  },
  risk: 'have your plans sent elsewhere',
})

/** The address for this workspace; null when its plans are kept in its own folder. */
export async function databaseSettings(place: SettingsPlace): Promise<Answer<string | null>> {
  return await answering('reading your databases', async () => {
    const databases = await DATABASES.read(place)
    const root = await realpath(place.root)
    return Object.hasOwn(databases, root) ? databases[root]! : null
  })
}
