import fc from 'fast-check'
import { expect, test } from 'vitest'
import { planDefinition } from './definition.arbitrary.ts'
import { diffDefinitions, printDiff } from './diff.ts'
import { parsePlan } from './parse.ts'

const plan = (text: string) => {
  const parsed = parsePlan(`planfold: 1\nname: x\n${text}`)
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.diagnostics))
  return parsed.definition
}

test('a diff names what was added, removed and changed', () => {
  const before = plan('title: Old\ntasks: [{id: a, run: [ls]}, {id: b}, {id: c, timeout: 60s}]')
  const after = plan('title: New\ngoal: g\ntasks: [{id: a, run: [ls, -l], needs: [c]}, {id: c, timeout: 1m}, {id: d}]')
  const diff = diffDefinitions(before, after)
  expect(diff).toEqual({
    added: ['d'],
    removed: ['b'],
    changed: [{ task: 'a', keys: ['run', 'needs'] }],
    plan: ['title', 'goal'],
    reordered: false,
  })
  expect(printDiff(diff)).toBe('~ title\n~ goal\n- task b\n+ task d\n~ task a: run, needs')
})

test('another order of tasks is a change too', () => {
  const diff = diffDefinitions(plan('tasks: [{id: a}, {id: b}]'), plan('tasks: [{id: b}, {id: a}]'))
  expect(printDiff(diff)).toBe('~ order of tasks')
})

test('a definition does not differ from itself', () => {
  fc.assert(
    fc.property(planDefinition, definition => printDiff(diffDefinitions(definition, definition)) === ''),
    { numRuns: 30 },
  )
})
