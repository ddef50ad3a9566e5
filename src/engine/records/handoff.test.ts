import { describe, expect, it } from 'vitest'
import type { Event } from '../../domain/event.ts'
import { handoff } from '../../domain/views/handoff.ts'
import { gate, type Journal, name, numberedSha, plan, started, task } from '../../testing/index.ts'
import { postmortemText, readmeText } from './handoff-text.ts'

const factsOf = (journal: Journal) =>
  handoff(journal.entries.map(entry => ({ ...entry, hash: numberedSha(entry.version) })))

function lived(): Journal {
  const journal = started(
    plan(
      'release',
      task('build', { title: 'Build it', retry: { attempts: 3, backoffMs: { min: 1, max: 1 } } }),
      gate('review', { needs: ['build'], on: { rejected: 'build' } }),
      task('publish', { needs: ['review'] }),
      { goal: 'Ship <b>it</b>\n# now', done: [{ type: 'prose', text: 'people like it' }] },
    ),
  )
  journal.fail('build', { class: 'transient', retryable: true, message: 'no network', hint: 'try later' })
  journal.clock.advance(2_000)
  journal.turn()
  journal.succeed('build', {
    durationMs: 1_500,
    log: { sha256: numberedSha(5), bytes: 9 },
    outputs: { app: { artifact: numberedSha(6) } },
    wrote: { changes: numberedSha(7), paths: 3 },
  })
  journal.ask('review')
  journal.submit({ type: 'decide', task: name('review'), verdict: 'rejected', rationale: 'too short' }, 'ana')
  journal.turn()
  journal.succeed('build', { durationMs: 500, outputs: { app: { artifact: numberedSha(8) } } })
  journal.ask('review', { binds: { publish: numberedSha(9) } })
  journal.submit({ type: 'decide', task: name('review'), verdict: 'approved', rationale: 'good' }, 'ana')
  journal.prepare('publish', { consent: { from: journal.state.hash, hash: numberedSha(9) } })
  journal.fail('publish', { message: 'denied \u202e' })
  journal.must({ type: 'note', text: 'ask bo about the key' })
  return journal
}

describe('what is handed on', () => {
  it('is the same for the same journal', () => {
    const [a, b] = [factsOf(lived()), factsOf(lived())]
    expect(readmeText(a)).toBe(readmeText(b))
    expect(postmortemText(a)).toBe(postmortemText(b))
  })

  it('tells what was asked, done, decided, left, failed and tried again', () => {
    const facts = factsOf(lived())
    expect(facts.status).toBe('failed')
    expect(facts.workMs).toBe(2_000)
    expect(facts.decisions.map(({ by, verdict }) => [by, verdict])).toEqual([
      ['ana', 'rejected'],
      ['ana', 'approved'],
    ])
    expect(facts.setbacks.map(({ task, class: kind }) => [task, kind])).toEqual([
      ['build', 'transient'],
      ['publish', 'logic'],
    ])
    const build = facts.tasks.find(({ task }) => task === 'build')!
    expect(build).toMatchObject({ attempts: 3, visits: 2, artifacts: [{ output: 'app', sha256: numberedSha(8) }] })

    const [readme, postmortem] = [readmeText(facts), postmortemText(facts)]
    expect(readme).toContain('Plan `release`: **failed**')
    expect(readme).toMatch(/## Still open\n\n- `publish`: failed, denied/)
    expect(readme).toContain('- `retry release publish`: run it again')
    expect(postmortem).toMatch(/## Failures\n\n- \S+ `build` \(attempt 1\), transient: no network — try later/)
    expect(postmortem).toContain('- `build`: 3 attempts in 2 runs, completed in the end')
    expect(postmortem).toContain('`review` rejected: too short')
    expect(postmortem).toContain('ask bo about the key')
    expect(postmortem).toContain(`Artifact \`build.app\`: \`${numberedSha(8)}\``)
    expect(postmortem).toContain('Done when: people like it')
  })

  it('names whose work a change set may be, where tasks without a scope ran side by side', () => {
    const journal = started(plan('p', task('ok'), task('side'), task('later', { needs: ['ok', 'side'] })))
    journal.succeed('ok', { wrote: { changes: null, paths: 0 } })
    journal.succeed('side', { wrote: { changes: numberedSha(2), paths: 1 } })
    journal.turn()
    journal.succeed('later', { wrote: { changes: numberedSha(3), paths: 1 } })
    // Around each of them all files were compared.
    const seen = (event: Event): Event =>
      event.type === 'attempt.started' ? { ...event, before: numberedSha(1) } : event
    const entries = journal.entries.map(one => ({
      ...one,
      hash: numberedSha(one.version),
      events: one.events.map(seen),
    }))
    const text = postmortemText(handoff(entries))
    expect(text).toMatch(/Change set of `side`: `\w+`; `ok` ran at the same time, so it may be their work/)
    expect(text).toMatch(/Change set of `later`: `\w+`\n/)
  })

  it('tells what a person judged by their answer', () => {
    const journal = started(plan('p', task('draft'), task('other')))
    const asks = { verdicts: [{ criterion: 'reads well', holds: null }] }
    journal.succeed('draft', asks)
    journal.succeed('other', asks)
    expect(postmortemText(factsOf(journal))).toContain('`draft`: reads well was left to a person')
    journal.must({ type: 'decide', task: name('draft'), verdict: 'approved', rationale: '' })
    journal.must({ type: 'decide', task: name('other'), verdict: 'rejected', rationale: 'too long' })
    const text = postmortemText(factsOf(journal))
    expect(text).toContain('`draft`: reads well passed; approved by a person')
    expect(text).toContain('`other`: reads well failed; rejected by a person')
  })

  it('says of an unfinished plan what status says, and which tasks were interrupted', () => {
    const facts = factsOf(started(plan('p', task('a'), task('b', { needs: ['a'] }))))
    const now = { words: 'interrupted: a was running when the process died', interrupted: new Set([name('a')]) }
    for (const text of [readmeText(facts, { now }), postmortemText(facts, { now })]) {
      expect(text).toContain('Plan `p`: **interrupted: a was running when the process died**. 2 tasks: 1 interrupted')
      expect(text).toContain('- `a`: interrupted\n')
      expect(text).not.toContain('**running**')
    }
    expect(postmortemText(facts, { now })).toContain('| `a` | interrupted |')
  })

  it('gives a reason only while it is the reason', () => {
    const journal = started(plan('p', task('b'), gate('c', { needs: ['b'], on: { rejected: 'b' } })))
    journal.succeed('b')
    journal.ask('c')
    journal.submit({ type: 'decide', task: name('c'), verdict: 'rejected', rationale: 'too short' }, 'ana')
    expect(readmeText(factsOf(journal))).toMatch(/- `c`: pending, \S/)
    journal.turn()
    expect(readmeText(factsOf(journal))).toContain('- `b`: running\n')
    journal.succeed('b')
    journal.ask('c')
    expect(readmeText(factsOf(journal))).toContain('- `c`: waiting\n')
  })

  it('says in words what was decided, and what is waited for', () => {
    const journal = started(plan('p', task('b'), gate('c', { needs: ['b'], on: { rejected: 'b' } })))
    journal.succeed('b')
    journal.ask('c')
    expect(readmeText(factsOf(journal))).toMatch(/- `c` waits for a person since \S+: approval\n/)
    journal.submit({ type: 'decide', task: name('c'), verdict: 'pushed-back', rationale: 'more' }, 'ana')
    const again = { ...factsOf(journal).decisions[0]!, verdict: 'again', rationale: '', said: null } as const
    const facts = { ...factsOf(journal), decisions: [...factsOf(journal).decisions, again] }
    expect(readmeText(facts)).toContain('ana: `c`: changes requested, back to `b`: more\n')
    expect(readmeText(facts)).toContain('ana: `c`: run again\n')
    const asked = { task: name('b'), asks: 'unknown-outcome', since: facts.lastAt } as const
    expect(readmeText({ ...facts, waiting: [asked] })).toContain(': a decision, because its outcome is unknown\n')
  })

  it('keeps what others wrote as text, with what hides made visible', () => {
    const facts = factsOf(lived())
    for (const text of [readmeText(facts), postmortemText(facts)]) {
      expect(text).not.toContain('<b>')
      expect(text).not.toMatch(/\n# now/)
      expect(text).not.toContain('\u202e')
      expect(text).toContain('u\\{202e\\}')
    }
  })
})
