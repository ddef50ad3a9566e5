// Tasks that work in worktrees of their own, in real repositories: what comes of them, and that nothing else is touched.

import * as fs from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Event } from '../../domain/event.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { fingerprint, shell } from '../../workspace/git/repository.fixture.ts'
import { busyRepository, edit, realRooms, sh } from '../rollback/perform-rollback.fixture.ts'

let place: Awaited<ReturnType<typeof realRooms>>
beforeEach(async () => {
  place = await realRooms()
})
afterEach(async () => {
  await place.close()
  fs.rmSync(place.root, { recursive: true, force: true })
})

const APART: Partial<PlanDefinition> = { git: { worktree: 'task' } }
const git = (...args: string[]): string => shell(place.root, place.root, ...args)
const entries = async () => (await place.engine.ask({ type: 'entries', plan: 'plan', limit: 500 })) ?? []
const events = async <T extends Event['type']>(type: T) =>
  (await entries()).flatMap(({ events }) =>
    events.filter((event): event is Extract<Event, { type: T }> => event.type === type),
  )
const resultOf = async (task: string) =>
  (await events('attempt.succeeded')).findLast(event => event.task === task)?.result
const failureOf = async (task: string) =>
  (await events('attempt.failed')).findLast(event => event.task === task)?.result.failure
const needs = (...names: string[]) => ({ needs: names as unknown as NonNullable<TaskDefinition['needs']> })
const worktrees = () =>
  git('worktree', 'list', '--porcelain')
    .split('\n')
    .filter(line => line.startsWith('worktree ')).length
const branches = () => git('for-each-ref', '--format=%(refname:short)', 'refs/heads').split('\n')
const show = (path: string, at = 'plan/plan') => git('show', `${at}:${path}`)

const busy = (): void => busyRepository(place.root)

/** All that belongs to the person: every file, the index, HEAD, the stash; not objects, nor what is ours among the refs. */
function foreign(): readonly (readonly [string, string])[] {
  return [...fingerprint(place.root)].filter(([path]) => !path.startsWith('/.planfold'))
}

describe('each task in a worktree of its own', () => {
  test('works on top of what it needs; the workspace, HEAD and index stay byte for byte', async () => {
    busy()
    const before = foreign()
    await place.run(
      [
        edit('make', 'new.txt', 'new\n', { kind: 'implement', title: 'Make it' }),
        sh(
          'mend',
          'test "$(cat new.txt)" = new; test "$(cat b.txt)" = b; printf "more\\n" >> new.txt; cat new.txt > out.json.txt',
          {
            ...needs('make'),
            outputs: { text: { from: 'file', file: 'out.json.txt' } },
            accept: [{ type: 'check', command: { argv: ['grep', '-q', 'more', 'new.txt'] } }],
          },
        ),
        sh('look', 'grep -q more new.txt', { ...needs('mend'), effect: 'pure' }),
      ],
      { ...APART, done: [{ type: 'check', command: { argv: ['test', '-f', 'out.json.txt'] } }] },
    )
    expect(await place.statuses()).toMatchObject({
      plan: 'completed',
      make: 'completed',
      mend: 'completed',
      look: 'completed',
    })
    expect(foreign()).toEqual(before)
    expect(show('new.txt')).toBe('new\nmore')
    expect(git('log', '--topo-order', '--format=%s', 'main..plan/plan').split('\n')).toEqual([
      'chore(plan): merge the work of mend',
      'chore(plan): mend',
      'chore(plan): merge the work of make',
      'feat(plan): Make it',
    ])
    expect([worktrees(), branches()]).toEqual([1, ['main', 'plan/plan']])
    const made = await resultOf('make')
    expect(made?.wrote).toBeUndefined()
    expect(made?.git?.map(({ type }) => type)).toEqual([
      'branch.created',
      'worktree.added',
      'commit.created',
      'branch.created',
      'branch.merged',
      'worktree.removed',
      'branch.deleted',
    ])
    expect((await resultOf('mend'))?.outputs?.text).toMatchObject({ bytes: 9 })
    expect(fs.readdirSync(join(place.root, '.planfold/work/plan'))).toEqual([])
  })

  test('two at once, with other files: the second merge is a real one', async () => {
    busy()
    const before = foreign()
    const meet = (own: string, other: string) =>
      `touch ${place.root}/.planfold/${own}; until [ -e ${place.root}/.planfold/${other} ]; do sleep 0.05; done`
    await place.run(
      [
        sh('one', `${meet('1', '2')}; echo 1 > one.txt`),
        sh('two', `${meet('2', '1')}; echo 2 > two.txt`),
        sh('sum', 'cat one.txt two.txt > sum.txt', needs('one', 'two')),
      ],
      { ...APART, concurrency: 2 },
    )
    expect(await place.statuses()).toMatchObject({ plan: 'completed' })
    expect([show('sum.txt'), foreign()]).toEqual(['1\n2', before])
    const merges = git('log', '--first-parent', '--format=%P', 'main..plan/plan').split('\n')
    expect(merges.map(parents => parents.split(' ').length)).toEqual([2, 2, 2])
    // Both began at the same commit, so the second was merged into something it did not know.
    const [, second] = merges.map(parents => parents.split(' '))
    expect(git('merge-base', second![0]!, second![1]!)).toBe(git('rev-parse', 'main'))
    expect([worktrees(), branches()]).toEqual([1, ['main', 'plan/plan']])
  })

  test('two that change the same lines: the second fails, both versions stay, and trying again goes on top', async () => {
    busy()
    const before = foreign()
    const meet = (own: string, other: string) =>
      `touch ${place.root}/.planfold/${own}; until [ -e ${place.root}/.planfold/${other} ]; do sleep 0.05; done`
    const write = (own: string, other: string) =>
      `test -e ${place.root}/.planfold/${own} || { ${meet(own, other)}; }; echo ${own} >> a.txt`
    await place.run([sh('one', write('1', '2')), sh('two', write('2', '1'))], { ...APART, concurrency: 2 })
    const statuses = await place.statuses()
    expect([statuses.one, statuses.two].sort()).toEqual(['completed', 'failed'])
    const loser = statuses.one === 'failed' ? 'one' : 'two'
    const [won, lost] = loser === 'one' ? ['2', '1'] : ['1', '2']
    const failure = await failureOf(loser)
    const folder = fs.realpathSync(join(place.root, '.planfold/work/plan', loser))
    expect(failure).toMatchObject({
      class: 'logic',
      message: expect.stringMatching(/conflicts with what is in plan\/plan by now: "a\.txt"$/),
      hint: expect.arrayContaining([expect.stringContaining(folder)]),
    })
    expect([show('a.txt'), show('a.txt', `plan/plan+${loser}`)]).toEqual([`a\n${won}`, `a\n${lost}`])
    expect([worktrees(), fs.readFileSync(join(folder, 'a.txt'), 'utf8')]).toEqual([2, `a\n${lost}\n`])
    await place.submit({ type: 'retry', task: loser as never })
    await place.drive()
    expect(await place.statuses()).toMatchObject({ plan: 'completed' })
    expect([show('a.txt'), worktrees(), foreign()]).toEqual([`a\n${won}\n${lost}`, 1, before])
    const kept = git('for-each-ref', '--format=%(refname)', 'refs/planfold/backup').split('\n')
    expect(kept).toHaveLength(1)
    expect(show('a.txt', kept[0]!)).toBe(`a\n${lost}`)
  })

  test('what a failed attempt left is kept, and the next one begins without it', async () => {
    busy()
    const before = foreign()
    const counter = `${place.root}/.planfold/tries`
    await place.run(
      [
        sh(
          'try',
          `test ! -e half.txt; test "$(cat a.txt)" = a; echo x >> ${counter}; echo half > half.txt; echo changed > a.txt; mkdir -p dist; echo o >> dist/o; test "$(wc -l < ${counter})" -ge 2; rm half.txt`,
          { effect: 'workspace', write: ['**'], retry: { attempts: 2, backoffMs: { min: 1, max: 1 } } },
        ),
      ],
      APART,
    )
    expect(await place.statuses()).toMatchObject({ plan: 'completed' })
    expect(foreign()).toEqual(before)
    expect(git('ls-tree', '-r', '--name-only', 'plan/plan').split('\n')).toEqual(['.gitignore', 'a.txt', 'b.txt'])
    const [kept] = git('for-each-ref', '--format=%(refname)', 'refs/planfold/backup').split('\n')
    expect(kept).toMatch(/^refs\/planfold\/backup\/plan\/\w+\/left\/plan\/plan\+try$/)
    expect([show('half.txt', kept!), show('a.txt', kept!)]).toEqual(['half', 'changed'])
    // What git ignores is in no commit, so the worktree is the only place that has it.
    const folder = join(place.root, '.planfold/work/plan/try')
    expect(fs.readFileSync(join(folder, 'dist/o'), 'utf8')).toBe('o\no\n')
    const said = await place.engine.ask({ type: 'logs', plan: 'plan', task: 'try' })
    expect((said ?? []).map(({ text }) => text).join('')).toMatch(/its worktree stays/)
  })

  test('what the command commits by itself is merged too', async () => {
    busy()
    await place.run(
      [
        sh(
          'self',
          'echo s > s.txt; git add s.txt; git -c user.name=S -c user.email=s@x commit --quiet -m own; echo more > more.txt',
        ),
      ],
      APART,
    )
    expect(await place.statuses()).toMatchObject({ plan: 'completed' })
    expect([show('s.txt'), show('more.txt'), worktrees()]).toEqual(['s', 'more', 1])
  })

  test('a task that merges finds it done; a tag stands on the merged work', async () => {
    busy()
    const gitTask = (id: string, action: object, more: object) =>
      ({ id, action: { type: 'git', git: action }, ...more }) as unknown as TaskDefinition
    await place.run(
      [
        edit('one', 'one.txt', '1'),
        gitTask('join', { do: 'merge', task: 'one' }, needs('one')),
        gitTask('name', { do: 'tag', name: 'v1' }, needs('join')),
      ],
      APART,
    )
    expect(await place.statuses()).toMatchObject({ plan: 'completed' })
    expect((await resultOf('join'))?.outputs).toMatchObject({
      status: 'already',
      commit: git('rev-parse', 'plan/plan'),
    })
    expect(show('one.txt', 'v1')).toBe('1')
  })

  test('preconditions and checkpoints', async () => {
    busy()
    await place.run(
      [
        edit('one', 'one.txt', '1'),
        sh('two', 'echo 2 > two.txt', {
          ...needs('one'),
          preconditions: [{ type: 'check', command: { argv: ['test', '-f', 'one.txt'] } }],
          risks: ['much'],
        }),
        { id: 'safe', action: { type: 'checkpoint', name: 'safe' }, ...needs('two') } as unknown as TaskDefinition,
      ],
      APART,
    )
    expect(await place.statuses()).toMatchObject({ plan: 'completed' })
    expect((await events('checkpoint.taken')).map(({ why }) => why)).toEqual(['risky', 'task'])
    expect(fs.existsSync(join(place.root, 'one.txt'))).toBe(false)
  })

  test('compensations work apart as well', async () => {
    busy()
    const before = foreign()
    await place.run(
      [
        edit('one', 'one.txt', '1', { compensate: { type: 'run', command: { argv: ['rm', 'one.txt'] } } }),
        sh('bad', 'exit 1', needs('one')),
      ],
      APART,
    )
    expect(await place.statuses()).toMatchObject({ plan: 'failed' })
    expect(git('ls-tree', '-r', '--name-only', 'plan/plan').split('\n')).toEqual(['.gitignore', 'a.txt', 'b.txt'])
    expect(git('log', '--first-parent', '--format=%s', 'main..plan/plan').split('\n')).toHaveLength(2)
    expect(foreign()).toEqual(before)
  })
})

describe('an owner that dies after the work and before the journal', () => {
  /** The store is gone for the first turn that says how attempts ended; whoever comes next finds them lost. */
  function dieOnce(): void {
    const { store } = place.rooms
    const update = store.update.bind(store)
    let dead = false
    store.update = async (plan, command, options) => {
      const said = typeof command === 'function' ? command() : command
      const tells = said.type === 'turn' && said.settled?.some(({ result }) => result.status === 'succeeded') === true
      if (tells && !dead) {
        dead = true
        throw new Error('killed')
      }
      return await update(plan, said, options)
    }
  }

  test('the next attempt finds the work and goes on: run once, merged once, taken back in order', async () => {
    busy()
    const before = foreign()
    dieOnce()
    const counter = `${place.root}/.planfold/runs`
    const task = (id: string) =>
      sh(id, `echo ${id} >> ${counter}; echo ${id} > ${id}.txt; echo said ${id}`, {
        effect: 'workspace',
        write: [`${id}.txt`],
        outputs: { said: { from: 'stdout', as: 'text' } },
      })
    await expect(place.run([task('one'), task('two')], { ...APART, concurrency: 2 })).rejects.toThrow('killed')
    const merged = git('rev-list', '--count', '--first-parent', 'main..plan/plan')
    expect(Number(merged)).toBeGreaterThan(0)
    await place.drive()
    expect(await place.statuses()).toMatchObject({ plan: 'completed' })
    expect(git('rev-list', '--count', '--first-parent', 'main..plan/plan')).toBe('2')
    expect([show('one.txt'), show('two.txt'), worktrees(), branches()]).toEqual([
      'one',
      'two',
      1,
      ['main', 'plan/plan'],
    ])
    const lost = (await events('attempt.lost')).map(({ task }) => task)
    expect(lost.length).toBeGreaterThan(0)
    for (const name of ['one', 'two']) expect((await resultOf(name))?.outputs).toEqual({ said: `said ${name}` })
    // Whoever had landed was not run again; the other may have been cut off before that.
    const runs = fs.readFileSync(counter, 'utf8').trim().split('\n')
    expect(runs.length).toBeLessThanOrEqual(4 - Number(merged))
    expect(await place.submit({ type: 'rollback' })).toMatchObject({ ok: true })
    await place.drive()
    expect([branches(), foreign()]).toEqual([['main'], before])
    expect(await place.submit({ type: 'undo' })).toMatchObject({ ok: true })
    await place.drive()
    expect([show('one.txt'), show('two.txt')]).toEqual(['one', 'two'])
  })

  test('without the record of how it ended it is done again, and merged once all the same', async () => {
    busy()
    dieOnce()
    await expect(place.run([edit('one', 'one.txt', '1')], APART)).rejects.toThrow('killed')
    const { blobs } = place.rooms.store
    const get = blobs.get.bind(blobs)
    const result = git('log', '-1', '--format=%(trailers:key=Planfold-Result,valueonly)', 'plan/plan').trim()
    blobs.get = async id => (id === result ? null : await get(id))
    await place.drive()
    expect(await place.statuses()).toMatchObject({ plan: 'completed' })
    expect(git('rev-list', '--count', '--first-parent', 'main..plan/plan')).toBe('1')
    expect([show('one.txt'), worktrees()]).toEqual(['1', 1])
    expect(await place.submit({ type: 'rollback' })).toMatchObject({ ok: true })
    await place.drive()
    expect(branches()).toEqual(['main'])
  })
})

describe('going back', () => {
  test('to before a task moves only plan/<name>, with a backup, and undo brings it back; then it goes on from there', async () => {
    busy()
    const before = foreign()
    await place.run([edit('one', 'one.txt', '1'), edit('two', 'two.txt', '2', needs('one'))], APART)
    const tip = git('rev-parse', 'plan/plan')
    const checkpoints = (await place.engine.ask({ type: 'checkpoints', plan: 'plan' })) ?? []
    const after = checkpoints.find(({ name }) => name.startsWith('cp-one-'))!
    const back = await place.submit({ type: 'rollback', to: after.name })
    expect(back).toMatchObject({ ok: true })
    await place.drive()
    expect(await place.statuses()).toMatchObject({ plan: 'paused', one: 'completed', two: 'ready' })
    expect(git('ls-tree', '-r', '--name-only', 'plan/plan').split('\n')).toEqual([
      '.gitignore',
      'a.txt',
      'b.txt',
      'one.txt',
    ])
    const backups = git('for-each-ref', '--format=%(objectname)', 'refs/planfold/backup').split('\n')
    expect(backups).toEqual([tip])
    expect(await place.submit({ type: 'undo' })).toMatchObject({ ok: true })
    await place.drive()
    expect(git('rev-parse', 'plan/plan')).toBe(tip)
    expect(await place.statuses()).toMatchObject({ one: 'completed', two: 'completed' })
    // To the very beginning, and the work is done again.
    expect(await place.submit({ type: 'rollback' })).toMatchObject({ ok: true })
    await place.drive()
    expect(branches()).toEqual(['main'])
    expect(await place.submit({ type: 'resume' })).toMatchObject({ ok: true })
    await place.drive()
    expect(await place.statuses()).toMatchObject({ plan: 'completed' })
    expect([show('one.txt'), show('two.txt'), worktrees()]).toEqual(['1', '2', 1])
    expect(foreign()).toEqual(before)
  })

  test('past a failed task leaves its worktree, whatever stands in it', async () => {
    busy()
    await place.run([edit('one', 'one.txt', '1'), sh('bad', 'echo half > half.txt; exit 1', needs('one'))], APART)
    expect(await failureOf('bad')).toMatchObject({
      hint: expect.arrayContaining([expect.stringMatching(/work\/plan\/bad$/)]),
    })
    expect(await place.submit({ type: 'rollback' })).toMatchObject({ ok: true })
    await place.drive()
    expect(branches()).toEqual(['main', 'plan/plan+bad'])
    expect(fs.readFileSync(join(place.root, '.planfold/work/plan/bad/half.txt'), 'utf8')).toBe('half\n')
  })
})

describe('what is refused', () => {
  const start = async (tasks: readonly TaskDefinition[], rest: Partial<PlanDefinition> = APART) => {
    await place.submit({ type: 'create', definition: { name: 'plan' as never, ...rest, tasks } }, null)
    return await place.submit({ type: 'start' })
  }

  test('no repository, no commit, no such base: before anything runs', async () => {
    expect(await start([edit('one', 'one.txt', '1')])).toMatchObject({
      ok: false,
      refusal: {
        code: 'not-ready',
        message: expect.stringMatching(/no repository/),
        hint: expect.stringMatching(/git init/),
      },
    })
    git('init', '--quiet')
    expect(await place.submit({ type: 'start' })).toMatchObject({
      ok: false,
      refusal: { hint: expect.stringMatching(/--allow-empty/) },
    })
    expect(fs.existsSync(join(place.root, 'one.txt'))).toBe(false)
  })

  test('tasks that agents claim, also below others', async () => {
    busy()
    const external = { id: 'ask', action: { type: 'external' } } as unknown as TaskDefinition
    const inside = { id: 'all', action: { type: 'subplan', tasks: [external] } } as unknown as TaskDefinition
    expect(await start([inside])).toMatchObject({
      ok: false,
      refusal: { code: 'not-supported', hint: expect.stringMatching(/worktree: plan/) },
    })
  })

  test('a branch of the person with the name of the plan: the task fails and says so', async () => {
    busy()
    git('branch', 'plan/plan')
    await place.run([edit('one', 'one.txt', '1')], APART)
    expect(await failureOf('one')).toMatchObject({ message: expect.stringMatching(/did not make it/) })
    expect(fs.existsSync(join(place.root, 'one.txt'))).toBe(false)
  })
})
