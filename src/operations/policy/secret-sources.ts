// The sources of the user's secrets, for a person to read and change. A command run by a task is refused.

import type { Failure } from '../../domain/result.ts'
import type { SecretSource } from '../../format/settings/secret-settings.ts'
import { type Answer, failure } from '../../safety/safety-refusal.ts'
import {
  changeSecretSource,
  fetchSecrets,
  readSecretSources,
  type SecretsPlace,
} from '../../safety/secrets/secret-sources.ts'
import { refuseTask } from './network-rules.ts'

export interface SecretStanding {
  readonly name: string
  readonly source: SecretSource
}

export async function listSecrets(
  place: SecretsPlace,
): Promise<Answer<{ readonly file: string; readonly secrets: readonly SecretStanding[] }>> {
  const read = await readSecretSources(place)
  if (!read.ok) return read
  const { file, sources } = read.value
  return { ok: true, value: { file, secrets: Object.entries(sources).map(([name, source]) => ({ name, source })) } }
}

/** False if it was there already. */
export async function setSecret(place: SecretsPlace, name: string, source: SecretSource): Promise<Answer<boolean>> {
  const refused = refuseTask(place)
  if (refused !== null) return refused
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,99}$/.test(name))
    return {
      ok: false,
      failure: failure('logic', `'${name}' is not a valid name for a secret`, 'use letters, digits and _'),
    }
  return await changeSecretSource(place, name, source)
}

/** Why it cannot be read now; null if it can. */
export async function secretFault(place: SecretsPlace, name: string): Promise<Failure | null> {
  const fetched = await fetchSecrets(place, [name])
  return fetched.ok ? null : fetched.failure
}

/** False if there was none. */
export async function removeSecret(place: SecretsPlace, name: string): Promise<Answer<boolean>> {
  return refuseTask(place) ?? (await changeSecretSource(place, name, null))
}
