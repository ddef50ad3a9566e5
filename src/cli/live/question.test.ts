import { describe, expect, it } from 'vitest'
import type { GateAsks } from '../../domain/event.ts'
import type { TaskName } from '../../domain/id.ts'
import { paint } from '../terminal/paint.ts'
import { type Pressed, pressKey, type Question, questionLines } from './question.ts'

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
  for (const key of keys) if (pressed.type === 'asking') pressed = pressKey(pressed.question, key)
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

  it('is asked by its title where it has one, and the title is said once', () => {
    const [, head, next] = questionLines({ ...asking(APPROVAL), title: 'Friendly enough?' }, 80, paint(false))
    expect(head).toBe('┃ review: Friendly enough?')
    expect(next).toContain('[a]pprove')
    expect(questionLines(asking(APPROVAL), 80, paint(false))[1]).toBe('┃ review: continue?')
    const parked = questionLines({ ...asking(PARKED), title: 'Publish' }, 80, paint(false))
    expect(parked.slice(1, 3)).toEqual(['┃ review: its outcome is unknown. Did it happen?', '┃ Publish'])
  })

  it('can be put off, and a reason can be given up', () => {
    expect(type(asking(APPROVAL), ['r', 'x', '\u001b', 's'])).toEqual({ type: 'put-off' })
  })

  it('is sent back with what is to change', () => {
    const question = asking(APPROVAL)
    const waiting = { ...question.waiting, back: 'write' as TaskName }
    const pressed = type({ ...question, waiting }, ['b', 'l', 'e', 's', 's', '\r'])
    expect(pressed).toEqual({ type: 'answered', task: 'review', verdict: 'pushed-back', rationale: 'less' })
  })

  it('takes an option by its number', () => {
    const options = [{ id: 'keep' }, { id: 'burn', title: 'Burn it', pros: ['warm'], cons: ['loud'], cost: 'a house' }]
    const decision: GateAsks = { type: 'decision', options }
    expect(type(asking(decision), ['3', '2'])).toEqual({
      type: 'answered',
      task: 'review',
      verdict: 'chosen',
      rationale: '',
      option: 'burn',
    })
    expect(questionLines(asking(decision), 80, paint(false))).toEqual([
      '',
      '┃ review: which of these?',
      '┃ keep',
      '┃ burn: Burn it (+ warm, − loud, a house)',
      '┃ [1] keep  [2] burn  [r]eject  [s]kip for now',
    ])
  })

  it('asks of a failure what then, and whether a form is filled in', () => {
    const failure = { class: 'logic', message: 'it broke', retryable: false } as const
    const failed: GateAsks = { type: 'recovery', failure }
    expect(type(asking(failed), ['t'])).toMatchObject({ verdict: 'again' })
    expect(type(asking(failed), ['p', 'n', 'o', '\r'])).toMatchObject({ verdict: 'skipped', rationale: 'no' })
    const form: GateAsks = { type: 'question', question: 'Where?', form: [{ name: 'host', type: 'text' }] }
    expect(type(asking(form), ['a'])).toMatchObject({ type: 'asking' })
    expect(questionLines(asking(form), 80, paint(false)).slice(-2)).toEqual([
      '┃ host (text)',
      '┃ [f]ill in  [r]eject  [s]kip for now',
    ])
  })

  it('takes a form field by field, says what does not fit, and leaves out what may be left out', () => {
    const form: GateAsks = {
      type: 'question',
      question: 'Where?',
      form: [
        { name: 'region', type: 'choice', choices: ['eu', 'us'], label: 'The region' },
        { name: 'copies', type: 'number', default: 2 },
        { name: 'loud', type: 'boolean', optional: true },
      ],
    }
    const keys = (text: string): readonly string[] => [...text]
    const wrong = type(asking(form), keys('fasia\r'))
    if (wrong.type !== 'asking') throw new Error('it was taken')
    expect(questionLines(wrong.question, 80, paint(false))).toEqual([
      '',
      '┃ review: Where?',
      '┃ region (eu | us): The region',
      "┃ 'region' is not one of the choices: The region: give one of eu, us",
      '┃ > asia  Enter continues, Esc goes back',
    ])
    const nothing = type(asking(form), keys('f\r'))
    expect(nothing).toMatchObject({ question: { filling: { at: 0, fault: expect.stringContaining('not answered') } } })
    const right = type(wrong.question, ['\u007f', '\u007f', '\u007f', '\u007f', ...keys('us\rx3\r'), '\u001b[A'])
    expect(right).toMatchObject({ question: { filling: { answers: { region: 'us' }, at: 1, typed: 'x3' } } })
    expect(type(asking(form), keys('fus\r\ryes\r'))).toEqual({
      type: 'answered',
      task: 'review',
      verdict: 'answered',
      rationale: '',
      answers: { region: 'us', loud: true },
    })
    expect(type(asking(form), ['f', 'u', '\u001b', 's'])).toEqual({ type: 'put-off' })
  })

  it('is shown whole, however narrow the window', () => {
    const question = 'Which of the many regions shall it run in, and why there?'
    const form: GateAsks = { type: 'question', question, form: [{ name: 'host', type: 'text' }] }
    const lines = questionLines(asking(form), 34, paint(false))
    expect(lines.slice(1, 4)).toEqual(['┃ review: Which of the many', '┃ regions shall it run in, and', '┃ why there?'])
  })

  it('shows its checks, who has approved and how long it asks', () => {
    const question: Question = {
      ...asking({ ...APPROVAL, show: ['diff'], approvers: { count: 2 } } as GateAsks),
      waiting: {
        task: 'review' as TaskName,
        asks: { type: 'approval', show: ['diff'], approvers: { count: 2 } },
        since: 0,
        evidence: [{ criterion: 'npm test', holds: false, evidence: 'exit 1' }],
        votes: [{ by: 'ana', rationale: '' }],
        expiresAt: 1_767_225_600_000,
      },
    }
    expect(questionLines(question, 80, paint(false)).slice(2, 6)).toEqual([
      '┃ see: diff',
      '┃ ✘ npm test (exit 1)',
      '┃ 1 of 2 approved: ana',
      '┃ answer before 2026-01-01T00:00:00.000Z',
    ])
  })

  it('can be approved only when the last page of what is agreed to was seen', () => {
    const details = Array.from({ length: 7 }, (_, at) => `line ${at}`)
    const bound: Question = { ...asking(APPROVAL), details, pages: { at: 0, size: 3, seen: false } }
    expect(questionLines(bound, 80, paint(false)).slice(2)).toEqual([
      '┃ line 0',
      '┃ line 1',
      '┃ line 2',
      '┃ … 4 more lines: m',
      expect.stringMatching(/^┃ \[m\]ore {2}\[r\]eject/),
    ])
    expect(type(bound, ['a'])).toMatchObject({ type: 'asking' })
    expect(type(bound, ['m', 'a'])).toMatchObject({ type: 'asking' })
    expect(type(bound, ['m', 'm', 'a'])).toMatchObject({ verdict: 'approved' })
    expect(type(bound, ['m', 'm', 'm', 'a'])).toMatchObject({ verdict: 'approved' })
    expect(type({ ...bound, pages: { at: 0, size: 7, seen: false } }, ['a'])).toMatchObject({ verdict: 'approved' })
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
      '┃ review: its outcome is unknown. Did it happen?',
      '┃ its owner died; its effect is unsafe, so it is not run again automatically',
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
