// The names under which the MCP server writes down what Claude Code and Codex claim in a session.

import { claudeName, codexName } from '../../../mcp/agent-name.ts'

export const sessionNames = (session: string | undefined): readonly string[] =>
  session === undefined ? [] : [claudeName(session), codexName(session)]
