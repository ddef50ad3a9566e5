import { describe, expect, it } from 'vitest'
import { edit, external, gate, name, plan, started, task } from '../../testing/index.ts'
import { analyze } from '../analysis/analyze.ts'
import type { Action, TaskDefinition } from '../plan.ts'
import { removeTasks } from '../revisions/merge.ts'
import { semanticDiff } from '../revisions/semantic-diff.ts'
import { findDormant } from '../state/task-index.ts'
import { expandTasks } from './expand.ts'
import { bindItems } from './for-each.ts'
import { checkGraph } from './graph-rules.ts'

const by = (id: string) => ({ compensate: { type: 'task', task: name(id) } }) as const
const steps = (...tasks: readonly TaskDefinition[]) => ({ type: 'subplan' as const, tasks })
const merging = (id: string): Action => ({ type: 'git', git: { do: 'merge', task: name(id) } })
const messages = (...parts: Parameters<typeof plan> extends [string, ...infer R] ? R : never) =>
  checkGraph(plan('p', ...parts)).map(({ message, key, task: at }) => [at, key, message])

describe('a task that compensates another', () => {
  const good = plan('p', task('push', by('undo')), task('undo'), task('after', { needs: ['push'] }))

  it('sleeps, whatever stands before or after it, and is passed over when nothing was undone', () => {
    expect(checkGraph(good)).toEqual([])
    expect([...findDormant(started(good).state)]).toEqual(['undo'])
    const journal = started(good)
    for (const id of ['push', 'after']) journal.succeed(id)
    expect(journal.statuses()).toEqual({ push: 'completed', undo: 'skipped', after: 'completed' })
    expect(journal.state.status).toBe('completed')
  })

  it('must be there', () => {
    expect(checkGraph(plan('p', task('push', by('und')), task('undo')))).toEqual([
      {
        code: 'unknown-reference',
        message: "task 'push' is compensated by 'und', which does not exist",
        hint: "did you mean 'undo'?",
        task: 'push',
        key: 'compensate',
      },
    ])
    const removed = removeTasks(good, ['undo'])
    expect(removed.ok && checkGraph(removed.definition).map(({ code }) => code)).toEqual(['unknown-reference'])
  })

  it.each([
    [
      'needs others',
      [task('a', by('undo')), task('undo', { needs: ['a'] })],
      ['undo', 'needs', "'undo' compensates 'a' and needs others"],
    ],
    [
      'is needed',
      [task('a', by('undo')), task('undo'), task('b', { needs: ['undo'] })],
      ['b', 'needs', "task 'b' needs 'undo', which sleeps until 'a' is to be undone"],
    ],
    [
      'is led to',
      [task('a', { ...by('undo'), on: { failure: 'undo' } }), task('undo')],
      ['a', 'on', "an outcome of 'a' leads to 'undo', which sleeps until 'a' is to be undone"],
    ],
    [
      'recovers somebody',
      [
        task('a', by('undo')),
        task('undo'),
        task('b', {
          failureModes: [{ name: 'm', detect: { type: 'prose', text: 'x' }, recover: [name('undo')] }],
        }),
      ],
      ['b', 'failure_modes', "an outcome of 'b' leads to 'undo', which sleeps until 'a' is to be undone"],
    ],
    [
      'leads on',
      [task('a', by('undo')), task('undo', { on: { success: 'b' } }), task('b', { needs: ['a'] })],
      ['undo', 'on', "'undo' compensates 'a' and leads on to others"],
    ],
    [
      'asks a person',
      [task('a', by('undo')), gate('undo')],
      ['undo', 'id', "'undo' compensates 'a' and has the action 'gate'"],
    ],
    [
      'is left to an agent',
      [task('a', by('undo')), external('undo')],
      ['undo', 'id', "'undo' compensates 'a' and has the action 'external'"],
    ],
    [
      'is several tasks',
      [task('a', by('undo')), task('undo', { matrix: { x: [1, 2] } })],
      ['undo', 'matrix', "'undo' compensates 'a' and is several tasks itself"],
    ],
    [
      'is compensated itself',
      [task('a', by('undo')), task('undo', by('c')), task('c')],
      ['undo', 'compensate', "'undo' compensates 'a' and has a 'compensate' of its own"],
    ],
    ['is the task itself', [task('a', by('a'))], ['a', 'compensate', "task 'a' would compensate itself"]],
  ] as const)('may not be one that %s', (_, tasks, expected) => {
    expect(messages(...tasks)).toEqual([expected])
  })

  it('may undo several, by a command, an edit or git', () => {
    const commit: Action = { type: 'git', git: { do: 'commit', message: 'back' } }
    expect(
      messages(
        task('a', by('x')),
        task('b', by('x')),
        task('c', by('y')),
        task('d', by('z')),
        task('x'),
        edit('y', 'f'),
        task('z', { action: commit }),
      ),
    ).toEqual([])
  })
})

describe('inside a group', () => {
  const group = task('g', {
    needs: ['first'],
    action: steps(task('a', by('undo')), task('undo'), task('b', { needs: ['a'] })),
  })
  const definition = plan('p', task('first'), group, task('last', { needs: ['g'] }))

  it('it is found by its short name, nobody waits for it, and it waits for nothing', () => {
    expect(checkGraph(definition)).toEqual([])
    const flat = new Map<string, TaskDefinition>(expandTasks(definition).map(each => [each.id, each]))
    expect(flat.get('g/a')?.compensate).toEqual({ type: 'task', task: 'g/undo' })
    expect(flat.get('g/undo')).toEqual({ id: 'g/undo', action: { type: 'run', command: { argv: ['true'] } } })
    expect(flat.get('g')).toMatchObject({
      needs: ['g/a', 'g/b'],
      action: { type: 'group', children: ['g/a', 'g/b'] },
    })
    expect([...findDormant(started(definition).state)]).toEqual(['g/undo'])
  })

  it('the group completes without it', () => {
    const journal = started(definition)
    for (const id of ['first', 'g/a', 'g/b', 'g']) journal.succeed(id)
    expect(journal.statuses()).toMatchObject({ g: 'completed', 'g/undo': 'pending', last: 'running' })
  })

  it('a group of nothing else waits for what it needs itself', () => {
    const odd = plan('p', task('a', by('g/undo')), task('g', { needs: ['a'], action: steps(task('undo')) }))
    expect(checkGraph(odd)).toEqual([])
    expect(expandTasks(odd).map(({ id, needs }) => [id, needs])).toEqual([
      ['a', undefined],
      ['g', ['a']],
      ['g/undo', undefined],
    ])
  })

  it('each child of a list has its own', () => {
    const each = task('fix', {
      matrix: { os: ['linux', 'mac'] },
      action: steps(
        task('change', by('revert')),
        task('revert'),
        task('join', { needs: ['change'], action: merging('change') }),
      ),
    })
    const flat = new Map<string, TaskDefinition>(expandTasks(plan('p', each)).map(one => [one.id, one]))
    expect(flat.get('fix/2/change')?.compensate).toEqual({ type: 'task', task: 'fix/2/revert' })
    expect(flat.get('fix/2/join')?.action).toEqual(merging('fix/2/change'))
    expect(flat.get('fix/2')?.needs).toEqual(['fix/2/change', 'fix/2/join'])
    expect(checkGraph(plan('p', each))).toEqual([])
  })

  it('one outside a list that is not known yet sleeps already', () => {
    const fix = task('fix', { forEach: { in: '[1, 2]' }, ...by('undo') })
    const open = plan('p', task('undo'), fix)
    expect(checkGraph(open)).toEqual([])
    expect([...findDormant(started(open).state)]).toEqual(['undo'])
    const bound = bindItems(open, name('fix'), [1, 2])
    expect([...findDormant(started(bound).state)]).toEqual(['undo'])
    const inner = task('fix', { forEach: { in: '[1]' }, action: steps(task('change', by('undo')), task('undo')) })
    expect([...findDormant(started(plan('p', task('undo'), inner)).state)]).toEqual([])
  })
})

describe('a merge', () => {
  it('names a task of the plan that is one task, and another one', () => {
    expect(messages(task('a'), task('m', { needs: ['a'], action: merging('a') }))).toEqual([])
    expect(messages(task('a'), task('m', { action: merging('b') }))).toEqual([
      ['m', 'git', "task 'm' merges 'b', which does not exist"],
    ])
    expect(messages(task('m', { action: merging('m') }))).toEqual([['m', 'git', "task 'm' merges itself"]])
    expect(messages(task('a', { matrix: { x: [1] } }), task('m', { action: merging('a') }))).toEqual([
      ['m', 'git', "task 'm' merges 'a', which is several tasks"],
    ])
  })
})

describe('whoever compares plans', () => {
  it('follows a renamed task in both references', () => {
    const before = plan(
      'p',
      task('push', by('undo')),
      edit('undo', 'f'),
      task('m', { action: merging('undo2') }),
      edit('undo2', 'g'),
    )
    const after = plan(
      'p',
      task('push', by('back')),
      edit('back', 'f'),
      task('m', { action: merging('side') }),
      edit('side', 'g'),
    )
    // The edits write their own names as content, so that only the id tells them apart.
    const same = (definition: typeof before) => ({
      ...definition,
      tasks: definition.tasks.map(one =>
        one.action.type === 'edit'
          ? { ...one, action: { ...one.action, edits: one.action.edits.map(each => ({ ...each, content: 'x' })) } }
          : one,
      ) as readonly TaskDefinition[],
    })
    const diff = semanticDiff(same(before), same(after))
    expect(diff.renamed).toEqual([
      { from: 'undo', to: 'back' },
      { from: 'undo2', to: 'side' },
    ])
    expect(diff.changed).toEqual([])
  })

  it('recognises a task that is renamed together with the one that compensates it', () => {
    const titled = (id: string, undo: string) => [
      task(id, { title: 'Push it', ...by(undo) }),
      edit(undo, 'f', { title: 'Undo' }),
    ]
    const [before, after] = [titled('push', 'undo'), titled('send', 'undo')]
    expect(semanticDiff(plan('p', ...before), plan('p', ...after)).renamed).toEqual([{ from: 'push', to: 'send' }])
  })

  it('tells what changed about git, checkpoints and failing', () => {
    const before = plan('p', task('a'), { git: { commits: 'task' }, policy: { checkpoints: { every: 5 } } })
    const after = plan('p', task('a'), { git: { commits: 'task', base: 'main' }, policy: { onFailure: 'keep' } })
    expect(semanticDiff(before, after).plan).toEqual([
      { kind: 'action', key: 'git.base', after: 'main' },
      { kind: 'action', key: 'policy.checkpoints', before: { every: 5 } },
      { kind: 'route', key: 'policy.onFailure', after: 'keep' },
    ])
  })
})

describe('analysis', () => {
  it('counts it apart: it has no wave, no length, and no finding of its own', () => {
    const { waves, unplaced, conditional, compensating, groups, estimate, findings } = analyze(
      plan(
        'p',
        edit('a', 'f', { ...by('undo'), accept: [{ type: 'prose', text: 'good' }] }),
        edit('undo', 'f'),
        task('c', { needs: ['a'], effect: 'pure' }),
      ),
      {
        reads: [
          { reader: name('undo'), key: 'edit', producer: name('a'), output: 'files', text: 'tasks.a.outputs.files' },
        ],
      },
    )
    expect({ waves, unplaced, conditional, compensating, groups }).toEqual({
      waves: [['a'], ['c']],
      unplaced: [],
      conditional: [],
      compensating: ['undo'],
      groups: [['a', 'undo', 'c']],
    })
    expect(estimate.from.none).toBe(1)
    expect(findings.filter(({ task: at }) => at === 'undo' || at === 'a')).toEqual([])
  })

  it('knows how git and checkpoint tasks end', () => {
    const tag: Action = { type: 'git', git: { do: 'tag', name: 'v1' } }
    const { findings } = analyze(
      plan(
        'p',
        task('t', { action: tag, on: { maybe: 'b' } }),
        task('k', { action: { type: 'checkpoint' } }),
        task('b'),
      ),
    )
    expect(findings.filter(({ code }) => code === 'impossible-outcome').map(({ task: at }) => at)).toEqual(['t'])
  })
})
