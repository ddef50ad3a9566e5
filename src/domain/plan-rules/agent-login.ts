// The person's own login of an agent: which files of their home hold it, and which servers the agent speaks to with it. Only files that
// hold a login and nothing else stand here: what an agent leaves in them is copied back, and settings among it would be carried out
// outside of the sandbox later. None of them was tested with a real account; they are as their makers describe them.

import type { AgentName } from './agent-request.ts'

export interface AgentLogin {
  /** In the home of the person, and at the same place in that of the agent. The first must be there. */
  readonly files: readonly [string, ...string[]]
  /** Rules of the network. */
  readonly hosts: readonly string[]
}

export const AGENT_LOGINS: { readonly [name in AgentName]?: AgentLogin } = {
  claude: {
    files: ['.claude/.credentials.json'],
    hosts: ['https://api.anthropic.com', 'https://platform.claude.com', 'https://console.anthropic.com'],
  },
  codex: {
    files: ['.codex/auth.json'],
    hosts: ['https://chatgpt.com', 'https://auth.openai.com', 'https://api.openai.com'],
  },
  gemini: {
    files: ['.gemini/oauth_creds.json', '.gemini/google_accounts.json'],
    hosts: ['https://cloudcode-pa.googleapis.com', 'https://oauth2.googleapis.com', 'https://www.googleapis.com'],
  },
  grok: {
    files: ['.grok/auth.json'],
    hosts: ['https://auth.x.ai', 'https://cli-chat-proxy.grok.com', 'https://api.x.ai'],
  },
}

/** The agents whose login can be lent. */
export const LOGIN_AGENTS = Object.keys(AGENT_LOGINS) as readonly AgentName[]
