// The rules of the user, in their folder for settings: addresses, for all workspaces or for one, and whether commands may run where there
// is no sandbox. They are read for every plan and changed only by the person; a task never gets to write them.

import { realpath } from 'node:fs/promises'
import {
  NO_RULES,
  type PolicySettings,
  printPolicySettings,
  readPolicySettings,
} from '../../format/settings/policy-settings.ts'
import { type SettingsPlace, userSettings } from '../files/user-settings.ts'
import { type Answer, answering } from '../safety-refusal.ts'

export type UserRulesPlace = SettingsPlace

const FILE = userSettings<PolicySettings>({
  name: 'policy.json',
  none: NO_RULES,
  read: readPolicySettings,
  risk: 'allow itself anything',
})

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
    const file = FILE.file(place)
    const { network, projects, withoutSandbox = false } = await FILE.read(place)
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
    const settings = await FILE.read(place)
    if ((settings.withoutSandbox ?? false) === isAllowed) return false
    const text = printPolicySettings({ ...settings, withoutSandbox: isAllowed })
    await FILE.write(place, text)
    return true
  })
}

/** False: nothing was different from what was there. */
export async function changeUserRules(
  place: UserRulesPlace,
  change: { readonly do: 'add' | 'remove'; readonly rule: string; readonly for: 'user' | 'project' },
): Promise<Answer<boolean>> {
  return await answering('changing your network rules', async () => {
    const settings = await FILE.read(place)
    const root = await realpath(place.root)
    const before = change.for === 'user' ? settings.network : (settings.projects[root] ?? [])
    const has = before.includes(change.rule)
    if (has === (change.do === 'add')) return false
    const after = change.do === 'add' ? [...before, change.rule] : before.filter(rule => rule !== change.rule)
    const changed: PolicySettings =
      change.for === 'user'
        ? { ...settings, network: after }
        : { ...settings, projects: { ...settings.projects, [root]: after } }
    await FILE.write(place, printPolicySettings(changed))
    return true
  })
}
