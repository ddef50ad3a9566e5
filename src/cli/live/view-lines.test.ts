import { describe, expect, it } from 'vitest'
import type { Card } from '../../domain/views/board.ts'
import { paint } from '../terminal/paint.ts'
import { width } from '../terminal/table.ts'
import { cardOf, progressOf } from '../text/cards.fixture.ts'
import { type Sight, view, type Window } from './view-lines.ts'

const NOW = 60_000
const window = (more: Partial<Window> = {}): Window => ({ columns: 80, rows: 24, now: NOW, frame: 0, ...more })

function sightOf(cards: readonly Card[], more: Partial<Sight> = {}): Sight {
  return {
    name: 'demo',
    title: 'A demo',
    status: 'active',
    startedAt: 0,
    progress: progressOf(cards),
    cards,
    lastLine: new Map(),
    question: [],
    notice: null,
    ...more,
  }
}
const draw = (sight: Sight, size: Partial<Window> = {}): readonly string[] => view(sight, window(size), paint(false))

describe('the live view', () => {
  it('shows each task with its state, time and last words', () => {
    const cards = [
      cardOf('fetch', 'completed', { attempt: 2, startedAt: 0, endedAt: 2_500 }),
      cardOf('build', 'running', { attempt: 1, startedAt: NOW - 12_000 }),
      cardOf('flaky', 'ready', { attempt: 1, retryAt: NOW + 2_100, reason: 'exit 75' }),
      cardOf('review', 'waiting', {}),
      cardOf('agent', 'ready', { action: 'external' }),
      cardOf('broken', 'failed', { attempt: 1, startedAt: 0, endedAt: 100, reason: 'exit 3' }),
      cardOf('last', 'pending'),
    ]
    expect(draw(sightOf(cards, { lastLine: new Map([['build', 'compiling main.ts']]) }))).toEqual(
      [
        '▶ demo  A demo                                             █░░░░░░░░░░░ 1/7  1m 00s',
        '✔ fetch     2.5s  after 2 attempts',
        '⠋ build      12s  compiling main.ts',
        '↻ flaky           retry in 3s: exit 75',
        '◆ review          needs your decision',
        '○ agent           ready to claim: planfold claim demo agent',
        '✖ broken    0.1s  exit 3',
        '· last',
        '1 running · 1 waiting · 1 failed · Ctrl-C: pause',
      ].map(line =>
        expect.stringMatching(new RegExp(`^${line.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/ {2,}/g, ' +')}$`)),
      ),
    )
  })

  it('keeps the title of a task before it begins, while it runs and after it ended', () => {
    const title = 'Compile everything into dist'
    const cards = [
      cardOf('a', 'completed', { title, startedAt: 0, endedAt: 2_500 }),
      cardOf('b', 'running', { title, startedAt: NOW - 12_000 }),
      cardOf('c', 'failed', { title, optional: true, startedAt: 0, endedAt: 100, reason: 'exit 3' }),
      cardOf('d', 'pending', { title }),
    ]
    const drawn = draw(sightOf(cards, { status: 'completed', lastLine: new Map([['b', 'main.ts']]) }))
    expect(drawn.slice(0, -1).map(line => line.replace(/ {2,}/g, ' '))).toEqual([
      expect.stringMatching(/^! demo A demo/),
      `✔ a 2.5s ${title}`,
      `⠋ b 12s ${title} · main.ts`,
      `✖ c 0.1s ${title} · exit 3`,
      `· d ${title}`,
    ])
    const narrow = draw(sightOf(cards, { lastLine: new Map([['b', 'main.ts']]) }), { columns: 36 })
    expect(narrow.slice(1, 3).map(line => line.replace(/ {2,}/g, ' '))).toEqual([
      '✔ a 2.5s Compile everything…',
      '⠋ b 12s main.ts',
    ])
  })

  it('shows what an agent spent at the right of what it does, where there is room for both', () => {
    const sight = sightOf([cardOf('fix', 'running', { action: 'agent', startedAt: NOW - 12_000 })], {
      lastLine: new Map([['fix', '→ edit sum.js (+1 −1)']]),
      spent: new Map([['fix', '4 calls, 4.2k tokens, cost unknown']]),
    })
    const line = draw(sight)[1]!
    expect(line).toMatch(/^⠋ fix {2,}12s {2}→ edit sum\.js \(\+1 −1\) +4 calls, 4\.2k tokens, cost unknown$/)
    expect(width(line)).toBe(79)
    expect(draw(sight, { columns: 50 })[1]).not.toContain('calls')
  })

  it('is never taller or wider than the window, whatever the plan says', () => {
    const statuses = ['completed', 'running', 'waiting', 'failed', 'pending', 'ready', 'skipped'] as const
    const cards = Array.from({ length: 500 }, (_, at) =>
      cardOf(`task-${at}-${'日本'.repeat(at % 30)}`, statuses[at % 7]!, {
        reason: '\u001b[2J\nwide 日本語 '.repeat(20),
        startedAt: 0,
        endedAt: 1,
      }),
    )
    for (const rows of [1, 2, 3, 5, 8, 24, 100]) {
      for (const columns of [20, 40, 81, 200]) {
        const question = Array.from({ length: 9 }, (_, at) => `q${at}`)
        const lines = draw(sightOf(cards, { question, title: 'x'.repeat(300) }), { rows, columns })
        expect(lines.length).toBeLessThanOrEqual(rows)
        for (const line of lines) expect(width(line)).toBeLessThan(Math.max(columns, 21))
        // biome-ignore lint/suspicious/noControlCharactersInRegex: none may come through.
        for (const line of lines) expect(line).not.toMatch(/[\u0000-\u001f]/)
      }
    }
  })

  it('folds what is over and what is to come when there are more tasks than rows', () => {
    const cards = [
      ...Array.from({ length: 40 }, (_, at) => cardOf(`done-${at}`, 'completed', { startedAt: 0, endedAt: at })),
      cardOf('now', 'running', { startedAt: 0 }),
      ...Array.from({ length: 60 }, (_, at) => cardOf(`later-${at}`, 'pending')),
    ]
    const lines = draw(sightOf(cards), { rows: 8 })
    expect(lines).toHaveLength(8)
    expect(lines[1]).toBe('  … 37 finished')
    expect(lines[5]).toMatch(/^⠋ now/)
    expect(lines[6]).toBe('  … 60 to come')
  })

  it('keeps the question and the keys that answer it in a small window', () => {
    const question = ['', '┃ review: may the plan go on?', '┃ one', '┃ two', '┃ three', '┃ [a]pprove  [r]eject']
    const lines = draw(sightOf([cardOf('review', 'waiting')], { question }), { rows: 7 })
    expect(lines).toContain('┃ review: may the plan go on?')
    expect(lines).toContain('┃ [a]pprove  [r]eject')
  })
})
