// What is told of what happened: no more than there is to tell.

import { expect, it } from 'vitest'
import { name, numberedSha } from '../../testing/index.ts'
import type { Event } from '../event.ts'
import { sentence, visibleEvents } from './timeline.ts'

it('ends without a colon where no reason was given', () => {
  const voted = { type: 'gate.voted', task: name('go'), by: 'ana', rationale: '' } as const
  expect(sentence(voted)).toBe('go approved by ana; more approvals are needed')
  expect(sentence({ ...voted, rationale: 'fine' })).toBe('go approved by ana; more approvals are needed: fine')
  expect(sentence({ type: 'revision.declined', id: 'p1', by: 'ana', rationale: '' })).toBe(
    'ana declined the proposed revision p1',
  )
})

it('tells what a task changed outside its scope, and whose edits it wrote over', () => {
  const verdicts = [
    { criterion: 'changes only src/**', holds: false, evidence: 'other.txt changed while it ran', stage: 'effects' },
  ] as const
  const overwrote = { paths: ['src/a'] }
  const result = { status: 'succeeded', verdicts, wrote: { changes: numberedSha(1), paths: 2, overwrote } } as const
  expect(sentence({ type: 'attempt.succeeded', task: name('go'), visit: 2, attempt: 1, result })).toBe(
    'go completed; outside its write scope other.txt changed while it ran; it overwrote edits of src/a, which are backed up',
  )
})

it('does not tell that a gate asks which was decided in the same moment', () => {
  const opened: Event = { type: 'gate.opened', task: name('sound'), asks: { type: 'approval', show: [] } }
  const decided: Event = {
    type: 'gate.decided',
    task: name('sound'),
    verdict: 'rejected',
    rationale: 'x',
    by: 'engine',
  }
  const other: Event = { ...opened, task: name('go'), hash: numberedSha(1) }
  expect(visibleEvents([opened, decided, other])).toEqual([decided, other])
  expect(visibleEvents([decided, opened])).toEqual([decided, opened])
})

it('is not called completed while a person has to confirm the checks', () => {
  const succeeded = { type: 'attempt.succeeded', task: name('a'), visit: 1, attempt: 1 } as unknown as Event
  const opened = {
    type: 'gate.opened',
    task: name('a'),
    asks: { type: 'verdict', criteria: ['it reads well'] },
  } as unknown as Event
  const decided = { type: 'gate.decided', task: name('a'), verdict: 'approved' } as unknown as Event
  expect(visibleEvents([succeeded, opened])).toEqual([opened])
  expect(visibleEvents([succeeded, opened, decided])).toEqual([succeeded, decided])
})

it('says the reason as the journal has it, and no reason that only repeats the status', () => {
  expect(sentence({ type: 'plan.paused', reason: 'Ctrl-C' } as Event)).toBe('plan paused: Ctrl-C')
  expect(sentence({ type: 'plan.paused', reason: 'paused' } as Event)).toBe('plan paused')
  expect(sentence({ type: 'plan.cancelled', reason: 'cancelled', force: false } as Event)).toBe('cancelling the plan')
})
