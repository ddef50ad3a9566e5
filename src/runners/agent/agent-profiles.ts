// The coding agents that can be started by name. What differs between them stands in this table and nowhere else: how each is started,
// where it reads the address of its model and its key, which files it needs in its home, and which of its modes leaves the judging to
// us. Each was tried in the version it names, against a scripted model (`npm run agents`).
//
// In all texts: {url} is the address of the model, {token} the key for this attempt, {model} the model it asks, {root} the folder it works
// in, {home} its own home, {prompt} the brief, {session} the id of its conversation.

import type { AgentName } from '../../domain/plan-rules/agent-request.ts'

export interface AgentProfile {
  readonly name: AgentName
  readonly title: string
  /** Where it is had, and the version that was tried. */
  readonly package: string
  readonly tested: string
  /** The protocol it speaks to its model. */
  readonly wire: 'anthropic' | 'openai-chat' | 'openai-responses' | 'gemini'
  /** Asked when the plan names no model; null: the agent does not start without one. */
  readonly model: string | null
  readonly env: Texts
  /** In its home, each with its content, for both roads. */
  readonly files?: Texts
  /**
   * What takes the place of `env` and `files` when the person lends it their own login (`domain/plan-rules/agent-login.ts`). Words and lines
   * that name {model} are left out where the plan names none. Not tried: that takes a real account.
   */
  readonly login?: { readonly env: Texts; readonly files?: Texts }
  /** The Agent Client Protocol; absent: it does not speak it, or not without a login. */
  readonly acp?: AcpRoad
  readonly headless?: HeadlessRoad
}

type Texts = { readonly [name: string]: string }

export interface Road {
  /** Its program, looked for on PATH, and its arguments. */
  readonly command: readonly string[]
  /** Where the road is another package than the agent. */
  readonly package?: string
  readonly tested?: string
  readonly files?: Texts
}

export interface AcpRoad extends Road {
  /** The mode in which it asks before it writes or runs something; absent: it does so anyhow. */
  readonly mode?: string
  /** In our sandbox, where its own would fail: the mode without it. */
  readonly boxedMode?: string
  /** The method it wants to be signed in with, though the key is in its environment. */
  readonly auth?: string
  /** Its conversations that it would write over when it takes one up. */
  readonly aside?: AsideRule
}

/** Files of a folder in its home whose names begin with `from` begin with `to` afterwards; `*` is any folder. */
export interface AsideRule {
  readonly folder: string
  readonly from: string
  readonly to: string
}

export interface HeadlessRoad extends Road {
  /** What takes the place of the arguments when it goes on with a conversation. */
  readonly resume?: readonly string[]
  /** A command that has to be given once in a new home. */
  readonly setup?: readonly string[]
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
  readonly skip?: readonly string[]
}

const OPENCODE = (permission: string): string =>
  `{"model":"planfold/{model}","small_model":"planfold/{model}","autoupdate":false,"share":"disabled","permission":${permission},` +
  '"provider":{"planfold":{"npm":"@ai-sdk/openai-compatible","name":"planfold","options":{"baseURL":"{url}/v1","apiKey":"{token}"},' +
  '"models":{"{model}":{"name":"{model}","limit":{"context":200000,"output":16000}}}}}}'

const CODEX_CONFIG = `model = "{model}"
model_provider = "planfold"
check_for_update_on_startup = false
mcp_optional_startup_grace_ms = 0

[model_providers.planfold]
name = "planfold"
base_url = "{url}/v1"
env_key = "PLANFOLD_MODEL_TOKEN"
wire_api = "responses"
supports_websockets = false

[projects."{root}"]
trust_level = "trusted"
`

const CODEX_LOGIN_CONFIG = `model = "{model}"
check_for_update_on_startup = false
mcp_optional_startup_grace_ms = 0
cli_auth_credentials_store = "file"

[projects."{root}"]
trust_level = "trusted"
`

const CLAUDE_FILES = {
  '.claude.json':
    '{"hasCompletedOnboarding":true,"projects":{"{root}":{"hasTrustDialogAccepted":true,"hasCompletedProjectOnboarding":true}}}',
}
const CLAUDE_ENV = {
  ANTHROPIC_MODEL: '{model}',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_AUTOUPDATER: '1',
  // Without it, it does not start as root; what it then allows itself, our sandbox does not.
  IS_SANDBOX: '1',
}
const GEMINI_TRUST = { '.gemini/trustedFolders.json': '{"{root}":"TRUST_FOLDER"}' }

const KIMI_CONFIG = `default_model = "{model}"

[providers.planfold]
type = "openai"
base_url = "{url}/v1"
api_key = "{token}"

[models."{model}"]
provider = "planfold"
model = "{model}"
max_context_size = 200000
`

const OPENAI = { OPENAI_BASE_URL: '{url}/v1', OPENAI_API_KEY: '{token}', OPENAI_MODEL: '{model}' }

export const AGENT_PROFILES: readonly AgentProfile[] = [
  {
    name: 'claude',
    title: 'Claude Code',
    package: '@anthropic-ai/claude-code',
    tested: '2.1.325',
    wire: 'anthropic',
    model: 'default',
    env: { ANTHROPIC_BASE_URL: '{url}', ANTHROPIC_API_KEY: '{token}', ...CLAUDE_ENV },
    files: CLAUDE_FILES,
    login: { env: CLAUDE_ENV, files: CLAUDE_FILES },
    acp: {
      command: ['claude-agent-acp'],
      package: '@agentclientprotocol/claude-agent-acp',
      tested: '0.99.1',
      mode: 'default',
    },
    headless: {
      command: [
        ...['claude', '-p', '{prompt}', '--output-format', 'stream-json', '--verbose'],
        ...['--permission-mode', 'bypassPermissions'],
      ],
      resume: [
        ...['claude', '-p', '{prompt}', '--output-format', 'stream-json', '--verbose'],
        ...['--permission-mode', 'bypassPermissions', '--resume', '{session}'],
      ],
      lines: { session: ['session_id'], text: ['message.content[].text'], tools: ['message.content[].name'] },
    },
  },
  {
    name: 'codex',
    title: 'Codex',
    package: '@openai/codex',
    tested: '0.166.0',
    wire: 'openai-responses',
    model: 'gpt-5.5',
    env: { CODEX_HOME: '{home}/.codex', PLANFOLD_MODEL_TOKEN: '{token}' },
    files: { '.codex/config.toml': CODEX_CONFIG },
    login: { env: { CODEX_HOME: '{home}/.codex' }, files: { '.codex/config.toml': CODEX_LOGIN_CONFIG } },
    acp: {
      command: ['codex-acp'],
      package: '@agentclientprotocol/codex-acp',
      tested: '2.6.0',
      // Its usual mode `agent` lets a model approve what it asks for.
      mode: 'workspace-write',
      boxedMode: 'agent-full-access',
    },
    headless: {
      command: ['codex', 'exec', '--json', '--skip-git-repo-check', '-s', 'danger-full-access', '{prompt}'],
      resume: [
        ...['codex', 'exec', '-s', 'danger-full-access', 'resume', '--json', '--skip-git-repo-check'],
        ...['{session}', '{prompt}'],
      ],
      lines: { session: ['thread_id'], text: ['item.text'], tools: ['item.command', 'item.tool'] },
    },
  },
  {
    name: 'opencode',
    title: 'opencode',
    package: 'opencode-ai',
    tested: '1.18.18',
    wire: 'openai-chat',
    model: null,
    env: {
      OPENCODE_CONFIG: '{home}/.config/opencode/opencode.json',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_AUTOUPDATE: '1',
    },
    acp: {
      command: ['opencode', 'acp'],
      files: {
        '.config/opencode/opencode.json': OPENCODE(
          '{"edit":"ask","bash":"ask","webfetch":"ask","external_directory":"ask"}',
        ),
      },
    },
    headless: {
      command: ['opencode', 'run', '--format', 'json', '{prompt}'],
      resume: ['opencode', 'run', '--format', 'json', '--session', '{session}', '{prompt}'],
      // What asks is denied here, as nobody could answer.
      files: {
        '.config/opencode/opencode.json': OPENCODE(
          '{"edit":"allow","bash":"allow","webfetch":"deny","external_directory":"deny"}',
        ),
      },
      lines: { session: ['sessionID'], text: ['part.text'], tools: ['part.tool'] },
    },
  },
  {
    name: 'gemini',
    title: 'Gemini CLI',
    package: '@google/gemini-cli',
    tested: '0.61.0',
    wire: 'gemini',
    // Named, because its own choice asks a routing model first.
    model: 'gemini-2.5-pro',
    env: { GEMINI_API_KEY: '{token}', GOOGLE_GEMINI_BASE_URL: '{url}', GEMINI_CLI_NO_RELAUNCH: '1' },
    files: {
      '.gemini/settings.json':
        '{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false}}',
      ...GEMINI_TRUST,
    },
    login: {
      env: { GEMINI_CLI_NO_RELAUNCH: '1' },
      files: {
        '.gemini/settings.json':
          '{"security":{"auth":{"selectedType":"oauth-personal"}},"privacy":{"usageStatisticsEnabled":false}}',
        ...GEMINI_TRUST,
      },
    },
    acp: {
      command: ['gemini', '--acp', '-m', '{model}'],
      mode: 'default',
      // Its `session/load` first begins a file for the minute of the clock. If the conversation began in that minute, it is lost.
      aside: { folder: '.gemini/tmp/*/chats', from: 'session-2', to: 'session-kept-2' },
    },
    headless: {
      command: [
        'gemini',
        '-m',
        '{model}',
        '-p',
        '{prompt}',
        '--output-format',
        'stream-json',
        '--approval-mode',
        'yolo',
      ],
      resume: [
        ...['gemini', '-m', '{model}', '-p', '{prompt}', '--output-format', 'stream-json'],
        ...['--approval-mode', 'yolo', '--resume', '{session}'],
      ],
      lines: { session: ['session_id'], text: ['content'], tools: ['tool_name'] },
    },
  },
  {
    name: 'copilot',
    title: 'Copilot CLI',
    package: '@github/copilot',
    tested: '1.0.102',
    wire: 'openai-chat',
    model: null,
    env: {
      COPILOT_PROVIDER_BASE_URL: '{url}/v1',
      COPILOT_PROVIDER_API_KEY: '{token}',
      COPILOT_MODEL: '{model}',
      COPILOT_OFFLINE: 'true',
    },
    acp: {
      command: ['copilot', '--acp'],
      mode: 'https://agentclientprotocol.com/protocol/session-modes#agent',
    },
    headless: {
      command: [
        ...['copilot', '-p', '{prompt}', '--output-format', 'json', '--trust-folder', '--allow-all-tools'],
        '--disable-builtin-mcps',
      ],
      lines: { session: ['sessionId'], text: ['data.content'], tools: ['data.toolName'] },
    },
  },
  {
    name: 'grok',
    title: 'Grok Build',
    package: '@xai-official/grok',
    tested: '1.0.41',
    wire: 'openai-chat',
    model: 'grok-code-fast-1',
    env: {
      XAI_API_KEY: '{token}',
      GROK_XAI_API_BASE_URL: '{url}/v1',
      XAI_API_BASE_URL: '{url}/v1',
      GROK_MODELS_BASE_URL: '{url}/v1',
    },
    login: { env: {} },
    acp: { command: ['grok', 'agent', '-m', '{model}', 'stdio'] },
    headless: {
      command: ['grok', '-p', '{prompt}', '--output-format', 'streaming-json', '--always-approve', '-m', '{model}'],
      lines: { session: ['sessionId'], text: ['text', 'data'], tools: ['toolName', 'name'] },
    },
  },
  {
    name: 'qwen',
    title: 'Qwen Code',
    package: '@qwen-code/qwen-code',
    tested: '0.24.4',
    wire: 'openai-chat',
    model: null,
    env: OPENAI,
    acp: { command: ['qwen', '--acp', '--auth-type', 'openai'], mode: 'default' },
    headless: {
      command: [
        ...['qwen', '--auth-type', 'openai', '-p', '{prompt}', '--output-format', 'stream-json'],
        ...['--approval-mode', 'yolo'],
      ],
      lines: { session: ['session_id'], text: ['message.content[].text'], tools: ['message.content[].name'] },
    },
  },
  {
    name: 'kimi',
    title: 'Kimi Code',
    package: '@moonshot-ai/kimi-code',
    tested: '2.1.0',
    wire: 'openai-chat',
    model: null,
    env: { KIMI_CODE_HOME: '{home}/.kimi-code', KIMI_CODE_NO_AUTO_UPDATE: '1' },
    files: { '.kimi-code/config.toml': KIMI_CONFIG },
    acp: { command: ['kimi', 'acp'], mode: 'default' },
    headless: {
      command: ['kimi', '-p', '{prompt}', '--output-format', 'stream-json'],
      lines: { session: ['session_id'], text: ['content'], tools: ['tool_calls[].function.name'] },
    },
  },
  {
    name: 'pi',
    title: 'pi',
    package: '@mariozechner/pi-coding-agent',
    tested: '0.73.1',
    wire: 'openai-chat',
    model: null,
    env: { PI_OFFLINE: '1' },
    files: {
      '.pi/agent/models.json':
        '{"providers":{"planfold":{"baseUrl":"{url}/v1","api":"openai-completions","apiKey":"{token}","models":[{"id":"{model}","name":"{model}","reasoning":false,"input":["text"],"contextWindow":200000,"maxTokens":16000,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0}}]}}}',
    },
    headless: {
      command: ['pi', '--mode', 'json', '-p', '--provider', 'planfold', '--model', '{model}', '{prompt}'],
      resume: [
        ...['pi', '--mode', 'json', '-p', '--session', '{session}', '--provider', 'planfold', '--model', '{model}'],
        '{prompt}',
      ],
      lines: {
        session: ['id'],
        text: ['message.content[].text'],
        tools: ['toolName'],
        skip: ['message.role=user', 'message.role=toolResult', 'type=tool_execution_end', 'type=tool_execution_update'],
      },
    },
  },
  {
    name: 'cline',
    title: 'Cline',
    package: 'cline',
    tested: '3.0.65',
    wire: 'openai-chat',
    model: null,
    env: {},
    headless: {
      // No `resume`: with `--id` it wants a terminal. It begins anew.
      setup: ['cline', 'auth', 'openai-compatible', '-k', '{token}', '-m', '{model}', '-b', '{url}/v1'],
      command: ['cline', '--json', '-P', 'openai-compatible', '-m', '{model}', '-c', '{root}', '{prompt}'],
      lines: { session: ['taskId'], text: ['text'], tools: ['toolName'] },
    },
  },
]

export const profileOf = (name: AgentName): AgentProfile => AGENT_PROFILES.find(profile => profile.name === name)!

/** None of its programs was found; any of them would do, and each comes with a package. */
export function agentMissing({ title, package: own, acp, headless }: AgentProfile): {
  readonly message: string
  readonly hint: string
} {
  const programs = new Set([acp, headless].flatMap(road => road?.command[0] ?? []))
  const packages = new Set([acp, headless].flatMap(road => (road === undefined ? [] : [road.package ?? own])))
  return {
    message: `${title} is not installed: ${[...programs].map(program => `'${program}'`).join(' or ')} is not on PATH`,
    hint: `npm install -g ${[...packages].join(', or ')}`,
  }
}

/** Any other program: it reads the brief, and its lines are shown as they are. */
export const COMMAND_LINES: LinePaths = { session: ['session_id', 'sessionId'], text: ['text', 'content'], tools: [] }

/** A text of the table with everything put in; what stands in quotes of JSON must not need escaping, so values are plain words. */
export function filled(text: string, values: { readonly [name: string]: string }): string {
  return text.replace(/\{(url|token|model|root|home|prompt|session)\}/g, (whole, name: string) => values[name] ?? whole)
}
