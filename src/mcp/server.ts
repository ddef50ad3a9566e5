// The MCP server: two tools, resources and prompts. It is created anew for every connection or request and keeps no state. One
// factory serves both protocol eras, over stdio and over HTTP.
//
// The implementation of the tools is imported with the first call. Codex waits one second for a server and then continues without
// its tools; on a busy machine that was too short to load everything (0.65 s of CPU time before the first answer, now 0.4 s).

import { createRequestStateCodec, McpServer, type McpServerFactory } from '@modelcontextprotocol/server'
import type { EngineInProcess } from '../engine/engine.ts'
import * as schemas from '../format/wire/agent-tools.ts'
import type { ViewName } from './resources.ts'
import type { Around, Propose, Room } from './room.ts'
import type { AskedHere, Connection } from './tool-calls.ts'

export interface McpOptions {
  /** Called by the first tool call that needs it. Without `create`, null if there is no state yet: only a new plan creates it. */
  readonly open: (create: boolean) => Promise<Opened | null>
  readonly version: string
  readonly environment: { readonly [name: string]: string | undefined }
  readonly as?: string | undefined
  /** Set if a token names the caller: all agents with that token are the same actor. */
  readonly isNamed?: boolean
  /** Seals questions between two rounds; each factory has a key of its own by default. */
  readonly seal?: Uint8Array
  /** Words exceptions that are not refusals, such as store errors and bugs, and logs the details for a person. */
  readonly trouble?: (error: unknown) => Promise<{ readonly message: string; readonly hint?: string | null }>
  readonly compat?: boolean
}

/** How long a person may take to answer in the client's window. */
const DAY_SECONDS = 86_400

export interface Opened {
  /** Acts for the person who started this process, or for the holder of the token. */
  readonly engine: EngineInProcess
  readonly now: () => number
  readonly templates: string
  readonly propose: Propose
  readonly around?: Around
  readonly agents?: Room['agents']
}

const ALWAYS = { 'anthropic/alwaysLoad': true }

const FIXED = { listChanged: false }

const INSTRUCTIONS = `The plan outlives this conversation. Read it with plan_read, claim a task with plan_write, work, then report it with plan_write. Completed tasks stay completed: never repeat them.`

export function mcpFactory(options: McpOptions): McpServerFactory {
  const questions = createRequestStateCodec<AskedHere>({ key: options.seal ?? newSeal(), ttlSeconds: DAY_SECONDS })
  return () => {
    const server = new McpServer(
      { name: 'planfold', version: options.version },
      {
        capabilities: { tools: FIXED, resources: FIXED, prompts: FIXED },
        instructions: INSTRUCTIONS,
        requestState: { verify: questions.verify },
      },
    )
    const connection: Connection = { options, server, questions }
    if (options.compat === true) registerCompat(connection)
    else {
      registerRead(connection)
      registerWrite(connection)
    }
    registerViews(connection)
    return server
  }
}

const calls = async () => await import('./tool-calls.ts')

function registerRead(connection: Connection): void {
  connection.server.registerTool(
    'plan_read',
    {
      description: 'Read the plan: your current or next task, the whole plan, what changed, why something waits.',
      inputSchema: schemas.planRead,
      annotations: { readOnlyHint: true, openWorldHint: false },
      _meta: ALWAYS,
    },
    async (input, context) => await (await calls()).readCall(connection, context, input),
  )
}

function registerWrite(connection: Connection): void {
  connection.server.registerTool(
    'plan_write',
    {
      description:
        'Change the plan, or claim and report a task. Answers say what to do next; errors what to change, and nothing is half done.',
      inputSchema: schemas.planWrite,
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
      _meta: ALWAYS,
    },
    async (input, context) => await (await calls()).writeCall(connection, context, input),
  )
}

function registerCompat(connection: Connection): void {
  connection.server.registerTool(
    'manage_plan',
    {
      description: 'Manage a plan: a list of steps with acceptance criteria.',
      inputSchema: schemas.managePlan,
      annotations: { openWorldHint: false },
      _meta: ALWAYS,
    },
    async (input, context) => await (await calls()).manageCall(connection, context, input),
  )
  for (const [name, description] of COMPAT_MEMORY)
    connection.server.registerTool(
      name,
      { description, inputSchema: schemas.compatMemory, annotations: { openWorldHint: false } },
      async (input, context) => await (await calls()).memoryCall(connection, context, name, input),
    )
}

const COMPAT_MEMORY = [
  ['create_memory', 'Remember a fact under an id; a person accepts what is for more than one plan.'],
  ['recall_memory', 'Recall what is remembered under an id, or find it by words.'],
  ['forget_memory', 'Forget what is remembered under an id.'],
] as const

const VIEWS: { readonly [name in ViewName]: string } = {
  plan: 'The plan',
  next: 'The next task',
  inbox: 'What waits for a person',
  digest: 'What happened in the last day',
}

/** Registers each view as a resource and as a prompt. */
function registerViews(connection: Connection): void {
  const { server } = connection
  for (const [name, title] of Object.entries(VIEWS) as [ViewName, string][]) {
    const render = async (): Promise<string> => await (await calls()).viewCall(connection, name)
    server.registerResource(name, `planfold://${name}`, { title, mimeType: 'text/markdown' }, async uri => ({
      contents: [{ uri: uri.href, mimeType: 'text/markdown', text: await render() }],
    }))
    server.registerPrompt(name, { title, description: title }, async () => ({
      messages: [{ role: 'user', content: { type: 'text', text: `${title}:\n\n${await render()}` } }],
    }))
  }
}

function newSeal(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(32))
}
