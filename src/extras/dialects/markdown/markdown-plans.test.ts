// Agents' Markdown, where it is easily misread: fences, indents, numbers, boxes, references; and long or hostile text.

import { describe, expect, test } from 'vitest'
import { cpuMs } from '../../../domain/cpu-time.fixture.ts'
import { checkGraph } from '../../../domain/plan-rules/graph-rules.ts'
import { gatedImpact } from '../../../domain/plan-rules/impact.ts'
import { printDiagnostic } from '../../../format/text/print-diagnostic.fixture.ts'
import { parsePlan } from '../dialects.fixture.ts'
import { markdownChecklist } from './markdown-checklist.ts'
import { markdownPhases } from './markdown-phases.ts'
import { isSafePath } from './markdown-read.ts'
import { markdownSteps } from './markdown-steps.ts'

const NAMED = { fallbackName: 'x', check: checkGraph }

describe('what is a task', () => {
  test('a box in a fence, in a quote or after text is none', () => {
    expect(ids('# T\n- [ ] a\n~~~\n- [ ] b\n```\n~~~\n> - [ ] c\ntext - [ ] d\n')).toEqual(['a'])
    expect(ids('- [ ] a\n\n      ```\n- [ ] b\n      ```\n- [ ] c\n')).toEqual(['a', 'c'])
  })

  test('tabs, two blanks and three nest alike, and a step back leaves the inner list', () => {
    expect(shape('- [ ] a\n\t- [ ] b\n\t\t- [ ] c\n\t- [ ] d\n- [ ] e\n')).toEqual(['a', ['b', ['c'], 'd'], 'e'])
    expect(shape('1. [ ] a\n  - [ ] b\n   - [ ] c\n- [ ] d\n')).toEqual(['a', ['b', ['c']], 'd'])
  })

  test('line ends of any kind, a byte order mark and blanks at the end change nothing', () => {
    const text = '# Plan: T\n\n## Steps\n\n1. **a**\n   words\n2. **b**\n   Depends: 1\n'
    const plain = good(text)
    for (const other of [
      text.replaceAll('\n', '\r\n'),
      text.replaceAll('\n', '\r'),
      `\uFEFF${text}`,
      `${text}\n\n  \n`,
    ])
      expect(good(other)).toEqual(plain)
  })

  test('a title that commands a deployment is asked about before it is claimed; one that only speaks of it is not', () => {
    const asked = (title: string) => {
      const plan = good(`# Plan: T\n\n## Steps\n\n1. **Build**\n2. **${title}**\n`)
      return gatedImpact(plan, plan.tasks[1]!)
    }
    for (const title of [
      'Deploy to production',
      'Deploy to production after a test',
      'Deploy the service',
      'Publish the package to npm',
      'Release to users',
    ])
      expect([title, asked(title)]).toEqual([title, 'deploy'])
    for (const title of [
      'Deployment docs updated',
      'Deploy to staging',
      'Deploy scripts reviewed',
      'Publish the notes in the wiki',
      'Release the lock',
      'Check that production is up',
    ])
      expect([title, asked(title)]).toEqual([title, null])
    const nested = good('- [ ] Ship\n  - [ ] Deploy to production\n').tasks[0]!
    expect(nested.action).toMatchObject({ type: 'subplan', tasks: [{ kind: 'deploy' }] })
  })

  test('a box nobody knows is refused, not guessed', () => {
    expect(wrong('- [x] a\n- [?] b\n')).toEqual([
      "plan:2:1: error: '[?]' is not a known mark\n  hint: write [ ], [x], [-] for skipped, [~] for under way or [!] for failed",
    ])
    expect(wrong('## 1. [DOING] a\n')[0]).toMatch(/'\[DOING\]' is not a known mark/)
    expect(wrong('## Phase 1: A\n### 1.1 x\nStatus: nearly\n')[0]).toMatch(/^plan:3:1: error: "nearly" is not a status/)
  })

  test('a ticked task with an open one inside is not done', () => {
    const parsed = parsePlan('- [x] a\n  - [x] b\n  - [ ] c\n', NAMED)
    expect(parsed.ok && [...parsed.ended]).toEqual([['a/b', 'completed']])
    expect(parsed.ok && parsed.warnings[0]?.message).toBe("'a' is ticked, but 'c' in it is not")
  })
})

describe('what depends on what', () => {
  const needs = (text: string) => good(text).tasks.map(task => task.needs?.join(' ') ?? '')

  test('a list is an order, until somebody says what depends on what', () => {
    expect(needs('- [ ] a\n- [ ] b\n- [ ] c\n')).toEqual(['', 'a', 'b'])
    expect(needs('- [ ] a\n- [ ] b\n- [ ] c\n  Depends: a\n')).toEqual(['', '', 'a'])
  })

  test('numbers are those that are written, with gaps; when all are 1 the place counts', () => {
    expect(needs('## Steps\n2. **a**\n5. **b**\n9. **c**\n   Depends: 2, 5\n')).toEqual(['', '', 'a b'])
    expect(needs('## Steps\n1. **a**\n1. **b**\n1. **c**\n   Depends: 2\n')).toEqual(['', '', 'b'])
    expect(needs('## Steps\n1. **a**\n2. **b**\n3. **c**\n4. **d**\n   Depends: 1-3\n')).toEqual(['', '', '', 'a b c'])
  })

  test('a phase waits for the phase before, unless it says otherwise; also one further down (regression 33)', () => {
    const text =
      '## Phase 1\n### 1.1 a\n### 1.2 b\n## Phase 2: Z\n### 2.1 c\n### 2.2 d\nDepends: 3.1\n## Phase 3\n### 3.1 e\nDepends: Phase 1\n'
    expect(needs(text)).toEqual(['', '', 'a b', 'e', 'a b'])
  })

  test('regression 20: a dangling reference and a circle are refused at their line', () => {
    expect(wrong('- [ ] a\n- [ ] b\n  Depends: zebra stripes\n')[0]).toMatch(
      /^plan:3:1: error: no task is called 'zebra stripes'/,
    )
    expect(wrong('- [ ] a\n  Depends: b\n- [ ] b\n  Depends: a\n')[0]).toMatch(/^plan:\d:1: error/)
    expect(wrong('- [ ] do it\n- [ ] do it\n- [ ] c\n  Depends: do it\n')[0]).toMatch(
      /^plan:4:1: error: more than one task is called 'do it'/,
    )
  })

  test('regression 8: an id that is given twice is refused at the second', () => {
    expect(wrong('- [ ] a\n  Id: k\n- [ ] b\n  Id: k\n')).toEqual([
      "plan:3:1: error: there is another task 'k'\n  hint: give every task an id of its own",
    ])
  })
})

test('regression 30: any characters may stand in titles and texts', () => {
  const { tasks } = good('- [ ] DROP TABLE; <b>&amp; $(rm) `x` | ${{ y }}\n  ${{ z }} && update\n')
  expect(tasks[0]).toMatchObject({
    title: 'DROP TABLE; <b>&amp; $(rm) `x` | ${{ y }}',
    description: '${{ z }} && update',
  })
})

test('only paths below the workspace become scopes', () => {
  for (const path of ['a.ts', 'src/**', 'docs/', '.ci/run', 'src/[id].ts', '*.md'])
    expect([path, isSafePath(path)]).toEqual([path, true])
  for (const path of [
    '/a',
    '~/a',
    '../a',
    'a/../b',
    'c:/x',
    'a\\b',
    'a b',
    '',
    './a',
    'a//b',
    '$HOME',
    '!a',
    '{a,b}',
    'a**',
    'https://x',
    'a\nb',
  ])
    expect([path, isSafePath(path)]).toEqual([path, false])
})

describe('long and hostile text', () => {
  const long = (line: (at: number) => string) => Array.from({ length: 10_000 }, (_, at) => line(at)).join('\n')

  test.each([
    ['a checklist', markdownChecklist, `# T\n${long(at => `${'  '.repeat(at % 4)}- [ ] Item ${at % 7}`)}`],
    ['equal titles', markdownChecklist, long(() => '- [x] same')],
    [
      'steps',
      markdownSteps,
      `## Steps\n${long(at => (at % 2 === 0 ? `${at}. **Step ${at}**` : '   Files: a.ts, b.ts, c.ts'))}`,
    ],
    ['phases', markdownPhases, long(at => (at % 20 === 0 ? `## Phase ${at}: P` : `### ${at}.${at} T${at}`))],
    [
      'stars',
      markdownSteps,
      `## Steps\n1. ${'**'.repeat(100_000)}\n2. **${'\\'.repeat(100_000)}\n3. **${'*a'.repeat(50_000)}`,
    ],
    ['blanks', markdownChecklist, `- [ ] a\n${`${' '.repeat(400)}x\n`.repeat(10_000)}`],
    ['backticks', markdownSteps, `## Steps\n1. **a**\n   Files: ${'`a'.repeat(50_000)}`],
    ['words', markdownChecklist, `- [ ] a\n${long(() => '  Files files files files files: a')}`],
  ])('%s of 10,000 lines take less than a second', (_, dialect, text) => {
    expect(cpuMs(() => parsePlan(text, { dialect, fallbackName: 'x' }), 1_000)).toBeLessThan(1_000)
  })

  test('a long list is recognised and read in about a second, whichever dialect is asked first', () => {
    const text = `# T\n${long(at => `- [ ] Item ${at}: with a colon`)}`
    expect(cpuMs(() => parsePlan(text, { fallbackName: 'x' }), 1_500)).toBeLessThan(1_500)
  })

  test('phases that would need millions of edges, and lists nested without end, are refused', () => {
    const phase = (number: number) =>
      `## Phase ${number}\n${Array.from({ length: 2_000 }, (_, at) => `- [ ] t${at}`).join('\n')}\n`
    expect(wrong(phase(1) + phase(2))[0]).toMatch(/its phases are too large to wait for each other/)
    expect(wrong(Array.from({ length: 40 }, (_, at) => `${' '.repeat(at)}- [ ] a`).join('\n'))[0]).toMatch(
      /^plan:17:1: error: tasks are nested more than 16 deep/,
    )
    expect(wrong(`- [ ] ${'x'.repeat(6 * 1024 * 1024)}`)[0]).toMatch(/larger than/)
  })

  test('names of JavaScript itself are only words', () => {
    const { tasks } = good(
      '- [ ] __proto__\n- [ ] constructor\n  Depends: none\n- [ ] toString\n  Depends: 2 items, constructor\n'.replace(
        '2 items, ',
        '',
      ),
    )
    expect(tasks.map(({ id }) => id)).toEqual(['proto', 'step-2', 'tostring'])
    expect(Object.keys(Object.prototype)).toEqual([])
  })
})

function good(text: string) {
  const parsed = parsePlan(text, NAMED)
  if (!parsed.ok) throw new Error(parsed.diagnostics.map(one => printDiagnostic(one)).join('\n'))
  return parsed.definition
}

function wrong(text: string): readonly string[] {
  const parsed = parsePlan(text, NAMED)
  return parsed.ok ? [] : parsed.diagnostics.map(one => printDiagnostic(one))
}

function ids(text: string): readonly string[] {
  return good(text).tasks.map(({ id }) => id)
}

type Shape = readonly (string | Shape)[]
function shape(text: string): Shape {
  const of = (tasks: ReturnType<typeof good>['tasks']): Shape =>
    tasks.flatMap(({ id, action }) => [id, ...(action.type === 'subplan' ? [of(action.tasks)] : [])])
  return of(good(text).tasks)
}
