import { expect, test } from 'vitest'
import { parseNetworkRule } from '../../domain/plan-rules/network-rule.ts'
import { type JudgeOptions, NetworkJudge } from './network-judge.ts'

const rules = (...texts: readonly string[]) =>
  texts.map(parseNetworkRule).flatMap(parsed => (parsed.ok ? [parsed.rule] : []))

function judging(options: Partial<JudgeOptions>) {
  const asked: string[] = []
  const judge = new NetworkJudge({
    rules: rules('a.example', 'b.example'),
    ask: async ({ host }) => {
      asked.push(host)
      return true
    },
    holdMs: 1_000,
    lookup: async () => ['93.184.216.34'],
    ...options,
  })
  return { asked, of: async (host: string) => (await judge.judge({ host, port: 443, request: null })).is }
}

test('a layer around the rules closes what it does not name, and nobody is asked', async () => {
  const within = [{ rules: rules('a.example'), unknown: 'deny' as const, who: 'the organisation' }]
  const { asked, of } = judging({ within })
  expect(await of('a.example')).toBe('allowed')
  expect(await of('b.example')).toBe('refused')
  expect(await of('c.example')).toBe('refused')
  expect(asked).toEqual([])
})

test('where a layer asks, a rule of the plan is no answer, and one of the person is', async () => {
  const within = [{ rules: rules('a.example'), unknown: 'ask' as const, who: 'the organisation' }]
  const { asked, of } = judging({
    within,
    person: rules('c.example'),
    rules: rules('b.example', 'c.example'),
    asksBeyond: false,
  })
  expect(await of('c.example')).toBe('allowed')
  expect(asked).toEqual([])
  expect(await of('b.example')).toBe('allowed')
  expect(asked).toEqual(['b.example'])
  // The plan itself does not want it: that is nobody's question.
  expect(await of('d.example')).toBe('refused')
  expect(asked).toEqual(['b.example'])
})
