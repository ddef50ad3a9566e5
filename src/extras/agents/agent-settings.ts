// Coding agents that can be started by name, as rows of a file: built-in ones and the user's own, in the same format
// (docs/formats/agents.md). An invalid row is reported with its position and does not affect others.

import { z } from 'zod'
import { defined, type Json } from '../../domain/json.ts'
import { type AgentLogin, isAgentName } from '../../domain/plan-rules/agent-request.ts'
import { addresses } from '../../format/plan/schema-values.ts'
import type { Diagnostic } from '../../format/text/diagnostic.ts'
import { type Document, readDocument } from '../../format/text/document.ts'
import { complaintsOf } from '../../format/text/schema-messages.ts'

export const AGENT_WIRES = ['anthropic', 'openai-chat', 'openai-responses', 'gemini'] as const

export interface AgentRow {
  readonly name: string
  readonly from: 'planfold' | 'user' | 'plan'
  readonly title: string
  /** npm package and tested version; null if unknown. */
  readonly package: string | null
  readonly tested: string | null
  /** The protocol between agent and model; null: any, with address and key in the usual variables. */
  readonly wire: (typeof AGENT_WIRES)[number] | null
  /** Default model; null: an agent with a `wire` needs a model in the plan. */
  readonly model: string | null
  readonly env: Texts
  /** Files for its home, by path, for ACP and headless mode. */
  readonly files: Texts
  /**
   * The user's own login. It merges `settings` over `files`, and drops variables that use {url} or {token}, and words and lines
   * that use {model} if the plan names none.
   */
  readonly login: (AgentLogin & { readonly settings: Texts }) | null
  /** New files in the working folder that are not part of the work. */
  readonly scratch: readonly string[]
  /** Agent Client Protocol; absent if the agent does not speak it, or only with a login. */
  readonly acp?: AcpLaunch
  readonly headless?: HeadlessLaunch
  /** The files that install Planfold in it; absent if unknown. */
  readonly install?: InstallFiles | undefined
}

export const isStartable = ({ acp, headless }: AgentRow): boolean => acp !== undefined || headless !== undefined

type Texts = { readonly [name: string]: string }

export interface LaunchCommand {
  /** Program, found on PATH, and arguments. */
  readonly command: readonly string[]
  /** Set if a different package provides this protocol. */
  readonly package?: string | undefined
  readonly tested?: string | undefined
  readonly files?: Texts | undefined
}

export interface AcpLaunch extends LaunchCommand {
  /** The mode in which it asks before it writes or runs; absent if it always does. */
  readonly mode?: string | undefined
  /** The mode to use in our sandbox, where the agent's own sandbox would fail. */
  readonly boxed_mode?: string | undefined
  /** The sign-in method to select, although the key is in the environment. */
  readonly auth?: string | undefined
  /** Session files that it would overwrite when it resumes. */
  readonly aside?: AsideRule | undefined
}

/** Renames files of `folder` in its home: names that begin with `from` then begin with `to`; `*` in `folder` is any one folder. */
export interface AsideRule {
  readonly folder: string
  readonly from: string
  readonly to: string
}

/** A command without {prompt} gets the brief on standard input. */
export interface HeadlessLaunch extends LaunchCommand {
  /** Replaces `command` when a session is resumed. */
  readonly resume?: readonly string[] | undefined
  /** A command to run once in a new home. */
  readonly setup?: readonly string[] | undefined
  /** Where the output lines contain what we show; the first path that exists counts. */
  readonly lines: LinePaths
}

/** Paths into a JSON line, separated by dots; `a[]` means every item of a list. */
export interface LinePaths {
  readonly session: readonly string[]
  readonly text: readonly string[]
  readonly tools: readonly string[]
  /** What it thinks before it speaks or acts. */
  readonly thinks?: readonly string[] | undefined
  /** `path=value`: lines that repeat the prompt or tool results. */
  readonly skip?: readonly string[] | undefined
}

export interface ReadAgents {
  readonly rows: readonly AgentRow[]
  readonly diagnostics: readonly Diagnostic[]
}

export function readAgentRows(text: string, from: AgentRow['from']): ReadAgents {
  if (text.trim() === '') return { rows: [], diagnostics: [] }
  const read = readDocument(text)
  const document = read.ok ? read.document : read.rest
  const faults = read.ok ? [] : read.diagnostics
  if (document === undefined) return { rows: [], diagnostics: faults }
  const shaped = fileSchema.safeParse(document.value)
  if (!shaped.success)
    return {
      rows: [],
      diagnostics: [...faults, ...complaintsOf(fileSchema, shaped.error, document).map(document.place)],
    }
  const each = Object.entries(shaped.data.agents).map(([name, row]) => readRow(name, row as Json, document, from))
  return {
    rows: each.flatMap(({ rows }) => rows),
    diagnostics: [...faults, ...each.flatMap(({ diagnostics }) => diagnostics)],
  }
}

function readRow(name: string, value: Json, document: Document, from: AgentRow['from']): ReadAgents {
  const path = ['agents', name]
  const no = (message: string, hint: string): ReadAgents => ({
    rows: [],
    diagnostics: [document.place({ path, atKey: true, message, hint })],
  })
  if (!isAgentName(name)) return no(`an agent cannot be called '${name.slice(0, 60)}'`, NAME_HINT)
  const shaped = agentRow.safeParse(value)
  if (!shaped.success) {
    const written = (inner: Parameters<Document['written']>[0]) => document.written([...path, ...inner])
    const wrong = complaintsOf(agentRow, shaped.error, { value, written })
    return { rows: [], diagnostics: wrong.map(one => document.place({ ...one, path: [...path, ...one.path] })) }
  }
  const { command, protocol = 'lines', acp, headless, login, ...row } = shaped.data
  if (command !== undefined && (acp !== undefined || headless !== undefined))
    return no(`'${name}' has 'command' beside 'acp' or 'headless'`, 'keep one: `command` is the short form of them')
  if (command === undefined && protocol === 'acp')
    return no(`'${name}' has a 'protocol' and no 'command'`, COMMAND_HINT)
  if (command === undefined && acp === undefined && headless === undefined && row.install === undefined)
    return no(`'${name}' says no command that starts it`, COMMAND_HINT)
  const lined = headless && { ...headless, lines: headless.lines ?? COMMAND_LINES }
  const launches = command === undefined ? { acp, headless: lined } : launchOf(command, protocol)
  return {
    rows: [
      {
        ...NOTHING_MORE,
        ...row,
        ...{ name, from, title: row.title ?? name, scratch: row.scratch ?? [] },
        login: login === undefined ? null : { ...login, settings: login.settings ?? {} },
        ...defined({ acp: launches.acp, headless: launches.headless }),
      },
    ],
    diagnostics: [],
  }
}

const NOTHING_MORE = { package: null, tested: null, wire: null, model: null, env: {}, files: {} } as const
const NAME_HINT = 'write small letters, digits and -; `self` and `planfold` are reserved'
const COMMAND_HINT = 'write command: [program, argument], and protocol: acp if it speaks the Agent Client Protocol'

/** A plain command with unknown properties. */
export const launchOf = (
  command: readonly string[],
  protocol: 'acp' | 'lines',
): { readonly acp?: AcpLaunch; readonly headless?: HeadlessLaunch } =>
  protocol === 'acp' ? { acp: { command } } : { headless: { command, lines: COMMAND_LINES } }

/** An agent for a command that a plan names. */
export const rowOfCommand = (command: readonly string[], protocol: 'acp' | 'lines'): AgentRow => ({
  ...NOTHING_MORE,
  ...{ name: command[0] ?? '', title: command[0] ?? '', from: 'plan', login: null, scratch: [] },
  ...launchOf(command, protocol),
})

const COMMAND_LINES: LinePaths = { session: ['session_id', 'sessionId'], text: ['text', 'content'], tools: [] }

const word = z.string().min(1).max(20_000)
const words = z.array(word).min(1).max(200)
const variable = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/, 'use letters, digits and _')
const paths = z.array(word).max(50)
const below = word.refine(
  text => !/^[/~]|\\|\p{Cc}/u.test(text) && !text.split('/').some(part => part === '' || part === '.' || part === '..'),
  'write a path below the folder, without `..`',
)
const files = z.record(below, z.string().max(200_000))
const launch = {
  command: words,
  package: word.optional(),
  tested: word.optional(),
  files: files.optional(),
}
/** Only names that begin with a dot, so that user files are never treated as leftovers of an agent. */
const leaves = below.refine(
  text => /^\.[^*?]{2}/.test(text) && !/^\.(git|planfold)(\/|$)/i.test(text) && !/[{}]/.test(text),
  'write a name that begins with a dot and two letters, such as .my-agent/** or .my-agent-*',
)

/** Files to add, and entries in the agent's own settings files, that install the Planfold tools and instructions. */
const install = z.strictObject({
  tested: z.boolean().optional(),
  folder: below.optional().describe("Of its settings, below the person's home; in a project `.NAME`."),
  variable: variable.optional().describe('Names that folder instead.'),
  folders: z.array(below).max(20).optional().describe('Those that are ours alone, the outermost first.'),
  files: z
    .array(
      z
        .strictObject({
          path: below,
          at_root: z.boolean().optional().describe('In the project itself, not in its folder of settings.'),
          project_only: z.boolean().optional(),
          text: z.string().max(200_000).optional(),
          json: z.json().optional(),
          toml: z.strictObject({ table: z.tuple([word, word]), lines: words }).optional(),
          entries: z
            .array(z.strictObject({ path: words, value: z.json(), item: z.literal(true).optional() }))
            .min(1)
            .optional(),
          others: z.array(below).optional().describe('Other names of the same file.'),
        })
        .refine(
          ({ text, json, toml, entries }) => [text, json, toml, entries].filter(one => one !== undefined).length === 1,
          'write one of `text`, `json`, `toml` and `entries`',
        ),
    )
    .min(1)
    .max(50),
  next: word,
  next_in_project: word.optional(),
})
export type InstallFiles = z.output<typeof install>

export const agentRow = z.strictObject({
  title: z.string().min(1).max(60).optional(),
  package: word.optional(),
  tested: word.optional(),
  wire: z.enum(AGENT_WIRES).optional(),
  model: word.optional(),
  env: z.record(variable, z.string().max(20_000)).optional(),
  files: files.optional(),
  login: z
    .strictObject({ files: z.array(below).min(1).max(10), hosts: addresses, settings: files.optional() })
    .optional(),
  scratch: z.array(leaves).max(20).optional(),
  install: install.optional(),
  command: words.optional(),
  protocol: z.enum(['acp', 'lines']).optional(),
  acp: z
    .strictObject({
      ...launch,
      mode: word.optional(),
      boxed_mode: word.optional(),
      auth: word.optional(),
      aside: z.strictObject({ folder: below, from: word, to: word }).optional(),
    })
    .optional(),
  headless: z
    .strictObject({
      ...launch,
      resume: words.optional(),
      setup: words.optional(),
      lines: z
        .strictObject({ session: paths, text: paths, tools: paths, thinks: paths.optional(), skip: paths.optional() })
        .optional(),
    })
    .optional(),
})
const fileSchema = z.strictObject({ agents: z.record(z.string(), z.unknown()) })
