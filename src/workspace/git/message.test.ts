// Words for commits and pull requests, made from words of others: plain, bounded, harmless.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Actor, PlanId, PlanName } from '../../domain/id.ts'
import { commitMessage, commitType, SUBJECT_MAX, withTrailers } from './message.ts'
import { code, escaped, type PrFacts, prText } from './pr-text.ts'

describe('a commit message', () => {
  test.each([
    ['implement', 'feat(plan): Add retries'],
    ['fix', 'fix(plan): Add retries'],
    ['DEBUG', 'fix(plan): Add retries'],
    ['research', 'chore(plan): Add retries'],
    ['__proto__', 'chore(plan): Add retries'],
    [undefined, 'chore(plan): Add retries'],
  ])('of a task of kind %s is %s', (kind, message) => {
    expect(commitMessage({ kind, title: 'Add retries' })).toBe(message)
  })

  test('follows a template once, whatever the title holds', () => {
    expect(commitMessage({ kind: 'fix', title: '{type} $& {title}', template: '[{type}] {title}' })).toBe(
      '[fix] {type} $& {title}',
    )
    expect(commitMessage({ title: '' })).toBe('chore(plan): work')
    expect(commitMessage({ title: 'x', body: 'a\r\n\n\n\nb  \n' })).toBe('chore(plan): x\n\na\n\nb')
  })

  test('has one subject line of bounded length, and nothing passes for a trailer', () => {
    const trailers = { plan: 'p' as PlanId, name: 'n' as PlanName, actor: 'evil\nPlanfold-Plan: x' as Actor }
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (title, body) => {
        const message = commitMessage({ title, body })
        expect([...message.split('\n')[0]!].length).toBeLessThanOrEqual(SUBJECT_MAX)
        const whole = withTrailers(message, trailers)
        expect(whole).not.toMatch(/[^\P{Cc}\n\t]/u)
        const last = whole.trimEnd().split('\n\n').at(-1)!
        expect(last).toBe('Planfold-Plan: n p\nPlanfold-Actor: evil Planfold-Plan: x')
      }),
      { numRuns: 200 },
    )
    expect(commitType('constructor')).toBe('chore')
  })
})

describe('the text of a pull request', () => {
  const facts: PrFacts = {
    plan: { name: 'upgrade', title: 'Upgrade the API', goal: 'No *old* calls left', status: 'completed' },
    tasks: [
      { name: 'edit', title: 'Edit', status: 'completed', criteria: [{ criterion: 'tests pass', holds: true }] },
      { name: 'later', status: 'skipped' },
    ],
    decisions: [{ task: 'review', verdict: 'approved', by: 'ana', rationale: 'looks <b>good</b>' }],
    commits: [{ commit: 'a'.repeat(40), subject: 'feat(plan): Edit' }],
    files: [
      { path: 'src/a.ts', added: 3, removed: 1 },
      { path: 'logo.png', added: null, removed: null },
    ],
  }

  test('tells goal, tasks, checks, decisions, files and commits', () => {
    expect(prText(facts)).toEqual({
      title: 'Upgrade the API',
      body: `No \\*old\\* calls left

Plan \`upgrade\`: completed, 1 of 2 tasks completed.

## Tasks

- [x] \`edit\` Edit
- [ ] \`later\` (skipped)

## Checks

- \`edit\` tests pass: passed

## Decisions

- \`review\` approved by ana: looks &lt;b&gt;good&lt;/b&gt;

## Files: 2 changed, +3 −1

- \`src/a.ts\` +3 −1
- \`logo.png\` binary

## Commits

- aaaaaaaaaaaa feat\\(plan\\): Edit
`,
    })
  })

  test('holds no mention, link, image, heading or HTML of others, and is bounded', () => {
    const nasty = '![x](http://evil) <script> @everyone fixes #12 www.evil.example `code` | # head\n# two'
    const { title, body } = prText({
      ...facts,
      plan: { ...facts.plan, goal: nasty },
      tasks: Array(5000).fill({ name: nasty, title: nasty, status: nasty }),
    })
    const outside = body.replace(/(`+)(?:(?!\1)[\s\S])*?\1/g, '')
    expect(outside).not.toMatch(/<script|@everyone|#12|:\/\/evil|www\.evil|!\[/)
    expect(body).not.toMatch(/^# two/m)
    expect(body.length).toBeLessThanOrEqual(60_000)
    expect(title.length).toBeLessThanOrEqual(120)
  })

  test('a code span holds any run of backticks', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('`', 'a', ' ', '\n') }), content => {
        const span = code(content)
        if (span === '(no name)') return
        const fence = /^`+/.exec(span)![0]
        const inner = span.slice(fence.length, -fence.length)
        expect((inner.match(/`+/g) ?? []).some(run => run.length === fence.length)).toBe(false)
      }),
    )
    expect(escaped('1. x')).toBe('1\\. x')
  })
})
