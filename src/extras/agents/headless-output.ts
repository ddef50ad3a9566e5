// Reads the output of a headless agent: a command that gets the brief and prints JSON lines until it is done. For agents that do
// not speak ACP without a login, and for any command in a plan. It cannot ask for permission, so only the sandbox limits it.

import { StringDecoder } from 'node:string_decoder'
import type { AgentLog } from './agent-log.ts'
import type { LinePaths } from './agent-settings.ts'
import { shownCall } from './shown-call.ts'

export interface LineOptions {
  readonly paths: LinePaths
  /** Paths below it are shown relative to it. */
  readonly root: string
  readonly log: AgentLog
  /** Called with the first message or action: before that, some agents have stored nothing that could be resumed. */
  readonly onSession: (session: string) => void
  readonly onTool?: () => void
  readonly onLine?: (line: object) => void
}

/** Parses the output. Lines that are not JSON are shown verbatim. */
export class LineReader {
  readonly #options: LineOptions
  readonly #decoder = new StringDecoder('utf8')
  #rest = ''
  #session: string | null = null
  #reportedSession: string | null = null
  #lastMessage = ''
  #lastThought = ''

  constructor(options: LineOptions) {
    this.#options = options
  }

  write(chunk: Buffer): void {
    const lines = `${this.#rest}${this.#decoder.write(chunk)}`.split('\n')
    this.#rest = lines.pop() ?? ''
    // Bounds the buffer: the start of so long a line is dropped, and its remainder is parsed as a line.
    if (this.#rest.length > LINE_MAX) this.#rest = ''
    for (const line of lines) this.#read(line)
  }

  end(): void {
    this.#read(`${this.#rest}${this.#decoder.end()}`)
    this.#rest = ''
  }

  #read(line: string): void {
    if (line.trim() === '') return
    const { log, paths, root, onSession, onTool } = this.#options
    const value = parsed(line)
    if (value === null) {
      log.say(`${line}\n`)
      return
    }
    this.#options.onLine?.(value)
    const [session] = textsAt(value, paths.session)
    this.#session = session ?? this.#session
    if (isSkipped(value, paths.skip ?? [])) return
    // Words before tool calls, because they say why.
    const thought = textsAt(value, paths.thinks ?? []).join('')
    if (thought !== '' && thought !== this.#lastThought) log.think(`${thought}\n`)
    if (thought !== '') this.#lastThought = thought
    const message = textsAt(value, paths.text).join('')
    // Some agents repeat the whole message after its parts.
    if (message !== '' && message !== this.#lastMessage)
      log.say(message.length > 1 && !message.endsWith('\n') ? `${message}\n` : message)
    if (message !== '') this.#lastMessage = message
    const tools = foundAt(value, paths.tools)
    for (const { text: name, holder } of tools) {
      onTool?.()
      const call = shownCall({ name, rawInput: inputOf(holder) }, null, root, true)
      log.act(call?.text ?? name, call?.edits)
    }
    if ((message !== '' || tools.length > 0) && this.#session !== null && this.#session !== this.#reportedSession) {
      this.#reportedSession = this.#session
      onSession(this.#session)
    }
  }
}

const isSkipped = (value: object, skip: readonly string[]): boolean =>
  skip.some(one => {
    const at = one.indexOf('=')
    return textsAt(value, [one.slice(0, at)]).includes(one.slice(at + 1))
  })

const LINE_MAX = 16 * 1024 * 1024

function parsed(line: string): object | null {
  if (!line.trimStart().startsWith('{')) return null
  try {
    return JSON.parse(line) as object
  } catch {
    return null
  }
}

/** The texts at the first path that leads to any. */
export const textsAt = (value: unknown, paths: readonly string[]): readonly string[] =>
  foundAt(value, paths).map(({ text }) => text)

interface Found {
  readonly text: string
  readonly holder: unknown
}

function foundAt(value: unknown, paths: readonly string[]): readonly Found[] {
  for (const path of paths) {
    let found: { readonly item: unknown; readonly holder: unknown }[] = [{ item: value, holder: null }]
    for (const step of path.split('.')) {
      const isList = step.endsWith('[]')
      const key = isList ? step.slice(0, -2) : step
      found = found.flatMap(({ item: holder }) => {
        if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, key)) return []
        const next = (holder as { readonly [key: string]: unknown })[key]
        const items = isList ? (Array.isArray(next) ? next : []) : [next]
        return items.map(item => ({ item, holder }))
      })
    }
    const texts = found.flatMap(({ item, holder }) => (typeof item === 'string' ? [{ text: item, holder }] : []))
    if (texts.length > 0) return texts
  }
  return []
}

/** The input of a tool call: agents use different keys, and some write it as text. */
function inputOf(holder: unknown): unknown {
  if (typeof holder !== 'object' || holder === null) return undefined
  const record = holder as { readonly [key: string]: unknown }
  const state = record.state as { readonly input?: unknown } | undefined
  const input = [record.input, record.args, record.arguments, record.parameters, state?.input].find(
    one => one !== undefined,
  )
  if (typeof input === 'string') return parsed(input) ?? undefined
  return input ?? (typeof record.command === 'string' ? { command: record.command } : undefined)
}
