// The four formats in which coding agents speak to a model: what a request says, and how an answer to it is written, streamed or whole.

type Data = { readonly [key: string]: unknown }

/** A tool as the agent offers it to the model. Codex puts those of MCP servers into a namespace. */
export interface OfferedTool {
  readonly name: string
  readonly namespace?: string
}

export interface ModelRequest {
  readonly tools: readonly OfferedTool[]
  /** What a person said, and what tools answered, in order. Everything else is left out. */
  readonly turns: readonly { readonly by: 'person' | 'tool'; readonly text: string }[]
}

export type Answer =
  | { readonly text: string }
  | { readonly call: OfferedTool; readonly input: string | Data; readonly id: string }

export interface WireFormat {
  readonly name: string
  readonly path: RegExp
  read(body: Data): ModelRequest
  whole(answer: Answer, model: string): Data
  /** The same answer as server-sent events. */
  events(answer: Answer, model: string): readonly (Data | '[DONE]')[]
}

const INPUT_TOKENS = 1_000
const OUTPUT_TOKENS = 50
const ID = 'answer_1'

export const FORMATS: readonly WireFormat[] = [messages(), responses(), chatCompletions(), gemini()]

/** Anthropic Messages. */
function messages(): WireFormat {
  const usage = { input_tokens: INPUT_TOKENS, output_tokens: OUTPUT_TOKENS }
  const block = (answer: Answer): Data =>
    'text' in answer
      ? { type: 'text', text: answer.text }
      : { type: 'tool_use', id: answer.id, name: answer.call.name, input: answer.input }
  const whole = (answer: Answer, model: string): Data => ({
    id: ID,
    type: 'message',
    role: 'assistant',
    model,
    content: [block(answer)],
    stop_reason: 'text' in answer ? 'end_turn' : 'tool_use',
    stop_sequence: null,
    usage,
  })
  return {
    name: 'Anthropic Messages',
    path: /\/messages$/,
    read: body => ({
      tools: list(body.tools).map(({ name }) => ({ name: word(name) })),
      turns: list(body.messages).flatMap(({ role, content }) =>
        typeof content === 'string'
          ? person(role === 'user', content)
          : list(content).flatMap(part =>
              part.type === 'tool_result'
                ? tool(textOf(part.content))
                : person(role === 'user' && part.type === 'text', word(part.text)),
            ),
      ),
    }),
    whole,
    events: (answer, model) => {
      const message = whole(answer, model)
      const started = 'text' in answer ? { type: 'text', text: '' } : { ...block(answer), input: {} }
      const delta =
        'text' in answer
          ? { type: 'text_delta', text: answer.text }
          : { type: 'input_json_delta', partial_json: JSON.stringify(answer.input) }
      return [
        { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
        { type: 'content_block_start', index: 0, content_block: started },
        { type: 'content_block_delta', index: 0, delta },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: message.stop_reason, stop_sequence: null }, usage },
        { type: 'message_stop' },
      ]
    },
  }
}

/** OpenAI Responses. */
function responses(): WireFormat {
  const item = (answer: Answer): Data => {
    if ('text' in answer) {
      const content = [{ type: 'output_text', text: answer.text, annotations: [] }]
      return { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content }
    }
    const { call, input, id } = answer
    // It finds the tools of MCP servers, which Codex hides from models that know it.
    if (call.name === 'tool_search')
      return {
        type: 'tool_search_call',
        id: 'tsc_1',
        call_id: id,
        execution: 'client',
        status: 'completed',
        arguments: input,
      }
    const base = { call_id: id, name: call.name, status: 'completed' }
    if (typeof input === 'string') return { ...base, type: 'custom_tool_call', id: 'ctc_1', input }
    const namespace = call.namespace === undefined ? {} : { namespace: call.namespace }
    return { ...base, ...namespace, type: 'function_call', id: 'fc_1', arguments: JSON.stringify(input) }
  }
  const whole = (answer: Answer, model: string): Data => ({
    id: ID,
    object: 'response',
    created_at: 1,
    status: 'completed',
    model,
    output: [item(answer)],
    usage: {
      input_tokens: INPUT_TOKENS,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: OUTPUT_TOKENS,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: INPUT_TOKENS + OUTPUT_TOKENS,
    },
  })
  return {
    name: 'OpenAI Responses',
    path: /\/responses$/,
    read: body => ({
      tools: [...list(body.tools), ...list(body.input).flatMap(({ tools }) => list(tools))].flatMap(
        (offered): OfferedTool[] =>
          offered.type === 'namespace'
            ? list(offered.tools).map(({ name }) => ({ name: word(name), namespace: word(offered.name) }))
            : [{ name: word(offered.name) || word(offered.type) }],
      ),
      turns: list(body.input).flatMap(said =>
        word(said.type).endsWith('_output')
          ? tool(textOf(said.output))
          : person(said.role === 'user', textOf(said.content)),
      ),
    }),
    whole,
    events: (answer, model) => {
      const response = whole(answer, model)
      const done = item(answer)
      const begun = { ...done, status: 'in_progress', ...('text' in answer ? { content: [] } : {}) }
      const place = { output_index: 0, item_id: done.id, content_index: 0 }
      return [
        { type: 'response.created', response: { ...response, status: 'in_progress', output: [], usage: null } },
        { type: 'response.output_item.added', output_index: 0, item: begun },
        ...('text' in answer ? [{ type: 'response.output_text.delta', ...place, delta: answer.text }] : []),
        { type: 'response.output_item.done', output_index: 0, item: done },
        { type: 'response.completed', response },
      ].map((event, index) => ({ ...event, sequence_number: index }))
    },
  }
}

/** OpenAI chat completions. */
function chatCompletions(): WireFormat {
  const usage = {
    prompt_tokens: INPUT_TOKENS,
    completion_tokens: OUTPUT_TOKENS,
    total_tokens: INPUT_TOKENS + OUTPUT_TOKENS,
  }
  const message = (answer: Answer): Data => {
    if ('text' in answer) return { role: 'assistant', content: answer.text }
    const called = { name: answer.call.name, arguments: JSON.stringify(answer.input) }
    return {
      role: 'assistant',
      content: null,
      tool_calls: [{ index: 0, id: answer.id, type: 'function', function: called }],
    }
  }
  const reason = (answer: Answer): string => ('text' in answer ? 'stop' : 'tool_calls')
  return {
    name: 'OpenAI chat completions',
    path: /\/chat\/completions$/,
    read: body => ({
      tools: list(body.tools).map(offered => ({ name: word(record(offered.function).name) })),
      turns: list(body.messages).flatMap(({ role, content }) =>
        role === 'tool' ? tool(textOf(content)) : person(role === 'user', textOf(content)),
      ),
    }),
    whole: (answer, model) => ({
      id: ID,
      object: 'chat.completion',
      created: 1,
      model,
      choices: [{ index: 0, message: message(answer), finish_reason: reason(answer) }],
      usage,
    }),
    events: (answer, model) => {
      const chunk = { id: ID, object: 'chat.completion.chunk', created: 1, model }
      return [
        { ...chunk, choices: [{ index: 0, delta: message(answer), finish_reason: null }] },
        { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: reason(answer) }] },
        { ...chunk, choices: [], usage },
        '[DONE]',
      ]
    },
  }
}

function gemini(): WireFormat {
  const whole = (answer: Answer): Data => ({
    candidates: [
      {
        index: 0,
        finishReason: 'STOP',
        content: {
          role: 'model',
          parts: [
            'text' in answer
              ? { text: answer.text }
              : { functionCall: { id: answer.id, name: answer.call.name, args: answer.input } },
          ],
        },
      },
    ],
    usageMetadata: {
      promptTokenCount: INPUT_TOKENS,
      candidatesTokenCount: OUTPUT_TOKENS,
      totalTokenCount: INPUT_TOKENS + OUTPUT_TOKENS,
    },
  })
  return {
    name: 'Gemini',
    path: /:(generate|streamGenerate)Content$/,
    read: body => ({
      tools: list(body.tools).flatMap(({ functionDeclarations }) =>
        list(functionDeclarations).map(({ name }) => ({ name: word(name) })),
      ),
      turns: list(body.contents).flatMap(({ role, parts }) =>
        list(parts).flatMap(part =>
          part.functionResponse === undefined
            ? person(role === 'user' && part.text !== undefined, word(part.text))
            : tool(JSON.stringify(record(part.functionResponse).response)),
        ),
      ),
    }),
    whole,
    events: answer => [whole(answer)],
  }
}

const person = (isPerson: boolean, text: string): ModelRequest['turns'] => (isPerson ? [{ by: 'person', text }] : [])
const tool = (text: string): ModelRequest['turns'] => [{ by: 'tool', text }]

const record = (value: unknown): Data =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Data) : {}
const list = (value: unknown): readonly Data[] => (Array.isArray(value) ? value.map(record) : [])
const word = (value: unknown): string => (typeof value === 'string' ? value : '')
/** Of a message that is one text, or a list of parts. */
const textOf = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : list(content)
        .map(({ text }) => word(text))
        .join('\n')
