import { expect, test } from 'vitest'
import { plan, started, task } from '../testing/index.ts'
import { agentProgram, changedPrograms, programWords } from './result.ts'
import { packFold, unpackFold } from './state/fold.ts'
import { taskHistory } from './views/pages/task-page.ts'

const node = { path: '/usr/bin/node', version: '20.20.2' }
const python = { path: '/usr/bin/python3', version: '3.11.2' }
const newer = { ...python, version: '3.12.0' }
const grok = { path: '/opt/grok', version: null, model: 'grok-1' }

test('only what differs is recorded: another path, version or model, and what is gone', () => {
  expect(changedPrograms(null, { node, python: null })).toEqual({ node })
  expect(changedPrograms({ node, python }, { node, python: { ...python } })).toBe(undefined)
  expect(changedPrograms({ node, python }, { node, python: null })).toEqual({ python: null })
  expect([programWords('git', null), programWords('agent grok', grok)]).toEqual([
    ...['no git', 'agent grok (version unknown) (/opt/grok) with the model grok-1'],
  ])
  expect(changedPrograms({ grok }, { grok: { ...grok, model: 'grok-2' } })).toEqual({
    grok: { ...grok, model: 'grok-2' },
  })
})

test('attempts that run side by side record the same programs once; the state keeps them', () => {
  const journal = started(plan('p', task('a'), task('b'), task('c', { needs: ['a', 'b'] })))
  const ended = (name: string, programs: object) => ({
    ...{ task: name as never, visit: 1, attempt: 1 },
    result: { status: 'succeeded', programs } as never,
  })
  journal.must({ type: 'turn', settled: [ended('a', { node, python }), ended('b', { node, python })] })
  journal.turn()
  const results = journal.entries.flatMap(({ events }) =>
    events.flatMap(event => (event.type === 'attempt.succeeded' ? [event.result.programs] : [])),
  )
  expect(results).toEqual([{ node, python }, undefined])
  journal.must({ type: 'turn', settled: [ended('c', { node, python: newer, [agentProgram('grok')]: grok })] })
  const { state } = journal
  expect(state.programs).toEqual({ node, python: newer, 'agent grok': grok })
  expect(unpackFold(packFold(state), state.definition).programs).toEqual(state.programs)
  // An attempt is shown with all of them, but not with agents of other tasks.
  expect(taskHistory(journal.entries, 'b' as never).attempts).toMatchObject([{ runs: null, programs: [] }])
})
