// The part of the fixture server that asks the client back: for a person's answer, a model's, or its folders. A tool returns what it
// wants to know, and is called again with the answers.

import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type createRequestStateCodec,
  type InputRequests,
  inputRequired,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { z } from 'zod'

export interface RoundState {
  readonly round: number
}

type Rounds = ReturnType<typeof createRequestStateCodec<RoundState>>

type Form = Parameters<typeof inputRequired.elicit>[0]['requestedSchema']
type Fields = Extract<Form, { readonly type: 'object' }>['properties']

const form = (message: string, properties: Fields, required: readonly string[] = Object.keys(properties)) =>
  inputRequired.elicit({ message, requestedSchema: { type: 'object', properties, required: [...required] } })
const model = (question: string) =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: question } }],
    maxTokens: 100,
  })

const NAME = form('What is your name?', { name: { type: 'string' } })
const CONFIRM = form('Please confirm', { ok: { type: 'boolean' } })
const COLOR = form('What is your favourite colour?', { color: { type: 'string' } })
const DEFAULTS = form(
  'Please review the fields',
  {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  },
  [],
)
const OPTIONS = ['option1', 'option2', 'option3']
const TITLED = ['value1', 'value2', 'value3'].map(value => ({ const: value, title: `The ${value}` }))
const ENUMS = form(
  'Please choose',
  {
    untitledSingle: { type: 'string', enum: OPTIONS },
    titledSingle: { type: 'string', oneOf: TITLED },
    legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['One', 'Two', 'Three'] },
    untitledMulti: { type: 'array', items: { type: 'string', enum: OPTIONS } },
    titledMulti: { type: 'array', items: { anyOf: TITLED } },
  },
  [],
)

const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] })

/** Asked in one round; answered when every answer is there, of whichever kind. */
const ONE_ROUND: { readonly [tool: string]: InputRequests } = {
  test_input_required_result_elicitation: { user_name: NAME },
  test_input_required_result_sampling: { capital_question: model('What is the capital of France?') },
  test_input_required_result_list_roots: { client_roots: inputRequired.listRoots() },
  test_missing_capability: { llm_answer: model('Say pong') },
  // Clients of 2025 are asked while their call waits.
  test_sampling: { answer: model('Say pong') },
  test_elicitation: { answer: form('Please answer', { response: { type: 'string' } }) },
  test_elicitation_sep1034_defaults: { answer: DEFAULTS },
  test_elicitation_sep1330_enums: { answer: ENUMS },
}

/** The same, with a sealed state. */
const SEALED: { readonly [tool: string]: InputRequests } = {
  test_input_required_result_request_state: { confirm: CONFIRM },
  test_input_required_result_tampered_state: { confirm: CONFIRM },
  test_input_required_result_multiple_inputs: {
    user_name: NAME,
    greeting: model('Say hello'),
    client_roots: inputRequired.listRoots(),
  },
}

export function registerQuestions(server: McpServer, rounds: Rounds): void {
  const register = (name: string, body: (context: ServerContext) => Promise<ReturnType<typeof text> | InputAsked>) =>
    server.registerTool(name, { description: name, inputSchema: z.looseObject({}) }, async (_, context) =>
      body(context),
    )
  for (const [name, inputRequests] of Object.entries(ONE_ROUND))
    register(name, async context => answersTo(inputRequests, context) ?? inputRequired({ inputRequests }))
  for (const [name, inputRequests] of Object.entries(SEALED))
    register(
      name,
      async context =>
        answersTo(inputRequests, context) ??
        inputRequired({ inputRequests, requestState: await rounds.mint({ round: 1 }) }),
    )
  register('test_input_required_result_multi_round', async ({ mcpReq }) => {
    const round = mcpReq.requestState<RoundState>()?.round ?? 0
    if (round === 2) return text(JSON.stringify(mcpReq.inputResponses))
    const inputRequests: InputRequests = round === 0 ? { step1: NAME } : { step2: COLOR }
    return inputRequired({ inputRequests, requestState: await rounds.mint({ round: round + 1 }) })
  })
  register('test_input_required_result_capabilities', async ({ mcpReq }) => {
    const sent = mcpReq.envelope as { readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities } | undefined
    const declared = sent?.[CLIENT_CAPABILITIES_META_KEY]
    if (mcpReq.inputResponses !== undefined || declared === undefined) return text('done')
    const inputRequests: InputRequests = {
      ...(declared.elicitation === undefined ? {} : { user_name: NAME }),
      ...(declared.sampling === undefined ? {} : { greeting: model('Say hello') }),
      ...(declared.roots === undefined ? {} : { client_roots: inputRequired.listRoots() }),
    }
    return Object.keys(inputRequests).length === 0 ? text('nobody to ask') : inputRequired({ inputRequests })
  })
  server.registerPrompt('test_input_required_result_prompt', { description: 'asks first' }, async given => {
    // A prompt without arguments is given the context in their place.
    const { mcpReq } = given as unknown as ServerContext
    const answer = acceptedContent(mcpReq.inputResponses, 'user_context')
    if (answer === undefined)
      return inputRequired({ inputRequests: { user_context: form('Which context?', { context: { type: 'string' } }) } })
    return { messages: [{ role: 'user', content: { type: 'text', text: JSON.stringify(answer) } }] }
  })
}

type InputAsked = ReturnType<typeof inputRequired>

/** Null while an answer is missing, or is no answer to what was asked. */
function answersTo(asked: InputRequests, { mcpReq }: ServerContext): ReturnType<typeof text> | null {
  const given = mcpReq.inputResponses
  if (given === undefined) return null
  for (const [key, { method }] of Object.entries(asked)) {
    const isAnswered = method === 'elicitation/create' ? acceptedContent(given, key) !== undefined : key in given
    if (!isAnswered) return null
  }
  return text(`answered: ${JSON.stringify(given)}`)
}
