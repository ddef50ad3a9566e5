// A settings file of the user, with the parser of its format. It is in the user's settings folder, which no task may write.

import type { Diagnostic } from '../../format/text/diagnostic.ts'
import { refuse } from '../safety-refusal.ts'
import { type Outside, readPrivateFile, settingsFile, writePrivateFile } from './private-file.ts'

export interface SettingsPlace {
  readonly environment: { readonly [name: string]: string | undefined }
  readonly root: string
  readonly stateDir: string
}

interface SettingsFormat<T> {
  readonly name: string
  readonly none: T
  readonly read: (
    text: string,
  ) => { readonly ok: true; readonly settings: T } | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] }
  /** What a task could do by writing it, as the end of a sentence. */
  readonly risk: string
}

export interface UserSettings<T> {
  file(place: SettingsPlace): string
  read(place: SettingsPlace): Promise<T>
  write(place: SettingsPlace, text: string): Promise<void>
}

export function userSettings<T>({ name, none, read, risk }: SettingsFormat<T>): UserSettings<T> {
  const elsewhere = `set XDG_CONFIG_HOME to a folder elsewhere: a task that writes there could ${risk}`
  const file = ({ environment }: SettingsPlace): string =>
    settingsFile(environment, name) ??
    refuse(
      'logic',
      'there is no folder for your settings (~/.config/planfold)',
      'set HOME or XDG_CONFIG_HOME to a folder of yours',
    )
  return {
    file,
    async read(place) {
      const path = file(place)
      const found = await readPrivateFile(path, { what: 'the file', outside: outsideOf(place), elsewhere })
      if (!found.ok) return found.missing ? none : refuse('policy', found.fault.message, found.fault.hint)
      const settings = read(found.value)
      if (settings.ok) return settings.settings
      return refuseFile(path, settings.diagnostics, 'repair the file')
    },
    write: (place, text) => writePrivateFile(file(place), text, { outside: outsideOf(place), elsewhere }),
  }
}

/** Reports all faults in file order, so that they can be fixed together. */
export function refuseFile(path: string, diagnostics: readonly Diagnostic[], otherwise: string): never {
  const inOrder = diagnostics.toSorted((a, b) => a.line - b.line || a.column - b.column)
  const [first, ...others] = inOrder
  const isOne = others.length === 0
  const shown = inOrder
    .slice(0, FAULTS_MAX)
    .map(
      ({ line, column, message, hint }) =>
        `${path}:${line}:${column}: ${message}${isOne || typeof hint !== 'string' ? '' : ` (${hint})`}`,
    )
  const more = inOrder.length - shown.length
  const text = `${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}`
  return refuse('policy', text, isOne ? (first?.hint ?? otherwise) : otherwise)
}

const FAULTS_MAX = 10

export const outsideOf = ({ root, stateDir }: Pick<SettingsPlace, 'root' | 'stateDir'>): Outside => [
  { folder: root, is: 'the workspace' },
  { folder: stateDir, is: 'the state folder' },
]
