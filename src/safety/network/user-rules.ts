// The user's rules: addresses, for all workspaces or one; whether commands may run where there is no sandbox; and which logins agents may
// use. Read for every plan and changed only by the user; no task may write them.

import { realpath } from 'node:fs/promises'
import { type CommandRule, ruleWords } from '../../domain/policy/command-rules.ts'
import {
  NO_RULES,
  type PolicySettings,
  printPolicySettings,
  readPolicySettings,
} from '../../format/settings/policy-settings.ts'
import { type SettingsPlace, userSettings } from '../files/user-settings.ts'
import { type Person, recordChange } from '../policy/policy-log.ts'
import { type Answer, answering } from '../safety-refusal.ts'

export type UserRulesPlace = SettingsPlace

export const USER_POLICY = userSettings<PolicySettings>({
  name: 'policy.json',
  none: NO_RULES,
  read: readPolicySettings,
  risk: 'allow itself anything',
})

export interface UserRules {
  readonly file: string
  readonly logins: readonly string[]
  readonly rules: readonly { readonly rule: string; readonly from: 'user' | 'project' }[]
}

/** An unusable file allows nothing; `readUserRules` reports why. */
export async function userNetworkRules(place: UserRulesPlace): Promise<readonly string[]> {
  const read = await readUserRules(place)
  return read.ok ? read.value.rules.map(({ rule }) => rule) : []
}

/** The rules for this workspace, with the origin of each. */
export async function readUserRules(place: UserRulesPlace): Promise<Answer<UserRules>> {
  return await answering('reading your network rules', async () => {
    const file = USER_POLICY.file(place)
    const { network, projects, logins = [] } = await USER_POLICY.read(place)
    const root = await realpath(place.root)
    const own = Object.hasOwn(projects, root) ? (projects[root] ?? []) : []
    return {
      file,
      logins,
      rules: [
        ...network.map(rule => ({ rule, from: 'user' as const })),
        ...own.map(rule => ({ rule, from: 'project' as const })),
      ],
    }
  })
}

export async function rememberLogin(
  place: UserRulesPlace,
  { agent, isAllowed }: { readonly agent: string; readonly isAllowed: boolean },
  person: Person,
): Promise<Answer<boolean>> {
  return await answering('changing your settings', async () => {
    const settings = await USER_POLICY.read(place)
    const { logins = [] } = settings
    if (logins.includes(agent) === isAllowed) return false
    await recordChange(place, { ...person, did: isAllowed ? 'allow' : 'remove', what: 'login', rule: agent })
    const after = isAllowed ? [...logins, agent] : logins.filter(one => one !== agent)
    await USER_POLICY.write(place, printPolicySettings({ ...settings, logins: after }))
    return true
  })
}

export async function changeUserRules(
  place: UserRulesPlace,
  change: { readonly do: 'add' | 'remove'; readonly rule: string; readonly for: 'user' | 'project' },
  person: Person,
): Promise<Answer<boolean>> {
  return await answering('changing your network rules', async () => {
    const settings = await USER_POLICY.read(place)
    const root = await realpath(place.root)
    const before = change.for === 'user' ? settings.network : (settings.projects[root] ?? [])
    const has = before.includes(change.rule)
    if (has === (change.do === 'add')) return false
    const after = change.do === 'add' ? [...before, change.rule] : before.filter(rule => rule !== change.rule)
    const changed: PolicySettings =
      change.for === 'user'
        ? { ...settings, network: after }
        : { ...settings, projects: { ...settings.projects, [root]: after } }
    const where = change.for === 'user' ? {} : { root }
    const did = change.do === 'add' ? 'allow' : 'remove'
    await recordChange(place, { ...person, did, what: 'network', rule: change.rule, ...where })
    await USER_POLICY.write(place, printPolicySettings(changed))
    return true
  })
}

export type CommandList = 'allow' | 'ask' | 'deny'

/** The user's rules about commands, in all workspaces. `into` null: removed from all lists. False: nothing changed. */
export async function changeUserCommands(
  place: UserRulesPlace,
  { rule, into }: { readonly rule: CommandRule; readonly into: CommandList | null },
  person: Person,
): Promise<Answer<boolean>> {
  return await answering('changing your rules about commands', async () => {
    const settings = await USER_POLICY.read(place)
    const { policy = {}, lines = {} } = settings.layer ?? {}
    const { commands: before = {}, ...rest } = policy
    const isRule = (other: CommandRule): boolean => JSON.stringify(other) === JSON.stringify(rule)
    const after = Object.fromEntries(
      COMMAND_LISTS.map(list => {
        const others = (before[list] ?? []).filter(other => !isRule(other))
        return [list, list === into ? [...others, rule] : others] as const
      }).filter(([, rules]) => rules.length > 0),
    )
    const isSame = COMMAND_LISTS.every(list => (before[list] ?? []).some(isRule) === (list === into))
    if (isSame) return false
    await recordChange(place, { ...person, did: into ?? 'remove', what: 'command', rule: ruleWords(rule) })
    const { unknown } = before
    const hasRules = Object.keys(after).length > 0 || (unknown ?? 'allow') !== 'allow'
    const commands = { ...after, ...(unknown === undefined ? {} : { unknown }) }
    const changed = { policy: { ...rest, ...(hasRules ? { commands } : {}) }, lines }
    await USER_POLICY.write(place, printPolicySettings({ ...settings, layer: changed }))
    return true
  })
}

const COMMAND_LISTS: readonly CommandList[] = ['allow', 'ask', 'deny']
