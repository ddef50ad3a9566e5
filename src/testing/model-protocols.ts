// The four protocols in which models are asked, as far as a scripted model needs them: what a request says, and how a reply is written,
// plain and streamed.

import type { IncomingMessage } from 'node:http'

export type ModelProtocol = 'anthropic' | 'openai-chat' | 'openai-responses' | 'gemini'

export interface ScriptedRequest {
  readonly protocol: ModelProtocol
  readonly model: string
  readonly system: string
  /** What people, the model and tools said, as text. */
  readonly messages: readonly { readonly role: 'user' | 'assistant' | 'tool'; readonly text: string }[]
  readonly tools: readonly string[]
  readonly wantsJson: boolean
  readonly outputTokensMax: number | null
  readonly streams: boolean
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

interface Reply {
  readonly text?: string
  readonly call?: { readonly name: string; readonly input: unknown }
  readonly finish?: 'stop' | 'length' | 'refusal'
  readonly usage: { readonly [name in 'input' | 'output' | 'cacheRead' | 'cacheWrite' | 'reasoning']: number }
  readonly error?: {
    readonly status: number
    readonly message: string
    readonly type?: string
    readonly headers?: { readonly [name: string]: string }
  }
  readonly raw?: Written
}

interface Written {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: string
}

// biome-ignore lint/suspicious/noExplicitAny: these are documents of others, read where they have what is looked for.
type Any = any

export function readRequest(incoming: IncomingMessage, body: string): ScriptedRequest | null {
  const path = (incoming.url ?? '').split('?')[0] ?? ''
  const said = JSON.parse(body === '' ? '{}' : body) as Any
  const common = { headers: incoming.headers, body, streams: said.stream === true, model: String(said.model ?? '') }
  if (path.endsWith('/messages'))
    return {
      ...common,
      protocol: 'anthropic',
      system: textOf(said.system),
      messages: (said.messages ?? []).flatMap((message: Any) =>
        typeof message.content === 'string'
          ? [{ role: message.role, text: message.content }]
          : message.content.map((part: Any) =>
              part.type === 'tool_result'
                ? { role: 'tool', text: textOf(part.content) }
                : { role: message.role, text: part.text ?? JSON.stringify(part.input ?? null) },
            ),
      ),
      tools: (said.tools ?? []).map((tool: Any) => tool.name),
      wantsJson:
        jsonTool(said) !== null || said.output_format !== undefined || said.output_config?.format !== undefined,
      outputTokensMax: said.max_tokens ?? null,
    }
  if (path.endsWith('/chat/completions'))
    return {
      ...common,
      protocol: 'openai-chat',
      system: said.messages
        .filter((message: Any) => /system|developer/.test(message.role))
        .map((message: Any) => textOf(message.content))
        .join('\n'),
      messages: said.messages
        .filter((message: Any) => !/system|developer/.test(message.role))
        .map((message: Any) => ({ role: message.role, text: textOf(message.content) })),
      tools: (said.tools ?? []).map((tool: Any) => tool.function?.name),
      wantsJson: /json/.test(said.response_format?.type ?? ''),
      outputTokensMax: said.max_completion_tokens ?? said.max_tokens ?? null,
    }
  if (path.endsWith('/responses')) {
    const items: Any[] = typeof said.input === 'string' ? [{ role: 'user', content: said.input }] : (said.input ?? [])
    return {
      ...common,
      protocol: 'openai-responses',
      system: [said.instructions ?? '', ...items.filter(isSystem).map(item => textOf(item.content))].join('\n').trim(),
      messages: items
        .filter(item => !isSystem(item))
        .map(item =>
          item.type === 'function_call_output'
            ? { role: 'tool', text: textOf(item.output) }
            : { role: item.role ?? 'assistant', text: textOf(item.content) || String(item.arguments ?? '') },
        ),
      tools: (said.tools ?? []).map((tool: Any) => tool.name),
      wantsJson: /json/.test(said.text?.format?.type ?? ''),
      outputTokensMax: said.max_output_tokens ?? null,
    }
  }
  const gemini = /\/models\/([^:]+):(stream)?generateContent$/i.exec(path)
  if (gemini === null) return null
  return {
    ...common,
    protocol: 'gemini',
    model: decodeURIComponent(gemini[1] ?? ''),
    streams: gemini[2] !== undefined,
    system: textOf(said.systemInstruction?.parts),
    messages: (said.contents ?? []).flatMap((content: Any) =>
      content.parts.map((part: Any) =>
        part.functionResponse === undefined
          ? { role: content.role === 'model' ? 'assistant' : 'user', text: part.text ?? JSON.stringify(part) }
          : { role: 'tool', text: JSON.stringify(part.functionResponse.response) },
      ),
    ),
    tools: (said.tools ?? []).flatMap((tool: Any) => tool.functionDeclarations ?? []).map((one: Any) => one.name),
    wantsJson: /json/.test(said.generationConfig?.responseMimeType ?? ''),
    outputTokensMax: said.generationConfig?.maxOutputTokens ?? null,
  }
}

const isSystem = ({ role }: Any): boolean => /^(system|developer)$/.test(role ?? '')

const textOf = (content: Any): string =>
  typeof content === 'string'
    ? content
    : Array.isArray(content)
      ? content.map(part => part.text ?? part.content ?? '').join('\n')
      : ''

/** Some Anthropic models are asked for JSON by a tool that they must call. */
const jsonTool = (said: Any): string | null =>
  (said.tools ?? []).some((tool: Any) => tool.name === 'json') && said.tool_choice !== undefined ? 'json' : null

export function writeReply(request: ScriptedRequest, reply: Reply, index: number): Written {
  if (reply.raw !== undefined) return reply.raw
  if (reply.error !== undefined) return writeError(request.protocol, reply.error)
  switch (request.protocol) {
    case 'anthropic':
      return anthropic(request, reply, index)
    case 'openai-chat':
      return chat(request, reply, index)
    case 'openai-responses':
      return responses(request, reply, index)
    case 'gemini':
      return gemini(request, reply, index)
    default:
      return request.protocol satisfies never
  }
}

function writeError(
  protocol: ModelProtocol,
  { status, message, type = 'error', headers = {} }: NonNullable<Reply['error']>,
): Written {
  const error =
    protocol === 'anthropic'
      ? { type: 'error', error: { type, message } }
      : { error: { message, type, code: protocol === 'gemini' ? status : null, status: type } }
  return { ...json(error, status), headers: { 'content-type': 'application/json', ...headers } }
}

const json = (body: unknown, status = 200): Written => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

const events = (list: readonly (readonly [name: string, data: unknown])[]): Written => ({
  status: 200,
  headers: { 'content-type': 'text/event-stream' },
  body: list
    .map(([name, data]) => {
      const line = `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`
      return name === '' ? line : `event: ${name}\n${line}`
    })
    .join(''),
})

/** In two parts, so that a stream really is one. */
const halves = (text: string): readonly string[] => {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)].filter(part => part !== '')
}

function anthropic(
  request: ScriptedRequest,
  { text = '', call, finish = 'stop', usage }: Reply,
  index: number,
): Written {
  const tool = jsonTool(JSON.parse(request.body))
  const answer = tool === null || call !== undefined ? call : jsonCall(tool, text)
  const block =
    answer === undefined
      ? { type: 'text', text }
      : { type: 'tool_use', id: `toolu_${index}`, name: answer.name, input: answer.input }
  const stop = { stop: answer === undefined ? 'end_turn' : 'tool_use', length: 'max_tokens', refusal: 'refusal' }[
    finish
  ]
  const counted = {
    input_tokens: usage.input - usage.cacheRead - usage.cacheWrite,
    output_tokens: usage.output,
    cache_read_input_tokens: usage.cacheRead,
    cache_creation_input_tokens: usage.cacheWrite,
  }
  const message = {
    id: `msg_${index}`,
    type: 'message',
    role: 'assistant',
    model: request.model,
    content: [block],
    stop_reason: stop,
    stop_sequence: null,
    usage: counted,
  }
  if (!request.streams) return json(message)
  const deltas =
    answer === undefined
      ? halves(text).map(part => ({ type: 'text_delta', text: part }))
      : halves(JSON.stringify(answer.input)).map(part => ({ type: 'input_json_delta', partial_json: part }))
  return events(
    (
      [
        { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
        {
          type: 'content_block_start',
          index: 0,
          content_block: answer === undefined ? { type: 'text', text: '' } : { ...block, input: {} },
        },
        ...deltas.map(delta => ({ type: 'content_block_delta', index: 0, delta })),
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage: counted },
        { type: 'message_stop' },
      ] as const
    ).map(event => [event.type, event]),
  )
}

function jsonCall(name: string, text: string): Reply['call'] {
  try {
    return { name, input: JSON.parse(text) }
  } catch {
    return undefined
  }
}

function chat(request: ScriptedRequest, { text = '', call, finish = 'stop', usage }: Reply, index: number): Written {
  const counted = {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cacheRead },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  }
  const calls =
    call === undefined
      ? {}
      : {
          tool_calls: [
            {
              index: 0,
              id: `call_${index}`,
              type: 'function',
              function: { name: call.name, arguments: JSON.stringify(call.input) },
            },
          ],
        }
  const isRefused = finish === 'refusal'
  const reason = finish === 'length' ? 'length' : call === undefined ? 'stop' : 'tool_calls'
  const base = { id: `chatcmpl_${index}`, created: 1, model: request.model }
  if (!request.streams)
    return json({
      ...base,
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: call === undefined && !isRefused ? text : null,
            ...(isRefused ? { refusal: text } : {}),
            ...calls,
          },
          finish_reason: reason,
        },
      ],
      usage: counted,
    })
  const chunk = { ...base, object: 'chat.completion.chunk' }
  const delta = (said: object, end: string | null = null) => ({
    ...chunk,
    choices: [{ index: 0, delta: said, finish_reason: end }],
  })
  return events([
    ['', delta({ role: 'assistant', content: '' })],
    ...(call === undefined
      ? halves(text).map(part => ['', delta({ content: part })] as const)
      : [['', delta(calls)] as const]),
    ['', delta({}, isRefused ? 'content_filter' : reason)],
    ['', { ...chunk, choices: [], usage: counted }],
    ['', '[DONE]'],
  ])
}

function responses(
  request: ScriptedRequest,
  { text = '', call, finish = 'stop', usage }: Reply,
  index: number,
): Written {
  const item =
    call === undefined
      ? {
          type: 'message',
          id: `msg_${index}`,
          role: 'assistant',
          status: 'completed',
          content: [
            finish === 'refusal'
              ? { type: 'refusal', refusal: text }
              : { type: 'output_text', text, annotations: [], logprobs: [] },
          ],
        }
      : {
          type: 'function_call',
          id: `fc_${index}`,
          call_id: `call_${index}`,
          name: call.name,
          arguments: JSON.stringify(call.input),
          status: 'completed',
        }
  const isCut = finish === 'length'
  const response = {
    id: `resp_${index}`,
    object: 'response',
    created_at: 1,
    status: isCut ? 'incomplete' : 'completed',
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    error: null,
    model: request.model,
    output: [item],
    usage: {
      input_tokens: usage.input,
      input_tokens_details: { cached_tokens: usage.cacheRead },
      output_tokens: usage.output,
      output_tokens_details: { reasoning_tokens: usage.reasoning },
      total_tokens: usage.input + usage.output,
    },
  }
  if (!request.streams) return json(response)
  const open =
    call === undefined
      ? { ...item, status: 'in_progress', content: [] }
      : { ...item, status: 'in_progress', arguments: '' }
  const deltas =
    call === undefined
      ? halves(text).map(delta => ({ type: 'response.output_text.delta', item_id: item.id, content_index: 0, delta }))
      : halves(JSON.stringify(call.input)).map(delta => ({
          type: 'response.function_call_arguments.delta',
          item_id: item.id,
          delta,
        }))
  return events(
    [
      { type: 'response.created', response: { ...response, status: 'in_progress', output: [], usage: null } },
      { type: 'response.output_item.added', output_index: 0, item: open },
      ...deltas.map(delta => ({ ...delta, output_index: 0 })),
      { type: 'response.output_item.done', output_index: 0, item },
      { type: isCut ? 'response.incomplete' : 'response.completed', response },
    ].map((event, sequence_number) => [event.type, { ...event, sequence_number }] as const),
  )
}

function gemini(request: ScriptedRequest, { text = '', call, finish = 'stop', usage }: Reply, index: number): Written {
  const reason = { stop: 'STOP', length: 'MAX_TOKENS', refusal: 'SAFETY' }[finish]
  const answer = (parts: readonly object[], end: string | null) => ({
    candidates: [{ index: 0, content: { role: 'model', parts }, ...(end === null ? {} : { finishReason: end }) }],
    usageMetadata: {
      promptTokenCount: usage.input,
      cachedContentTokenCount: usage.cacheRead,
      candidatesTokenCount: usage.output - usage.reasoning,
      thoughtsTokenCount: usage.reasoning,
      totalTokenCount: usage.input + usage.output,
    },
    modelVersion: request.model,
    responseId: `response_${index}`,
  })
  const called =
    call === undefined ? null : { functionCall: { name: call.name, args: call.input, id: `call_${index}` } }
  if (!request.streams) return json(answer([called ?? { text }], reason))
  if (called !== null) return events([['', answer([called], reason)]])
  const parts = halves(text)
  return events(parts.map((part, at) => ['', answer([{ text: part }], at === parts.length - 1 ? reason : null)]))
}
