// The agents that passed `planfold agents test` on this machine, with the time of the last pass; kept in the user's settings. It is a
// recommendation and allows nothing.

import { isMap, type Json } from '../../domain/json.ts'
import type { KnownAgent } from '../../runners/runner.ts'
import { type Outside, readPrivateFile, settingsFile, writePrivateFile } from '../../safety/files/private-file.ts'
import type { AgentPlace } from './find-agent.ts'

const FILE = 'agent-tests.json'
const ELSEWHERE = 'set XDG_CONFIG_HOME to a folder outside the workspace'
const outsideOf = ({ root }: AgentPlace): Outside => [{ folder: root, is: 'the workspace' }]

/** A pass is valid for the tested version. */
export async function recordPass(
  place: AgentPlace,
  { name, version }: Pick<KnownAgent, 'name' | 'version'>,
  at: number,
): Promise<void> {
  const file = settingsFile(place.environment, FILE)
  if (file === null) return
  const passes = { ...(await readPasses(place)), [name]: { version, at } }
  await writePrivateFile(file, `${JSON.stringify(passes, null, 2)}\n`, {
    outside: outsideOf(place),
    elsewhere: ELSEWHERE,
  })
}

/** Since when each agent has passed in its installed version; null if it has not. */
export async function withPasses<T extends Pick<KnownAgent, 'name' | 'version' | 'status'>>(
  place: AgentPlace,
  agents: readonly T[],
): Promise<readonly (T & { readonly passedAt: number | null })[]> {
  const passes = await readPasses(place)
  return agents.map(agent => ({ ...agent, passedAt: passedAt(passes[agent.name], agent) }))
}

function passedAt(pass: Json | undefined, { version, status }: Pick<KnownAgent, 'version' | 'status'>): number | null {
  if (status === 'missing' || !isMap(pass) || pass.version !== version) return null
  return typeof pass.at === 'number' ? pass.at : null
}

async function readPasses(place: AgentPlace): Promise<{ readonly [agent: string]: Json }> {
  const file = settingsFile(place.environment, FILE)
  if (file === null) return {}
  const read = await readPrivateFile(file, { what: 'the file', outside: outsideOf(place), elsewhere: ELSEWHERE })
  if (!read.ok) return {}
  try {
    const passes = JSON.parse(read.value) as Json
    return isMap(passes) ? passes : {}
  } catch {
    return {}
  }
}
