// What a scripted model tells a coding agent to do: read, edit, run, in order, with whichever tools the agent offers. Agents name their
// tools and the values they take differently; a step finds the tool by its usual names and fills in what its schema asks for.
//
// A prompt that holds `[script NAME]` begins a script, else the script is named like the task that the agent is given; the step is the number of tool answers since. So it keeps no state, and what an
// agent repeats, or asks on the side, does not disturb it.

import type { ScriptedRequest } from '../../testing/model-protocols.ts'
import type { Script, ScriptedReply } from '../../testing/scripted-model.ts'

export type AgentStep =
  | { readonly read: string }
  | { readonly edit: readonly [file: string, from: string, to: string] }
  | { readonly write: readonly [file: string, text: string] }
  | { readonly shell: string }
  /** A tool whose name is this or ends with it, with exactly this input. */
  | { readonly call: readonly [name: string, input: object] }
  | { readonly say: string }

export type AgentSteps = readonly AgentStep[] | ((prompt: string) => readonly AgentStep[])

export interface AgentScriptOptions {
  /** Relative paths of steps are made absolute with it: some agents take no others. */
  readonly root: string
  /** A script may depend on the last prompt of the agent. */
  readonly scripts: { readonly [name: string]: AgentSteps }
  readonly onStep?: (script: string, step: number, request: ScriptedRequest) => void | Promise<void>
}

export const scriptPrompt = (name: string): string => `[script ${name}]`

export function agentScript(options: AgentScriptOptions): Script {
  return async request => {
    const place = placeIn(request)
    if (place === null) return { text: 'A scripted answer' }
    const script = options.scripts[place.script]
    const steps = typeof script === 'function' ? script(place.prompt) : script
    const step = steps?.[Math.min(place.step, steps.length - 1)]
    await options.onStep?.(place.script, place.step, request)
    return step === undefined ? { text: `There is no script ${place.script}` } : replyFor(step, request, options.root)
  }
}

interface ScriptPlace {
  readonly script: string
  readonly step: number
  readonly prompt: string
}

function placeIn({ messages, tools }: ScriptedRequest): ScriptPlace | null {
  const at = messages.findLastIndex(({ role, text }) => role === 'user' && MARK.test(text))
  if (at < 0 || tools.length === 0) return null
  const step = messages.slice(at).filter(({ role }) => role === 'tool').length
  const [, named, task] = MARK.exec(messages[at]!.text)!
  return { script: (named ?? task)!, step, prompt: messages[at]!.text }
}

const MARK = /\[script ([a-z-]+)\]|^## Your task\n\s+([\w/-]+)/m

interface OfferedTool {
  readonly name: string
  readonly properties: { readonly [name: string]: Schema }
  readonly required: readonly string[]
}

interface Schema {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly items?: { readonly properties?: { readonly [name: string]: Schema } }
}

function replyFor(step: AgentStep, request: ScriptedRequest, root: string): ScriptedReply {
  if ('say' in step) return { text: step.say }
  const tools = offeredBy(request)
  if ('call' in step) {
    const [name, input] = step.call
    const tool = tools.find(one => one.name === name) ?? tools.find(one => one.name.endsWith(name))
    return tool === undefined ? missing(name, tools) : { call: { name: tool.name, input } }
  }
  const kind = Object.keys(step)[0] as 'read' | 'edit' | 'write' | 'shell'
  const tool = NAMES[kind].flatMap(name => tools.find(one => one.name.toLowerCase() === name) ?? [])[0]
  if (tool !== undefined) return { call: { name: tool.name, input: inputFor(tool, step, root) } }
  // Some agents have a shell and nothing else.
  const shell = NAMES.shell.flatMap(name => tools.find(one => one.name.toLowerCase() === name) ?? [])[0]
  if (shell === undefined) return missing(kind, tools)
  return { call: { name: shell.name, input: inputFor(shell, { shell: inShell(step) }, root) } }
}

const missing = (what: string, tools: readonly OfferedTool[]): ScriptedReply => ({
  text: `There is no tool to ${what}; there are ${tools.map(({ name }) => name).join(', ')}`,
})

/** The usual names, the better ones first. */
const NAMES = {
  read: ['read', 'read_file', 'readfile', 'view', 'read_files'],
  edit: ['edit', 'replace', 'search_replace', 'str_replace', 'edit_file', 'strreplacefile', 'replace_in_file'],
  write: ['write', 'write_file', 'writefile', 'create', 'create_file', 'write_to_file'],
  shell: [
    ...['bash', 'shell', 'exec_command', 'run_shell_command', 'shell_command', 'run_terminal_command'],
    ...['run_terminal_cmd', 'execute_command', 'run_commands', 'execute', 'local_shell'],
  ],
} as const

function offeredBy({ protocol, body }: ScriptedRequest): readonly OfferedTool[] {
  // biome-ignore lint/suspicious/noExplicitAny: this is a document of others, read where it has what is looked for.
  const { tools = [] } = JSON.parse(body) as any
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  const declared: any[] = tools.flatMap((tool: any) =>
    protocol === 'gemini'
      ? (tool.functionDeclarations ?? [])
      : protocol === 'openai-chat'
        ? [tool.function]
        : tool.type === 'namespace'
          ? tool.tools
          : [tool],
  )
  return declared
    .filter(tool => typeof tool?.name === 'string')
    .map(tool => {
      const schema = tool.input_schema ?? tool.parametersJsonSchema ?? tool.parameters ?? {}
      return { name: tool.name, properties: schema.properties ?? {}, required: schema.required ?? [] }
    })
}

function inputFor({ name, properties, required }: OfferedTool, step: AgentStep, root: string): object {
  const input: { [key: string]: unknown } = {}
  for (const [key, schema] of Object.entries(properties)) {
    const value = valueFor(key, schema, step, root)
    if (value !== undefined) input[key] = value
  }
  if ('write' in step && /^str_replace|^create$/.test(name) && 'command' in properties) input.command = 'create'
  for (const key of required) if (!(key in input)) input[key] = emptyOf(properties[key] ?? {})
  return input
}

function valueFor(key: string, schema: Schema, step: AgentStep, root: string): unknown {
  if ('shell' in step) {
    if (/^(command|cmd|script)$/.test(key)) return schema.type === 'array' ? ['bash', '-lc', step.shell] : step.shell
    if (key === 'commands') return [step.shell]
    return /desc|explanation|reason/.test(key) ? 'scripted' : undefined
  }
  const [file, one, two] =
    'read' in step ? [step.read] : 'edit' in step ? step.edit : 'write' in step ? step.write : ['']
  const path = file!.startsWith('/') ? file! : `${root}/${file}`
  if (/^(file_?path|path|filename|absolute_path|target_file|file)$/i.test(key)) return path
  if (key === 'files') return [{ path }]
  if ('write' in step && /^(content|contents|file_text|new_text)$/.test(key)) return one
  if ('edit' in step) {
    if (/^old(_?(string|str|text))?$/i.test(key)) return one
    if (/^new(_?(string|str|text))?$/i.test(key)) return two
    if (key === 'edits') {
      const names = Object.keys(schema.items?.properties ?? {})
      return [
        Object.fromEntries(
          names.flatMap(each => (/^old/i.test(each) ? [[each, one]] : /^new/i.test(each) ? [[each, two]] : [])),
        ),
      ]
    }
  }
  return /^(instruction|description)$/.test(key) ? 'scripted' : undefined
}

function emptyOf({ type, enum: choices }: Schema): unknown {
  if (choices !== undefined) return choices[0]
  if (type === 'boolean') return false
  if (type === 'number' || type === 'integer') return 1
  return type === 'array' ? [] : type === 'object' ? {} : 'scripted'
}

function inShell(step: AgentStep): string {
  if ('edit' in step) return `sed -i 's/${step.edit[1]}/${step.edit[2]}/' ${step.edit[0]}`
  if ('write' in step) return `printf %b '${step.write[1].replaceAll('\n', '\\n')}' > ${step.write[0]}`
  return 'read' in step ? `cat ${step.read}` : 'true'
}
