// What holds of every dialect.

import { describe, expect, test } from 'vitest'
import type { PlanDefinition } from '../../domain/plan.ts'
import { isGated } from '../../domain/plan-rules/impact.ts'
import { definitionHash } from '../../format/plan/hash.ts'
import { parsePlan } from './dialects.fixture.ts'
import { DIALECTS } from './dialects.ts'

test('a plan has the same hash in whatever dialect it was written, if that can say all of it', () => {
  const definition = {
    name: 'p',
    tasks: [
      { id: 'first', title: 'First', action: { type: 'external' } },
      { id: 'second', title: 'Second', needs: ['first'], action: { type: 'external' } },
    ],
  } as unknown as PlanDefinition
  const able = DIALECTS.flatMap(dialect => {
    const printed = dialect.print?.(definition, () => 'pending')
    return printed?.lost.length === 0 ? [{ dialect, text: printed.text }] : []
  })
  expect(able.length).toBeGreaterThan(5)
  const hashes = able.map(({ dialect, text }) => {
    const parsed = parsePlan(text, { dialect, fallbackName: 'p' })
    return [dialect.name, parsed.ok ? definitionHash(parsed.definition) : parsed.diagnostics]
  })
  expect(hashes).toEqual(able.map(({ dialect }) => [dialect.name, definitionHash(definition)]))
})

function parsed(text: string) {
  const result = parsePlan(text, { fallbackName: 'x' })
  if (!result.ok) throw new Error(JSON.stringify(result.diagnostics))
  return result
}

test("another format's prose may hold anything", () => {
  const steps = '{"steps": [{"step": 1, "action": "fix", "description": "the ref is ${{ github.ref }}"}]}'
  expect(parsed(steps).definition.tasks[0]).toMatchObject({ description: 'the ref is ${{ github.ref }}' })
})

test.each([
  ['a NUL', '## 1. [TODO] draw\n\nDraw \0it\n', 3, 6],
  ['half a character', '# Plan: x\n## Steps\n1. **Dr\ud800aw**\n', 3, 8],
])('in plain text %s is refused at its place', (_, text, line, column) => {
  const parsed = parsePlan(text, { fallbackName: 'x' })
  expect(parsed.ok ? [] : parsed.diagnostics).toMatchObject([{ line, column, hint: expect.any(String) }])
})

describe('a sketch that demands a gate for production', () => {
  const sketch = (policies: object) =>
    JSON.stringify({ id: 'p', version: 1, policies, tasks: [{ id: 'a', title: 'A', dependsOn: [] }] })

  test('gets one: its policy asks before whatever deploys, and the demand stays', () => {
    const read = parsed(sketch({ requireGateForProd: true }))
    expect(read.dialect).toBe('plan-sketch')
    expect(read.warnings).toEqual([])
    expect(read.definition.policy).toEqual({ gates: {} })
    expect(isGated(read.definition, 'deploy')).toBe(true)
    // Also when somebody writes other gates, or none, into the plan later.
    expect(isGated({ ...read.definition, policy: { gates: { before: [] } } }, 'deploy')).toBe(true)
    expect(isGated({ ...read.definition, policy: { gates: { before: [] } } }, 'push')).toBe(false)
  })

  test('says what of its policies is not followed', () => {
    const told = (policies: object) => parsed(sketch(policies)).warnings.map(({ message }) => message)
    expect(told({ requireGateForProd: true, maxCost: 3 })).toEqual([
      "of 'policies' only 'requireGateForProd' is followed; 'maxCost' is kept",
    ])
    expect(told({ requireGateForProd: false })).toEqual(["'policies' are kept, not yet enforced"])
    expect(parsed(sketch({ requireGateForProd: false })).definition.policy).toBeUndefined()
  })
})
