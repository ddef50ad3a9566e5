// The secrets of a task, fetched at its start from the sources in the user's settings. Values are never stored.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { advise, quoted } from '../../domain/hint.ts'
import { wordList } from '../../domain/json.ts'
import {
  printSecretSettings,
  readSecretSettings,
  type SecretSettings,
  type SecretSource,
} from '../../format/settings/secret-settings.ts'
import { inheritedEnvironment, secretNameFault, VALUE_MAX_BYTES } from '../environment.ts'
import { readPrivateFile } from '../files/private-file.ts'
import { outsideOf, type SettingsPlace, userSettings } from '../files/user-settings.ts'
import { type Answer, answering, refuse } from '../safety-refusal.ts'
import { SECRET_MIN_BYTES } from './redaction.ts'

export type SecretsPlace = SettingsPlace

const FILE = userSettings<SecretSettings>({
  name: 'secrets.json',
  none: {},
  read: readSecretSettings,
  risk: 'ask for any secret',
})

export interface Secrets {
  readonly [name: string]: string
}

const COMMAND_MAX_MS = 60_000

export async function readSecretSources(
  place: SecretsPlace,
): Promise<Answer<{ readonly file: string; readonly sources: SecretSettings }>> {
  return await answering('reading where your secrets come from', async () => {
    const file = FILE.file(place)
    return { file, sources: await FILE.read(place) }
  })
}

/** Null removes the source. False: nothing changed. */
export async function changeSecretSource(
  place: SecretsPlace,
  name: string,
  source: SecretSource | null,
): Promise<Answer<boolean>> {
  return await answering('changing where your secrets come from', async () => {
    if (source !== null) refuseName(name)
    const { [name]: before, ...others } = await FILE.read(place)
    if (JSON.stringify(before ?? null) === JSON.stringify(source)) return false
    const text = printSecretSettings(source === null ? others : { ...others, [name]: source })
    const read = readSecretSettings(text)
    if (!read.ok) refuse('logic', read.diagnostics[0]?.message ?? 'this is not a source', read.diagnostics[0]?.hint)
    await FILE.write(place, text)
    return true
  })
}

/** An error never contains a value. */
export async function fetchSecrets(place: SecretsPlace, names: readonly string[]): Promise<Answer<Secrets>> {
  return await answering('reading your secrets', async () => {
    const sources = await FILE.read(place)
    const values: { [name: string]: string } = {}
    for (const name of names) {
      const source = Object.hasOwn(sources, name) ? sources[name] : undefined
      if (source === undefined)
        return refuse(
          'policy',
          `the secret '${name}' is not configured`,
          advise`configure it: ${quoted('name-secret', { name })}`,
        )
      refuseName(name)
      const value = await secretFrom(name, source, place)
      if (Buffer.byteLength(value) < SECRET_MIN_BYTES)
        return refuse(
          'policy',
          `the secret '${name}' is shorter than ${SECRET_MIN_BYTES} bytes, and could not be kept out of the output`,
          'use a longer one',
        )
      if (value.includes('\0') || Buffer.byteLength(value) > VALUE_MAX_BYTES)
        return refuse('policy', `the secret '${name}' is too long, or contains a NUL byte`, 'pass its path instead')
      values[name] = value
    }
    return values
  })
}

function refuseName(name: string): void {
  const fault = secretNameFault(name)
  if (fault !== null)
    refuse(
      'policy',
      `a secret cannot be called '${name}': that is a variable that ${fault}`,
      'give it a name of its own',
    )
}

async function secretFrom(name: string, source: SecretSource, place: SecretsPlace): Promise<string> {
  if ('env' in source) {
    const value = place.environment[source.env]
    if (value !== undefined && value !== '') return value
    return refuse(
      'policy',
      `the secret '${name}' is to come from the environment variable ${source.env}, which is not set`,
      advise`set it where Planfold is started, or name another source: ${quoted('name-secret', { name })}`,
    )
  }
  if ('file' in source) {
    const path = source.file.startsWith('~/') ? join(place.environment.HOME ?? '/', source.file.slice(2)) : source.file
    const read = await readPrivateFile(path, {
      what: `the file of the secret '${name}'`,
      outside: outsideOf(place),
      elsewhere: 'keep it elsewhere: whoever writes there could read or change it',
    })
    return read.ok ? withoutNewline(read.value) : refuse('policy', read.fault.message, read.fault.hint)
  }
  return await printedBy(name, source.command, place)
}

/** Runs with the user's permissions outside the sandbox, in the root folder, so that the workspace has no influence. */
function printedBy(name: string, [program = '', ...words]: readonly string[], place: SecretsPlace): Promise<string> {
  return new Promise((resolve, reject) => {
    const env = {
      ...inheritedEnvironment(place.environment),
      ...Object.fromEntries(
        PASSED_ON.flatMap(one => (place.environment[one] === undefined ? [] : [[one, place.environment[one]]])),
      ),
    }
    const options = { cwd: '/', env, timeout: COMMAND_MAX_MS, maxBuffer: VALUE_MAX_BYTES * 2 }
    const child = execFile(program, words, options, (error, stdout) => {
      try {
        if (error === null) return resolve(withoutNewline(stdout))
        const how = typeof error.code === 'number' ? `exit ${error.code}` : (error.code ?? error.signal ?? 'it failed')
        refuse('policy', `the command for the secret '${name}' gave no value (${how})`, 'run it yourself, and look')
      } catch (refused) {
        reject(refused)
      }
    })
    child.stdin?.end()
  })
}

const PASSED_ON: readonly string[] = wordList(
  'GNUPGHOME GPG_TTY PASSWORD_STORE_DIR DBUS_SESSION_BUS_ADDRESS OP_SERVICE_ACCOUNT_TOKEN',
)

const withoutNewline = (text: string): string => text.replace(/\r?\n$/, '')
