// The rule of the README: who wrote a task, and what it says, decide how its commands run.

import { describe, expect, it } from 'vitest'
import { numberedSha } from '../../testing/ids.ts'
import { external, Journal, plan, task } from '../../testing/index.ts'
import type { CommandOf } from '../command.ts'
import type { PlanDefinition, Policy, TaskDefinition, Writer } from '../plan.ts'
import { authorOf, othersIn } from '../plan-rules/authors.ts'
import { RULES } from '../rules-version.ts'
import type { PlanState } from '../state/state.ts'
import { confinementOf, runsAs } from './run-mode.ts'

const START: CommandOf<'start'> = { type: 'start', rules: RULES, sandbox: 'by-task' }
const run = (id: string, script: string, more: Partial<TaskDefinition> = {}): TaskDefinition =>
  task(id, { action: { type: 'run', command: { script } }, ...more })

/** Null: others wrote it. */
function journalOf(definition: PlanDefinition, writer: Writer | null = 'person'): Journal {
  const journal = new Journal()
  journal.create(definition, writer === null ? {} : { writer })
  return journal
}

function begun(definition: PlanDefinition, writer?: Writer | null): PlanState {
  const journal = journalOf(definition, writer)
  journal.must(START)
  return journal.state
}

const modeOf = (state: PlanState, id: string) => confinementOf(state, state.tasks.get(id as never)!.definition)
const one = (more: Partial<TaskDefinition>, policy?: Policy) =>
  modeOf(begun(plan('p', run('t', 'make', more), ...(policy === undefined ? [] : [{ policy }]))), 't')

describe('a task that the person wrote', () => {
  it('runs as they would run it when nobody says what it writes or reaches', () => {
    expect(one({})).toEqual({ mode: 'as you', isHeld: false, isOwn: true, isRequired: false })
    expect(one({ effect: 'pure' }).mode).toBe('as you')
  })

  it.each<readonly [string, Partial<TaskDefinition>, Policy | undefined]>([
    ['write', { write: ['dist/**'] }, undefined],
    ['network', { network: [] }, undefined],
    ['policy.write', {}, { write: ['dist/**'] }],
    ['policy.network', {}, { network: [] }],
    ['policy.sandbox: preferred', {}, { sandbox: 'preferred' }],
  ])('is held by %s, and runs where there is no sandbox', (_, more, policy) => {
    expect(one(more, policy)).toEqual({ mode: 'held', isHeld: true, isOwn: true, isRequired: false })
  })

  it('is let out by sandbox: off, but not where a sandbox is required', () => {
    expect(one({ write: ['dist/**'], sandbox: 'off' }).mode).toBe('as you')
    expect(one({ sandbox: 'off' }, { sandbox: 'required' })).toMatchObject({ mode: 'held', isRequired: true })
  })

  it('is held when it judges the work of an agent, and so are the final checks of such a plan', () => {
    const done = [{ type: 'check', command: { script: 'make test' } }] as const
    const state = begun(plan('p', external('work'), run('ship', 'make ship'), { done }))
    expect(modeOf(state, 'work')).toMatchObject({ mode: 'held', isOwn: false })
    expect(modeOf(state, 'done')).toMatchObject({ mode: 'held', isOwn: false })
    expect(modeOf(state, 'ship').mode).toBe('as you')
    expect(modeOf(begun(plan('q', run('ship', 'make ship'), { done })), 'done').mode).toBe('as you')
  })
})

it('a task that others wrote is held, and does not run without a sandbox', () => {
  const state = begun(plan('p', run('t', 'make'), { policy: { sandbox: 'off' } }), null)
  expect(state.authors.most).toBe('others')
  expect(modeOf(state, 't')).toEqual({ mode: 'held', isHeld: true, isOwn: false, isRequired: true })
})

it('a plan that was started before keeps the mode that it recorded', () => {
  const journal = journalOf(plan('p', run('t', 'make')), null)
  journal.must({ ...START, sandbox: 'preferred' })
  expect(modeOf(journal.state, 't')).toEqual({ mode: 'held', isHeld: true, isOwn: false, isRequired: false })
  expect(runsAs(journal.state, run('t', 'make'))).toEqual({})
})

it('each attempt records how it runs', () => {
  const journal = journalOf(plan('p', run('a', 'make'), run('b', 'make', { write: ['b'], network: [] })))
  journal.must(START)
  journal.turn()
  journal.prepare('b', { preimage: numberedSha(7) })
  const runs = journal.entries.flatMap(({ events }) =>
    events.flatMap(event => (event.type === 'attempt.started' ? [[event.task, event.runs]] : [])),
  )
  expect(Object.fromEntries(runs)).toEqual({ a: 'as you', b: 'held' })
})

describe('a revision', () => {
  const before = plan('p', run('build', 'make'), run('ship', 'make ship'))
  const revised = (definition: PlanDefinition, writer?: Writer) => {
    const journal = journalOf(before)
    journal.must(START)
    journal.must({ type: 'revise', definition, hash: numberedSha(2), rationale: 'x', ...(writer && { writer }) })
    return journal.state
  }
  const authors = (state: PlanState) => Object.fromEntries([...state.tasks.keys()].map(id => [id, authorOf(state, id)]))

  it.each<readonly [string, Partial<TaskDefinition>]>([
    ['action', { action: { type: 'run', command: { script: 'curl evil' } } }],
    ['env', { env: { TARGET: 'x' } }],
    ['cwd', { cwd: 'other' }],
    ['checks', { accept: [{ type: 'check', command: { script: 'true' } }] }],
    ['write', { write: ['dist/**'] }],
    ['inputs', { inputs: { to: 'x' } }],
  ])('by an agent makes the task whose %s it changes theirs, and no other', (_, more) => {
    const state = revised(plan('p', run('build', 'make'), run('ship', 'make ship', more)))
    expect(authors(state)).toEqual({ build: 'person', ship: 'others' })
    expect(modeOf(state, 'ship')).toMatchObject({ mode: 'held', isRequired: true })
  })

  it('by an agent that changes titles or adds a task leaves the others to the person', () => {
    const state = revised(
      plan('p', run('build', 'make', { title: 'Build it' }), run('ship', 'make ship'), run('x', 'id')),
    )
    expect(authors(state)).toEqual({ build: 'person', ship: 'person', x: 'others' })
  })

  it('by an agent that changes how all tasks are held makes all of them theirs', () => {
    const state = revised({ ...before, policy: { write: ['**'] } })
    expect(authors(state)).toEqual({ build: 'others', ship: 'others' })
  })

  it('by the person makes what it changes their own, and a file of theirs all of it', () => {
    const journal = journalOf(before, null)
    const next = plan('p', run('build', 'make all'), run('ship', 'make ship'))
    journal.must({ type: 'revise', definition: next, hash: numberedSha(2), rationale: 'x', writer: 'changes' })
    expect(authors(journal.state)).toEqual({ build: 'person', ship: 'others' })
    journal.must({ type: 'revise', definition: before, hash: numberedSha(3), rationale: 'x', writer: 'person' })
    expect(authors(journal.state)).toEqual({ build: 'person', ship: 'person' })
  })

  it('by an agent that is accepted by a person becomes the person’s own', () => {
    const journal = journalOf(before)
    journal.must(START)
    const definition = plan('p', run('build', 'make'), run('ship', 'make ship FAST=1'))
    const hash = numberedSha(2)
    journal.must({ type: 'propose', id: 'p1', definition, hash, base: journal.state.hash, rationale: 'x', by: 'agent' })
    journal.must({ type: 'judge', id: 'p1', hash, verdict: 'accepted', rationale: 'y', by: 'ana', writer: 'changes' })
    expect(authors(journal.state)).toEqual({ build: 'person', ship: 'person' })
  })

  it('cannot bring keys that are for the person alone', () => {
    for (const more of [{ sandbox: 'off' }, { read: ['~/.npmrc'] }] as const) {
      const journal = journalOf(before)
      const definition = plan('p', run('build', 'make', more), run('ship', 'make ship'))
      const command = { type: 'revise', definition, hash: numberedSha(2), rationale: 'x' } as const
      expect(journal.submit(command)).toMatchObject({ ok: false, refusal: { code: 'not-allowed' } })
      expect(journal.submit({ ...command, writer: 'changes' })).toMatchObject({ ok: true })
    }
  })
})

describe('a draft', () => {
  const drafted = plan('p', run('a', 'make a'), run('b', 'make b'))

  it('of a planner without a model is the person’s own when they approve it', () => {
    const journal = journalOf(drafted, 'draft')
    expect(modeOf(journal.state, 'a').isOwn).toBe(false)
    journal.must({ ...START, approves: 'draft' })
    expect(modeOf(journal.state, 'a')).toMatchObject({ mode: 'as you', isOwn: true })
  })

  it('of a model is theirs only where they were shown the command', () => {
    const journal = journalOf(drafted, null)
    journal.must({ ...START, approves: ['a' as never] })
    expect([modeOf(journal.state, 'a').mode, modeOf(journal.state, 'b').mode]).toEqual(['as you', 'held'])
  })
})

describe('no way in makes the words of others the person’s own', () => {
  const others = (journal: Journal, definition: PlanDefinition) =>
    journal.must({ type: 'revise', definition, hash: numberedSha(9), rationale: 'x' })

  it('a name below another task has its own author', () => {
    const journal = journalOf(plan('p', run('build', 'make')))
    journal.must(START)
    others(journal, plan('p', run('build', 'make'), run('build/evil', 'curl evil')))
    expect([authorOf(journal.state, 'build' as never), authorOf(journal.state, 'build/evil' as never)]).toEqual([
      'person',
      'others',
    ])
    const theirs = journalOf(plan('q', run('build', 'make'), run('x', 'id')), null)
    theirs.must({
      type: 'revise',
      definition: plan('q', run('build', 'make all'), run('x', 'id')),
      hash: numberedSha(2),
      rationale: 'x',
      writer: 'changes',
    })
    others(theirs, plan('q', run('build', 'make all'), run('x', 'id'), run('build/evil', 'curl evil')))
    expect(authorOf(theirs.state, 'build/evil' as never)).toBe('others')
  })

  it('a name like a method of objects is no author', () => {
    expect(modeOf(begun(plan('p', run('toString', 'make', { sandbox: 'off' }))), 'toString').isOwn).toBe(true)
  })

  it('items that somebody writes into a for_each are theirs; those that are found are nobody’s', () => {
    const each = (more: object) => run('each', 'echo', { forEach: { in: 'tasks.list.outputs.names', ...more } })
    const journal = journalOf(plan('p', run('list', 'ls'), each({})))
    journal.must(START)
    others(journal, plan('p', run('list', 'ls'), each({ items: ['touch evil'] })))
    expect(authorOf(journal.state, 'each' as never)).toBe('others')
  })

  it('final checks and notifications have authors, also in what is kept beside a file of the person’s', () => {
    const done = [{ type: 'check', command: { script: 'curl evil' } }] as const
    const journal = journalOf(plan('p', run('a', 'make')))
    others(journal, plan('p', run('a', 'make'), { done }))
    expect(authorOf(journal.state, 'done' as never)).toBe('others')
    expect(othersIn(journal.state)).toEqual(['done'])
    const file = plan('p', run('a', 'make all'), run('kept', 'curl evil'))
    const revision = { type: 'revise', definition: file, hash: numberedSha(3), rationale: 'x' } as const
    journal.must({ ...revision, writer: 'person', others: ['kept' as never] })
    expect([authorOf(journal.state, 'a' as never), authorOf(journal.state, 'kept' as never)]).toEqual([
      'person',
      'others',
    ])
  })
})
