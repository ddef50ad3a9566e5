// The lists of expected failures of `npm run mcp:conformance` hide nothing: only what they name may fail, and it must.

import { expect, test } from 'vitest'
import { judge, unknownNames } from './conformance/expected-failures.ts'
import type { Check, Outcome } from './conformance/suite.ts'

const outcome = (scenario: string, checks: readonly Check[] | null): Outcome => ({ scenario, unscored: null, checks })
const passes = (id: string): Check => ({ id, status: 'SUCCESS' })
const fails = (id: string, errorMessage: string): Check => ({ id, status: 'FAILURE', errorMessage })
const faults = (of: Outcome, server: 'planfold' | 'fixture' = 'planfold') => judge(server, '2026-07-28', of).faults

test('a failure that nobody expects is a fault', () => {
  expect(faults(outcome('ping', [passes('ping')]))).toEqual([])
  expect(faults(outcome('ping', [fails('ping', 'no answer')]))).toEqual(['ping: no answer'])
  expect(faults(outcome('ping', null))).toEqual(['the suite left no result'])
})

test('an expected failure must fail, for the reason that is known', () => {
  const call = 'tools-call-simple-text'
  expect(faults(outcome(call, [fails(call, 'Tool test_simple_text not found')]))).toEqual([])
  expect(faults(outcome(call, [fails(call, 'socket hang up')]))).toEqual([`${call}: socket hang up`])
  expect(faults(outcome(call, [passes(call)]))).toEqual([
    `${call} is expected to fail, and does not: take it off the list`,
  ])
  expect(faults(outcome(call, [fails(call, 'Tool test_simple_text not found')]), 'fixture')).toHaveLength(1)
})

test('where single checks are expected to fail, every other one must pass', () => {
  const missing = 'Not testable: server does not list the diagnostic tool'
  const ids = [
    'sep-2575-http-server-no-independent-requests-on-stream',
    'sep-2575-missing-capability-http-400',
    'sep-2575-server-no-log-without-loglevel',
    'sep-2575-server-rejects-undeclared-capability',
  ]
  const known = ids.map(id => fails(id, missing))
  expect(faults(outcome('server-stateless', [passes('a'), ...known]))).toEqual([])
  expect(faults(outcome('server-stateless', [fails('a', missing), ...known]))).toEqual([`a: ${missing}`])
})

test('a scenario that checks nothing but the form of the messages has not passed', () => {
  expect(faults(outcome('ping', [passes('wire-schema-valid')]))).toEqual(['it checked nothing'])
  expect(faults(outcome('tasks-status-notifications', [passes('wire-schema-valid')]))).toEqual([])
  expect(faults(outcome('tasks-status-notifications', [passes('seen')]))).toHaveLength(1)
})

test('a name that the suite no longer has is told', () => {
  expect(unknownNames('fixture', '2025-11-25', [])).toContain('tools-call-sampling')
})
