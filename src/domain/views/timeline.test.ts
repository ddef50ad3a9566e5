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
