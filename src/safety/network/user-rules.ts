// The rules of the user, in their folder for settings: addresses, for all workspaces or for one, and whether commands may run where there
// is no sandbox. They are read for every plan and changed only by the person; a task never gets to write them.

import { realpath } from 'node:fs/promises'
import {
  NO_RULES,
  type PolicySettings,
  printPolicySettings,
  readPolicySettings,
} from '../../format/settings/policy-settings.ts'
import { type Outside, readPrivateFile, settingsFile, writePrivateFile } from '../files/private-file.ts'
import { type Answer, answering, refuse } from '../safety-refusal.ts'

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
    const text = printPolicySettings({ ...settings, withoutSandbox: isAllowed })
    await writePrivateFile(file, text, { outside: outsideOf(place), elsewhere: ELSEWHERE })
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
    await writePrivateFile(file, printPolicySettings(changed), { outside: outsideOf(place), elsewhere: ELSEWHERE })
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
