// What a model wrote is shown whole before somebody approves it, or with what is left out.

import { expect, test } from 'vitest'
import { paint } from '../../../cli/terminal/paint.ts'
import { width } from '../../../cli/terminal/table.ts'
import { typing } from '../../../cli/terminal/typing.fixture.ts'
import { shownCommands } from '../../../cli/text/shown-commands.ts'
import type { Budget } from '../../../domain/plan.ts'
import { plan, task } from '../../../testing/index.ts'
import type { PlanProposal } from '../planner.ts'
import { proposalScreen, rangeText } from './proposal-text.ts'

const run = (id: string, script: string) => task(id, { action: { type: 'run', command: { script } } })

test('a command is shown as it is written; blanks do not push it out of sight', () => {
  const { lines, tasks } = shownCommands(
    plan('p', run('a', `true${' '.repeat(4000)}; touch x`), task('b', { accept: [check('touch y')] })),
    name => name === 'a' || name === 'b',
  )
  expect(lines.join('\n')).toContain('true ⟨4000 spaces⟩ ; touch x')
  expect(lines.join('\n')).toContain('touch y')
  expect(tasks).toEqual(['a', 'b'])
})

test('what is cut is counted, and is not taken for shown', () => {
  const { lines, tasks } = shownCommands(
    plan('p', run('a', `echo ${'x'.repeat(9000)}; touch x`), run('b', 'true')),
    name => name === 'a' || name === 'b',
  )
  expect(lines.find(line => line.startsWith('a:'))).toMatch(
    /^a: \d+ of 9\d+ characters are not shown; it runs in the sandbox$/,
  )
  expect(tasks).toEqual(['b'])
})

const PROPOSAL = {
  planner: 'model',
  assumptions: ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map(one => `assumed ${one}`),
  questions: [],
  irreversible: [],
  unfollowed: [],
  estimate: { workMs: 0, cost: null },
  analysis: { files: [], tests: [] },
} as unknown as PlanProposal

const screen = (rows: number, ...tasks: Parameters<typeof plan> extends [string, ...infer T] ? T : never) =>
  proposalScreen(
    { paint: paint(false), terminal: { ...typing(''), columns: () => 80, rows: () => rows } },
    PROPOSAL,
    plan('p', ...tasks),
    { worker: 'opencode' },
  )

test('each task says what runs, what it may write and what proves it; the worker is named', () => {
  const work = task('fix', {
    action: { type: 'external' },
    instruction: 'Fix it in parse.ts. Then more.',
    write: ['src/a.ts', 'test/**'],
    accept: [check('npm test'), { type: 'prose', text: 'it reads well' }],
  })
  const looks = task('look', { action: { type: 'run', command: { argv: ['git', 'push'] } }, write: [] })
  const lines = screen(50, looks, work)
  expect(lines.slice(2, 6)).toEqual([
    '│    git push · writes nothing · proved by: exit code 0',
    '└─ fix',
    '     opencode: Fix it in parse.ts.',
    '     writes src/a.ts, test/** · proved by: npm test; it reads well (a person',
  ])
  expect(lines[6]).toBe('       judges)')
  expect(lines).toContain('Cannot be undone  look: it pushes; a person approves it first')
  expect(lines).toContain('                  … and 2 more')
})

const WORDS = Array.from({ length: 40 }, (_, at) => `word${at}`).join(' ')

test('without a terminal, and where it is high enough, no sentence is cut', () => {
  const proposal = { ...PROPOSAL, assumptions: [`assumed ${WORDS}`] }
  const look = { run: ['npm', 'test'], purpose: 'test', status: 'unknown', why: WORDS, places: [], lines: [] } as const
  const commands = [look, { ...look, run: ['npm', 'run', 'lint'] }]
  const looked = { ...proposal, analysis: { ...proposal.analysis, looked: { commands, ms: 1 } } }
  const fix = task('fix', {
    title: `Mend ${WORDS.slice(0, 60)}`,
    action: { type: 'external' },
    instruction: `Fix ${WORDS}.`,
    write: ['src/a.ts'],
    accept: [{ type: 'prose', text: WORDS }],
  })
  const shown = (terminal: ReturnType<typeof typing> | null) =>
    proposalScreen({ paint: paint(false), terminal }, looked, {
      ...plan('p', task('a'), { ...fix, needs: [task('a').id] }),
      ...{ title: `${WORDS.slice(0, 99)}…`, goal: WORDS.slice(0, 120) },
    })
  const high = { ...typing(''), columns: () => 60, rows: () => 90 }
  for (const lines of [shown(null), shown(high)]) {
    const text = lines.map(line => line.replace(/^[│├└─ ]+/, '')).join(' ')
    expect(text).not.toContain('…')
    expect(text.split(WORDS)).toHaveLength(5)
    expect(text).toContain('← a')
    expect(text.startsWith(`p — ${WORDS.slice(0, 120)}`)).toBe(true)
    expect(text).toContain('npm run lint, npm test: could not be looked at')
  }
  for (const line of shown(high)) expect(width(line)).toBeLessThan(60)
  const tests = task('fix', {
    action: { type: 'run', command: { script: 'x'.repeat(200) } },
    accept: [
      {
        type: 'tests',
        command: { script: 'npm test' },
        baseline: task('before').id,
        text: 'no test fails that did not fail before, and none is gone',
      },
      { ...check(`grep ${'y'.repeat(80)}`), text: 'it is gone' },
    ],
  })
  const scripts = proposalScreen({ paint: paint(false), terminal: null }, PROPOSAL, plan('p', tests))
  // Nor is a command; what is compared is said once.
  const text = scripts.map(line => line.replace(/^[│├└─ ]+/, '')).join('')
  expect(text).toContain('none is gone(npm test);')
  expect(text).toContain('x'.repeat(200))
  expect(text.replaceAll(' ', '')).toContain(`itisgone(grep${'y'.repeat(80)})`)
  expect(shown({ ...high, rows: () => 20 }).join('')).toContain('…')
})

test('where the terminal is low each task has one line below it; nothing is wider than it, moves the cursor or passes for a fact', () => {
  const evil = Array.from({ length: 8 }, (_, at) =>
    task(`t${at}`, {
      title: '修復日期解析🙂'.repeat(9),
      action: { type: 'run', command: { script: `a\u001b[2J\u202e\n· writes nothing ${'x'.repeat(99)}` } },
      write: ['src/**'],
      accept: [check('make test')],
    }),
  )
  const low = screen(24, ...evil)
  expect(low.filter(line => line.includes('writes src/** · proved by: make test'))).toHaveLength(8)
  expect(screen(low.length + 11, ...evil).length - low.length).toBe(8)
  for (const sign of ['\u001b', '\u202e', '\n', '· writes nothing']) expect(low.join('')).not.toContain(sign)
  for (const line of low) expect(width(line)).toBeLessThan(80)
})

test('a limit for all of it is said', () => {
  const limited = (budget: Budget) =>
    proposalScreen({ paint: paint(false), terminal: null }, PROPOSAL, {
      ...plan('p', task('a')),
      policy: { budget },
    }).find(line => line.startsWith('Budget'))
  expect(limited({ cost: { amount: 2, currency: 'USD' }, calls: 40 })).toBe(
    'Budget            at most 2 USD, 40 calls; then you are asked',
  )
  expect(limited({ calls: 1, exceeded: 'fail' })).toBe('Budget            at most 1 call; then it fails')
})

test('a time is a range in the unit that fits', () => {
  expect(rangeText({ fromMs: 240_000, toMs: 700_000, runs: 7 })).toBe('about 4–12 min (from 7 earlier runs)')
  expect(rangeText({ fromMs: 200, toMs: 900, runs: 3 })).toBe('about 1 s (from 3 earlier runs)')
})

const check = (script: string) => ({ type: 'check', command: { script } }) as const
