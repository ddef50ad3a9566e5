// The rules of the user, in their folder for settings: addresses, for all workspaces or for one, and whether commands may run where there
// is no sandbox. They are read for every plan and changed only by the person; a task never gets to write them.

import { constants } from 'node:fs'
import { mkdir, open, realpath, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  NO_RULES,
  type PolicySettings,
  printPolicySettings,
  readPolicySettings,
} from '../../format/settings/policy-settings.ts'
import { isInside, type Outside, readPrivateFile, settingsFile } from '../files/private-file.ts'
import { type Answer, answering, ignoring, refuse } from '../safety-refusal.ts'

export interface UserRulesPlace {
  readonly environment: { readonly [name: string]: string | undefined }
  /** The workspace. */
  readonly root: string
  readonly stateDir: string
}

export interface UserRules {
  readonly file: string
  /** Commands of the user's own plans may run where there is no sandbox. */
  readonly withoutSandbox: boolean
  readonly rules: readonly { readonly rule: string; readonly from: 'user' | 'project' }[]
}

/** A file that cannot be used allows nothing; `readUserRules` says why. */
export async function userNetworkRules(place: UserRulesPlace): Promise<readonly string[]> {
  const read = await readUserRules(place)
  return read.ok ? read.value.rules.map(({ rule }) => rule) : []
}

/** Those that hold in this workspace, with where each comes from. */
export async function readUserRules(place: UserRulesPlace): Promise<Answer<UserRules>> {
  return await answering('reading your network rules', async () => {
    const file = fileOf(place)
    const { network, projects, withoutSandbox = false } = await settingsIn(file, place)
    const root = await realpath(place.root)
    const own = Object.hasOwn(projects, root) ? (projects[root] ?? []) : []
    return {
      file,
      withoutSandbox,
      rules: [
        ...network.map(rule => ({ rule, from: 'user' as const })),
        ...own.map(rule => ({ rule, from: 'project' as const })),
      ],
    }
  })
}

/** False: nothing was different from what was there. */
export async function rememberWithoutSandbox(place: UserRulesPlace, isAllowed: boolean): Promise<Answer<boolean>> {
  return await answering('changing your settings', async () => {
    const file = fileOf(place)
    const settings = await settingsIn(file, place)
    if ((settings.withoutSandbox ?? false) === isAllowed) return false
    await write(file, printPolicySettings({ ...settings, withoutSandbox: isAllowed }), outsideOf(place))
    return true
  })
}

/** False: nothing was different from what was there. */
export async function changeUserRules(
  place: UserRulesPlace,
  change: { readonly do: 'add' | 'remove'; readonly rule: string; readonly for: 'user' | 'project' },
): Promise<Answer<boolean>> {
  return await answering('changing your network rules', async () => {
    const file = fileOf(place)
    const settings = await settingsIn(file, place)
    const root = await realpath(place.root)
    const before = change.for === 'user' ? settings.network : (settings.projects[root] ?? [])
    const has = before.includes(change.rule)
    if (has === (change.do === 'add')) return false
    const after = change.do === 'add' ? [...before, change.rule] : before.filter(rule => rule !== change.rule)
    const changed: PolicySettings =
      change.for === 'user'
        ? { ...settings, network: after }
        : { ...settings, projects: { ...settings.projects, [root]: after } }
    await write(file, printPolicySettings(changed), outsideOf(place))
    return true
  })
}

function fileOf({ environment }: UserRulesPlace): string {
  const file = settingsFile(environment, 'policy.json')
  return file ?? refuse('logic', 'you have no folder for settings', 'set HOME or XDG_CONFIG_HOME to a folder of yours')
}

const outsideOf = ({ root, stateDir }: UserRulesPlace): Outside => [
  { folder: root, is: 'the workspace' },
  { folder: stateDir, is: 'the state folder' },
]

const ELSEWHERE = 'set XDG_CONFIG_HOME to a folder elsewhere: a task that writes there could allow itself anything'

async function settingsIn(file: string, place: UserRulesPlace): Promise<PolicySettings> {
  const read = await readPrivateFile(file, { what: 'the file', outside: outsideOf(place), elsewhere: ELSEWHERE })
  if (!read.ok) return read.missing ? NO_RULES : refuse('policy', read.fault.message, read.fault.hint)
  const settings = readPolicySettings(read.value)
  if (settings.ok) return settings.settings
  const [first] = settings.diagnostics
  return refuse(
    'policy',
    `${file}:${first?.line}:${first?.column}: ${first?.message}`,
    first?.hint ?? 'repair the file',
  )
}

/** Whole or not at all, and for the owner alone. A link to the file stays one. */
async function write(file: string, text: string, outside: Outside): Promise<void> {
  const demandOutside = async (path: string): Promise<void> => {
    for (const { folder, is } of outside)
      if (isInside(path, folder) || isInside(path, await realpath(folder).catch(() => folder)))
        refuse('policy', `the file '${file}' lies in ${is}, and is not used`, ELSEWHERE)
  }
  await demandOutside(file)
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const real = (await ignoring(['ENOENT'], () => realpath(file))) ?? join(await realpath(dirname(file)), 'policy.json')
  await demandOutside(real)
  const temporary = `${real}.${process.pid}.tmp`
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
  await rm(temporary, { force: true })
  const handle = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
  try {
    await handle.chmod(0o600)
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(temporary, real)
}
