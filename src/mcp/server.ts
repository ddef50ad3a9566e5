// The MCP server: two tools, resources and prompts, made anew for every connection or request, with nothing kept in between. One
// factory serves both protocol eras, over stdio and over HTTP.

import {
  acceptedContent,
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ClientCapabilities,
  createRequestStateCodec,
  type InputRequiredResult,
  inputRequired,
  McpServer,
  type McpServerFactory,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { PlanId } from '../domain/id.ts'
import type { JsonObject } from '../domain/json.ts'
import type { Field } from '../domain/plan.ts'
import type { EngineInProcess } from '../engine/engine.ts'
import { NotAllowed } from '../engine/roles.ts'
import * as schemas from '../format/wire/agent-tools.ts'
import { agentCaller, agentName, callKey } from './agent-name.ts'
import { managePlan } from './compat.ts'
import { refusalText } from './hint-text.ts'
import { planRead, planText } from './plan-read.ts'
import { planWrite, writtenText } from './plan-write.ts'
import { registerViews } from './resources.ts'
import { type Room, ToolError, type Written } from './room.ts'

export interface McpOptions {
  /** Opened when the first call needs it. Without `create`, null where there is no state yet: only a new plan makes one. */
  readonly open: (create: boolean) => Promise<Opened | null>
  readonly version: string
  readonly environment: { readonly [name: string]: string | undefined }
  /** The name of the agent, where it was given. */
  readonly as?: string | undefined
  /** A token names its caller: every agent that shows it is that one. */
  readonly isNamed?: boolean
  /** Seals questions that a client carries from one round to the next; its own for every factory when absent. */
  readonly seal?: Uint8Array
  /** Offer `manage_plan` instead. */
  readonly compat?: boolean
}

/** How long a person may take to answer in the client's window. */
const DAY_SECONDS = 86_400

export interface Opened {
  /** Bound to whoever started this process, or whose token was shown. */
  readonly engine: EngineInProcess
  readonly now: () => number
  /** Where templates of one's own are kept. */
  readonly templates: string
}

const ALWAYS = { 'anthropic/alwaysLoad': true }

/** What is listed never changes: nobody has to listen for it. */
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
    const roomOf: RoomOf = async (context, create = false) => await roomFor(options, server, context, create)
    if (options.compat === true) registerCompat(server, roomOf)
    else {
      registerRead(server, roomOf)
      registerWrite(server, roomOf, options, questions)
    }
    registerViews(server, async () => await roomOf(null))
    return server
  }
}

/** What clients of 2026 send with every request; those of 2025 said it once. */
interface Envelope {
  readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities
  readonly [CLIENT_INFO_META_KEY]?: { readonly name?: string }
}

type RoomOf = (context: ServerContext | null, create?: boolean) => Promise<Room>

async function roomFor(
  options: McpOptions,
  server: McpServer,
  context: ServerContext | null,
  create: boolean,
): Promise<Room> {
  const opened = await options.open(create)
  if (opened === null)
    throw new ToolError('There are no plans here yet.\nNext: plan_write {"action":"create","goal":"…","tasks":[…]}')
  const { engine, now, templates } = opened
  const meta = context?.mcpReq._meta
  const sent = context?.mcpReq.envelope as Envelope | undefined
  const client = sent?.[CLIENT_INFO_META_KEY]?.name ?? server.server.getClientVersion()?.name
  const { caller } = engine
  const actor = options.isNamed === true ? caller.actor : agentName(options.as, options.environment, { meta, client })
  return { engine: engine.as(agentCaller(caller, actor)), now, templates }
}

function registerRead(server: McpServer, roomOf: RoomOf): void {
  server.registerTool(
    'plan_read',
    {
      description: 'Read the plan: your current or next task, the whole plan, what changed, why something waits.',
      inputSchema: schemas.planRead,
      annotations: { readOnlyHint: true, openWorldHint: false },
      _meta: ALWAYS,
    },
    async (input, context) => {
      return await answered(roomOf(context), async room => text(await planRead(room, input)))
    },
  )
}

type Codec = ReturnType<typeof createRequestStateCodec<AskedHere>>

function registerWrite(server: McpServer, roomOf: RoomOf, options: McpOptions, questions: Codec): void {
  server.registerTool(
    'plan_write',
    {
      description:
        'Change the plan and get it back as it is then, in one call. Errors say what to change; nothing is half done.',
      inputSchema: schemas.planWrite,
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
      _meta: ALWAYS,
    },
    async (input, context) => {
      return await answered(roomOf(context, input.action === 'create'), async room => {
        const returned = await answerFromClient(options, room, context)
        if (returned !== null) return returned
        const written = await planWrite(room, input, callKey(context.mcpReq._meta, input.key))
        return (
          (await elicited(server, context, written, questions)) ??
          text(await writtenText(room, written, input.max_tokens))
        )
      })
    },
  )
}

function registerCompat(server: McpServer, roomOf: RoomOf): void {
  server.registerTool(
    'manage_plan',
    {
      description: 'Manage a plan: a list of steps with acceptance criteria.',
      inputSchema: schemas.managePlan,
      annotations: { openWorldHint: false },
      _meta: ALWAYS,
    },
    async (input, context) => {
      const opening = roomOf(context, input.action === 'add_steps')
      return await answered(opening, async room => text(JSON.stringify(await managePlan(room, input))))
    },
  )
}

const text = (said: string): CallToolResult => ({ content: [{ type: 'text', text: said }] })

type Result = CallToolResult | InputRequiredResult

/** What is refused is an error with what to change, and with the plan as it is where one was named. */
async function answered(opening: Promise<Room>, body: (room: Room) => Promise<Result>): Promise<Result> {
  let room: Room | null = null
  try {
    room = await opening
    return await body(room)
  } catch (error) {
    if (error instanceof NotAllowed) return failed(refusalText(error.refusal))
    if (!(error instanceof ToolError)) return failed(`error: ${error instanceof Error ? error.message : String(error)}`)
    if (room === null || error.plan === null) return failed(error.message)
    const view = await planText(room, error.plan, { max_tokens: 600 }).catch(() => '')
    return failed(`${error.message}\n\n${view}`)
  }
}

const failed = (said: string): CallToolResult => ({ ...text(said), isError: true })

// A question for a person: shown in the client's own window where it can do that, else left in the inbox, where it waits anyway.

interface AskedHere {
  readonly plan: PlanId
  readonly id: string
}

async function elicited(
  server: McpServer,
  context: ServerContext,
  { plan, question }: Written,
  questions: Codec,
): Promise<InputRequiredResult | null> {
  if (question === undefined || plan === null || !canElicit(server, context)) return null
  const state: AskedHere = { plan, id: question.id }
  return inputRequired({
    inputRequests: {
      answer: inputRequired.elicit({ message: question.text, requestedSchema: formSchema(question.form) }),
    },
    requestState: await questions.mint(state),
  })
}

function canElicit(server: McpServer, context: ServerContext): boolean {
  const sent = context.mcpReq.envelope as Envelope | undefined
  const declared = sent?.[CLIENT_CAPABILITIES_META_KEY] ?? server.server.getClientCapabilities()
  return declared?.elicitation !== undefined
}

/** A field of a form as a client's window shows it; a list is typed as text. */
function fieldSchema({ name, label, type, choices }: Field) {
  const title = label ?? name
  if (type === 'number') return { type: 'number' as const, title }
  if (type === 'boolean') return { type: 'boolean' as const, title }
  return choices === undefined
    ? { type: 'string' as const, title }
    : { type: 'string' as const, title, enum: [...choices] }
}

function formSchema(form: readonly Field[]) {
  const properties = Object.fromEntries(form.map(field => [field.name, fieldSchema(field)]))
  return {
    type: 'object' as const,
    properties,
    required: form.filter(one => one.optional !== true).map(one => one.name),
  }
}

/** The second round: a person has answered in the client's window, and it is recorded in the name of whoever started this process. */
async function answerFromClient(
  { open }: McpOptions,
  room: Room,
  context: ServerContext,
): Promise<CallToolResult | null> {
  // Sealed by us, and opened again before this is called: nobody else can say which question was answered.
  const state = context.mcpReq.requestState<AskedHere>()
  if (context.mcpReq.inputResponses === undefined || state === undefined) return null
  const { plan, id } = state
  const waits = `not answered; it waits in the inbox. Look later: plan_read {"what":"answer","id":"${id}"}`
  const answers = acceptedContent(context.mcpReq.inputResponses, 'answer')
  if (answers === undefined) return text(waits)
  const opened = await open(false)
  const done = await opened?.engine.submit(plan, { type: 'answer', id, answers: answers as JsonObject })
  if (done === undefined) return text(waits)
  if (!done.ok) return text(`${waits}\n${refusalText(done.refusal)}`)
  return text(`answered: ${JSON.stringify(answers)}\n\n${await planText(room, plan, { max_tokens: 600 })}`)
}

function newSeal(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(32))
}
