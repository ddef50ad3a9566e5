import { describe, expect, it } from 'vitest'
import type { TaskName } from '../../domain/id.ts'
import { paint } from '../terminal/paint.ts'
import { cardOf, summaryOf } from './cards.fixture.ts'
import { endingLines } from './run-summary.ts'

const NOBODY = { interrupted: null, left: null }
const task = (name: string): TaskName => name as TaskName

describe('the end of a run', () => {
  it('says what was done, retried and took long', () => {
    const cards = [
      cardOf('build', 'completed', { attempt: 3, startedAt: 0, endedAt: 31_200 }),
      cardOf('test', 'completed', { attempt: 1, startedAt: 0, endedAt: 900 }),
      cardOf('docs', 'skipped'),
    ]
    const summary = summaryOf(cards, { status: 'completed', startedAt: 0, endedAt: 64_000 })
    expect(endingLines(summary, cards, NOBODY, 70_000, paint(false))).toEqual([
      '✔ demo completed in 1m 04s',
      '  tasks    2 completed · 1 skipped',
      '  retried  build (3 attempts)',
      '  longest  build 31s',
      '  handoff  planfold summary demo --form handoff',
    ])
  })

  it('does not look like a success where optional tasks failed', () => {
    const cards = [cardOf('build', 'completed'), cardOf('size', 'failed', { optional: true })]
    const summary = summaryOf(cards, { status: 'completed', startedAt: 0, endedAt: 9_000 })
    expect(endingLines(summary, cards, NOBODY, 9_000, paint(false))[0]).toBe(
      '! demo completed (1 optional task failed) in 9.0s',
    )
  })

  it('counts the failed tasks that it does not name', () => {
    const failed = ['a', 'b', 'c', 'd', 'e', 'f'].map(name => ({ task: task(name), reason: 'no', handled: false }))
    const lines = endingLines(summaryOf([], { status: 'failed', failed }), [], NOBODY, 0, paint(false))
    expect(lines.filter(line => line.startsWith('  failed'))).toHaveLength(5)
    expect(lines).toContain('           … and 1 more: planfold show demo')
  })

  it('says what waits, with the exact commands', () => {
    const cards = [cardOf('review', 'waiting'), cardOf('push', 'waiting', { effect: 'unsafe' })]
    const summary = summaryOf(cards, {
      status: 'blocked',
      waiting: [
        { task: task('review'), asks: { type: 'approval', show: [] }, since: 0 },
        {
          task: task('push'),
          asks: { type: 'unknown-outcome', evidence: { reason: 'its owner died', effect: 'unsafe', startedAt: 0 } },
          since: 0,
        },
      ],
    })
    expect(endingLines(summary, cards, NOBODY, 5_000, paint(false))).toEqual([
      '◆ demo waiting for approval (review, push) after 5.0s',
      '  tasks    2 waiting',
      '  answer   review waits for approval',
      '           planfold approve demo review',
      "           planfold reject demo review -m 'why'",
      '  answer   push: outcome unknown, needs your decision (its owner died)',
      '           planfold approve demo push   it happened: mark as completed',
      '           planfold retry demo push     it did not: run it again',
      '           planfold reject demo push    mark as failed',
      '  Next: answer it, then planfold resume demo',
    ])
  })

  it('says which worker can go on, and how to watch it; or who does already', () => {
    const cards = [cardOf('train', 'ready')]
    const summary = summaryOf(cards, { status: 'active' })
    const elsewhere = { status: 'elsewhere', reason: 'it wants a worker with the label gpu', labels: ['gpu'] } as const
    const shown = (how: object) => endingLines(summary, cards, { ...NOBODY, ...how }, 0, paint(false))
    expect(shown({ elsewhere })).toEqual([
      '◆ demo waiting for another worker after 0.0s',
      '  tasks    1 ready',
      '  waits    it wants a worker with the label gpu',
      '           start `planfold worker --label gpu` where that is',
      '  Next: planfold log demo --follow',
    ])
    const secret = {
      ...elsewhere,
      reason: "it wants the secret 'K', which is not configured here",
      labels: [],
      secret: 'K',
    }
    expect(shown({ elsewhere: secret })).toContain(
      '           configure it here: planfold secrets set K --env K; or start `planfold worker` where it is',
    )
    const left = { owner: 'o', host: 'vm', pid: 7, alive: true, since: 0 }
    const lines = shown({ elsewhere, left })
    expect([lines[0], lines.at(-1)]).toEqual([
      '▶ demo running after 0.0s',
      '  still running in pid 7 on vm. Next: planfold log demo --follow',
    ])
  })

  it('names the models that were asked', () => {
    const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 }
    const asked = { model: 'p/small', calls: 2, failed: 0, cutOff: 0, usage, usd: 0, unpriced: 0, assumedTokens: 0 }
    const models = [asked, { ...asked, model: 'p/dear', calls: 1, assumedTokens: 33_000 }]
    const lines = endingLines(summaryOf([], { status: 'paused' }), [], { ...NOBODY, models }, 0, paint(false))
    expect(lines).toContain('  models   p/small (2 calls), p/dear (1 call, 33000 of its tokens assumed)')
  })

  it('says how to resume, and how to try again', () => {
    expect(endingLines(summaryOf([], { status: 'paused', reason: 'Ctrl-C' }), [], NOBODY, 0, paint(false)).at(-1)).toBe(
      '  Next: planfold resume demo',
    )
    const failed = summaryOf([], {
      status: 'failed',
      endedAt: 1,
      failed: [{ task: task('last'), reason: 'exit 3\u001b[2J', handled: false }],
    })
    expect(endingLines(failed, [], NOBODY, 0, paint(false)).slice(2)).toEqual([
      '  failed   last: exit 3\\u{1b}[2J',
      '  output   planfold log demo last --output',
      '  handoff  planfold summary demo --form handoff',
      '  Next: planfold retry demo last',
      '  or fix the plan file and run it again; completed tasks are kept; failed, undone and changed tasks, and the tasks after them, run again',
    ])
    // A plan that was drafted for a goal has no file.
    const drafted = { ...NOBODY, continuedBy: 'planfold do' }
    expect(endingLines(failed, [], drafted, 0, paint(false)).at(-1)).toBe('  Next: planfold do')
    const paused = summaryOf([], { status: 'paused' })
    expect(endingLines(paused, [], drafted, 0, paint(false)).at(-1)).toBe('  Next: planfold do')
  })

  it('names what stopped a plan that has no failed task, and a rollback that was stopped', () => {
    const stopped = { why: 'a cap', next: [], task: task('d') }
    const capped = summaryOf([], { status: 'failed', endedAt: 1, reason: 'a cap', stopped })
    expect(endingLines(capped, [], NOBODY, 0, paint(false)).slice(2)).toEqual([
      '  output   planfold log demo d --output',
      '  handoff  planfold summary demo --form handoff',
      '  Next: planfold retry demo d',
      '  or fix the plan file and run it again; completed tasks are kept; failed, undone and changed tasks, and the tasks after them, run again',
    ])
    const how = { ...NOBODY, rollback: 'somebody worked there' }
    const lines = endingLines(capped, [], how, 0, paint(false))
    expect(lines).toContain('  rollback stopped: somebody worked there')
    expect(lines.at(-1)).toBe('  Next: planfold inbox')
  })
})
