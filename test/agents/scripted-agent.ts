// A small coding agent of our own, for the tests: a real process that speaks the Agent Client Protocol on its standard streams, asks its
// model over the OpenAI chat protocol (streamed), and carries out the tool calls of the model. It is started as Grok Build is, with the
// same name, arguments, environment and login file (`grok agent -m MODEL stdio`), and keeps its conversations in its home, so that a
// later process can load one. `installed.ts` bundles it into one file.

import { exec } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import * as acp from '@agentclientprotocol/sdk'
import { EventSourceParserStream } from 'eventsource-parser/stream'

interface ToolCall {
  id: string
  function: { name: string; arguments: string }
}

type Message =
  | { readonly role: 'system' | 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string | null; readonly tool_calls?: readonly object[] }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string }

interface Usage {
  inputTokens: number
  outputTokens: number
}

type Input = { readonly [name: string]: string }

interface Tool {
  readonly kind: acp.ToolKind
  readonly inputs: readonly string[]
  /** What the client is shown beside the input. */
  content?(input: Input): acp.ToolCallContent[]
  run(input: Input, cwd: string): string | Promise<string>
}

const TOOLS: { readonly [name: string]: Tool } = {
  read_file: { kind: 'read', inputs: ['path'], run: ({ path }) => readFileSync(path!, 'utf8') },
  write_file: {
    kind: 'edit',
    inputs: ['path', 'content'],
    run: ({ path, content }) => {
      writeFileSync(path!, content!)
      return 'written'
    },
  },
  search_replace: {
    kind: 'edit',
    inputs: ['file_path', 'old_string', 'new_string'],
    content: ({ file_path: path, old_string: oldText, new_string: newText }) => [
      { type: 'diff', path: path!, oldText: oldText!, newText: newText! },
    ],
    run: ({ file_path: path, old_string: before, new_string: after }) => {
      const text = readFileSync(path!, 'utf8')
      if (!text.includes(before!)) throw new Error(`${path} does not contain ${before}`)
      writeFileSync(
        path!,
        text.replace(before!, () => after!),
      )
      return 'replaced'
    },
  },
  run_terminal_cmd: {
    kind: 'execute',
    inputs: ['command'],
    run: ({ command }, cwd) =>
      new Promise(resolve =>
        exec(command!, { cwd }, (error, stdout, stderr) => resolve(`exit ${error?.code ?? 0}\n${stdout}${stderr}`)),
      ),
  },
}

const SYSTEM = 'You are a coding agent. Use the tools to do what you are told, then say what you did.'
const OUTPUT_TOKENS_MAX = 500
const STEPS_MAX = 100
const MODEL = process.argv[process.argv.indexOf('-m') + 1] ?? ''

/** A conversation, written down after each whole step. */
class Conversation {
  readonly id: string
  readonly messages: Message[]
  stop = new AbortController()

  private constructor(id: string, messages: Message[]) {
    this.id = id
    this.messages = messages
  }

  static begin(): Conversation {
    return new Conversation(randomUUID(), [{ role: 'system', content: SYSTEM }])
  }

  static load(id: string): Conversation {
    if (!/^[\w-]+$/.test(id)) throw new Error('there is no such conversation')
    return new Conversation(id, JSON.parse(readFileSync(fileOf(id), 'utf8')) as Message[])
  }

  add(...messages: readonly Message[]): void {
    this.messages.push(...messages)
    mkdirSync(dirname(fileOf(this.id)), { recursive: true })
    writeFileSync(`${fileOf(this.id)}.new`, JSON.stringify(this.messages))
    renameSync(`${fileOf(this.id)}.new`, fileOf(this.id))
  }
}

const fileOf = (id: string): string => join(homedir(), '.grok/sessions', `${id}.json`)
const conversations = new Map<string, { readonly conversation: Conversation; readonly cwd: string }>()

async function work(client: acp.AgentContext, sessionId: string, prompt: string): Promise<acp.PromptResponse> {
  const { conversation, cwd } = conversations.get(sessionId)!
  conversation.stop = new AbortController()
  const usage: Usage = { inputTokens: 0, outputTokens: 0 }
  const end = (stopReason: acp.StopReason): acp.PromptResponse => ({ stopReason, _meta: { usage } })
  const update = (told: acp.SessionUpdate) =>
    client.notify(acp.methods.client.session.update, { sessionId, update: told })
  conversation.add({ role: 'user', content: prompt })
  for (let step = 0; step < STEPS_MAX; step++) {
    if (conversation.stop.signal.aborted) return end('cancelled')
    const { text, calls } = await askModel(conversation, usage)
    if (text !== '') await update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })
    const names = calls.map(({ function: { name } }) => name).join(', ')
    if (calls.length > 0)
      await update({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: `I call ${names}.` } })
    const answers: Message[] = []
    for (const { id, function: called } of calls) {
      const tool = TOOLS[called.name]
      const input = JSON.parse(called.arguments || '{}') as Input
      const call = { toolCallId: id, title: called.name, rawInput: input, kind: tool?.kind ?? ('other' as const) }
      const content = tool?.content?.(input)
      await update({
        sessionUpdate: 'tool_call',
        status: 'pending',
        ...call,
        ...(content === undefined ? {} : { content }),
      })
      const allowed = tool === undefined || tool.kind === 'read' || (await isAllowed(client, sessionId, call))
      let answer = tool === undefined ? `there is no tool ${called.name}` : 'the user does not allow this'
      let status: 'completed' | 'failed' = 'failed'
      if (tool !== undefined && allowed && !conversation.stop.signal.aborted) {
        try {
          answer = await tool.run(input, cwd)
          status = 'completed'
        } catch (error) {
          answer = String(error)
        }
      }
      await update({ sessionUpdate: 'tool_call_update', toolCallId: id, status })
      answers.push({ role: 'tool', tool_call_id: id, content: answer })
    }
    const tool_calls = calls.map(call => ({ type: 'function', ...call }))
    conversation.add(
      { role: 'assistant', content: text || null, ...(calls.length === 0 ? {} : { tool_calls }) },
      ...answers,
    )
    if (calls.length === 0) return end('end_turn')
  }
  return end('max_turn_requests')
}

async function isAllowed(client: acp.AgentContext, sessionId: string, toolCall: acp.ToolCallUpdate): Promise<boolean> {
  const { outcome } = await client.request(acp.methods.client.session.requestPermission, {
    sessionId,
    toolCall,
    options: [
      { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
      { optionId: 'no', name: 'Reject', kind: 'reject_once' },
    ],
  })
  return outcome.outcome === 'selected' && outcome.optionId === 'yes'
}

interface Chunk {
  readonly choices?: readonly {
    readonly delta?: {
      readonly content?: string | null
      readonly tool_calls?: readonly {
        readonly index: number
        readonly id?: string
        readonly function?: { readonly name?: string; readonly arguments?: string }
      }[]
    }
  }[]
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number } | null
}

async function askModel(
  { messages, stop }: Conversation,
  usage: Usage,
): Promise<{ readonly text: string; readonly calls: readonly ToolCall[] }> {
  const { url, token } = await access()
  const tools = Object.entries(TOOLS).map(([name, { inputs }]) => {
    const properties = Object.fromEntries(inputs.map(input => [input, { type: 'string' }]))
    return { type: 'function', function: { name, parameters: { type: 'object', properties, required: inputs } } }
  })
  const asked = { model: MODEL, messages, tools, max_tokens: OUTPUT_TOKENS_MAX, stream: true }
  const answer = await fetch(`${url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ ...asked, stream_options: { include_usage: true } }),
    signal: stop.signal,
  })
  if (!answer.ok) throw new acp.RequestError(-32603, `the model answered ${answer.status}: ${await answer.text()}`)
  let text = ''
  const calls: ToolCall[] = []
  const events = answer.body!.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
  for await (const { data } of events) {
    if (data === '[DONE]') break
    const { choices = [], usage: told } = JSON.parse(data) as Chunk
    text += choices[0]?.delta?.content ?? ''
    for (const part of choices[0]?.delta?.tool_calls ?? []) {
      calls[part.index] ??= { id: part.id ?? randomUUID(), function: { name: '', arguments: '' } }
      const call = calls[part.index]!.function
      call.name += part.function?.name ?? ''
      call.arguments += part.function?.arguments ?? ''
    }
    usage.inputTokens += told?.prompt_tokens ?? 0
    usage.outputTokens += told?.completion_tokens ?? 0
  }
  return { text, calls }
}

/** The key from the environment, or the login of a person, which is renewed when it is over. */
async function access(): Promise<{ readonly url: string; readonly token: string }> {
  const { XAI_API_KEY: key, GROK_XAI_API_BASE_URL: url } = process.env
  if (key !== undefined && url !== undefined) return { url, token: key }
  const {
    GROK_CLI_CHAT_PROXY_BASE_URL: proxy = '',
    GROK_OIDC_ISSUER: issuer,
    GROK_OIDC_CLIENT_ID: client,
  } = process.env
  const file = join(homedir(), '.grok/auth.json')
  const logins = JSON.parse(readFileSync(file, 'utf8')) as { [name: string]: { [name: string]: string } }
  const login = logins[`${issuer}::${client}`]!
  if (Date.parse(login.expires_at!) > Date.now()) return { url: proxy, token: login.key! }
  const found = (await (await fetch(`${issuer}/.well-known/openid-configuration`)).json()) as { token_endpoint: string }
  const body = new URLSearchParams({
    grant_type: 'refresh_token',
    refresh_token: login.refresh_token!,
    client_id: client!,
  })
  const renewed = await fetch(found.token_endpoint, { method: 'POST', body })
  const given = (await renewed.json()) as { access_token: string; refresh_token: string; expires_in: number }
  login.key = given.access_token
  login.refresh_token = given.refresh_token
  login.expires_at = new Date(Date.now() + given.expires_in * 1_000).toISOString()
  writeFileSync(file, JSON.stringify(logins), { mode: 0o600 })
  return { url: proxy, token: login.key }
}

const { agent: A } = acp.methods
const open = (conversation: Conversation, cwd: string): string => {
  conversations.set(conversation.id, { conversation, cwd })
  return conversation.id
}
acp
  .agent({ name: 'scripted-agent' })
  .onRequest(A.initialize, () => ({
    protocolVersion: acp.PROTOCOL_VERSION,
    agentCapabilities: { loadSession: true },
  }))
  .onRequest(A.session.new, ({ params: { cwd } }) => ({ sessionId: open(Conversation.begin(), cwd) }))
  .onRequest(A.session.load, ({ params: { cwd, sessionId } }) => {
    open(Conversation.load(sessionId), cwd)
    return {}
  })
  .onRequest(A.session.prompt, ({ params: { sessionId, prompt }, client }) =>
    work(client, sessionId, prompt.map(part => (part.type === 'text' ? part.text : '')).join('\n')),
  )
  .onNotification(A.session.cancel, ({ params: { sessionId } }) => {
    conversations.get(sessionId)?.conversation.stop.abort()
  })
  .connect(
    acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>),
  )
