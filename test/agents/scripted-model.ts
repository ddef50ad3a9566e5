// A model on loopback that follows a script. The last prompt with `[script NAME]` says which; the step is the number of tool answers
// after that prompt. So it keeps no state, and requests that an agent repeats, or makes on the side (for a title), do not disturb it.
// It records every request. It is also the proxy of the agent, and lets nothing through.

import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Answer, FORMATS, type ModelRequest, type OfferedTool, type WireFormat } from './wire-formats.ts'

/** `call`: a tool whose name is this or ends with it. */
export type Step =
  | { readonly call: string; readonly input: string | { readonly [key: string]: unknown } }
  | { readonly say: string }

export type Scripts = { readonly [name: string]: readonly Step[] }

export interface Recorded {
  readonly format: string
  /** Null for requests on the side, which offer no tools or follow no script. */
  readonly script: string | null
  readonly step: number
  readonly tools: readonly string[]
  /** What tools answered after the prompt. */
  readonly results: readonly string[]
  readonly answer: string
  /** The whole request. */
  readonly body: string
}

export interface ScriptedModel {
  readonly url: string
  readonly requests: readonly Recorded[]
  /** Where the agent wanted to go besides, by host. */
  readonly refused: ReadonlySet<string>
  close(): Promise<void>
}

export const promptFor = (script: string): string => `Work on the plan. [script ${script}]`
const SCRIPT = /\[script ([a-z]+)\]/

export async function startModel(scripts: Scripts): Promise<ScriptedModel> {
  const requests: Recorded[] = []
  const refused = new Set<string>()
  const server = createServer(async (request, reply) => {
    const json = (status: number, value: object): void => {
      reply.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    }
    if (URL.canParse(request.url ?? '')) {
      refused.add(new URL(request.url!).host)
      return json(403, { error: 'only loopback' })
    }
    const path = (request.url ?? '').split('?')[0]!
    const text = await bodyOf(request)
    if (request.method === 'GET' && path.endsWith('/models'))
      return json(200, { object: 'list', data: [{ id: 'scripted', object: 'model', created: 1, owned_by: 'test' }] })
    if (/count_?tokens$/i.test(path)) return json(200, { input_tokens: 100, totalTokens: 100 })
    const format = FORMATS.find(each => each.path.test(path))
    if (format === undefined) return json(404, { error: { message: `not served: ${path}` } })
    const body = JSON.parse(text) as { readonly model?: string; readonly stream?: boolean }
    const asked = format.read(body)
    const { script, step, results } = placeIn(asked)
    const answer = answerTo(asked, script === null ? undefined : scripts[script]?.[step], requests.length)
    requests.push({
      format: format.name,
      script,
      step,
      tools: asked.tools.map(({ name }) => name),
      results,
      answer: 'text' in answer ? answer.text : `${answer.call.name} ${JSON.stringify(answer.input)}`,
      body: text,
    })
    const model = body.model ?? 'scripted'
    if (body.stream !== true && !path.includes(':stream')) return json(200, format.whole(answer, model))
    reply.writeHead(200, { 'content-type': 'text/event-stream' }).end(streamOf(format, answer, model))
  })
  server.on('connect', ({ url }: IncomingMessage, socket) => {
    refused.add(url ?? '')
    socket.on('error', () => {})
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    refused,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function placeIn({ tools, turns }: ModelRequest): Pick<Recorded, 'script' | 'step' | 'results'> {
  const at = turns.findLastIndex(({ by, text }) => by === 'person' && SCRIPT.test(text))
  if (at === -1 || tools.length === 0) return { script: null, step: 0, results: [] }
  const results = turns
    .slice(at)
    .filter(({ by }) => by === 'tool')
    .map(({ text }) => text)
  return { script: SCRIPT.exec(turns[at]!.text)![1]!, step: results.length, results }
}

function answerTo({ tools }: ModelRequest, step: Step | undefined, count: number): Answer {
  if (step === undefined) return { text: 'A scripted answer' }
  if ('say' in step) return { text: step.say }
  const call = toolNamed(tools, step.call)
  return call === undefined
    ? { text: `There is no tool ${step.call}` }
    : { call, input: step.input, id: `call_${count}` }
}

const toolNamed = (tools: readonly OfferedTool[], name: string): OfferedTool | undefined =>
  tools.find(tool => tool.name === name) ?? tools.find(tool => tool.name.endsWith(`_${name}`))

function streamOf(format: WireFormat, answer: Answer, model: string): string {
  return format
    .events(answer, model)
    .map(event => {
      if (event === '[DONE]') return 'data: [DONE]\n\n'
      const name = typeof event.type === 'string' ? `event: ${event.type}\n` : ''
      return `${name}data: ${JSON.stringify(event)}\n\n`
    })
    .join('')
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
