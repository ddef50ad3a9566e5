// Reviews: the reviewer that a task gets, and what follows from what it says.

import { describe, expect, it } from 'vitest'
import { Journal, name, type PlanOptions, plan, START, task } from '../../testing/index.ts'
import type { Event, EventOf } from '../event.ts'
import type { JsonObject } from '../json.ts'
import type { Review, TaskDefinition } from '../plan.ts'
import { expandTasks } from '../plan-rules/expand.ts'
import { checkGraph } from '../plan-rules/graph-rules.ts'
import { checkState } from '../state/state.fixture.ts'
import { judgedBy } from '../state/task-index.ts'

function begun(...parts: readonly (TaskDefinition | PlanOptions)[]): Journal {
  const journal = new Journal().create(plan('p', ...parts))
  journal.must(START)
  journal.turn()
  return journal
}

const work = (review: Partial<Review> = {}, more: Partial<TaskDefinition> = {}): TaskDefinition =>
  task('work', { review: { by: 'model', ...review }, ...more } as never)
const next = task('next', { needs: ['work'] })
const byName = (...tasks: readonly TaskDefinition[]) =>
  new Map(expandTasks(plan('p', ...tasks)).map(one => [one.id, one]))

/** The review's own task ends with this. */
function says(journal: Journal, verdict: 'pass' | 'fail', outputs: JsonObject = {}): readonly Event[] {
  if (journal.state.tasks.get(name('work/review'))?.prepared?.when === undefined)
    journal.prepare('work/review', { when: true })
  return journal.succeed('work/review', { outcome: verdict, outputs: { verdict, feedback: 'too slow', ...outputs } })
}

/** One round: the work is done, and the review sends it back or not. */
function round(journal: Journal, verdict: 'pass' | 'fail'): readonly Event[] {
  journal.succeed('work', { outputs: { text: 'it is fast' } })
  return says(journal, verdict)
}

const of = <T extends Event['type']>(events: readonly Event[], type: T) =>
  events.filter((event): event is EventOf<T> => event.type === type)

describe('a task with a review', () => {
  it('gets a task that may only read, and what needs it waits for that too', () => {
    const tasks = byName(work({ by: 'grok', times: 3, instruction: 'Is it fast?' }), next)
    expect([...tasks.keys()]).toEqual(['work', 'work/review', 'next'])
    expect(tasks.get(name('next'))?.needs).toEqual(['work', 'work/review'])
    expect(tasks.get(name('work/review'))).toMatchObject({
      needs: ['work'],
      when: "tasks['work'].status == 'completed'",
      on: { fail: ['work'] },
      write: [],
      recover: [{ times: 100, do: { type: 'ask' } }],
      reviews: { of: 'work', times: 3 },
      action: { type: 'agent', spec: { use: 'grok' } },
    })
    const { instruction } = tasks.get(name('work/review'))!
    expect(instruction).toContain('Is it fast?')
    // An agent is shown the work in its brief; a model only what its prompt names.
    expect(instruction).not.toContain('work.diff')
    expect(byName(work({ vote: 3 })).get(name('work/review'))).toMatchObject({
      action: { type: 'model', spec: { votes: 3 } },
      instruction: expect.stringContaining('${{ work.diff }}'),
    })
  })

  it('may name a task of the plan, the nearest of that name, which keeps what it has', () => {
    const look = task('look', { needs: ['next'], when: 'plan.revision > 0', on: { success: ['next'] } })
    const tasks = byName(work({ by: { task: 'look' } }, { on: { success: [name('after')] } }), task('next'), look)
    expect(tasks.get(name('look'))).toMatchObject({
      needs: ['next', 'work'],
      when: "(plan.revision > 0) && (tasks['work'].status == 'completed')",
      on: { success: ['next', 'after'], fail: ['work'] },
    })
    expect(tasks.get(name('work'))?.on).toEqual({})
    const inside = task('g', { action: { type: 'subplan', tasks: [work({ by: { task: 'look' } }), task('look')] } })
    expect(byName(inside, task('look')).get(name('g/look'))?.reviews).toEqual({ of: 'g/work', times: 2 })
  })

  it.each([
    [
      'a name that does not exist',
      [work({ by: { task: 'gone' } })],
      "task 'work' is reviewed by 'gone', which does not exist",
    ],
    ['itself', [work({ by: { task: 'work' } })], "task 'work' would review itself"],
    [
      'a task that reviews another',
      [work({ by: { task: 'l' } }), task('w2', { review: { by: { task: 'l' } } } as never), task('l')],
      "'l' reviews 'work' already",
    ],
    [
      'a gate',
      [task('work', { action: { type: 'gate', gate: 'approval' }, review: { by: 'model' } } as never)],
      "task 'work' does no work that could be reviewed",
    ],
    [
      'a reviewer that it needs',
      [work({ by: { task: 'l' } }, { needs: [name('l')] }), task('l')],
      'dependency cycle: l → work → l',
    ],
  ])('is refused with %s', (_, tasks, message) => {
    expect(checkGraph(plan('p', ...tasks)).map(fault => fault.message)).toContain(message)
  })
})

describe('a review', () => {
  it('that passes lets the plan go on, and what did not count becomes notes on the work', () => {
    const journal = begun(work(), next)
    journal.succeed('work')
    expect(journal.status('next')).toBe('pending')
    const events = says(journal, 'pass', { notes: ['gone.ts: is wrong'] })
    expect(of(events, 'note.added')).toEqual([{ type: 'note.added', text: 'gone.ts: is wrong', task: 'work' }])
    journal.turn()
    expect(journal.status('next')).toBe('running')
    checkState(journal.state)
  })

  it('that fails sends the work back in the same conversation, and what it said is a lesson', () => {
    const journal = begun(work(), next)
    const events = round(journal, 'fail')
    expect(of(events, 'note.added')).toEqual([
      {
        ...{ type: 'note.added', text: 'too slow', task: 'work', kind: 'lesson', by: 'work/review' },
        about: { visit: 1, attempt: 1 },
      },
    ])
    expect(of(events, 'task.reopened')).toMatchObject([
      { tasks: ['work', 'work/review'], feedback: { from: 'work/review', text: 'too slow', visit: 1, review: true } },
    ])
    journal.turn()
    expect(journal.state.tasks.get(name('work'))).toMatchObject({ status: 'running', visit: 2, conversation: 1 })
    round(journal, 'fail')
    expect(journal.state.tasks.get(name('work'))).toMatchObject({ visit: 3, conversation: 1 })
    checkState(journal.state)
  })

  it('that always fails is capped: a person decides, with what the review and the work say', () => {
    const journal = begun(work({ times: 1 }), next)
    round(journal, 'fail')
    journal.turn()
    const [opened] = of(round(journal, 'fail'), 'gate.opened')
    expect(opened).toMatchObject({ task: 'work/review', asks: { type: 'recovery' } })
    const { failure } = opened!.asks as { failure: { message: string } }
    expect(failure.message).toBe(
      "the review still asks for changes in run 2 of 'work': too slow; 'work' says: it is fast",
    )
    expect(journal.statuses()).toEqual({ work: 'completed', 'work/review': 'waiting', next: 'pending' })
  })

  const capped = () => {
    const journal = begun(work({ times: 1 }), next)
    round(journal, 'fail')
    journal.turn()
    round(journal, 'fail')
    const decide = (verdict: 'again' | 'skipped' | 'rejected', rationale: string) => {
      const events = journal.must({ type: 'decide', task: name('work/review'), verdict, rationale, by: 'ana' })
      journal.turn()
      return events
    }
    return { journal, decide }
  }

  it('is accepted by a person as it is', () => {
    const { journal, decide } = capped()
    decide('skipped', 'fast enough')
    expect(journal.statuses()).toEqual({ work: 'completed', 'work/review': 'skipped', next: 'running' })
  })

  it('is rejected by a person', () => {
    const { journal, decide } = capped()
    decide('rejected', 'never')
    expect(journal.statuses()).toEqual({ work: 'completed', 'work/review': 'failed', next: 'blocked' })
  })

  it('is sent back once more by a person, whose words go with it, and then asks again', () => {
    const { journal, decide } = capped()
    expect(of(decide('again', 'use a map'), 'task.reopened')).toMatchObject([
      { feedback: { by: 'ana', text: 'use a map\ntoo slow' } },
    ])
    expect(journal.state.tasks.get(name('work'))).toMatchObject({ status: 'running', visit: 3, conversation: 1 })
    round(journal, 'fail')
    expect(journal.status('work/review')).toBe('waiting')
    checkState(journal.state)
  })

  it('with `capped: fail` fails for good', () => {
    const journal = begun(work({ times: 1, capped: 'fail' }), next)
    round(journal, 'fail')
    journal.turn()
    round(journal, 'fail')
    expect(journal.statuses()).toEqual({ work: 'completed', 'work/review': 'failed', next: 'blocked' })
  })

  it('that cannot be had asks a person, too', () => {
    const journal = begun(work(), next)
    journal.succeed('work')
    journal.prepare('work/review', { when: true })
    journal.fail('work/review', { class: 'transient', retryable: true, message: 'no answer' })
    journal.clock.advance(20_000)
    journal.turn()
    const events = journal.fail('work/review', { class: 'transient', retryable: true, message: 'no answer' })
    expect(of(events, 'gate.opened')).toMatchObject([{ asks: { type: 'recovery', failure: { message: 'no answer' } } }])
  })

  it('is skipped with its work', () => {
    const journal = begun(work({}, { when: 'false' }), next)
    journal.prepare('work', { when: false })
    journal.turn()
    journal.prepare('work/review', { when: false })
    journal.turn()
    expect(journal.statuses()).toEqual({ work: 'skipped', 'work/review': 'skipped', next: 'running' })
  })
})

it('a critic judges the task whose failure led to it, as long as it repairs', () => {
  const journal = begun(
    task('a', { recover: [{ do: { type: 'repair', task: name('critic') } }] }),
    task('critic', { action: { type: 'model', spec: 'local/m' } }),
  )
  const critic = journal.state.tasks.get(name('critic'))!
  expect(judgedBy(journal.state, critic)).toBe(null)
  journal.fail('a', { retryable: true })
  expect(judgedBy(journal.state, critic)?.definition.id).toBe('a')
  const events = journal.succeed('critic', { outputs: { feedback: 'read the test' } })
  expect(of(events, 'note.added')).toMatchObject([{ kind: 'lesson', task: 'a', text: 'read the test', by: 'critic' }])
  expect(judgedBy(journal.state, critic)).toBe(null)
})

it('an outcome that leads back carries the words of the task that decided, or of what it decided about', () => {
  const ask = task('ask', { needs: ['fix'] })
  const ok = task('ok', {
    needs: ['ask'],
    action: { type: 'decide', expression: 'tasks.ask.outputs.answer' },
    on: { no: ['fix'], yes: [] },
  })
  const journal = begun(task('fix'), ask, ok)
  journal.succeed('fix')
  journal.succeed('ask', { outputs: { answer: 'no', reason: 'it leaks' } })
  const events = journal.succeed('ok', { outcome: 'no' })
  expect(of(events, 'task.routed')).toMatchObject([{ feedback: { from: 'ok', text: 'it leaks' } }])
  expect(of(events, 'note.added')).toMatchObject([{ kind: 'lesson', task: 'fix', text: 'it leaks' }])
  expect(journal.state.tasks.get(name('fix'))?.feedback).toMatchObject([{ text: 'it leaks' }])
})
