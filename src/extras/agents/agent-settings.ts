// The coding agents that can be started by name, as rows of a file: those that come with Planfold, and the person's own, in the same format
// (docs/formats/agents.md). A row that is wrong is told with its place, and takes no other row with it.

import { z } from 'zod'
import type { Json } from '../../domain/json.ts'
import { type AgentLogin, isAgentName } from '../../domain/plan-rules/agent-request.ts'
import { addresses } from '../../format/plan/schema-values.ts'
import type { Diagnostic } from '../../format/text/diagnostic.ts'
import { type Document, readDocument } from '../../format/text/document.ts'
import { complaintsOf } from '../../format/text/schema-messages.ts'

/** The protocols that an agent may speak to its model. */
export const AGENT_WIRES = ['anthropic', 'openai-chat', 'openai-responses', 'gemini'] as const

export interface AgentRow {
  readonly name: string
  /** Who wrote it. */
  readonly from: 'planfold' | 'user' | 'plan'
  readonly title: string
  /** Where it is had, and the version that was tried; null: nobody says. */
  readonly package: string | null
  readonly tested: string | null
  /** The protocol it speaks to its model; null: any, with address and key in the usual variables. */
  readonly wire: (typeof AGENT_WIRES)[number] | null
  /** Asked when the plan names no model; null: the agent does not start without one, if it has a `wire`. */
  readonly model: string | null
  readonly env: Texts
  /** In its home, each with its content, for both roads. */
  readonly files: Texts
  /**
   * The person's own login. `settings` lie over `files` then, what names {url} or {token} in `env` is left out, and so are words and lines
   * that name {model} where the plan names none.
   */
  readonly login: (AgentLogin & { readonly settings: Texts }) | null
  /** New names in the working folder that are no work of a task. */
  readonly scratch: readonly string[]
  /** The Agent Client Protocol; absent: it does not speak it, or not without a login. */
  readonly acp?: AcpRoad
  readonly headless?: HeadlessRoad
  /** What it needs on disk when the person starts it; absent: nobody says. */
  readonly install?: InstallFiles | undefined
}

/** Can Planfold start it? */
export const isStartable = ({ acp, headless }: AgentRow): boolean => acp !== undefined || headless !== undefined

type Texts = { readonly [name: string]: string }

export interface Road {
  /** Its program, looked for on PATH, and its arguments. */
  readonly command: readonly string[]
  /** Where the road is another package than the agent. */
  readonly package?: string | undefined
  readonly tested?: string | undefined
  readonly files?: Texts | undefined
}

export interface AcpRoad extends Road {
  /** The mode in which it asks before it writes or runs something; absent: it does so anyhow. */
  readonly mode?: string | undefined
  /** In our sandbox, where its own would fail: the mode without it. */
  readonly boxed_mode?: string | undefined
  /** The method it wants to be signed in with, though the key is in its environment. */
  readonly auth?: string | undefined
  /** Its conversations that it would write over when it takes one up. */
  readonly aside?: AsideRule | undefined
}

/** Files of a folder in its home whose names begin with `from` begin with `to` afterwards; `*` is any folder. */
export interface AsideRule {
  readonly folder: string
  readonly from: string
  readonly to: string
}

/** A command without {prompt} gets the brief on its standard input. */
export interface HeadlessRoad extends Road {
  /** What takes the place of the command when it goes on with a conversation. */
  readonly resume?: readonly string[] | undefined
  /** A command that has to be given once in a new home. */
  readonly setup?: readonly string[] | undefined
  /** Where its lines tell what we show; the first path that is there counts. */
  readonly lines: LinePaths
}

/** Paths into a line of JSON, with dots; `a[]` looks into every item of a list. */
export interface LinePaths {
  readonly session: readonly string[]
  /** What it says. */
  readonly text: readonly string[]
  /** The names of tools it calls. */
  readonly tools: readonly string[]
  /** `path=value`: lines that repeat what it was told or what its tools answered. */
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
  const roads = command === undefined ? { acp, headless: lined } : roadOf(command, protocol)
  return {
    rows: [
      {
        ...NOTHING_MORE,
        ...row,
        ...{ name, from, title: row.title ?? name, scratch: row.scratch ?? [] },
        login: login === undefined ? null : { ...login, settings: login.settings ?? {} },
        ...(roads.acp === undefined ? {} : { acp: roads.acp }),
        ...(roads.headless === undefined ? {} : { headless: roads.headless }),
      },
    ],
    diagnostics: [],
  }
}

const NOTHING_MORE = { package: null, tested: null, wire: null, model: null, env: {}, files: {} } as const
const NAME_HINT = 'write small letters, digits and -; `self` and `planfold` are reserved'
const COMMAND_HINT = 'write command: [program, argument], and protocol: acp if it speaks the Agent Client Protocol'

/** A command of which nothing else is known. */
export const roadOf = (
  command: readonly string[],
  protocol: 'acp' | 'lines',
): { readonly acp?: AcpRoad; readonly headless?: HeadlessRoad } =>
  protocol === 'acp' ? { acp: { command } } : { headless: { command, lines: COMMAND_LINES } }

/** As a row: a command that a plan names. */
export const rowOfCommand = (command: readonly string[], protocol: 'acp' | 'lines'): AgentRow => ({
  ...NOTHING_MORE,
  ...{ name: command[0] ?? '', title: command[0] ?? '', from: 'plan', login: null, scratch: [] },
  ...roadOf(command, protocol),
})

const COMMAND_LINES: LinePaths = { session: ['session_id', 'sessionId'], text: ['text', 'content'], tools: [] }

const word = z.string().min(1).max(20_000)
const words = z.array(word).min(1).max(200)
const variable = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/, 'use letters, digits and _')
const paths = z.array(word).max(50)
/** Below a folder, and nowhere else. */
const below = word.refine(
  text => !/^[/~]|\\|\p{Cc}/u.test(text) && !text.split('/').some(part => part === '' || part === '.' || part === '..'),
  'write a path below the folder, without `..`',
)
const files = z.record(below, z.string().max(200_000))
const road = {
  command: words,
  package: word.optional(),
  tested: word.optional(),
  files: files.optional(),
}
/** Names that begin with a dot: what a person works on is never taken for what an agent leaves. */
const leaves = below.refine(
  text => /^\.[^*?]{2}/.test(text) && !/^\.(git|planfold)(\/|$)/i.test(text) && !/[{}]/.test(text),
  'write a name that begins with a dot and two letters, such as .my-agent/** or .my-agent-*',
)

/** Files of ours, and entries in files of its own, so that an agent has the tools of Planfold and is told about the plan. */
const install = z.strictObject({
  tested: z.boolean().optional(),
  folder: below.optional().meta({ description: "Of its settings, below the person's home; in a project `.NAME`." }),
  variable: variable.optional().meta({ description: 'Names that folder instead.' }),
  folders: z.array(below).max(20).optional().meta({ description: 'Those that are ours alone, the outermost first.' }),
  files: z
    .array(
      z
        .strictObject({
          path: below,
          at_root: z
            .boolean()
            .optional()
            .meta({ description: 'In the project itself, not in its folder of settings.' }),
          project_only: z.boolean().optional(),
          text: z.string().max(200_000).optional(),
          json: z.json().optional(),
          toml: z.strictObject({ table: z.tuple([word, word]), lines: words }).optional(),
          entries: z
            .array(z.strictObject({ path: words, value: z.json(), item: z.literal(true).optional() }))
            .min(1)
            .optional(),
          others: z.array(below).optional().meta({ description: 'Other names of the same file.' }),
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

/** One row, as it is written. */
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
      ...road,
      mode: word.optional(),
      boxed_mode: word.optional(),
      auth: word.optional(),
      aside: z.strictObject({ folder: below, from: word, to: word }).optional(),
    })
    .optional(),
  headless: z
    .strictObject({
      ...road,
      resume: words.optional(),
      setup: words.optional(),
      lines: z.strictObject({ session: paths, text: paths, tools: paths, skip: paths.optional() }).optional(),
    })
    .optional(),
})
const fileSchema = z.strictObject({ agents: z.record(z.string(), z.unknown()) })
