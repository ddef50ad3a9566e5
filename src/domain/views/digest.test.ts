import { describe, expect, it } from 'vitest'
import { EPOCH, external, gate, name, plan, started, task } from '../../testing/index.ts'
import { digest } from './digest.ts'

const HOUR = 3_600_000

describe('a digest', () => {
  const journal = started(
    plan(
      'p',
      task('old'),
      task('build', { needs: ['old'], retry: { attempts: 2, backoffMs: { min: 1, max: 1 } } }),
      task('bad', { needs: ['old'] }),
      task('after-bad', { needs: ['bad'] }),
      gate('review', { needs: ['build'] }),
      external('call', { needs: ['old'], assignee: 'bo' }),
      task('last', { needs: ['review'] }),
    ),
  )
  journal.succeed('old')
  journal.clock.advance(HOUR)
  journal.fail('build', { retryable: true, message: 'no network' })
  journal.fail('bad', { message: 'exit 1' })
  journal.clock.advance(1_000)
  journal.turn()
  journal.succeed('build')
  journal.ask('review')
  const now = journal.clock.now()
  const since = EPOCH + HOUR / 2
  const told = digest(
    journal.state,
    journal.entries.filter(entry => entry.now >= since),
    since,
    now,
  )

  it('tells what was completed and what failed since then, and nothing from before', () => {
    expect(told.completed.map(({ task, attempts }) => [task, attempts])).toEqual([['build', 2]])
    expect(told.failed).toMatchObject([{ task: 'bad', message: 'exit 1', handled: false }])
    expect(told.setbacks).toEqual([
      { task: 'build', times: 1, last: 'no network' },
      { task: 'bad', times: 1, last: 'exit 1' },
    ])
  })

  it('tells what waits for whom since when, what is blocked, and what comes next', () => {
    expect(told.waiting.map(({ task, who, since: at }) => [task, who, at])).toEqual([
      ['review', null, now],
      ['call', 'bo', EPOCH],
    ])
    expect(told.blocked).toEqual([{ task: 'after-bad', why: expect.stringContaining("'bad' (failed)") }])
    expect(told.next.map(({ task }) => task)).toEqual(['call', 'last'])
  })

  it('does not count as done what was opened again', () => {
    journal.must({ type: 'retry', task: name('build'), repeat: true })
    expect(digest(journal.state, [], since, now).completed).toEqual([])
  })
})
