import { expect, it } from 'vitest'
import { agentMissing, profileOf } from './agent-profiles.ts'

it('an agent that is missing is told with every program that would do, and the packages they come in', () => {
  expect(agentMissing(profileOf('claude'))).toEqual({
    message: "Claude Code is not installed: 'claude-agent-acp' or 'claude' is not on PATH",
    hint: 'npm install -g @agentclientprotocol/claude-agent-acp, or @anthropic-ai/claude-code',
  })
  expect(agentMissing(profileOf('gemini')).message).toBe("Gemini CLI is not installed: 'gemini' is not on PATH")
})
