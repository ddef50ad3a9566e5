// Executes a tool call: identifies the caller, runs the action, and words refusals. Questions for a person are shown in the
// client's own window if it supports that.

import {
  acceptedContent,
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ClientCapabilities,
  type createRequestStateCodec,
  type InputRequiredResult,
  inputRequired,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { ACTOR_MAX, type Actor, type PlanId } from '../domain/id.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import { BUG } from '../domain/phrases.ts'
import type { Field } from '../domain/plan.ts'
import { listFrom } from '../domain/plan-rules/form.ts'
import type { EngineInProcess } from '../engine/engine.ts'
import { agentCaller, NotAllowed, tokenAgent } from '../engine/roles.ts'
import type { CompatMemoryInput, ManagePlanInput, PlanReadInput, PlanWriteInput } from '../format/wire/agent-tools.ts'
import { agentName, callKey } from './agent-name.ts'
import { compactedText, managePlan } from './compat.ts'
import { refusalText } from './hint-text.ts'
import type { CompatMemoryTool } from './memory.ts'
import { planRead, planText } from './plan-read.ts'
import { clean } from './plan-text.ts'
import { planWrite, writtenText } from './plan-write.ts'
import { type ViewName, viewText } from './resources.ts'
import { PlanNotNamed, Refused, type Room, ToolError, type Written } from './room.ts'
import type { McpOptions } from './server.ts'

export interface Connection {
  readonly options: McpOptions
  readonly server: McpServer
  readonly questions: ReturnType<typeof createRequestStateCodec<AskedHere>>
}

type Result = CallToolResult | InputRequiredResult

export async function readCall(connection: Connection, context: ServerContext, input: PlanReadInput): Promise<Result> {
  const none = input.plan === undefined && input.task === undefined ? text(NO_PLANS) : failed(NO_PLANS)
  return await answered(connection, roomFor(connection, context, { none }), async room =>
    text(await planRead(room, input).catch(whatThereIs)),
  )
}

function whatThereIs(error: unknown): string {
  if (error instanceof PlanNotNamed) return error.message.replace(/^error: /, '').replace('\nhint: ', '\nNext: ')
  throw error
}

export async function writeCall(
  connection: Connection,
  context: ServerContext,
  input: PlanWriteInput,
): Promise<Result> {
  const create = input.action === 'create'
  return await answered(connection, roomFor(connection, context, { create, none: failed(NO_PLANS) }), async room => {
    const returned = await answerFromClient(connection, room, context)
    if (returned !== null) return returned
    const written = await planWrite(room, input, callKey(context.mcpReq._meta, input.key))
    const asked = await elicited(connection, context, written)
    return asked ?? text(await writtenText(room, input, written))
  })
}

export async function manageCall(
  connection: Connection,
  context: ServerContext,
  input: ManagePlanInput,
): Promise<Result> {
  const create = input.action === 'add_steps'
  const opening = roomFor(connection, context, { create, none: withoutPlans(input) })
  return await answered(connection, opening, async room =>
    text(JSON.stringify(await managePlan(room, input).catch(inItsWords))),
  )
}

export async function memoryCall(
  connection: Connection,
  context: ServerContext,
  tool: CompatMemoryTool,
  input: CompatMemoryInput,
): Promise<Result> {
  const opening = roomFor(connection, context, { create: true, none: failed(NO_PLANS) })
  return await answered(connection, opening, async room =>
    text(withoutTools(await (await import('./memory.ts')).compatMemory(room, tool, input))),
  )
}

/** Before the first plan there is no store, and reading creates none. */
function withoutPlans({ action, plan_name: name = '' }: ManagePlanInput): CallToolResult {
  if (action === 'list_plans') return text(JSON.stringify({ plans: [] }))
  if (action === 'compact_plans') return text(JSON.stringify(compactedText([])))
  return failed(`error: there is no plan '${clean(name)}'\nhint: add_steps makes it`)
}

/** Clients of this tool have no other tools, so hints about those are dropped. */
function inItsWords(error: unknown): never {
  if (!(error instanceof ToolError)) throw error
  throw new ToolError(withoutTools(error.message))
}

const withoutTools = (output: string): string =>
  output
    .split('\n')
    .filter(line => !/plan_(read|write)/.test(line))
    .join('\n')

export async function viewCall(connection: Connection, name: ViewName): Promise<string> {
  const room = await roomFor(connection, null, { none: text(NO_PLANS) })
  const rendered = 'content' in room ? NO_PLANS : await viewText(name, room)
  return connection.options.compat === true ? withoutTools(rendered) : rendered
}

interface Envelope {
  readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities
  readonly [CLIENT_INFO_META_KEY]?: { readonly name?: string }
}

/** The context in the calling agent's name, or `none` if no plan was ever made. `context` is null for resources and prompts. */
async function roomFor(
  { options, server }: Connection,
  context: ServerContext | null,
  { create = false, none }: { readonly create?: boolean; readonly none: CallToolResult },
): Promise<Room | CallToolResult> {
  const opened = await options.open(create)
  if (opened === null) return none
  const { engine, ...rest } = opened
  const meta = context?.mcpReq._meta
  const sent = context?.mcpReq.envelope as Envelope | undefined
  const client = sent?.[CLIENT_INFO_META_KEY]?.name ?? server.server.getClientVersion()?.name
  const { caller } = engine
  const actor =
    options.isNamed === true ? tokenAgent(caller) : agentName(options.as, options.environment, { meta, client })
  return {
    ...rest,
    engine: engine.as(agentCaller(caller, actor)),
  }
}

const NO_PLANS = 'There are no plans here yet.\nNext: plan_write {"action":"create","goal":"…","tasks":[…]}'

const text = (content: string): CallToolResult => ({ content: [{ type: 'text', text: content }] })

/** A refusal becomes a tool error with what to change, and with the current plan if one was named. */
async function answered(
  { options }: Connection,
  opening: Promise<Room | CallToolResult>,
  body: (room: Room) => Promise<Result>,
): Promise<Result> {
  let room: Room | null = null
  try {
    const opened = await opening
    if ('content' in opened) return opened
    room = opened
    return await body(room)
  } catch (error) {
    if (error instanceof NotAllowed || error instanceof Refused) return failed(refusalText(error.refusal))
    if (!(error instanceof ToolError)) return failed(await troubleText(options, error))
    if (room === null || error.plan === null) return failed(error.message)
    const view = await planText(room, error.plan, { max_tokens: 600 }).catch(() => '')
    return failed(`${error.message}\n\n${view}`)
  }
}

async function troubleText({ trouble }: McpOptions, error: unknown): Promise<string> {
  const { message, hint } = (await trouble?.(error)) ?? { message: BUG }
  return `error: ${clean(message, 1_000)}\nhint: ${hint == null ? '' : `${clean(hint, 1_000)}; `}read the plan before you try again`
}

const failed = (message: string): CallToolResult => ({ ...text(message), isError: true })

// A question for a person: shown in the client's window if it supports that, otherwise left in the inbox, where it waits in any
// case.

export interface AskedHere {
  readonly plan: PlanId
  readonly id: string
}

async function elicited(
  { server, questions }: Connection,
  context: ServerContext,
  { plan, question }: Written,
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

/** A form field as the client's window shows it. Not every client supports lists, so a list is entered as text and split. */
function fieldSchema({ name, label, type, choices, optional, default: usual }: Field) {
  const title = label ?? name
  const given = usual === undefined ? {} : { default: usual as never }
  if (type === 'number') return { type: 'number' as const, title, ...given }
  if (type === 'boolean') return { type: 'boolean' as const, title, ...given }
  if (type === 'choice') return { type: 'string' as const, title, enum: [...(choices ?? [])], ...given }
  if (type === 'text') return { type: 'string' as const, title, ...given }
  const some = choices === undefined ? '' : `; of: ${choices.join(', ')}`
  const none = optional === true ? '; may be empty' : ''
  return { type: 'string' as const, title, description: `a list: separated by commas, or a line each${some}${none}` }
}

/** Converts the returned values to the types of their fields. Invalid values are refused when the answer is recorded. */
function answersFor(form: readonly Field[], content: JsonObject): JsonObject {
  const lists = new Set(form.filter(({ type }) => type === 'list').map(({ name }) => name))
  const read = ([name, value]: [string, Json]): [string, Json] =>
    lists.has(name) && typeof value === 'string' && value.trim() !== ''
      ? [name, listFrom(value) ?? value]
      : [name, value]
  return Object.fromEntries(Object.entries(content).map(read))
}

function formSchema(form: readonly Field[]) {
  const properties = Object.fromEntries(form.map(field => [field.name, fieldSchema(field)]))
  return {
    type: 'object' as const,
    properties,
    required: form.filter(one => one.optional !== true).map(one => one.name),
  }
}

/** If the process acts under the agent's name, the answer is recorded as given by a person through that agent. */
function answerer(engine: EngineInProcess, agent: Actor): EngineInProcess {
  const { actor, rights } = engine.caller
  return actor === agent && rights.has('administer')
    ? engine.as(`a person, through ${agent}`.slice(0, ACTOR_MAX) as Actor)
    : engine
}

/** The second round: the person's answer from the client's window, recorded in the name of this process's user or of the token. */
async function answerFromClient(
  { options: { open } }: Connection,
  room: Room,
  context: ServerContext,
): Promise<CallToolResult | null> {
  // The SDK has unsealed it, so a client cannot forge which question was answered.
  const state = context.mcpReq.requestState<AskedHere>()
  if (context.mcpReq.inputResponses === undefined || state === undefined) return null
  const { plan, id } = state
  const waits = `not answered; it waits in the inbox. Look later: plan_read {"what":"answer","id":"${id}"}`
  const content = acceptedContent(context.mcpReq.inputResponses, 'answer')
  if (content === undefined) return text(waits)
  const [question] = (await room.engine.ask({ type: 'questions', plan, id })) ?? []
  const answers = answersFor(question?.form ?? [], content as JsonObject)
  const opened = await open(false)
  const person = opened === null ? undefined : answerer(opened.engine, room.engine.caller.actor)
  const done = await person?.submit(plan, { type: 'answer', id, answers })
  if (done === undefined) return text(waits)
  if (!done.ok) return text(`${waits}\n${refusalText(done.refusal)}`)
  return text(
    `answered: ${clean(JSON.stringify(answers), 4_000)}\n\n${await planText(room, plan, { max_tokens: 600 })}`,
  )
}
