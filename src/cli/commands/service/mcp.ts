// `planfold mcp`: the tools `plan_read` and `plan_write` for an agent, over standard input and output, until the agent closes them.

import { join } from 'node:path'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import type { Composed } from '../../../compose.ts'
import { openExtra } from '../../../extras.ts'
import type { Propose } from '../../../mcp/room.ts'
import { mcpFactory, type Opened } from '../../../mcp/server.ts'
import { type Context, EXIT } from '../../command.ts'
import { partText } from '../../text/hint-text.ts'
import { VERSION } from '../../version.ts'

export interface ToolPlanning {
  proposeForTools(
    composed: Composed,
    environment: Context['environment'],
    ...asked: Parameters<Propose>
  ): ReturnType<Propose>
}

export interface McpCommandOptions {
  readonly compat?: boolean
  readonly run?: boolean
}

export async function serveMcp(context: Context, options: McpCommandOptions): Promise<number> {
  const stop = new AbortController()
  const state = new State(context, options.run === true ? stop.signal : null)
  const { as = context.environment.PLANFOLD_AS } = context.settings
  const transport = new StdioServerTransport()
  const ended = new Promise<void>(resolve => {
    context.hangup.addEventListener('abort', () => resolve())
    context.onSignal(() => resolve())
    process.stdin.once('end', resolve)
    process.stdin.once('close', resolve)
  })
  const server = serveStdio(
    mcpFactory({
      open: async create => await state.open(create),
      version: VERSION,
      environment: context.environment,
      as,
      compat: options.compat === true,
      trouble: async error => {
        const { complaintFor } = await import('../../report-error.ts')
        const { message, hint } = await complaintFor(context, error)
        return { message, hint }
      },
    }),
    { transport, onerror: error => context.stderr.write(`mcp: ${error.message}\n`) },
  )
  if (options.run === true) await state.open(false)
  await ended
  stop.abort()
  await server.close()
  await state.close()
  return EXIT.done
}

/** The state folder, opened when it is first needed. An agent that only looks makes none. */
class State {
  readonly #context: Context
  readonly #run: AbortSignal | null
  #opening: Promise<Composed> | null = null
  #running: Promise<void> | null = null

  constructor(context: Context, run: AbortSignal | null) {
    this.#context = context
    this.#run = run
  }

  async open(create: boolean): Promise<Opened | null> {
    for (;;) {
      const isShared = this.#opening !== null
      const opening = this.#opening ?? this.#openFolder(create)
      this.#opening = opening
      try {
        const composed = await opening
        const { engine, worker, now, stateDir } = composed
        if (this.#run !== null) this.#running ??= worker.attend({ stop: this.#run })
        return {
          engine,
          now,
          templates: join(stateDir, 'templates'),
          agents: async () => {
            const { startableAgents } = await openExtra('agents')
            return await startableAgents({ environment: this.#context.environment, root: composed.root, stateDir })
          },
          propose: async (...asked) => {
            const { proposeForTools } = await openExtra('planners')
            return await proposeForTools(composed, this.#context.environment, ...asked)
          },
          around: async definition => {
            const { surroundingFaults } = await import('../../../operations/policy/plan-surroundings.ts')
            const { environment } = this.#context
            return await surroundingFaults({ root: composed.root, stateDir, environment }, definition)
          },
        }
      } catch (error) {
        // Try again with the next call: another process may have created it by then.
        if (this.#opening === opening) this.#opening = null
        const { NoState } = await import('../../../compose.ts')
        if (!(error instanceof NoState)) throw error
        // It was opened for a call that only looks: this one makes it.
        if (!create || !isShared) return null
      }
    }
  }

  async #openFolder(create: boolean): Promise<Composed> {
    const { cwd, environment, settings, openState } = this.#context
    const { dir, database } = settings
    return await openState({ cwd, environment, word: partText, create, dir, database, serving: true })
  }

  async close(): Promise<void> {
    await this.#running
    const composed = await this.#opening?.catch(() => null)
    await composed?.close()
  }
}
