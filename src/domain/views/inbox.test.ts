import { describe, expect, it } from 'vitest'
import { external, failed, gate, interrupted, type Journal, name, plan, started, task } from '../../testing/index.ts'
import { inboxOf } from './inbox.ts'
import { InboxPast, stoppedIn } from './inbox-history.ts'

const prose = { accept: [{ type: 'prose', text: 'it reads well' }] } as const

describe('what waits for a person', () => {
  it('is gates, verdicts, unknown outcomes and work with a name on it, each with a key of its own', () => {
    const journal = started(
      plan(
        'p',
        task('draft', prose),
        gate('review', { title: 'Ship it?', owner: 'ana' }),
        task('push'),
        external('call', { assignee: 'bo', instruction: 'call them' }),
        external('anyone'),
        { concurrency: 4 },
      ),
    )
    journal.ask('review')
    journal.succeed('draft', { verdicts: [{ criterion: 'it reads well', holds: null }], exit: 0 })
    journal.must({ type: 'recover', reason: 'its owner died' })
    const items = inboxOf(journal.state)
    expect(items.map(({ task, asks, who }) => [task, asks.type, who])).toEqual([
      ['draft', 'verdict', null],
      ['review', 'approval', 'ana'],
      ['push', 'unknown-outcome', null],
      ['call', 'work', 'bo'],
    ])
    expect(new Set(items.map(({ key }) => key)).size).toBe(4)
    expect(items[0]!.evidence).toMatchObject([{ task: 'draft', exit: 0 }])
    expect(items[2]!.answers.map(({ answer }) => answer)).toEqual(['done', 'again', 'reject'])
  })

  it('asks anew under another key when the task came round again, or was lost again', () => {
    const journal = started(plan('p', task('build'), gate('review', { needs: ['build'], on: { rejected: 'build' } })))
    journal.succeed('build')
    journal.ask('review')
    const first = inboxOf(journal.state)[0]!.key
    journal.must({ type: 'decide', task: name('review'), verdict: 'rejected', rationale: 'no' })
    journal.turn()
    journal.succeed('build')
    journal.ask('review')
    expect(inboxOf(journal.state)[0]!.key).not.toBe(first)

    const unsafe = started(plan('q', task('push')))
    unsafe.must({ type: 'recover', reason: 'died' })
    const lost = inboxOf(unsafe.state)[0]!.key
    unsafe.must({ type: 'decide', task: name('push'), verdict: 'again', rationale: '' })
    unsafe.turn()
    unsafe.must({ type: 'recover', reason: 'died' })
    expect(inboxOf(unsafe.state)[0]!.key).not.toBe(lost)
  })

  it('is nothing in a plan that has ended, and no work in one that is paused', () => {
    const journal = started(plan('p', gate('review'), external('call', { assignee: 'bo' })))
    journal.ask('review')
    journal.must({ type: 'pause' })
    expect(inboxOf(journal.state).map(({ task }) => task)).toEqual(['review'])
    const form = [{ name: 'answer', type: 'text' }] as const
    journal.must({ type: 'ask', id: 'q', text: 'which?', form, by: 'bo' })
    journal.must({ type: 'cancel' })
    expect(inboxOf(journal.state)).toEqual([])
    const late = journal.submit({ type: 'answer', id: 'q', answers: { answer: 'this' }, by: 'ana' })
    expect(late).toMatchObject({ refusal: { code: 'illegal-transition' } })
  })
})

describe('what waits no longer', () => {
  const fate = (journal: Journal, key: string) => {
    const past = new InboxPast(each => each === key)
    for (const entry of journal.entries) past.read(entry)
    return past.found
  }

  it('is told with who answered, when and how', () => {
    const journal = started(plan('p', gate('review')))
    journal.ask('review')
    const { key } = inboxOf(journal.state)[0]!
    expect(fate(journal, key)).toMatchObject({ by: null })
    journal.submit({ type: 'decide', task: name('review'), verdict: 'approved', rationale: 'fine' }, 'ana')
    const { version } = journal.entries.at(-1)!
    expect(fate(journal, key)).toMatchObject({ by: { version, actor: 'ana', text: 'review approved: fine' } })
    expect(fate(journal, `${key}x`)).toBe(null)
  })

  it('is told with what took it away when nobody answered', () => {
    const cases: [string, (journal: Journal) => void, RegExp][] = [
      ['cancel', journal => journal.must({ type: 'cancel', reason: 'enough' }), /enough/],
      ['skip', journal => journal.must({ type: 'skip', task: name('review'), reason: 'no need' }), /no need/],
    ]
    for (const [, end, said] of cases) {
      const journal = started(plan('p', gate('review')))
      journal.ask('review')
      const { key } = inboxOf(journal.state)[0]!
      end(journal)
      expect(fate(journal, key)!.by!.text).toMatch(said)
    }
    const claimed = started(plan('p', external('call', { assignee: 'bo' })))
    const { key } = inboxOf(claimed.state)[0]!
    claimed.must({ type: 'claim', token: 't', by: 'bo' })
    expect(fate(claimed, key)!.by!.text).toContain('claimed by bo')
  })
})

describe('a rollback that was stopped', () => {
  const stop = (journal: Journal): void => {
    journal.must({
      type: 'rollback',
      id: 'r',
      at: 1,
      kind: 'rollback',
      to: 2,
      resets: [],
      compensate: [],
      paths: ['a b'],
    })
    const { failure } = failed({ message: 'somebody worked there' })
    journal.turn({ rolledBack: { id: 'r', outcome: { changes: null, paths: 0, failure, conflicts: ['a'] } } })
  }
  const begun = (): Journal => {
    const journal = started(plan('p', task('a'), task('b', { needs: ['a'] })))
    journal.succeed('a')
    journal.settle('b', interrupted())
    return journal
  }

  it('waits until somebody goes on, begins anew or says something about it', () => {
    const journal = begun()
    expect(stoppedIn(journal.entries)).toBe(null)
    stop(journal)
    expect(stoppedIn(journal.entries)).toMatchObject({
      version: journal.entries.length,
      started: { to: 2, paths: ['a b'] },
      stopped: { conflicts: ['a'] },
    })
    journal.must({ type: 'note', text: 'about a', task: name('a') })
    expect(stoppedIn(journal.entries)).not.toBe(null)
    journal.must({ type: 'note', text: 'stays so' })
    expect(stoppedIn(journal.entries)).toBe(null)

    const other = begun()
    stop(other)
    other.must({ type: 'resume' })
    expect(stoppedIn(other.entries)).toBe(null)
  })
})
