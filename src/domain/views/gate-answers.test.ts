// The answers to gates: every word decides something, and no word belongs to one face alone.

import { describe, expect, it } from 'vitest'
import type { GateAsks } from '../event.ts'
import { wordHint } from '../hint.ts'
import type { TaskName } from '../id.ts'
import {
  gateAnswers,
  proposalAnswers,
  questionAnswers,
  rollbackAnswers,
  VERDICTS,
  workAnswers,
} from './gate-answers.ts'
import { askedSentence, directQuestion, votesSentence } from './gate-text.ts'

const OF = { plan: 'p', task: 'a' as TaskName, mayGoBack: true }
const TYPES: readonly GateAsks['type'][] = [
  'approval',
  'consent',
  'verdict',
  'unknown-outcome',
  'decision',
  'question',
  'recovery',
  'replan',
  'edits',
]

describe('an answer', () => {
  it.each(TYPES)('to %s has a verdict, and can be declined', type => {
    const words = gateAnswers(type, OF).map(({ answer }) => answer)
    expect(words.filter(word => VERDICTS[word] === undefined)).toEqual([])
    expect(words.at(type === 'approval' || type === 'consent' ? -2 : -1)).toBe('reject')
  })

  it('names no command: what a step is called is up to each face', () => {
    const all = [
      ...TYPES.flatMap(type => gateAnswers(type, OF)),
      ...workAnswers(OF),
      ...questionAnswers('p', 'q'),
      ...proposalAnswers('p', 'q'),
      ...rollbackAnswers('p', 'rollback', 1, {}),
    ]
    const words = all.map(({ means }) => wordHint(means, () => '…'))
    expect(words.filter(text => text === '' || text.includes('planfold'))).toEqual([])
  })

  it('sends back only where there is something to send back to', () => {
    const words = (mayGoBack: boolean) => gateAnswers('approval', { ...OF, mayGoBack }).map(({ answer }) => answer)
    expect([words(true), words(false)]).toEqual([
      ['approve', 'reject', 'push-back'],
      ['approve', 'reject'],
    ])
  })
})

describe('what is asked', () => {
  it('is a sentence about the task, or put directly', () => {
    const asks: GateAsks = { type: 'question', question: 'how many?', form: [] }
    const say = (text: string) => text.toUpperCase()
    expect(askedSentence({ task: OF.task, asks: { ...asks, on: null } }, say)).toBe('a asks: HOW MANY?')
    expect(directQuestion(asks)).toBe('how many?')
  })

  it('says who has approved already', () => {
    expect(votesSentence([], 2, String)).toBe('0 of 2 approved')
    expect(votesSentence([{ by: 'ana' }, { by: 'bo' }], 3, String)).toBe('2 of 3 approved: ana, bo')
  })
})
