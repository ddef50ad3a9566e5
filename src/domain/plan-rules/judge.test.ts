// Who may judge, what a reviewer answers, and which of its findings count.

import { expect, test } from 'vitest'
import type { Json } from '../json.ts'
import { findingText, judgeAction, judgeIn, opinionIn, sortFindings, VERDICT } from './judge.ts'

test('a judge is a model, an agent or a task of the plan; everything else is none', () => {
  expect(judgeIn('model')).toEqual({ type: 'model', use: null })
  expect(judgeIn('anthropic/small')).toEqual({ type: 'model', use: 'anthropic/small' })
  expect(judgeIn('grok')).toEqual({ type: 'agent', spec: { use: 'grok' } })
  expect(judgeIn({ use: 'codex', model: 'M' })).toEqual({ type: 'agent', spec: { use: 'codex', model: 'M' } })
  expect(judgeIn({ command: ['my-agent'] })).toEqual({ type: 'agent', spec: { command: ['my-agent'] } })
  expect(judgeIn({ task: 'look' })).toEqual({ type: 'task', task: 'look' })
  const stranges: readonly Json[] = [
    null,
    3,
    '',
    'Two words',
    '/x',
    { task: 'a', use: 'b' },
    { use: 'a', answer: { b: 'string' } },
  ]
  for (const strange of stranges) expect(judgeIn(strange)).toBe(null)
})

test('each kind of judge is asked by an action of its own, and a task by none', () => {
  const actions = ['model', 'local/m', 'grok', { task: 'look' }].map(by => judgeAction(judgeIn(by)!, VERDICT, 3))
  expect(actions).toEqual([
    { type: 'model', spec: { answer: VERDICT, votes: 3 } },
    { type: 'model', spec: { use: 'local/m', answer: VERDICT, votes: 3 } },
    { type: 'agent', spec: { use: 'grok', answer: VERDICT } },
    null,
  ])
})

test('an answer without a verdict is no opinion, and what is no finding is left out', () => {
  expect(opinionIn({ verdict: 'perhaps' })).toBe(null)
  expect(opinionIn({ findings: [] })).toBe(null)
  expect(opinionIn({ verdict: 'pass' })).toEqual({ verdict: 'pass', findings: [] })
  const many = Array.from({ length: 50 }, () => ({ says: 'x'.repeat(5_000) }))
  const opinion = opinionIn({ verdict: 'fail', findings: ['words', { says: ' ' }, { says: 'a', line: 1.5 }, ...many] })!
  expect(opinion.findings[0]).toEqual({ file: null, line: null, says: 'a', criterion: null })
  expect(opinion.findings).toHaveLength(51)
  expect(opinion.findings[1]!.says).toHaveLength(1_000)
})

test('a finding counts if it names a changed file and a criterion of the task', () => {
  const held = { paths: ['src/a.ts'], criteria: ['task', 'c1', 'npm test'] }
  const one = (file: string | null, criterion: string | null) => ({ file, line: 3, says: 'is wrong', criterion })
  const counting = [one('src/a.ts', 'c1'), one('b/src/a.ts', 'Task'), one('./src/a.ts', '`npm test`')]
  const others = [one('src/gone.ts', 'c1'), one('src/a.ts', null), one('src/a.ts', 'beauty'), one(null, 'c1')]
  expect(sortFindings([...others, ...counting], held)).toEqual({ blocking: counting, others, more: 0 })
  // Those that do not count take no place from those that do.
  const many = Array.from({ length: 30 }, () => one(null, null))
  expect(sortFindings([...many, ...counting], held)).toEqual({
    blocking: counting,
    others: many.slice(0, 20),
    more: 10,
  })
  // Where it is not known what was changed, a finding may name any file.
  expect(sortFindings([one('src/gone.ts', 'c1')], { ...held, paths: null }).blocking).toHaveLength(1)
  // Where nothing was changed, there is no file that it could name.
  expect(sortFindings([one(null, 'task')], { ...held, paths: [] }).blocking).toHaveLength(1)
  expect(findingText(counting[0]!)).toBe('src/a.ts:3: is wrong (c1)')
  expect(findingText(one(null, null))).toBe('is wrong')
})
