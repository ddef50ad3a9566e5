import { describe, expect, it } from 'vitest'
import type { GateAsks } from '../../domain/event.ts'
import type { TaskName } from '../../domain/id.ts'
import { paint } from '../paint.ts'
import { type Pressed, press, type Question, questionLines } from './question.ts'

const asking = (asks: GateAsks): Question => ({
  waiting: { task: 'review' as TaskName, asks, since: 0 },
  title: null,
  details: [],
  reason: null,
})
const APPROVAL: GateAsks = { type: 'approval', show: [] }
const PARKED: GateAsks = {
  type: 'unknown-outcome',
  evidence: { reason: 'its owner died', effect: 'unsafe', startedAt: 0 },
}

function type(question: Question, keys: readonly string[]): Pressed {
  let pressed: Pressed = { type: 'asking', question }
  for (const key of keys) if (pressed.type === 'asking') pressed = press(pressed.question, key)
  return pressed
}

describe('a gate at the terminal', () => {
  it('is approved with one key', () => {
    expect(type(asking(APPROVAL), ['a'])).toEqual({
      type: 'answered',
      task: 'review',
      verdict: 'approved',
      rationale: '',
    })
  })

  it('is rejected with a reason, which can be corrected while typing', () => {
    expect(type(asking(APPROVAL), ['r', 'n', 'ö', 'o', '\u007f', '\u007f', 'o', '\u001b[A', '\r'])).toEqual({
      type: 'answered',
      task: 'review',
      verdict: 'rejected',
      rationale: 'no',
    })
  })

  it('can be put off, and a reason can be given up', () => {
    expect(type(asking(APPROVAL), ['r', 'x', '\u001b', 's'])).toEqual({ type: 'put-off' })
  })

  it('does nothing on other keys', () => {
    expect(type(asking(APPROVAL), ['x', 'h', ' '])).toMatchObject({ type: 'asking' })
  })

  it('asks of an unknown outcome whether it happened', () => {
    expect(type(asking(PARKED), ['h'])).toMatchObject({ verdict: 'done' })
    expect(type(asking(PARKED), ['t'])).toMatchObject({ verdict: 'again' })
    expect(type(asking(PARKED), ['g', '\r'])).toMatchObject({ verdict: 'rejected' })
    expect(questionLines(asking(PARKED), 80, paint(false))).toEqual([
      '',
      '┃ review: nobody knows whether it happened. Did it?',
      '┃ its owner died; its effect is unsafe, so it is not run again by itself',
      '┃ [h] it happened  [t]ry again  [g]ive up  [s]kip for now',
    ])
  })

  it('shows what comes next escaped and cut', () => {
    const lines = questionLines(
      {
        ...asking(APPROVAL),
        details: ['then push:', '  \u001b[31mrm -rf /', ...Array.from({ length: 20 }, () => 'more')],
      },
      60,
      paint(false),
    )
    expect(lines).toContain('┃   \\u{1b}[31mrm -rf /')
    expect(lines).toContain('┃ … 14 more lines: planfold show')
  })
})
