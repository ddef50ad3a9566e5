import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readAgentRows } from './agent-settings.ts'

const read = (text: string) => {
  const { rows, diagnostics } = readAgentRows(text, 'user')
  return {
    names: rows.map(({ name }) => name),
    told: diagnostics.map(one => `${one.line}:${one.column} ${one.message}`),
  }
}

test('the rows in the documents are read as they are meant', () => {
  for (const page of ['formats/agents.md', 'guide/agents.md']) {
    const text = readFileSync(new URL(`../../../docs/${page}`, import.meta.url), 'utf8')
    const { rows, diagnostics } = readAgentRows(/```text\n(agents:[\s\S]*?)```/.exec(text)?.[1] ?? '', 'user')
    expect(diagnostics).toEqual([])
    expect(rows[0]).toMatchObject({ name: 'kilo', wire: 'openai-chat', scratch: ['.kilo/**'] })
  }
})

test('a row may say only what is installed into it; a file of it has one content', () => {
  const file = (more: string) => `agents: { a: { install: { files: [{ path: x${more} }], next: start it } } }`
  expect(read(file(', text: hello'))).toEqual({ names: ['a'], told: [] })
  expect(read(file(''))).toEqual({ names: [], told: [expect.stringMatching(/write one of `text`/)] })
  expect(read(file(', text: hello, json: {}')).names).toEqual([])
})

test('a row may be a command alone; what it does not say is nothing', () => {
  expect(readAgentRows('agents: { mine: { command: [my-agent, run] } }', 'user').rows).toEqual([
    {
      ...{ name: 'mine', from: 'user', title: 'mine', package: null, tested: null, wire: null, model: null },
      ...{ env: {}, files: {}, login: null, scratch: [] },
      headless: {
        command: ['my-agent', 'run'],
        lines: { session: ['session_id', 'sessionId'], text: ['text', 'content'], tools: [] },
      },
    },
  ])
  const [acp] = readAgentRows('agents: { mine: { command: [my-agent], protocol: acp } }', 'user').rows
  expect(acp).toMatchObject({ acp: { command: ['my-agent'] } })
  expect(acp?.headless).toBeUndefined()
  expect(read('').names).toEqual([])
})

test('a row that is wrong is told with its place, and the others hold', () => {
  expect(
    read(`agents:
  good: { command: [a] }
  Bad: { command: [a] }
  self: { command: [a] }
  typo: { comand: [a] }
  empty: {}
  two: { command: [a], headless: { command: [a] } }
  wire: { command: [a], wire: telepathy }
  other: { acp: { command: [b] } }
`),
  ).toEqual({
    names: ['good', 'other'],
    told: [
      "3:3 an agent cannot be called 'Bad'",
      "4:3 an agent cannot be called 'self'",
      "5:11 unknown key 'comand'",
      "6:3 'empty' says no command that starts it",
      "7:3 'two' has 'command' beside 'acp' or 'headless'",
      expect.stringMatching(/^8:31 /),
    ],
  })
})

test('two rows of one name are told, and the file that is no list of agents is as well', () => {
  expect(read('agents:\n  a: { command: [x] }\n  a: { command: [y] }\n').told).toEqual([
    expect.stringMatching(/^3:3 .*'a'/),
  ])
  expect(read('agent: {}').told).toHaveLength(1)
  expect(read('agents: [').names).toEqual([])
})

test.each([
  ['files', '{ ../x: text }'],
  ['files', '{ /etc/passwd: text }'],
  ['login', '{ files: [../../etc/passwd], hosts: [example.com] }'],
  ['login', '{ files: [.x/auth.json], hosts: ["not a host"] }'],
  ['scratch', '[src/**]'],
  ['scratch', '["**"]'],
  ['scratch', '[.*]'],
  ['scratch', '[.git/**]'],
  ['scratch', '[.planfold/x]'],
  ['scratch', '[.a/../../x]'],
  ['env', '{ "A B": x }'],
])('%s: %s is refused', (key, value) => {
  expect(read(`agents: { a: { command: [x], ${key}: ${value} } }`)).toEqual({ names: [], told: [expect.any(String)] })
})
