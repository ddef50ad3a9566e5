// What each coding agent must find on disk so that it has the two tools of Planfold and is told about the plan when it starts: files
// of our own, and entries in files of its own. The commands that these files call are given by the face.

import { join } from 'node:path'
import type { Json } from '../../domain/json.ts'
import type { JsonEntry } from '../../format/text/json-entry.ts'
import type { TomlBlock } from '../../format/text/toml-block.ts'

export const AGENTS = ['claude', 'codex', 'opencode', 'gemini', 'cursor'] as const
export type AgentName = (typeof AGENTS)[number]

/** For everybody who works in this folder, or for one person everywhere. */
export type InstallScope = 'project' | 'user'

export interface AgentCommands {
  /** The program, as it is called from anywhere. */
  readonly program: string
  /** Arguments of the MCP server over standard input and output. */
  readonly mcp: readonly string[]
  /** Arguments that print the state of the plan as text. */
  readonly prime: readonly string[]
  /** The same for the hook of each agent, as one line of a shell. */
  readonly hooks: { readonly claude: string; readonly codex: string; readonly gemini: string }
  /** The hook that judges what a tool is about to write, as one line of a shell. */
  readonly guard: string
  /** How our files say where they came from. */
  readonly install: string
  readonly version: string
}

/** Where agents keep their settings: a folder, and the bounds that a link in it must not leave. */
export interface AgentHomes {
  readonly project: string
  readonly home: string
  readonly environment: { readonly [name: string]: string | undefined }
}

/** One thing that must be on disk. Nothing is written outside `within`, also not through a link. */
export type AgentFile = { readonly path: string; readonly within: string } & (
  | { readonly kind: 'whole'; readonly text: string }
  /** `others`: names of the same file; the first that is there is used. */
  | { readonly kind: 'json'; readonly entries: readonly JsonEntry[]; readonly others?: readonly string[] }
  | { readonly kind: 'toml'; readonly block: TomlBlock }
)

export interface AgentSetup {
  readonly agent: AgentName
  /** As its makers write it. */
  readonly title: string
  readonly files: readonly AgentFile[]
  /** Folders that are ours alone, the outermost first. */
  readonly folders: readonly string[]
  /** Was it tried with the real agent? */
  readonly tested: boolean
}

export function agentSetup(
  agent: AgentName,
  scope: InstallScope,
  homes: AgentHomes,
  commands: AgentCommands,
): AgentSetup {
  return SETUPS[agent](baseOf(agent, scope, homes), scope, commands)
}

interface Base {
  /** The folder of the agent's settings. */
  readonly folder: string
  readonly within: string
  /** The folder of the project; null for a person. */
  readonly project: string | null
}

/** In a project, a dot folder; for a person, the folder that the agent's own variable names, else the usual one. */
function baseOf(agent: AgentName, scope: InstallScope, { project, home, environment }: AgentHomes): Base {
  if (scope === 'project') return { folder: join(project, `.${agent}`), within: project, project }
  const told =
    agent === 'claude' ? environment.CLAUDE_CONFIG_DIR : agent === 'codex' ? environment.CODEX_HOME : undefined
  if (told !== undefined && told !== '') return { folder: told, within: told, project: null }
  if (agent !== 'opencode') return { folder: join(home, `.${agent}`), within: home, project: null }
  const config = environment.XDG_CONFIG_HOME
  return config?.startsWith('/') === true
    ? { folder: join(config, 'opencode'), within: config, project: null }
    : { folder: join(home, '.config/opencode'), within: home, project: null }
}

const SETUPS: {
  readonly [agent in AgentName]: (base: Base, scope: InstallScope, commands: AgentCommands) => AgentSetup
} = { claude, codex, opencode, gemini, cursor }

/** A plugin in the folder of skills is loaded without a marketplace (Claude Code 2.1.157 and later), and no settings are edited. */
function claude({ folder, within }: Base, _: InstallScope, commands: AgentCommands): AgentSetup {
  const plugin = join(folder, 'skills/planfold')
  const server = { command: commands.program, args: commands.mcp, alwaysLoad: true }
  const whole = (path: string, value: Json): AgentFile => ({
    kind: 'whole',
    path: join(plugin, path),
    within,
    text: documentOf(value),
  })
  return {
    agent: 'claude',
    title: 'Claude Code',
    tested: true,
    folders: [plugin, join(plugin, '.claude-plugin'), join(plugin, 'hooks')],
    files: [
      whole('.claude-plugin/plugin.json', {
        name: 'planfold',
        version: commands.version,
        description:
          'A plan that outlives the context window: plan_read and plan_write, and its state after every start',
      }),
      whole('hooks/hooks.json', {
        hooks: {
          SessionStart: [{ matcher: 'startup|resume|clear|compact', hooks: [{ ...hookOf(commands.hooks.claude) }] }],
          PreToolUse: [{ matcher: 'Write|Edit|MultiEdit|NotebookEdit', hooks: [{ ...hookOf(commands.guard) }] }],
        },
      }),
      whole('.mcp.json', { mcpServers: { planfold: server } }),
    ],
  }
}

function codex({ folder, within }: Base, _: InstallScope, commands: AgentCommands): AgentSetup {
  const { program, mcp, hooks, guard } = commands
  const block: TomlBlock = {
    table: ['mcp_servers', 'planfold'],
    lines: [`command = ${JSON.stringify(program)}`, `args = [${mcp.map(word => JSON.stringify(word)).join(', ')}]`],
  }
  return {
    agent: 'codex',
    title: 'Codex',
    tested: true,
    folders: [],
    files: [
      { kind: 'toml', path: join(folder, 'config.toml'), within, block },
      {
        kind: 'json',
        path: join(folder, 'hooks.json'),
        within,
        entries: [
          { path: ['hooks', 'SessionStart'], value: { hooks: [hookOf(hooks.codex)] }, item: true },
          { path: ['hooks', 'PreToolUse'], value: { matcher: 'apply_patch', hooks: [hookOf(guard)] }, item: true },
        ],
      },
    ],
  }
}

function opencode({ folder, within, project }: Base, _: InstallScope, commands: AgentCommands): AgentSetup {
  const { program, mcp } = commands
  const value = { type: 'local', command: [program, ...mcp], enabled: true }
  const root = project ?? folder
  const others = [join(root, 'opencode.jsonc'), join(folder, 'opencode.jsonc'), join(folder, 'opencode.json')]
  return {
    agent: 'opencode',
    title: 'opencode',
    tested: true,
    folders: [],
    files: [
      { kind: 'whole', path: join(folder, 'plugin/planfold.js'), within, text: opencodePlugin(commands) },
      {
        kind: 'json',
        path: join(root, 'opencode.json'),
        within,
        others,
        entries: [{ path: ['mcp', 'planfold'], value }],
      },
    ],
  }
}

/** Runs before every request to the model, so the text is as new as the plan. Whatever fails, the request goes on without it. */
const opencodePlugin = ({ program, prime, install }: AgentCommands): string => `// Made by \`${install}\`.
// Adds the state of the plan to the system prompt. Where there is no plan, or anything fails, nothing is added.
import { execFile } from 'node:child_process'

const run = folder =>
  new Promise(resolve => {
    execFile(${JSON.stringify(program)}, ${JSON.stringify(prime)}, { cwd: folder, timeout: 10000 }, (error, text) =>
      resolve(error ? '' : text.trim()),
    )
  })

export const Planfold = async ({ directory }) => ({
  'experimental.chat.system.transform': async (_input, output) => {
    const text = await run(directory)
    if (text !== '') output.system.push(text)
  },
})
`

function gemini({ folder, within }: Base, _: InstallScope, { program, mcp, hooks }: AgentCommands): AgentSetup {
  // It counts in milliseconds.
  const hook = { ...hookOf(hooks.gemini), name: 'planfold', timeout: HOOK_TIMEOUT * 1_000 }
  return {
    agent: 'gemini',
    title: 'Gemini CLI',
    tested: true,
    folders: [],
    files: [
      {
        kind: 'json',
        path: join(folder, 'settings.json'),
        within,
        entries: [
          { path: ['mcpServers', 'planfold'], value: { command: program, args: mcp } },
          { path: ['hooks', 'SessionStart'], value: { hooks: [hook] }, item: true },
        ],
      },
    ],
  }
}

/** Rules are files of a project only. */
function cursor({ folder, within }: Base, scope: InstallScope, commands: AgentCommands): AgentSetup {
  const { program, mcp, prime } = commands
  const rule: AgentFile = {
    kind: 'whole',
    path: join(folder, 'rules/planfold.mdc'),
    within,
    text: `---
description: Planfold holds the plan of this project
alwaysApply: true
---

Planfold holds the plan of this project. Read it with the tool \`plan_read\` before you begin and whenever you are unsure what is
done; change it with \`plan_write\`. \`${[program, ...prime].join(' ')}\` prints the goal, what is done, what is next and what people decided.
`,
  }
  return {
    agent: 'cursor',
    title: 'Cursor',
    tested: false,
    folders: [],
    files: [
      {
        kind: 'json',
        path: join(folder, 'mcp.json'),
        within,
        entries: [{ path: ['mcpServers', 'planfold'], value: { command: program, args: mcp } }],
      },
      ...(scope === 'project' ? [rule] : []),
    ],
  }
}

/** In seconds; the agent waits for it. */
const HOOK_TIMEOUT = 15

const hookOf = (command: string) => ({ type: 'command', command, timeout: HOOK_TIMEOUT })

const documentOf = (value: Json): string => `${JSON.stringify(value, null, 2)}\n`
