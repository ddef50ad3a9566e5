import { expect, test } from 'vitest'
import { agentWork } from './agent-lines.ts'

const lines = (text: string) =>
  text
    .trim()
    .split('\n')
    .map(line => ({ stream: line.startsWith('E ') ? 'engine' : 'stdout', text: line.slice(2) }))

const FIRST = `
E starts grok 1 (acp, in a sandbox)
E x/y answered; spent so far: 1 call, 1000 tokens in, 50 out, cost unknown
O → edit a.js (+1 −1)
O │ @@ as the agent says @@
O │ -a
O │ +b
E x/y answered; spent so far: 2 calls, 2000 tokens in, 100 out, cost unknown
O Fixed,
E x/y answered; spent so far: 3 calls, 3000 tokens in, 150 out, cost unknown
O I think.
E $ node test.js  (in .)
O FAIL
O → twice`

test('words stay together though a call is counted between them; a diff belongs to its call; a criterion prints for itself', () => {
  const { blocks, spent } = agentWork(lines(FIRST))
  expect(blocks.map(({ kind, texts, diff }) => [kind, texts, diff])).toEqual([
    ['note', ['starts grok 1 (acp, in a sandbox)'], []],
    ['action', ['edit a.js (+1 −1)'], ['@@ as the agent says @@', '-a', '+b']],
    ['said', ['Fixed,', 'I think.'], []],
    ['command', ['$ node test.js  (in .)'], []],
    ['output', ['FAIL', '→ twice'], []],
  ])
  expect(spent).toMatchObject({ calls: 3, inputTokens: 3000 })
})

test('the next attempt has spent nothing yet, and is said to be one', () => {
  expect(agentWork(lines(FIRST)).isRepeated).toBe(false)
  const second = agentWork(lines(`${FIRST}\nE starts grok 1 (acp, in a sandbox)`))
  expect(second).toMatchObject({ spent: null, isRepeated: true })
})
