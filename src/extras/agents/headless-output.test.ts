import { describe, expect, test } from 'vitest'
import { AgentLog } from './agent-log.ts'
import { type LinePaths, rowOfCommand } from './agent-settings.ts'
import { LineReader, textsAt } from './headless-output.ts'
import { stockRows } from './known-agents.ts'

const rowOf = (name: string) => stockRows().find(row => row.name === name)!

function setup(paths: LinePaths) {
  let shown = ''
  const sessions: string[] = []
  const log = new AgentLog(
    (_, chunk) => {
      shown += Buffer.from(chunk).toString('utf8')
    },
    ['hush-hush'],
  )
  const reader = new LineReader({ paths, root: '/w', log, onSession: session => sessions.push(session) })
  const read = (...lines: readonly (object | string)[]) => {
    for (const line of lines) reader.write(Buffer.from(`${typeof line === 'string' ? line : JSON.stringify(line)}\n`))
    reader.end()
    return { last: log.close(), shown, sessions }
  }
  return { read, reader, log }
}

describe('the lines of a headless agent', () => {
  test('are shown as its words and one line for each tool; its conversation is known as soon as it did something', () => {
    const { read } = setup(rowOf('claude').headless!.lines)
    const told = read(
      { type: 'system', subtype: 'init', session_id: 's-1' },
      {
        ...{ type: 'assistant', session_id: 's-1' },
        message: {
          content: [
            { type: 'tool_use', name: 'Bash', input: { command: 'node test.js' } },
            {
              ...{ type: 'tool_use', name: 'Edit' },
              input: { file_path: '/w/sum.js', old_string: 'a - b', new_string: 'a + b' },
            },
          ],
        },
      },
      { type: 'user', session_id: 's-1', message: { content: [{ type: 'tool_result', content: 'ok' }] } },
      { type: 'assistant', session_id: 's-1', message: { content: [{ type: 'text', text: 'Fixed.' }] } },
      { type: 'result', session_id: 's-1', result: 'Fixed.' },
    )
    const done = '→ run node test.js\n→ edit sum.js (+1 −1)\n│ @@ as the agent says @@\n│ -a - b\n│ +a + b\n'
    expect(told).toEqual({ last: 'Fixed.', shown: `${done}Fixed.\n`, sessions: ['s-1'] })
  })

  test('what it thinks is shown before what it then says and does, redacted, cut, and never as its last word', () => {
    const { read } = setup(rowOf('claude').headless!.lines)
    const told = read(
      {
        session_id: 's-1',
        message: {
          content: [
            { type: 'tool_use', name: 'Bash', input: { command: 'ls' } },
            { type: 'thinking', thinking: 'The key is hush-hush.\nI look.' },
            { type: 'text', text: 'I look around.' },
          ],
        },
      },
      { session_id: 's-1', message: { content: [{ type: 'thinking', thinking: 'x'.repeat(9_000) }] } },
    )
    expect(told.shown).toBe(`✻ The key is [redacted].\n✻ I look.\nI look around.\n→ run ls\n✻ ${'x'.repeat(1_998)}\n`)
    expect(told.last).toBe('I look around.')
  })

  test('before it has said or done anything there is no conversation to take up', () => {
    const { read } = setup(rowOf('pi').headless!.lines)
    const told = read(
      { type: 'session', id: 'p-1' },
      { type: 'message_end', message: { role: 'user', content: [{ text: 'the whole brief' }] } },
    )
    expect(told.sessions).toEqual([])
  })

  test('that repeat the prompt or an answer of a tool are left out', () => {
    const { read } = setup(rowOf('pi').headless!.lines)
    const told = read(
      { type: 'session', id: 'p-1' },
      { type: 'message_end', message: { role: 'user', content: [{ text: 'the whole brief' }] } },
      { type: 'message_end', message: { role: 'assistant', content: [{ text: 'Done.' }] } },
    )
    expect(told).toEqual({ last: 'Done.', shown: 'Done.\n', sessions: ['p-1'] })
  })

  test('that are no JSON are shown as they are, without secrets, also when they come in pieces', () => {
    const { reader, read } = setup(rowOfCommand(['my-agent'], 'lines').headless!.lines)
    reader.write(Buffer.from('plain hush-'))
    reader.write(Buffer.from('hush wo'))
    const told = read('rds', '{"text": "broken', '[1]')
    expect(told.shown).not.toContain('hush-hush')
    expect(told.shown).toContain('words\n')
    expect(told.shown).toContain('{"text": "broken\n')
  })

  test('are looked into by paths, through lists, and nothing inherited is found', () => {
    expect(textsAt({ a: { b: [{ c: 'x' }, { c: 1 }, { c: 'y' }] } }, ['z', 'a.b[].c'])).toEqual(['x', 'y'])
    expect(textsAt({}, ['constructor.name', 'toString'])).toEqual([])
  })
})
