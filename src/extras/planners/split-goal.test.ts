// Which wishes a goal holds, told by its words alone.

import { expect, test } from 'vitest'
import { WISHES_MAX } from './planner.ts'
import { splitGoal } from './split-goal.ts'

const titles = (goal: string): readonly string[] => splitGoal(goal).map(({ title }) => title)

test.each<[string, string, readonly string[]]>([
  [
    'sentences',
    'Add `--json` to tally.py. Then fix the crash on empty files.',
    ['Add `--json` to tally.py', 'fix the crash on empty files'],
  ],
  [
    'clauses',
    'Add a --json option to tally.py, fix the crash on empty files, and rename `a` to `b`',
    ['Add a --json option to tally.py', 'fix the crash on empty files', 'rename `a` to `b`'],
  ],
  [
    'a list, under a heading',
    'For the release:\n1. fix the crash in parseRow\n2) [ ] add an endpoint GET /health',
    ['fix the crash in parseRow', 'add an endpoint GET /health'],
  ],
  ['one wish', 'make transfers resume after a failure', ['make transfers resume after a failure']],
  ['what speaks of what was said before', 'Fix formatRow. Add a test for it.', ['Fix formatRow. Add a test for it.']],
  [
    'a step that names too little',
    'Rename `greet` to `salute` and update the callers',
    ['Rename `greet` to `salute` and update the callers'],
  ],
  ['quoted text', 'Print `Done. Add more and fix it` at the end', ['Print `Done. Add more and fix it` at the end']],
  ['a stack trace', 'Fix this. Add a guard.\nTypeError: x\n    at parse (src/a.ts:3:1)', ['Fix this. Add a guard.']],
])('%s', (_, goal, expected) => {
  expect(titles(goal)).toEqual(expected)
})

test('what holds for all of them, and what is said about one, stays with them', () => {
  expect(
    splitGoal(
      '- fix the crash in parseRow\n- add GET /health\n  It says ok.\n- no new dependency\n\nKeep the API unchanged.',
    ),
  ).toEqual([
    { title: 'fix the crash in parseRow', criteria: ['no new dependency', 'Keep the API unchanged.'] },
    { title: 'add GET /health', criteria: ['It says ok.', 'no new dependency', 'Keep the API unchanged.'] },
  ])
  expect(
    splitGoal('Users cannot log in. Fix the login form. Rename `a` to `b`. It is used in c.ts. Do not touch d.ts.'),
  ).toEqual([
    { title: 'Fix the login form', criteria: ['Users cannot log in.', 'Do not touch d.ts.'] },
    { title: 'Rename `a` to `b`', criteria: ['It is used in c.ts.', 'Do not touch d.ts.'] },
  ])
})

test('any text is taken, and nothing of it is lost', () => {
  const many = Array.from({ length: WISHES_MAX + 5 }, (_, at) => `- fix the bug number ${at}`)
  const split = splitGoal(many.join('\n'))
  expect(split).toHaveLength(WISHES_MAX)
  expect(split.at(-1)?.criteria).toHaveLength(5)
  const [long] = splitGoal(`- fix ${'a very long story '.repeat(50)}\n- add it`)
  expect(long?.title.length).toBeLessThanOrEqual(200)
  expect(long?.criteria[0]).toContain('a very long story')
  for (const odd of ['', '   ', '- \n- ', '`'.repeat(5_000), 'add '.repeat(5_000), '修复错误。添加选项。'])
    expect(splitGoal(odd).length).toBeGreaterThan(0)
})
