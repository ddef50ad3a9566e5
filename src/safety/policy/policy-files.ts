// Reads the policy layers from their files: of the organisation, owned by an administrator; of the user; of the project. None is in a place
// that a task may write. A file that exists and is unusable prevents the start, because otherwise its restrictions would be lost.

import { constants } from 'node:fs'
import { lstat, open, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join } from 'node:path'
import { capsOf } from '../../domain/budget/amounts.ts'
import { defined } from '../../domain/json.ts'
import { effectivePolicy, layerWords, type PolicyLayer } from '../../domain/policy/policy-layer.ts'
import type { Failure } from '../../domain/result.ts'
import { type ReadLayer, readPolicyLayer } from '../../format/settings/policy-settings.ts'
import type { Diagnostic } from '../../format/text/diagnostic.ts'
import { isInside, settingsFile } from '../files/private-file.ts'
import { outsideOf, refuseFile, type SettingsPlace } from '../files/user-settings.ts'
import { USER_POLICY } from '../network/user-rules.ts'
import { type Answer, answering, codeOf, failure, ignoring, refuse } from '../safety-refusal.ts'

export const ORGANISATION_FILE = '/etc/planfold/policy.yaml'
/** An additional file of the organisation. It is read besides the standard one, so setting it can only narrow. */
export const ORGANISATION_VARIABLE = 'PLANFOLD_ORGANISATION_POLICY'
/** In the folder `.planfold` of a project, which no task may write. */
export const PROJECT_FILE = 'config.yaml'

const FILE_MAX_BYTES = 1024 * 1024

export interface FaultyPolicy {
  readonly file: string
  readonly text: string
  readonly diagnostics: readonly Diagnostic[]
}

/** Widest first, without empty ones. `report` gets the file of the organisation or project that cannot be parsed. */
export async function readPolicyLayers(
  place: SettingsPlace,
  report: (faulty: FaultyPolicy) => void = () => {},
): Promise<Answer<readonly PolicyLayer[]>> {
  return await answering('reading the policy', async () => {
    const layers: PolicyLayer[] = []
    const add = (from: PolicyLayer['from'], file: string, read: ReadLayer | null): void => {
      if (read !== null && Object.keys(read.policy).length > 0) layers.push({ from, file, ...read })
    }
    for (const file of organisationFiles(place))
      add('organisation', file.path, await organisationLayer(place, file, report))
    if (settingsFile(place.environment, '') !== null)
      add('user', USER_POLICY.file(place), (await USER_POLICY.read(place)).layer ?? null)
    for (const file of projectFiles(place)) add('project', file, await projectLayer(file, report))
    return layers
  })
}

/** Why the policy forbids language models here; null when it does not. */
export async function refusesModels(place: SettingsPlace): Promise<Failure | null> {
  const read = await readPolicyLayers(place)
  if (!read.ok) return read.failure
  const by = read.value.find(({ policy }) => policy.data?.models === 'deny')
  if (by === undefined) return null
  return failure(
    'policy',
    `${layerWords(by, 'data')} allows nothing to be sent to models (data.models: deny)`,
    'do without one',
  )
}

/** The limits of the layers on model use, which also apply to planners. */
export async function modelCaps(
  place: SettingsPlace,
): Promise<{ readonly calls?: number; readonly tokens?: number; readonly usd?: number }> {
  const read = await readPolicyLayers(place)
  const { calls, tokens, cost: usd } = read.ok ? capsOf(effectivePolicy(read.value).budget) : {}
  return {
    ...defined({ calls, tokens, usd }),
  }
}

interface NamedFile {
  readonly path: string
  readonly isOptional: boolean
}

function organisationFiles({ environment }: SettingsPlace): readonly NamedFile[] {
  const named = environment[ORGANISATION_VARIABLE]
  const usual = { path: ORGANISATION_FILE, isOptional: true }
  if (named === undefined || named === '') return [usual]
  if (!isAbsolute(named))
    refuse('policy', `${ORGANISATION_VARIABLE} is '${named}'`, 'write the whole path of the file, or unset it')
  return [usual, { path: named, isOptional: false }]
}

/** Beside the state, and in the workspace if the state is elsewhere. */
function projectFiles({ root, stateDir }: SettingsPlace): readonly string[] {
  return [...new Set([join(stateDir, PROJECT_FILE), join(root, '.planfold', PROJECT_FILE)])]
}

/** Only its administrator, or the user, may be able to change it. */
async function organisationLayer(
  place: SettingsPlace,
  { path, isOptional }: NamedFile,
  report: (faulty: FaultyPolicy) => void,
): Promise<ReadLayer | null> {
  const found = await ignoring(['ENOENT', 'ENOTDIR'], () => realpath(path))
  if (found === null)
    return isOptional
      ? null
      : refuse('policy', `there is no policy '${path}'`, `unset ${ORGANISATION_VARIABLE}, or make it`)
  for (const { folder, is } of outsideOf(place))
    if (isInside(found, await realpath(folder).catch(() => folder)))
      refuse('policy', `the policy '${path}' is in ${is}, and is not used`, 'keep it where no task can write')
  demandOwner(path, await stat(found))
  demandOwner(dirname(path), await stat(dirname(found)))
  return parsed(path, await contentOf(found), 'organisation', report)
}

/** A link could lead to a file that a task may write. */
async function projectLayer(path: string, report: (faulty: FaultyPolicy) => void): Promise<ReadLayer | null> {
  const found = await lstat(path).catch(error => {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return null
    throw error
  })
  if (found === null) return null
  if (!found.isFile()) refuse('policy', `'${path}' is not a regular file`, 'replace it by the file itself')
  return parsed(path, await contentOf(path), 'project', report)
}

function demandOwner(path: string, { uid, mode }: { readonly uid: number; readonly mode: number }): void {
  const own = typeof process.getuid === 'function' ? process.getuid() : uid
  if (uid !== 0 && uid !== own)
    refuse('policy', `the policy '${path}' belongs to somebody else`, `give it to root: chown root ${path}`)
  if ((mode & 0o022) !== 0)
    refuse(
      'policy',
      `the policy '${path}' may be changed by others (mode ${(mode & 0o777).toString(8)})`,
      `only its owner may write there: chmod go-w ${path}`,
    )
}

async function contentOf(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const found = await file.stat()
    if (!found.isFile() || found.size > FILE_MAX_BYTES)
      refuse('policy', `'${path}' is not a policy file`, 'move it away')
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

function parsed(
  path: string,
  text: string,
  of: 'organisation' | 'project',
  report: (faulty: FaultyPolicy) => void,
): ReadLayer {
  const read = readPolicyLayer(text, of)
  if (read.ok) return read.settings
  report({ file: path, text, diagnostics: read.diagnostics })
  return refuseFile(path, read.diagnostics, 'correct these lines; nothing starts until then')
}
