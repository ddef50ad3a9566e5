// The other road to an agent: a command that gets the brief and prints lines of JSON until it is done. For agents that do not speak ACP
// without a login, and for any command a plan names. Nobody can be asked on the way: the sandbox alone holds it.

import { StringDecoder } from 'node:string_decoder'
import type { AgentLog } from './agent-log.ts'
import type { LinePaths } from './agent-settings.ts'
import { shownCall } from './shown-call.ts'

export interface LineOptions {
  readonly paths: LinePaths
  /** Paths below it are shown without it. */
  readonly root: string
  readonly log: AgentLog
  /** When it has said or done something: before that, some agents have stored nothing of the conversation that could be taken up. */
  readonly onSession: (session: string) => void
  /** How often it called a tool so far. */
  readonly onTool?: () => void
  readonly onLine?: (line: object) => void
}

/** Reads what a headless agent prints. A line that is no JSON is shown as it is. */
export class LineReader {
  readonly #options: LineOptions
  readonly #decoder = new StringDecoder('utf8')
  #rest = ''
  #session: string | null = null
  #told: string | null = null
  #said = ''

  constructor(options: LineOptions) {
    this.#options = options
  }

  write(chunk: Buffer): void {
    const lines = `${this.#rest}${this.#decoder.write(chunk)}`.split('\n')
    this.#rest = lines.pop() ?? ''
    // Nobody means a line this long; what follows is read as another.
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
    const tools = foundAt(value, paths.tools)
    for (const { text: name, holder } of tools) {
      onTool?.()
      const call = shownCall({ name, rawInput: inputOf(holder) }, null, root, true)
      log.act(call?.text ?? name, call?.edits)
    }
    const said = textsAt(value, paths.text).join('')
    // Some repeat at the end what they said in parts.
    if (said !== '' && said !== this.#said) log.say(said.length > 1 && !said.endsWith('\n') ? `${said}\n` : said)
    if (said !== '') this.#said = said
    if ((said !== '' || tools.length > 0) && this.#session !== null && this.#session !== this.#told) {
      this.#told = this.#session
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

/** What stands at the first of the paths that leads to a text. */
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

/** What a tool is called with, beside its name: agents call it differently, and some write it as text. */
function inputOf(holder: unknown): unknown {
  if (typeof holder !== 'object' || holder === null) return undefined
  const said = holder as { readonly [key: string]: unknown }
  const state = said.state as { readonly input?: unknown } | undefined
  const input = [said.input, said.args, said.arguments, said.parameters, state?.input].find(one => one !== undefined)
  if (typeof input === 'string') return parsed(input) ?? undefined
  return input ?? (typeof said.command === 'string' ? { command: said.command } : undefined)
}
