// How a plan is started from now on: by which rules, whether files are looked at, and how the world stands.

import type { CommandOf } from '../domain/command.ts'
import type { PlanId } from '../domain/id.ts'
import { late } from './late.ts'
import type { Rooms } from './rooms.ts'

/** The rules plans are started under from now on; what older ones did stays as they said. */
const RULES = 4

export async function startOf(rooms: Rooms, plan: PlanId): Promise<Omit<CommandOf<'start'>, 'type'>> {
  const files = rooms.snapshots === undefined ? {} : { files: 'seen' as const }
  const stamp = await (await late.drift()).stampOf(rooms, plan)
  return { rules: RULES, ...files, ...stamp }
}
