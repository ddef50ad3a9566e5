// Talks to an agent over the Agent Client Protocol (ACP), version 1, on its standard streams, as the client. It offers neither
// file access nor terminals: the agent uses its own tools, inside the sandbox. `permit` decides its permission requests.
//
//   initialize ──▶ session/resume | load | new ──▶ mode ──▶ prompt ──▶ … updates, permission requests … ──▶ the turn ends

import type { ChildProcess } from 'node:child_process'
import { Readable, Writable } from 'node:stream'
import * as acp from '@agentclientprotocol/sdk'
import type { AgentLog } from './agent-log.ts'
import type { AskedTool } from './permission-request.ts'
import { shownCall } from './shown-call.ts'

export interface AcpOptions {
  readonly cwd: string
  /** The session to resume; null starts a new one. */
  readonly session: string | null
  readonly mode: string | null
  readonly auth: string | null
  readonly mcpServers: readonly acp.McpServer[]
  /** `isResumed`: whether an earlier session was resumed. */
  readonly prompt: (isResumed: boolean) => string
  readonly turnsMax: number | null
  readonly version: string
  readonly log: AgentLog
  readonly onSession: (session: string) => void
  /** Null: the agent is being stopped; its request is answered as cancelled. */
  readonly permit: (tool: AskedTool) => Promise<boolean | null>
  /** Receives usage reports, from updates or the final response. */
  readonly onUse?: (report: object) => void
  readonly signal: AbortSignal
}

export type AcpEnd =
  | { readonly ok: true; readonly stop: acp.StopReason; readonly isOverTurns: boolean }
  | { readonly ok: false; readonly message: string }

export async function converse(child: ChildProcess, output: Readable, options: AcpOptions): Promise<AcpEnd> {
  const { log, signal } = options
  const calls = new Map<string, AskedTool>()
  const titles = new Map<string, string>()
  const shown = new Map<string, string>()
  const { agent: A, client: C } = acp.methods
  let isLive = false
  let turns = 0
  let isOverTurns = false
  let cancel = () => {}
  /** Each tool call is logged once, as soon as it is known what it does: an edit often not before its end. */
  const show = (id: string, tool: AskedTool, isOver: boolean): void => {
    if (shown.has(id)) return
    const call = shownCall(tool, titles.get(id) ?? null, options.cwd, isOver)
    if (call === null) return
    shown.set(id, [call.text, ...new Set(call.edits.map(({ path }) => path))].join(' '))
    log.act(call.text, call.edits)
  }
  const app = acp
    .client({ name: 'planfold' })
    .onRequest(C.session.requestPermission, async ({ params: { toolCall, options: choices } }) => {
      const asked = merged(calls.get(toolCall.toolCallId), toolCall)
      if (toolCall.title != null) titles.set(toolCall.toolCallId, toolCall.title)
      show(toolCall.toolCallId, asked, true)
      const allowed = await options.permit(asked)
      const wanted = allowed === null ? [] : allowed ? ['allow_once', 'allow_always'] : ['reject_once', 'reject_always']
      const choice = wanted.map(kind => choices.find(one => one.kind === kind)).find(one => one !== undefined)
      return choice === undefined
        ? { outcome: { outcome: 'cancelled' as const } }
        : { outcome: { outcome: 'selected' as const, optionId: choice.optionId } }
    })
    .onNotification(C.session.update, ({ params: { update } }) => {
      // Replayed messages of a resumed session were logged the first time.
      if (!isLive) return
      switch (update.sessionUpdate) {
        case 'agent_message_chunk':
          if (update.content.type === 'text') log.say(update.content.text)
          return
        case 'agent_thought_chunk':
          if (update.content.type === 'text') log.think(update.content.text)
          return
        case 'tool_call':
        case 'tool_call_update': {
          const before = calls.get(update.toolCallId)
          const now = merged(before, update)
          calls.set(update.toolCallId, now)
          if (before === undefined) {
            turns += 1
            if (options.turnsMax !== null && turns > options.turnsMax) {
              isOverTurns = true
              cancel()
            }
          }
          if (update.title != null) titles.set(update.toolCallId, update.title)
          show(update.toolCallId, now, ENDED.has(update.status ?? ''))
          if (update.status === 'failed') log.act(`failed: ${shown.get(update.toolCallId) ?? 'a tool'}`)
          return
        }
        case 'usage_update':
          options.onUse?.(update)
          return
        case 'plan':
          log.act(`plans: ${update.entries.map(({ content }) => content).join('; ')}`)
          return
        default:
          return
      }
    })
  if (child.stdin === null) return { ok: false, message: 'it has no streams' }
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(output) as ReadableStream<Uint8Array>)
  try {
    return await app.connectWith(stream, async (context): Promise<AcpEnd> => {
      const ended = new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true })
        child.once('exit', () => reject(new Error('the agent ended before its turn did')))
      })
      ended.catch(() => {})
      const ask = <T>(answer: Promise<T>): Promise<T> => Promise.race([answer, ended])
      const init = await ask(
        context.request(A.initialize, {
          protocolVersion: acp.PROTOCOL_VERSION,
          clientInfo: { name: 'planfold', version: options.version },
          clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
        }),
      )
      if (init.protocolVersion !== acp.PROTOCOL_VERSION)
        return { ok: false, message: `it speaks version ${init.protocolVersion} of ACP, not ${acp.PROTOCOL_VERSION}` }
      if (options.auth !== null) await ask(context.request(A.authenticate, { methodId: options.auth }))
      const place = { cwd: options.cwd, mcpServers: [...options.mcpServers] }
      const resumed = await takeUp(context, ask, init.agentCapabilities ?? {}, options, place)
      const opened: Taken = resumed ?? (await ask<acp.NewSessionResponse>(context.request(A.session.new, place)))
      const { sessionId } = opened
      options.onSession(sessionId)
      if (options.mode !== null && opened.modes?.availableModes.some(({ id }) => id === options.mode))
        await ask(context.request(A.session.setMode, { sessionId, modeId: options.mode }))
      cancel = () => void context.notify(A.session.cancel, { sessionId }).catch(() => {})
      isLive = true
      log.note(`${resumed === null ? 'began' : 'took up'} conversation ${sessionId}`)
      const text = options.prompt(resumed !== null)
      const answer = await ask<acp.PromptResponse>(
        context.request(A.session.prompt, { sessionId, prompt: [{ type: 'text', text }] }),
      )
      options.onUse?.(answer)
      return { ok: true, stop: answer.stopReason, isOverTurns }
    })
  } catch (error) {
    return { ok: false, message: messageOf(error) }
  }
}

type Place = { readonly cwd: string; readonly mcpServers: acp.McpServer[] }
type Taken = { readonly sessionId: string; readonly modes?: acp.SessionModeState | null | undefined }

/** Resumes the session; null if there is none, or the agent cannot resume it. */
async function takeUp(
  context: acp.ClientContext,
  ask: <T>(answer: Promise<T>) => Promise<T>,
  { loadSession, sessionCapabilities }: acp.AgentCapabilities,
  { session, log }: AcpOptions,
  place: Place,
): Promise<Taken | null> {
  const { session: A } = acp.methods.agent
  if (session === null) return null
  const method = sessionCapabilities?.resume != null ? A.resume : loadSession === true ? A.load : null
  if (method === null) return null
  try {
    const taken = await ask(context.request(method, { sessionId: session, ...place }))
    return { ...taken, sessionId: session }
  } catch (error) {
    log.note(`conversation ${session} could not be resumed (${messageOf(error)}); a new one was started`)
    return null
  }
}

/** Merges an update into the known call: updates contain only what changed. */
function merged(before: AskedTool | undefined, update: acp.ToolCallUpdate): AskedTool {
  return {
    kind: update.kind ?? before?.kind ?? null,
    name: toolNameOf(update) ?? before?.name ?? null,
    rawInput: update.rawInput ?? before?.rawInput,
    content: [...(before?.content ?? []), ...(update.content ?? [])].slice(-CONTENT_MAX),
  }
}

/** The tool's name, if reported: agents put it in different places. */
function toolNameOf({ name, _meta }: acp.ToolCallUpdate): string | null {
  if (typeof name === 'string') return name
  for (const part of Object.values(_meta ?? {})) {
    if (typeof part !== 'object' || part === null) continue
    const { toolName, name: named } = part as { readonly toolName?: unknown; readonly name?: unknown }
    const found = [toolName, named].find(one => typeof one === 'string')
    if (found !== undefined) return found as string
  }
  return null
}

const CONTENT_MAX = 20

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed'])

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const data = error instanceof acp.RequestError ? error.data : undefined
  const more = data === undefined || data === null ? '' : `: ${JSON.stringify(data).slice(0, 500)}`
  return `${error.message}${more}`
}
