import { expect, it } from 'vitest'
import { decision, edit, external, gate, Journal, name, plan, task } from '../../testing/index.ts'
import type { Json } from '../json.ts'
import { type Action, EFFECT_CLASSES, LATER_ACTIONS, type PlanDefinition, type TaskDefinition } from '../plan.ts'
import { compensationEffect } from '../rollback/compensation.ts'
import { capturesFiles, effectOf, heldScope, isWatched, mayRunAgain, scopeOf } from './effect.ts'

const effect = (one: TaskDefinition, options: Omit<PlanDefinition, 'name' | 'tasks'> = {}) =>
  effectOf(plan('p', one, options), one)

it('effect classes have safe defaults', () => {
  expect({
    'run, nothing declared': effect(task('a')),
    'run, scope only': effect(task('a', { write: ['x'] })),
    'run, no network only': effect(task('a', { network: [] })),
    'run, scope and no network': effect(task('a', { write: ['x'], network: [] })),
    'run, scope and no network by policy': effect(task('a'), { policy: { write: ['x'], network: [] } }),
    'run, network of its own': effect(task('a', { network: ['https://a'] }), { policy: { write: ['x'], network: [] } }),
    edit: effect(edit('a', 'f')),
    decide: effect(decision('a')),
    gate: effect(gate('a')),
    external: effect(external('a')),
    declared: effect(task('a', { effect: 'idempotent' })),
  }).toEqual({
    'run, nothing declared': 'unsafe',
    'run, scope only': 'unsafe',
    'run, no network only': 'unsafe',
    'run, scope and no network': 'workspace',
    'run, scope and no network by policy': 'workspace',
    'run, network of its own': 'unsafe',
    edit: 'workspace',
    decide: 'pure',
    gate: 'pure',
    external: 'model',
    declared: 'idempotent',
  })
})

it('of the actions of a later release, only those that reach outside are unsafe', () => {
  const later = LATER_ACTIONS.map(type => [type, effect(task('a', { action: { type, spec: null } as Action }))])
  expect(Object.fromEntries(later)).toEqual({
    research: 'unsafe',
  })
})

it('a request is as safe as its method, its key and what the plan says of it', () => {
  const of = (type: 'http' | 'db', spec: Json, more: Partial<TaskDefinition> = {}) =>
    effect(task('a', { action: { type, spec }, ...more }))
  const url = 'https://example.org/'
  const file = { archive: { from: 'file', file: 'x.tgz' } } as const
  expect({
    get: of('http', url),
    head: of('http', { url, method: 'HEAD' }),
    download: of('http', url, { outputs: file }),
    post: of('http', { url, method: 'POST' }),
    keyed: of('http', { url, method: 'POST', key: 'auto' }),
    put: of('http', { url, method: 'PUT' }),
    declared: of('http', { url, method: 'PUT' }, { effect: 'idempotent' }),
    unreadable: of('http', { to: url }),
    query: of('db', { url: 'sqlite:a.db', query: 'select 1' }),
    execute: of('db', { url: 'sqlite:a.db', execute: 'delete from x' }),
    'execute once': of('db', { url: 'sqlite:a.db', execute: 'delete from x', key: 'auto' }),
    migrate: of('db', { url: 'sqlite:a.db', migrate: ['1.sql'] }),
    elsewhere: of('db', { url: 'postgres://x', query: 'select 1' }),
  }).toEqual({
    get: 'pure',
    head: 'pure',
    download: 'workspace',
    post: 'unsafe',
    keyed: 'idempotent',
    put: 'unsafe',
    declared: 'idempotent',
    unreadable: 'unsafe',
    query: 'pure',
    execute: 'unsafe',
    'execute once': 'idempotent',
    migrate: 'idempotent',
    elsewhere: 'unsafe',
  })
})

it('only unsafe may not be made again after an unknown outcome', () => {
  expect(EFFECT_CLASSES.filter(one => !mayRunAgain(one))).toEqual(['unsafe'])
})

it('an edit writes what it names, both ends of a move included; a declared scope comes first, the policy last', () => {
  const moving = task('a', {
    action: {
      type: 'edit',
      edits: [
        { type: 'move', file: 'x', to: 'y' },
        { type: 'delete', file: 'x' },
      ],
    },
  })
  const policy = { policy: { write: ['src/**'] } }
  expect(scopeOf(plan('p', moving, policy), moving)).toEqual(['x', 'y'])
  expect(scopeOf(plan('p', moving, policy), task('a', { write: ['z'] }))).toEqual(['z'])
  expect(scopeOf(plan('p', moving, policy), task('a'))).toEqual(['src/**'])
  expect(scopeOf(plan('p', moving), task('a'))).toBeNull()
})

it('a checkpoint only looks, and a commit bears the key of its task', () => {
  expect(effect(task('a', { action: { type: 'checkpoint' } }))).toBe('pure')
  expect(effect(task('a', { action: { type: 'git', git: { do: 'commit', message: 'x' } } }))).toBe('idempotent')
})

it('a compensation that edits may be made again, one by a task as often as that task, any other may not', () => {
  const { state } = new Journal().create(
    plan(
      'p',
      task('edits', { compensate: { type: 'edit', edits: [] } }),
      task('runs', { compensate: { type: 'run', command: { argv: ['x'] } } }),
      task('asks', { compensate: { type: 'task', task: name('undo') } }),
      task('undo', { effect: 'idempotent' }),
    ),
  )
  expect(['edits', 'runs', 'asks'].map(one => compensationEffect(state, name(one)))).toEqual([
    'workspace',
    'unsafe',
    'idempotent',
  ])
})

it('an agent goes on where it was, unless nobody could take back what it did', () => {
  const agent = { action: { type: 'agent', spec: 'claude' } } as const
  expect(effect(task('a', agent))).toBe('model')
  expect(effect(task('a', { ...agent, write: ['src/**'], network: [] }))).toBe('model')
  expect(effect(task('a', { ...agent, network: ['https://example.org'] }))).toBe('unsafe')
  expect(effect(task('a', agent), { policy: { sandbox: 'off' } })).toBe('unsafe')
})

it('the files of a custom runner are captured where it declares them, and all are looked at where it does not', () => {
  const runner = { action: { type: 'runner', spec: 'mine' } } as const
  const scoped = task('a', { ...runner, effect: 'workspace', write: ['x'] })
  const loose = task('a', runner)
  const seen = (one: TaskDefinition) => isWatched({ definition: plan('p', one), files: 'seen' }, one)
  expect([capturesFiles(plan('p', scoped), scoped), heldScope(plan('p', scoped), scoped), seen(scoped)]).toEqual([
    true,
    ['x'],
    false,
  ])
  expect([capturesFiles(plan('p', loose), loose), seen(loose), seen({ ...loose, effect: 'pure' })]).toEqual([
    false,
    true,
    false,
  ])
})
