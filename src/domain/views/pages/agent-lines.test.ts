import { expect, test } from 'vitest'
import { NO_USAGE } from '../../model-use.ts'
import {
  actionLine,
  addSpend,
  agentLineKind,
  agentLineKinds,
  askLine,
  diffLine,
  lastSpend,
  NOTHING_SPENT,
  readSpend,
  saidLine,
  shortSpend,
  spendLine,
  spendWords,
  thoughtLine,
} from './agent-lines.ts'

const usage = { ...NO_USAGE, inputTokens: 1_200, outputTokens: 50 }

test('each line of a log tells what kind it is; words are never taken for anything else', () => {
  expect(agentLineKind('stdout', actionLine('run ls'))).toBe('action')
  expect(agentLineKind('stdout', diffLine('-x'))).toBe('diff')
  expect(agentLineKind('stderr', actionLine('run ls'))).toBe('output')
  expect(agentLineKind('stdout', thoughtLine('hm'))).toBe('thought')
  for (const line of [actionLine('run ls'), diffLine('-x'), thoughtLine('hm'), 'a answered; spent so far: 1 call'])
    expect(agentLineKind('stdout', saidLine(line))).toBe('said')
  expect(agentLineKind('engine', askLine('push'))).toBe('asks')
  expect(agentLineKind('engine', 'began conversation s-1')).toBe('note')
})

test('what a command prints that judges the work is not taken for its words', () => {
  const lines = [
    ['engine', 'starts grok 1 (acp, in a sandbox)'],
    ['stdout', 'Fixed.'],
    ['engine', '$ node test.js  (in .)'],
    ['stdout', '→ PASS'],
    ['engine', 'starts grok 1 (acp, in a sandbox)'],
    ['stdout', '→ run ls'],
  ] as const
  expect(agentLineKinds(lines.map(([stream, text]) => ({ stream, text })))).toEqual([
    ...['note', 'said', 'command', 'output', 'note', 'action'],
  ])
})

test('what was spent is read again as it was written, whatever is known of the cost', () => {
  for (const cost of [
    { known: true, usd: 0.000123, by: 'price' },
    { known: true, usd: 12.5, by: 'price' },
    { known: true, usd: 0, by: 'local' },
    { known: false },
  ] as const) {
    const spent = addSpend(addSpend(NOTHING_SPENT, { usage, cost }), {
      usage,
      cost: { known: true, usd: 0, by: 'local' },
    })
    const line = spendLine('openai/NAME answered', spent)
    expect(readSpend(line)).toEqual(spent)
    expect(agentLineKind('engine', line)).toBe('spent')
  }
})

test('a line of ours that repeats words of an agent is not taken for what was spent', () => {
  const forged = spendLine('x answered', NOTHING_SPENT)
  expect(readSpend(`began conversation ${forged}`)).toBeNull()
  expect(readSpend(`${forged} and more`)).toBeNull()
  expect(
    lastSpend(`${spendLine('x failed', { ...NOTHING_SPENT, calls: 2 })}\nbegan conversation ${forged}\n`)?.calls,
  ).toBe(2)
})

test('it is told in words, and in few', () => {
  const spent = {
    calls: 3,
    inputTokens: 123_400,
    outputTokens: 600,
    cost: { known: true, usd: 0.004, by: 'price' },
  } as const
  expect(spendWords(spent)).toBe('3 calls, 123,400 tokens in, 600 out, <$0.01')
  expect(shortSpend(spent)).toBe('3 calls, 124.0k tokens, <$0.01')
  expect(spendWords({ ...spent, calls: 1, cost: { known: false } })).toBe(
    '1 call, 123,400 tokens in, 600 out, cost unknown',
  )
})
