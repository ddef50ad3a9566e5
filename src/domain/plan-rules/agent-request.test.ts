import { describe, expect, test } from 'vitest'
import type { Json } from '../json.ts'
import { agentFault, agentRequest } from './agent-request.ts'

const read = (spec: Json) => agentRequest({ type: 'agent', spec })

describe('what an agent task asks for', () => {
  test('is a name, a name with a model and a limit, or a command', () => {
    expect(read('claude')).toEqual({
      use: 'claude',
      model: null,
      models: null,
      turns: null,
      command: null,
      protocol: 'lines',
      answer: null,
    })
    expect(read({ use: 'codex', model: 'openai/x', turns: 40 })).toEqual({
      ...{ use: 'codex', model: 'openai/x', models: null, turns: 40, command: null, protocol: 'lines', answer: null },
    })
    expect(read({ command: ['my-agent', 'run'] })).toEqual({
      ...{
        use: null,
        model: null,
        models: null,
        turns: null,
        command: ['my-agent', 'run'],
        protocol: 'lines',
        answer: null,
      },
    })
    expect(read({})).toEqual({
      use: null,
      model: null,
      models: null,
      turns: null,
      command: null,
      protocol: 'lines',
      answer: null,
    })
    expect(read({ command: ['my-agent'], protocol: 'acp' })?.protocol).toBe('acp')
    expect(read({ use: 'claude', answer: { cause: 'string' } })?.answer).toEqual({ cause: 'string' })
    // Whether there is an agent of this name is not a matter of the plan.
    expect(read('gpt')?.use).toBe('gpt')
  })

  test('is refused when it is reserved, unknown or says two things', () => {
    const messages = (['self', 'My Agent', 7, null, ['claude'], { strategy: {} }, { use: 'self' }] as const).map(
      spec => agentFault(spec as Json)?.message,
    )
    expect(messages).toEqual([
      "'self' is reserved for an agent of our own; this release has none",
      "'My Agent' cannot be the name of an agent",
      'this names no agent',
      'this names no agent',
      'this names no agent',
      "'strategy' is reserved; this release does not carry it out",
      "'self' is reserved for an agent of our own; this release has none",
    ])
    expect(agentFault({ use: 'claude', command: ['x'] })?.key).toBe('command')
    expect(agentFault({ command: [] })?.key).toBe('command')
    expect(agentFault({ models: 'x' })?.key).toBe('models')
    expect(agentFault({ use: 'claude', protocol: 'acp' })?.key).toBe('protocol')
    expect(agentFault({ command: ['x'], protocol: 'mcp' })?.key).toBe('protocol')
    for (const answer of ['string', { text: 'string' }, { 'text?': 'string' }, { a: 'strange' }, {}])
      expect(agentFault({ use: 'claude', answer: answer as Json })?.key).toBe('answer')
    expect(read('self')).toBeNull()
  })
})
