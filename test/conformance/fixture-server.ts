// The MCP server that the conformance suite asks for: the tools, resources and prompts its scenarios call by name. It stands behind
// the same route as ours, so guard, body limit, handler and both protocol versions are those of the service.

import {
  type CallToolResult,
  createRequestStateCodec,
  fromJsonSchema,
  McpServer,
  type McpServerFactory,
  ResourceTemplate,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { type RoundState, registerQuestions } from './fixture-questions.ts'

const FIXED = { listChanged: false }
const IMAGE = {
  type: 'image',
  mimeType: 'image/png',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==',
} as const
const AUDIO = {
  type: 'audio',
  mimeType: 'audio/wav',
  data: 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=',
} as const

/** Seals what a client carries from one round to the next; every request has a server of its own. */
const rounds = createRequestStateCodec<RoundState>({ key: crypto.getRandomValues(new Uint8Array(32)) })

export const fixtureFactory: McpServerFactory = () => {
  const server = new McpServer(
    { name: 'planfold-conformance-fixture', version: '1' },
    {
      capabilities: {
        tools: FIXED,
        resources: { ...FIXED, subscribe: true },
        prompts: FIXED,
        completions: {},
        logging: {},
      },
      requestState: { verify: rounds.verify },
    },
  )
  registerContents(server)
  registerNotifying(server)
  registerSchemas(server)
  registerQuestions(server, rounds)
  registerResources(server)
  registerPrompts(server)
  server.server.setRequestHandler('completion/complete', async () => ({ completion: { values: [], total: 0 } }))
  server.server.setRequestHandler('logging/setLevel', async () => ({}))
  return server
}

const text = (said: string) => ({ type: 'text', text: said }) as const
const embedded = (uri: string, mimeType: string, said: string) =>
  ({ type: 'resource', resource: { uri, mimeType, text: said } }) as const

function registerContents(server: McpServer): void {
  const contents: { readonly [tool: string]: CallToolResult['content'] } = {
    test_simple_text: [text('This is a simple text response for testing.')],
    test_image_content: [IMAGE],
    test_audio_content: [AUDIO],
    test_embedded_resource: [
      embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
    ],
    test_multiple_content_types: [
      text('Multiple content types test:'),
      IMAGE,
      embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
    // It asks nothing: the suite looks whether anything but the answer comes on the stream.
    test_streaming_elicitation: [text('only an answer')],
  }
  for (const [name, content] of Object.entries(contents))
    server.registerTool(name, { description: name }, async () => ({ content }))
  server.registerTool('test_error_handling', { description: 'always fails' }, async () => {
    throw new Error('This tool intentionally returns an error for testing')
  })
}

/** Tools that say something before they answer. */
function registerNotifying(server: McpServer): void {
  const register = (name: string, body: (context: ServerContext) => Promise<void>): void => {
    server.registerTool(name, { description: name, inputSchema: z.object({}) }, async (_, context) => {
      await body(context)
      return { content: [text('done')] }
    })
  }
  register('test_tool_with_logging', async ({ mcpReq }) => {
    for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed'])
      await mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data } })
  })
  register('test_logging_tool', async ({ mcpReq }) => await mcpReq.log('info', 'for those who asked for it'))
  register('test_tool_with_progress', async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken
    if (progressToken === undefined) return
    for (const progress of [0, 50, 100])
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } })
  })
}

/** Tools whose schemas must arrive as they were written. */
function registerSchemas(server: McpServer): void {
  const address = { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } }
  const schemas = {
    json_schema_2020_12_tool: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: { address: { $anchor: 'addressDef', ...address } },
      properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' },
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    },
    test_x_mcp_header: {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, level: { type: 'integer' } },
    },
  }
  for (const [name, schema] of Object.entries(schemas))
    server.registerTool(name, { description: name, inputSchema: fromJsonSchema(schema) }, async input => ({
      content: [text(JSON.stringify(input))],
    }))
}

function registerResources(server: McpServer): void {
  const mimeType = 'text/plain'
  const texts = { 'static-text': 'This is the content of the static text resource.', 'watched-resource': 'Watched' }
  for (const [name, said] of Object.entries(texts))
    server.registerResource(name, `test://${name}`, { mimeType }, async ({ href }) => ({
      contents: [{ uri: href, mimeType, text: said }],
    }))
  server.registerResource('static-binary', 'test://static-binary', { mimeType: IMAGE.mimeType }, async ({ href }) => ({
    contents: [{ uri: href, mimeType: IMAGE.mimeType, blob: IMAGE.data }],
  }))
  server.registerResource(
    'template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { mimeType: 'application/json' },
    async ({ href }, { id }) => ({
      contents: [{ uri: href, mimeType: 'application/json', text: JSON.stringify({ id, templateTest: true }) }],
    }),
  )
  server.server.setRequestHandler('resources/subscribe', async () => ({}))
  server.server.setRequestHandler('resources/unsubscribe', async () => ({}))
}

function registerPrompts(server: McpServer): void {
  const user = 'user' as const
  server.registerPrompt('test_simple_prompt', { description: 'text' }, async () => ({
    messages: [{ role: user, content: text('This is a simple prompt for testing.') }],
  }))
  server.registerPrompt('test_prompt_with_image', { description: 'an image' }, async () => ({
    messages: [
      { role: user, content: IMAGE },
      { role: user, content: text('Please analyze the image above.') },
    ],
  }))
  server.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'arguments', argsSchema: z.object({ arg1: z.string(), arg2: z.string() }) },
    async ({ arg1, arg2 }) => ({
      messages: [{ role: user, content: text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`) }],
    }),
  )
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'a resource', argsSchema: z.object({ resourceUri: z.string() }) },
    async ({ resourceUri }) => ({
      messages: [
        { role: user, content: embedded(resourceUri, 'text/plain', 'Embedded resource content for testing.') },
        { role: user, content: text('Please process the embedded resource above.') },
      ],
    }),
  )
}
