// Agents for tests: the official client, connected to our server in this process, in one of the two protocol eras.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { onTestFinished } from 'vitest'
import { type Script, setup } from '../engine/rooms.fixture.ts'
import { openExtra } from '../extras.ts'
import type { DraftedPlan } from '../operations/agents/plan-drafts.ts'
import { surroundingFaults } from '../operations/policy/plan-surroundings.ts'
import type { Around, Propose } from './room.ts'
import { type McpOptions, mcpFactory } from './server.ts'

export type Era = '2025' | '2026'

export interface Agent {
  readonly client: Client
  /** The text of the answer; `error` says that the tool said so. */
  call(tool: string, input?: Readonly<Record<string, unknown>>, meta?: object): Promise<Said>
  read(input?: Readonly<Record<string, unknown>>): Promise<Said>
  write(input: Readonly<Record<string, unknown>>): Promise<Said>
}

export interface Said {
  readonly text: string
  readonly error: boolean
}

export interface AgentOptions extends Partial<McpOptions> {
  readonly era?: Era
  /** Answers a person gives in the window of the client; it has no window without. */
  readonly answers?: (message: string) => { readonly action: 'accept' | 'decline'; readonly content?: object }
}

/** The planner that asks no model, in a small folder of its own. */
export const propose: Propose = async (goal, _, earlier) => {
  const root = mkdtempSync(join(tmpdir(), 'planfold-goal-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  writeFileSync(join(root, 'sum.js'), 'export const sum = (a, b) => a - b\n')
  const { proposeHere } = await openExtra('planners')
  const place = { root, scratch: join(root, 'scratch'), environment: {} }
  return (await proposeHere({ goal, past: [], comments: earlier?.comments, ...place })) as DraftedPlan
}

/** One store; as many agents on it as are asked for. */
export function agents(script?: Script) {
  const { engine, worker, rooms } = setup(script)
  const place = { root: rooms.root, stateDir: rooms.stateDir, environment: { HOME: '/nonexistent' } }
  const around: Around = async definition => await surroundingFaults(place, definition)
  const opened = { engine, now: () => rooms.clock.now(), templates: rooms.stateDir, propose, around }
  const agent = async ({ era = '2026', answers, ...options }: AgentOptions = {}): Promise<Agent> => {
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    const factory = mcpFactory({ open: async () => opened, version: '0', environment: {}, ...options })
    const server = serveStdio(factory, { transport: ours as never })
    const client = new Client(
      { name: 'test', version: '1' },
      {
        capabilities: answers === undefined ? {} : { elicitation: { form: {} } },
        versionNegotiation: { mode: era === '2025' ? 'legacy' : { pin: '2026-07-28' } },
      },
    )
    if (answers !== undefined)
      client.setRequestHandler('elicitation/create', async ({ params }) => answers(params.message) as never)
    await client.connect(theirs)
    onTestFinished(async () => {
      await client.close()
      await server.close()
    })
    const call: Agent['call'] = async (name, input = {}, meta) => {
      const result = await client.callTool({
        name,
        arguments: { ...input },
        ...(meta === undefined ? {} : { _meta: meta }),
      } as never)
      const [first] = result.content as readonly { readonly text: string }[]
      return { text: first?.text ?? '', error: result.isError === true }
    }
    return { client, call, read: input => call('plan_read', input), write: input => call('plan_write', input) }
  }
  return { engine, worker, rooms, opened, agent }
}
