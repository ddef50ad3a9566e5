// What waits for a person, with the exact commands that answer it.

import { expect, it } from 'vitest'
import type { TaskName } from '../../domain/id.ts'
import type { Summary, Waiting } from '../../domain/views/summary.ts'
import { plan as makePlan, task as makeTask } from '../../testing/index.ts'
import { paint } from '../terminal/paint.ts'
import { summaryOf } from './cards.fixture.ts'
import { unaskedLines, waitingLines } from './inbox-text.ts'

const commands = (asks: Waiting['asks'], more: Partial<Waiting> = {}): readonly string[] =>
  waitingLines(summaryOf([], { waiting: [{ task: task('a'), asks, since: 0, ...more }] }), paint(false))
    .slice(1)
    .map(line => line.trim())
const task = (name: string) => name as TaskName
const failure = { class: 'logic', message: 'no', retryable: false } as const

it('a gate is approved, rejected, or sent back where it can be', () => {
  const both = ['planfold approve demo a', "planfold reject demo a -m 'why'"]
  expect(commands({ type: 'approval', show: [] })).toEqual(both)
  expect(commands({ type: 'consent', why: 'it deploys' } as Waiting['asks'], { back: task('b') })).toEqual([
    ...both,
    "planfold answer demo a --push-back -m 'what to change'",
  ])
  expect(commands({ type: 'verdict', criteria: ['good'] })).toEqual(both)
})

it('a decision, a question and a failure have answers of their own', () => {
  const no = "planfold reject demo a -m 'why'"
  expect(commands({ type: 'decision', options: [{ id: 'x' }] })).toEqual(['planfold answer demo a OPTION', no])
  expect(commands({ type: 'question', question: 'q', form: [] })).toEqual(['planfold answer demo a NAME=VALUE', no])
  for (const type of ['recovery', 'replan'] as const)
    expect(commands({ type, failure } as Waiting['asks'])).toEqual([
      'planfold retry demo a',
      "planfold skip demo a -m 'why'",
      no,
    ])
})

it('a question that pauses the plan is answered with the command as it is printed', () => {
  const form = [{ name: 'run', label: 'yes or no', type: 'choice', choices: ['yes', 'no'] }] as const
  const one = { id: 'q1', what: 'question', by: 'planfold', text: 'run them?', task: null, since: 0, form } as const
  const waiting = (asked: Summary['asked']) => waitingLines(summaryOf([], { asked }), paint(false)).at(-1)
  expect(waiting([one])).toBe('           planfold answer demo q1 run=yes   (or: no)')
  const more = [...form, { name: 'why', label: 'why', type: 'text' }] as const
  expect(waiting([{ ...one, form: more }])).toBe('           planfold answer demo q1 run=yes why=VALUE')
  const odd = [{ ...form[0], choices: ['x; rm y'] }]
  expect(waiting([{ ...one, form: odd }])).toBe("           planfold answer demo q1 'run=x; rm y'")
})

it('of edits, each answer says what it means', () => {
  expect(commands({ type: 'edits', paths: ['x'] } as Waiting['asks'])).toEqual([
    'planfold answer demo a keep    keep the edits and continue with them',
    'planfold answer demo a take    take the version from before the task; the edits are backed up',
    'planfold answer demo a merge   keep the edits, remove what the task wrote',
    'for a single file: planfold answer demo a take --keep PATH   (or: --merge PATH)',
  ])
})

it('questions and proposals of others are told with who asks', () => {
  const asked = [
    { id: 'q1', what: 'question', by: 'bo', text: 'how many?', task: task('a'), since: 0 },
    { id: 'r1', what: 'proposal', by: 'bo', text: 'more', task: null, since: 0 },
  ] as const
  expect(waitingLines(summaryOf([], { asked }), paint(false))).toEqual([
    '  answer   bo asks: how many?',
    '           planfold answer demo q1 NAME=VALUE',
    '  answer   bo proposes a revision: more',
    '           planfold approve demo r1',
    "           planfold reject demo r1 -m 'why'",
  ])
})

it('a task that starts without an approval is named; one that is asked about for another of its impacts is not', () => {
  const script = (id: string, text: string) =>
    makeTask(id, { kind: 'deploy', action: { type: 'run', command: { script: text } } })
  const both = makePlan('p', script('a', 'rm -rf ../data'), script('b', 'make ship'), {
    policy: { gates: { before: ['delete'] } },
  })
  expect(unaskedLines(both)).toEqual(["'b' deploys, and no approval is asked for: policy.gates.before leaves it out"])
})
