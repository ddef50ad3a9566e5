// The log of changes of the user's rules: one line of JSON for each, beside the rules. Written before the change, so that every rule has a
// known author.

import { orElse } from '../../domain/json.ts'
import { readPrivateFile, settingsFile, writePrivateFile } from '../files/private-file.ts'
import { outsideOf, type SettingsPlace } from '../files/user-settings.ts'
import { refuse } from '../safety-refusal.ts'

export interface PolicyChange {
  readonly at: number
  readonly by: string
  readonly did: 'allow' | 'ask' | 'deny' | 'remove'
  readonly what: 'network' | 'command' | 'no-sandbox' | 'login'
  readonly rule?: string
  readonly root?: string
}

export type Person = Pick<PolicyChange, 'at' | 'by'>

const FILE = 'policy-log.jsonl'
const LINES_MAX = 5_000
const ELSEWHERE = 'set XDG_CONFIG_HOME to a folder elsewhere'

export async function recordChange(place: SettingsPlace, change: PolicyChange): Promise<void> {
  const file = fileOf(place)
  const lines = [...(await linesIn(place)), JSON.stringify(change)].slice(-LINES_MAX)
  await writePrivateFile(file, `${lines.join('\n')}\n`, { outside: outsideOf(place), elsewhere: ELSEWHERE })
}

export async function readChanges(place: SettingsPlace): Promise<readonly PolicyChange[]> {
  return (await linesIn(place)).flatMap(line => {
    const change = orElse(() => JSON.parse(line) as PolicyChange | null, null)
    return typeof change?.at === 'number' && typeof change.by === 'string' ? [change] : []
  })
}

async function linesIn(place: SettingsPlace): Promise<readonly string[]> {
  const found = await readPrivateFile(fileOf(place), {
    what: 'the file',
    outside: outsideOf(place),
    elsewhere: ELSEWHERE,
  })
  if (!found.ok) return found.missing ? [] : refuse('policy', found.fault.message, found.fault.hint)
  return found.value.split('\n').filter(line => line !== '')
}

const fileOf = ({ environment }: SettingsPlace): string =>
  settingsFile(environment, FILE) ??
  refuse(
    'logic',
    'there is no folder for your settings (~/.config/planfold)',
    'set HOME or XDG_CONFIG_HOME to a folder of yours',
  )
