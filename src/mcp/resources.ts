// What a person can attach or start from their client's menu: the plan, the next task, the inbox and the digest as resources, and a
// prompt for each that makes an agent begin with it.

import type { McpServer } from '@modelcontextprotocol/server'
import { planRead } from './plan-read.ts'
import { type Room, ToolError } from './room.ts'

const DAY_MS = 24 * 60 * 60 * 1_000

const VIEWS = [
  { name: 'plan', title: 'The plan', read: (room: Room) => planRead(room, { what: 'plan', max_tokens: 4_000 }) },
  { name: 'next', title: 'The next task', read: (room: Room) => planRead(room, { what: 'next', max_tokens: 2_000 }) },
  { name: 'inbox', title: 'What waits for a person', read: (room: Room) => planRead(room, { what: 'inbox' }) },
  { name: 'digest', title: 'What happened in the last day', read: digestText },
] as const

export function registerViews(server: McpServer, room: () => Promise<Room>): void {
  for (const { name, title, read } of VIEWS) {
    server.registerResource(name, `planfold://${name}`, { title, mimeType: 'text/markdown' }, async uri => ({
      contents: [{ uri: uri.href, mimeType: 'text/markdown', text: await said(read, room) }],
    }))
    server.registerPrompt(name, { title, description: title }, async () => ({
      messages: [{ role: 'user', content: { type: 'text', text: `${title}:\n\n${await said(read, room)}` } }],
    }))
  }
}

/** Without a plan, or with several, it says so. */
async function said(read: (room: Room) => Promise<string>, room: () => Promise<Room>): Promise<string> {
  try {
    return await read(await room())
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
