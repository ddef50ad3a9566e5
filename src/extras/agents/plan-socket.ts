// plan_read and plan_write for an agent that Planfold started: on a Unix socket of this attempt, for clients that send its token
// in the first line. The agent sees only its own plan and cannot decide anything.

import { timingSafeEqual } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import type { Actor, PlanId } from '../../domain/id.ts'
import type { EngineInProcess } from '../../engine/engine.ts'
import { agentCaller } from '../../engine/roles.ts'
import type { Propose } from '../../mcp/room.ts'
import { mcpFactory } from '../../mcp/server.ts'
import type { PlanToolsServer } from './agent-runner.ts'

export interface PlanSocketOptions {
  readonly engine: EngineInProcess
  readonly now: () => number
  readonly version: string
  readonly templates: string
  /** The only visible plan; null: it may create one, and sees all. */
  readonly plan: PlanId | null
  readonly agent: string
  readonly folder: string
  readonly random: (bytes: number) => Buffer
}

const TOKEN_LINE_MAX = 200

export async function openPlanSocket(options: PlanSocketOptions): Promise<PlanToolsServer> {
  mkdirSync(options.folder, { recursive: true, mode: 0o700 })
  const token = options.random(24).toString('base64url')
  const { caller } = options.engine
  const scope = options.plan === null ? caller.scope : { plans: [options.plan] }
  const engine = options.engine.as({ ...agentCaller(caller, options.agent as Actor), scope })
  const factory = mcpFactory({
    open: async () => ({ engine, now: options.now, templates: options.templates, propose: noProposals }),
    version: options.version,
    environment: {},
    isNamed: true,
  })
  const open = new Set<Socket>()
  const server = createServer(socket => {
    open.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => open.delete(socket))
    void greeted(socket, token).then(isKnown => {
      if (!isKnown) return void socket.destroy()
      const serving = serveStdio(factory, { transport: new StdioServerTransport(socket, socket) })
      socket.once('close', () => void serving.close())
      socket.resume()
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(join(options.folder, SOCKET), resolve)
  })
  return {
    socket: SOCKET,
    token,
    close: async () => {
      for (const socket of open) socket.destroy()
      await new Promise<void>(resolve => server.close(() => resolve()))
    },
  }
}

const SOCKET = 'plan.sock'

async function greeted(socket: Socket, token: string): Promise<boolean> {
  let received = Buffer.alloc(0)
  return await new Promise(resolve => {
    const receive = (chunk: Buffer): void => {
      received = Buffer.concat([received, chunk])
      const end = received.indexOf('\n')
      if (end < 0 && received.length < TOKEN_LINE_MAX) return
      socket.off('data', receive)
      socket.pause()
      if (end >= 0 && received.length > end + 1) socket.unshift(received.subarray(end + 1))
      const [shown, known] = [received.subarray(0, Math.max(0, end)), Buffer.from(token)]
      resolve(shown.length === known.length && timingSafeEqual(shown, known))
    }
    socket.on('data', receive)
    socket.once('close', () => resolve(false))
  })
}

const noProposals: Propose = async () => ({
  problem: { detail: 'an agent that works on a task makes no plans from goals', hint: 'write the tasks yourself' },
})
