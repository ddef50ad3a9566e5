// MCP over HTTP: the tools of `mcp/` for agents with a token. Requests are stateless. The guard checks host and origin, as for
// every route.

import { join } from 'node:path'
import { createMcpHandler, type McpServerFactory } from '@modelcontextprotocol/server'
import type { PlanDefinition } from '../../domain/plan.ts'
import { findExtra } from '../../extras.ts'
import type { Propose } from '../../mcp/room.ts'
import { mcpFactory } from '../../mcp/server.ts'
import { isProblem, notInBuild } from '../problem.ts'
import { type AnyRoute, type RawRoute, rawRoute } from '../route.ts'
import { troubleOf } from '../trouble.ts'

/** Seals the state that a client carries between the two rounds of a question. */
const SEAL = crypto.getRandomValues(new Uint8Array(32))

/** Also for refusals, which are JSON-RPC errors. */
const MESSAGE = { type: 'application/json' } as const

/** A parameter, because the conformance suite needs a server with tools of its own. */
export const mcpRoute = (serverFor: (call: Parameters<RawRoute['respond']>[1]) => McpServerFactory): AnyRoute =>
  rawRoute({
    method: 'POST',
    path: '/mcp',
    right: 'read',
    about: 'A message of the Model Context Protocol: the tools plan_read and plan_write, resources and prompts.',
    answers: {
      200: { about: 'the answer', ...MESSAGE },
      202: { about: 'a notification was received' },
      400: { about: 'no message of the protocol, or of a version nobody knows', ...MESSAGE },
      404: { about: 'the protocol has no such method', ...MESSAGE },
      406: { about: 'the client must accept both JSON and event streams', ...MESSAGE },
      415: { about: 'the message is not JSON', ...MESSAGE },
    },
    respond: async (request, call) => await createMcpHandler(serverFor(call)).fetch(request),
  })

export const mcpRoutes = [
  mcpRoute(({ engine, rooms, signal }) => {
    const opened = {
      engine,
      now: rooms.now,
      templates: join(rooms.stateDir, 'templates'),
      agents: rooms.agents,
      propose: async (...asked: Parameters<Propose>) => {
        const planners = await findExtra('planners')
        return planners === null
          ? notInBuild('planners')
          : await planners.proposeFor({ engine, rooms, signal }, ...asked)
      },
      around: async (definition: PlanDefinition) => {
        const { root, stateDir, environment } = rooms
        const found = await rooms.documents.runOn('surroundings', { definition, root, stateDir, environment })
        return isProblem(found) ? [] : found
      },
    }
    return mcpFactory({
      open: async () => opened,
      version: rooms.version,
      environment: {},
      isNamed: true,
      seal: SEAL,
      trouble: async error => {
        const { detail, hint } = troubleOf(error, rooms, crypto.randomUUID()).problem
        return { message: detail, hint }
      },
    })
  }),
]
