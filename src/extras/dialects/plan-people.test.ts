// Reviewers, affected people and what a document claims about an approval, in other formats.

import { expect, test } from 'vitest'
import type { PlanDefinition } from '../../domain/plan.ts'
import { dialectNamed, parsePlan } from './dialects.fixture.ts'

function read(text: string): PlanDefinition {
  const parsed = parsePlan(text, { fallbackName: 'x' })
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.diagnostics))
  return parsed.definition
}
const peopleOf = ({ owner, reviewers, impacted, approval }: PlanDefinition) => ({
  owner,
  reviewers,
  impacted,
  approval,
})

test.each([
  [
    'markdown-phases',
    `# Plan: Dark mode

### 4. Stakeholders and reviewers

- Owner(s): @marek
- Reviewers/Maintainers: @ana, bo
- Impacted users: API consumers

## Phase 1: Build

### 1.1 Add the switch

## Approval

- Approved by: Ana
- Approval date: 2026-10-01
`,
  ],
  [
    'plan-nodes',
    `plan_id: p
owner: "@marek"
reviewers: [ana, bo]
impacted_users: API consumers
approval: { approved_by: "@Ana", approval_date: "2026-10-01" }
nodes: [{ id: a }]
`,
  ],
])('%s: they are read, and printed so that they are read again', (format, text) => {
  const definition = read(text)
  const people = {
    owner: '@marek',
    reviewers: ['ana', 'bo'],
    impacted: ['API consumers'],
    approval: { by: ['Ana'], date: '2026-10-01' },
  }
  expect(peopleOf(definition)).toEqual(people)
  const { text: printed, lost } = dialectNamed(format)!.print!(definition, () => 'pending')
  expect([peopleOf(read(printed)), lost]).toEqual([people, []])
})

test('a document that names nobody yet claims nothing', () => {
  const definition = read(`# Plan: T

- [ ] a

## Approval

- Approved by: <!-- maintainer(s) -->
- Approval date:

## Reviewers

Reviewers: TBD
`)
  expect(peopleOf(definition)).toEqual({})
})
