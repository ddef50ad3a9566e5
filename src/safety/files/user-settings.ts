// One settings file of the user, as whoever owns its format reads and writes it. It lies in the user's folder for settings, never where a
// task may write.

import type { Diagnostic } from '../../format/text/diagnostic.ts'
import { refuse } from '../safety-refusal.ts'
import { type Outside, readPrivateFile, settingsFile, writePrivateFile } from './private-file.ts'

export interface SettingsPlace {
  readonly environment: { readonly [name: string]: string | undefined }
  /** The workspace. */
  readonly root: string
  readonly stateDir: string
}

interface SettingsFormat<T> {
  readonly name: string
  /** What holds when there is no file. */
  readonly none: T
  readonly read: (
    text: string,
  ) => { readonly ok: true; readonly settings: T } | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] }
  /** What a task could do that writes there, as the end of a sentence. */
  readonly risk: string
}

export interface UserSettings<T> {
  file(place: SettingsPlace): string
  /** Throws a refusal. */
  read(place: SettingsPlace): Promise<T>
  write(place: SettingsPlace, text: string): Promise<void>
}

export function userSettings<T>({ name, none, read, risk }: SettingsFormat<T>): UserSettings<T> {
  const elsewhere = `set XDG_CONFIG_HOME to a folder elsewhere: a task that writes there could ${risk}`
  const file = ({ environment }: SettingsPlace): string =>
    settingsFile(environment, name) ??
    refuse('logic', 'you have no folder for settings', 'set HOME or XDG_CONFIG_HOME to a folder of yours')
  return {
    file,
    async read(place) {
      const path = file(place)
      const found = await readPrivateFile(path, { what: 'the file', outside: outsideOf(place), elsewhere })
      if (!found.ok) return found.missing ? none : refuse('policy', found.fault.message, found.fault.hint)
      const settings = read(found.value)
      if (settings.ok) return settings.settings
      const [first] = settings.diagnostics
      const message = `${path}:${first?.line}:${first?.column}: ${first?.message}`
      return refuse('policy', message, first?.hint ?? 'repair the file')
    },
    write: (place, text) => writePrivateFile(file(place), text, { outside: outsideOf(place), elsewhere }),
  }
}

/** Where no settings and no secrets may lie. */
export const outsideOf = ({ root, stateDir }: Pick<SettingsPlace, 'root' | 'stateDir'>): Outside => [
  { folder: root, is: 'the workspace' },
  { folder: stateDir, is: 'the state folder' },
]
