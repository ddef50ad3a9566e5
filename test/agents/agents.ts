// The coding agents that are tried: where their program is, how each is pointed at the scripted model, and how it is started without a
// person. What Planfold needs on disk is written by `planfold agents install`, except for Kimi Code, which has no entry there.

import { existsSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Step } from './scripted-model.ts'

export interface Agent {
  readonly name: string
  readonly title: string
  /** The package whose version is printed. */
  readonly package: string
  /** Its program and first arguments. */
  readonly program: readonly string[]
  /** The name under which it writes into the journal. */
  readonly actor: RegExp
  /** Is it told about the plan when it starts? */
  readonly isPrimed: boolean
  /** Calls that make the tools of MCP servers visible to the model. */
  readonly search: readonly Step[]
  /** Does `planfold agents install` add a hook that denies writes outside the claimed task? */
  readonly isGuarded: boolean
  /** Can a person be asked in its window (elicitation) as it is started here? Else the question waits in the inbox. */
  readonly hasWindow: boolean
  /** Its name in `planfold agents install`. */
  readonly install: string | null
  /** The settings that a person would have made: the model, and that this folder is trusted. */
  setUp(place: Place): Promise<void>
  environment(place: Place): { readonly [name: string]: string }
  /** Of a run with this prompt. */
  arguments(place: Place, prompt: string): readonly string[]
  /** The call of its own tool that writes a file. */
  write(path: string, text: string): Step
}

/** Folders of its own, not under /tmp: Codex refuses to keep its helpers there. */
export interface Place {
  readonly home: string
  readonly project: string
  /** The address of the model. */
  readonly model: string
}

const MODULES = join(import.meta.dirname, 'node_modules')
const PLATFORM = `${process.platform}-${process.arch}`
const inModules = (...path: readonly string[]): string => join(MODULES, ...path)
/** For agents that do not run on an older one. */
const NODE_24 =
  Number.parseInt(process.versions.node, 10) >= 24 ? process.execPath : inModules(`node-${PLATFORM}`, 'bin/node')
const KEY = 'sk-scripted-model-needs-no-key'

export const AGENTS: readonly Agent[] = [
  {
    name: 'claude',
    title: 'Claude Code',
    package: '@anthropic-ai/claude-code',
    program: [inModules(`@anthropic-ai/claude-code-${PLATFORM}`, 'claude')],
    actor: /^claude-code\/[0-9a-f]{8}$/,
    isPrimed: true,
    search: [],
    isGuarded: true,
    hasWindow: true,
    install: 'claude',
    setUp: ({ home, project }) =>
      writeJson(join(home, '.claude.json'), {
        hasCompletedOnboarding: true,
        projects: { [project]: { hasTrustDialogAccepted: true } },
      }),
    environment: ({ model }) => ({
      ANTHROPIC_BASE_URL: model,
      ANTHROPIC_API_KEY: KEY,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
    }),
    // Prompts arrive on standard input, so that `/compact` comes in the middle of one session.
    arguments: () => [
      ...['-p', '--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'],
      ...['--permission-mode', 'acceptEdits', '--allowedTools', 'mcp__plugin_planfold_planfold'],
    ],
    write: (path, text) => ({ call: 'Write', input: { file_path: path, content: text } }),
  },
  {
    name: 'codex',
    title: 'Codex',
    package: '@openai/codex',
    program: [process.execPath, inModules('@openai/codex/bin/codex.js')],
    actor: /^codex\/[0-9a-f-]{8}$/,
    isPrimed: true,
    search: [{ call: 'tool_search', input: { query: 'plan_read plan_write' } }],
    isGuarded: true,
    hasWindow: false,
    install: 'codex',
    setUp: ({ home, project, model }) =>
      write(
        join(home, '.codex/config.toml'),
        `model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false
# Else it waits one second for an MCP server, then asks the model without its tools: too short on a busy machine.
mcp_optional_startup_grace_ms = 0

[model_providers.scripted]
name = "scripted"
base_url = "${model}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
supports_websockets = false

[projects."${project}"]
trust_level = "trusted"
`,
      ),
    environment: ({ home }) => ({ CODEX_HOME: join(home, '.codex'), SCRIPTED_KEY: KEY }),
    arguments: ({ project }, prompt) => [
      ...['exec', '--json', '--dangerously-bypass-hook-trust', '-s', 'workspace-write', '-C', project, prompt],
    ],
    write: (path, text) => {
      const added = text.trimEnd().split('\n')
      const lines = ['*** Begin Patch', `*** Add File: ${path}`, ...added.map(line => `+${line}`), '*** End Patch']
      return { call: 'apply_patch', input: `${lines.join('\n')}\n` }
    },
  },
  {
    name: 'opencode',
    title: 'opencode',
    package: `opencode-${PLATFORM}`,
    program: [inModules(`opencode-${PLATFORM}`, 'bin/opencode')],
    actor: /^opencode\/[0-9a-f]{6}$/,
    isPrimed: true,
    search: [],
    isGuarded: false,
    hasWindow: false,
    install: 'opencode',
    setUp: ({ home, model }) => {
      const models = { scripted: { name: 'scripted', limit: { context: 100_000, output: 8_000 } } }
      const options = { baseURL: `${model}/v1`, apiKey: KEY }
      return writeJson(join(home, '.config/opencode/opencode.json'), {
        model: 'test/scripted',
        small_model: 'test/scripted',
        autoupdate: false,
        share: 'disabled',
        provider: { test: { npm: '@ai-sdk/openai-compatible', name: 'test', options, models } },
      })
    },
    environment: () => ({ OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_AUTOUPDATE: '1' }),
    arguments: (_, prompt) => ['run', '--format', 'json', prompt],
    write: (path, text) => ({ call: 'write', input: { filePath: path, content: text } }),
  },
  {
    name: 'gemini',
    title: 'Gemini CLI',
    package: '@google/gemini-cli',
    program: [process.execPath, inModules('@google/gemini-cli/bundle/gemini.js')],
    actor: /^gemini-cli[a-z-]*\/[0-9a-f]{6}$/,
    isPrimed: true,
    search: [],
    isGuarded: false,
    hasWindow: false,
    install: 'gemini',
    setUp: async ({ home, project }) => {
      await writeJson(join(home, '.gemini/settings.json'), {
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
      })
      // `--skip-trust` would not do: it starts no MCP servers and hooks of the project.
      await writeJson(join(home, '.gemini/trustedFolders.json'), { [project]: 'TRUST_FOLDER' })
    },
    environment: ({ model }) => ({ GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: model, GEMINI_CLI_NO_RELAUNCH: '1' }),
    arguments: (_, prompt) => [
      ...['-m', 'gemini-2.5-pro', '-p', prompt, '--output-format', 'stream-json'],
      ...['--approval-mode', 'yolo'],
    ],
    write: (path, text) => ({ call: 'write_file', input: { file_path: path, content: text } }),
  },
  {
    name: 'kimi',
    title: 'Kimi Code',
    package: '@moonshot-ai/kimi-code',
    program: [NODE_24, inModules('@moonshot-ai/kimi-code/dist/main.mjs')],
    actor: /^kimi[a-z-]*\/[0-9a-f]{6}$/,
    isPrimed: false,
    search: [],
    isGuarded: false,
    hasWindow: false,
    install: null,
    setUp: async ({ home, model }) => {
      await write(
        join(home, '.kimi-code/config.toml'),
        `default_model = "scripted"

[providers.test]
type = "openai"
base_url = "${model}/v1"
api_key = "${KEY}"

[models.scripted]
provider = "test"
model = "scripted"
max_context_size = 100000
`,
      )
      await writeJson(join(home, '.kimi-code/mcp.json'), {
        mcpServers: { planfold: { command: 'planfold', args: ['mcp'] } },
      })
    },
    environment: ({ home }) => ({ KIMI_CODE_HOME: join(home, '.kimi-code'), KIMI_CODE_NO_AUTO_UPDATE: '1' }),
    arguments: (_, prompt) => ['-p', prompt, '--output-format', 'stream-json'],
    write: (path, text) => ({ call: 'Write', input: { path, content: text } }),
  },
]

/** Null when it was not installed, for this platform or at all. */
export function versionOf(agent: Agent): string | null {
  const manifest = inModules(agent.package, 'package.json')
  if (!existsSync(manifest) || !agent.program.every(path => existsSync(path))) return null
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string }).version
}

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
}

const writeJson = async (path: string, value: object): Promise<void> => await write(path, JSON.stringify(value))
