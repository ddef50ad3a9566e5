// MCP over HTTP: the tools of `mcp/` for agents that show a token. Every request stands alone; nothing is kept between two of them. Host
// and origin are checked by the guard, as everywhere.

import { join } from 'node:path'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { mcpFactory } from '../../mcp/server.ts'
import { type Method, type RawRoute, rawRoute } from '../route.ts'

/** Seals what a client carries from one round of a question to the next. */
const SEAL = crypto.getRandomValues(new Uint8Array(32))

const respond: RawRoute['respond'] = async (request, { engine, rooms }) => {
  const opened = { engine, now: rooms.now, templates: join(rooms.stateDir, 'templates') }
  const factory = mcpFactory({
    open: async () => opened,
    version: rooms.version,
    environment: {},
    isNamed: true,
    seal: SEAL,
  })
  return await createMcpHandler(factory).fetch(request)
}

const ABOUT: { readonly [method in 'POST' | 'GET' | 'DELETE']: string } = {
  POST: 'A message of the Model Context Protocol: the tools plan_read and plan_write, resources and prompts.',
  GET: 'There is no stream to listen to: every answer comes with its request.',
  DELETE: 'There is no session to end.',
}

export const mcpRoutes = (['POST', 'GET', 'DELETE'] as const).map((method: Method & keyof typeof ABOUT) =>
  rawRoute({
    method,
    path: '/mcp',
    right: 'read',
    noun: 'mcp',
    about: ABOUT[method],
    answers: { 200: { about: 'a message of the protocol', type: 'application/json' } },
    respond,
  }),
)
