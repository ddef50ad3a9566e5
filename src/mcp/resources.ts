// Resources and prompts for the client's menu, as text: the plan, the next task, the inbox and the digest.

import { planRead } from './plan-read.ts'
import { type Room, ToolError } from './room.ts'

export type ViewName = 'plan' | 'next' | 'inbox' | 'digest'

const DAY_MS = 24 * 60 * 60 * 1_000

const VIEWS: { readonly [name in ViewName]: (room: Room) => Promise<string> } = {
  plan: room => planRead(room, { what: 'plan', max_tokens: 4_000 }),
  next: room => planRead(room, { what: 'next', max_tokens: 2_000 }),
  inbox: room => planRead(room, { what: 'inbox' }),
  digest: digestText,
}

export async function viewText(name: ViewName, room: Room): Promise<string> {
  try {
    return await VIEWS[name](room)
  } catch (error) {
    if (error instanceof ToolError) return error.message
    throw error
  }
}

async function digestText(room: Room): Promise<string> {
  const { engine, now } = room
  const since = now() - DAY_MS
  const { items } = await engine.ask({ type: 'plans', archived: false, limit: 20 })
  const lines = await Promise.all(
    items
      .filter(({ updatedAt }) => updatedAt >= since)
      .map(async ({ id }) => await planRead(room, { what: 'plan', plan: id, max_tokens: 300 })),
  )
  return lines.length === 0 ? 'Nothing has happened since yesterday.' : lines.join('\n\n')
}
