// Commits of what tasks wrote, in real repositories: what is in them, what is left alone, what happens when git says no.

import * as fs from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Event } from '../../domain/event.ts'
import { quoted, stepsIn } from '../../domain/hint.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { gitOperationsOf } from '../../domain/views/git-operations.ts'
import { fingerprint, shell } from '../../workspace/git/repository.fixture.ts'
import { busyRepository, edit, realRooms, sh } from '../rollback/perform-rollback.fixture.ts'
import { commit } from './task-commits.ts'

let place: Awaited<ReturnType<typeof realRooms>>
beforeEach(async () => {
  place = await realRooms()
})
afterEach(async () => {
  await place.close()
  fs.rmSync(place.root, { recursive: true, force: true })
})

const git = (...args: string[]): string => shell(place.root, place.root, ...args)
const put = (path: string, text: string): void => {
  fs.mkdirSync(join(place.root, path, '..'), { recursive: true })
  fs.writeFileSync(join(place.root, path), text)
}
const entries = async () => (await place.engine.ask({ type: 'entries', plan: 'plan', limit: 500 })) ?? []
const events = async <T extends Event['type']>(type: T) =>
  (await entries()).flatMap(({ events }) =>
    events.filter((event): event is Extract<Event, { type: T }> => event.type === type),
  )

const busy = (): void => busyRepository(place.root)

/** Everything that must not change: the working tree and .git, apart from objects, our refs and what the plan writes. */
function foreign(...written: readonly string[]): readonly (readonly [string, string])[] {
  const ours = written.map(path => `/${path}`)
  return [...fingerprint(place.root)].filter(([path]) => !path.startsWith('/.planfold') && !ours.includes(path))
}

const COMMITS: Partial<PlanDefinition> = { git: { commits: 'task' } }
const needs = (...names: string[]) =>
  ({ needs: names as unknown as TaskDefinition['needs'] }) as Partial<TaskDefinition>

describe('what a task wrote is committed on plan/<name> when it is done', () => {
  test('one commit for each task, exactly its paths, with type, title and trailers', async () => {
    busy()
    const before = foreign('new.txt', 'a.txt')
    await place.run(
      [
        edit('make', 'new.txt', 'new\n', { kind: 'implement', title: 'Make the new file' }),
        sh('mend', 'printf "a2\\n" > a.txt; chmod +x a.txt; mkdir -p dist; echo o > dist/out; echo l > x.log', {
          kind: 'fix',
          ...needs('make'),
        }),
        sh('look', 'true', needs('mend')),
      ],
      COMMITS,
    )
    expect(git('log', '--format=%s', 'main..plan/plan').split('\n')).toEqual([
      'fix(plan): mend',
      'feat(plan): Make the new file',
    ])
    expect(git('show', '--raw', '--format=', '--no-abbrev', 'plan/plan').split('\n')).toEqual([
      expect.stringMatching(/^:100644 100755 .* M\ta\.txt$/),
    ])
    expect(git('show', 'plan/plan:a.txt')).toBe('a2')
    expect(git('log', '-1', '--format=%(trailers)', 'plan/plan')).toMatch(
      /^Planfold-Plan: plan \S+\nPlanfold-Task: mend\nPlanfold-Actor: engine\nPlanfold-Key: \S+\/mend\/1\nPlanfold-Attempt: 1\n?$/,
    )
    expect(foreign('new.txt', 'a.txt', 'dist/out', 'x.log')).toEqual(before)
    expect(git('symbolic-ref', 'HEAD')).toBe('refs/heads/main')
    const committed = await events('git.committed')
    expect(committed.map(({ task, failure }) => [task, failure])).toEqual([
      ['make', undefined],
      ['mend', undefined],
    ])
    expect(gitOperationsOf(await entries()).map(({ type }) => type)).toEqual([
      'branch.created',
      'commit.created',
      'commit.created',
    ])
  })

  test('what somebody does in the workspace meanwhile is not in the commit', async () => {
    busy()
    await place.run([edit('make', 'new.txt', 'new\n')])
    put('new.txt', 'changed by a person\n')
    const state = (await place.rooms.store.state((await place.engine.ask({ type: 'find', reference: 'plan' }))!.plan))!
    const changes = state.tasks.get('make' as never)!.result!.wrote!.changes!
    const made = await commit(place.rooms, state, { task: 'make' as never, visit: 1, changes })
    expect(made.failure).toBeUndefined()
    expect(git('show', 'plan/plan:new.txt')).toBe('new')
    expect(fs.readFileSync(join(place.root, 'new.txt'), 'utf8')).toBe('changed by a person\n')
    const again = await commit(place.rooms, state, { task: 'make' as never, visit: 1, changes })
    expect({ ...again, operations: again.operations.map(({ at: _, ...rest }) => rest) }).toEqual({
      ...made,
      operations: made.operations.map(({ at: _, ...rest }) => rest),
    })
    expect(git('rev-list', '--count', 'main..plan/plan')).toBe('1')
  })

  test('deletions, links, names of any bytes and files that became folders', async () => {
    busy()
    put('old.txt', 'old\n')
    put('turn', 'a file\n')
    git('add', 'old.txt', 'turn')
    git('commit', '--quiet', '-m', 'second', 'old.txt', 'turn')
    await place.run(
      [
        sh(
          'all',
          `rm old.txt turn; mkdir turn; echo x > turn/x; ln -s 'nowhere\n' link; echo d > -dash; echo n > "$(printf 'n\\nl')"; echo b > "$(printf 'b\\377')"; mkdir empty`,
        ),
      ],
      COMMITS,
    )
    expect((await events('git.committed')).map(({ failure }) => failure)).toEqual([undefined])
    const raw = git('diff-tree', '-r', '-z', '--name-status', '--no-renames', 'main', 'plan/plan').split('\0')
    expect(raw.length).toBe(15)
    expect(git('diff-tree', '-r', '--name-status', '--no-renames', 'main', 'plan/plan').split('\n').sort()).toEqual(
      ['A\t"b\\377"', 'A\t"n\\nl"', 'A\t-dash', 'A\tlink', 'A\tturn/x', 'D\told.txt', 'D\tturn'].sort(),
    )
    expect(git('ls-tree', 'plan/plan', 'link')).toMatch(/^120000/)
    expect(git('show', 'plan/plan:link')).toBe('nowhere')
  })

  test('a template of the plan, and a base that is not HEAD', async () => {
    busy()
    git('branch', 'older')
    put('c.txt', 'c\n')
    git('add', 'c.txt')
    git('commit', '--quiet', '-m', 'second', 'c.txt')
    await place.run([edit('make', 'new.txt', 'x')], {
      git: { commits: 'task', base: 'older', message: 'docs({type}): {title} $&' },
    })
    expect(git('log', '--format=%s', 'plan/plan').split('\n')).toEqual(['docs(chore): make $&', 'first'])
  })
})

describe('when git says no, the plan goes on and the journal tells', () => {
  const failureOf = async () => (await events('git.committed')).map(({ failure }) => failure)

  test('no repository', async () => {
    await place.run([edit('make', 'new.txt', 'x')], COMMITS)
    expect(await failureOf()).toEqual([
      expect.objectContaining({
        message: expect.stringMatching(/no repository/),
        hint: expect.stringMatching(/git init/),
      }),
    ])
    expect(await place.statuses()).toMatchObject({ plan: 'completed', make: 'completed' })
  })

  test('a repository without a commit', async () => {
    git('init', '--quiet')
    await place.run([edit('make', 'new.txt', 'x')], COMMITS)
    expect(await failureOf()).toEqual([expect.objectContaining({ hint: expect.stringMatching(/--allow-empty/) })])
  })

  test('no git on the PATH', async () => {
    busy()
    const { openGit } = await import('../../workspace/git/open-git.ts')
    const nowhere = openGit({ root: place.root, scratch: place.rooms.stateDir, environment: { PATH: '/nowhere' } })
    Object.assign(place.rooms, { git: nowhere })
    await place.run([edit('make', 'new.txt', 'x')], COMMITS)
    expect(await failureOf()).toEqual([expect.objectContaining({ message: expect.stringMatching(/no git program/) })])
    expect(await place.statuses()).toMatchObject({ plan: 'completed' })
  })

  test('a branch plan/<name> that a person made is refused, never moved', async () => {
    busy()
    git('branch', 'plan/plan')
    const tip = git('rev-parse', 'plan/plan')
    await place.run([edit('make', 'new.txt', 'x')], COMMITS)
    expect(await failureOf()).toEqual([expect.objectContaining({ message: expect.stringMatching(/did not make it/) })])
    expect(git('rev-parse', 'plan/plan')).toBe(tip)
  })

  test('a lock another git holds for a moment is waited for', async () => {
    busy()
    await place.run([edit('one', 'one.txt', 'x')], COMMITS)
    const lock = join(place.root, '.git/refs/heads/plan/plan.lock')
    fs.writeFileSync(lock, '')
    const state = (await place.rooms.store.state((await place.engine.ask({ type: 'find', reference: 'plan' }))!.plan))!
    const changes = state.tasks.get('one' as never)!.result!.wrote!.changes!
    let waits = 0
    const rooms = {
      ...place.rooms,
      clock: {
        ...place.rooms.clock,
        after: (_ms: number, call: () => void) => {
          waits++
          fs.rmSync(lock)
          call()
          return () => {}
        },
      },
    }
    // Another visit with other content, so that there is something to commit.
    const other = await rooms.store.blobs.put(
      Buffer.from(JSON.stringify([{ path: 'one.txt', before: null, after: null }])),
    )
    const made = await commit(rooms, state, { task: 'one' as never, visit: 2, changes: other })
    expect([waits, made.failure, made.operations.length]).toEqual([1, undefined, 1])
    expect(changes).toBeDefined()
  })

  test('a content or a list of changes that is missing', async () => {
    busy()
    await place.run([edit('one', 'one.txt', 'x')])
    const state = (await place.rooms.store.state((await place.engine.ask({ type: 'find', reference: 'plan' }))!.plan))!
    const lost = await commit(place.rooms, state, { task: 'one' as never, visit: 9, changes: 'e'.repeat(64) as never })
    expect(stepsIn(lost.failure?.hint ?? '')).toEqual([quoted('check', { readData: true })])
  })
})

describe('nothing the repository configures runs', () => {
  test('hooks, fsmonitor, filters and signing', async () => {
    busy()
    const marker = join(place.root, '.planfold', 'ran')
    const evil = join(place.root, '.planfold', 'evil')
    fs.writeFileSync(evil, `#!/bin/sh\necho "$0 $*" >> ${marker}\ncat\n`, { mode: 0o755 })
    for (const hook of ['pre-commit', 'post-commit', 'post-checkout', 'reference-transaction', 'post-index-change'])
      fs.copyFileSync(evil, join(place.root, '.git/hooks', hook))
    for (const [key, value] of [
      ['core.fsmonitor', evil],
      ['filter.evil.clean', evil],
      ['filter.evil.smudge', evil],
      ['diff.external', evil],
      ['commit.gpgSign', 'true'],
      ['gpg.program', evil],
      ['core.pager', evil],
    ])
      fs.appendFileSync(
        join(place.root, '.git/config'),
        `[${key!.split('.').slice(0, -1).join(' "')}${key!.split('.').length > 2 ? '"' : ''}]\n\t${key!.split('.').at(-1)} = ${value}\n`,
      )
    await place.run([edit('one', 'one.txt', 'x'), edit('two', 'two.txt', 'y')], COMMITS)
    expect((await events('git.committed')).map(({ failure }) => failure)).toEqual([undefined, undefined])
    fs.appendFileSync(join(place.root, '.git/info/attributes'), 'one.txt filter=evil\n')
    const state = (await place.rooms.store.state((await place.engine.ask({ type: 'find', reference: 'plan' }))!.plan))!
    const changes = state.tasks.get('one' as never)!.result!.wrote!.changes!
    const refused = await commit(place.rooms, state, { task: 'one' as never, visit: 5, changes })
    expect(refused.failure?.message).toMatch(/filter evil/)
    expect(fs.existsSync(marker)).toBe(false)
  })
})

describe('a git task', () => {
  const task = (id: string, action: object, more: Partial<TaskDefinition> = {}): TaskDefinition =>
    ({ id, action: { type: 'git', git: action }, ...more }) as unknown as TaskDefinition
  const results = async () => (await events('attempt.succeeded')).filter(({ result }) => result.git !== undefined)

  test('commits all that the plan wrote and no commit holds yet, once', async () => {
    busy()
    const before = foreign('one.txt', 'two.txt', 'three.txt')
    await place.run([
      edit('one', 'one.txt', '1'),
      edit('two', 'two.txt', '2'),
      task(
        'first',
        { do: 'commit', message: 'one of both', paths: ['one.txt'] },
        { ...needs('one', 'two'), kind: 'implement' },
      ),
      edit('three', 'three.txt', '3', needs('first')),
      task('rest', { do: 'commit', message: 'docs: the rest\n\nAll of it.' }, needs('three')),
      task('none', { do: 'commit', message: 'nothing' }, needs('rest')),
      task('name', { do: 'tag', name: 'v1', message: 'one' }, needs('none')),
    ])
    expect(await place.statuses()).toMatchObject({ plan: 'completed' })
    expect(git('log', '--format=%s', '--name-only', 'main..plan/plan').split('\n').filter(Boolean)).toEqual([
      'docs: the rest',
      'three.txt',
      'two.txt',
      'feat(plan): one of both',
      'one.txt',
    ])
    expect(git('rev-parse', 'v1^{commit}')).toBe(git('rev-parse', 'plan/plan'))
    expect((await results()).map(({ task, result }) => [task, result.git!.map(({ type }) => type)])).toEqual([
      ['first', ['branch.created', 'commit.created']],
      ['rest', ['commit.created']],
      ['name', ['tag.created']],
    ])
    expect((await events('attempt.succeeded')).find(({ task }) => task === 'none')?.result.outputs).toMatchObject({
      status: 'unchanged',
      branch: 'plan/plan',
    })
    expect(foreign('one.txt', 'two.txt', 'three.txt', '.git/refs/tags/v1')).toEqual(before)
  })

  test('takes up what could not be committed when its task was done', async () => {
    busy()
    git('branch', 'plan/plan')
    const ask = { id: 'ask', action: { type: 'gate', gate: 'approval' }, ...needs('one') } as unknown as TaskDefinition
    await place.run(
      [edit('one', 'one.txt', '1'), ask, task('all', { do: 'commit', message: 'all' }, needs('ask'))],
      COMMITS,
    )
    expect((await events('git.committed')).map(({ failure }) => failure?.class)).toEqual(['policy'])
    git('branch', '-m', 'plan/plan', 'mine/plan')
    await place.submit({ type: 'decide', task: 'ask' as never, verdict: 'approved', rationale: '' })
    await place.drive()
    expect(await place.statuses()).toMatchObject({ plan: 'completed' })
    expect(git('show', 'plan/plan:one.txt')).toBe('1')
  })

  test('fails with what to do where a tag or branch is not ours', async () => {
    busy()
    git('tag', 'v1')
    await place.run([
      edit('one', 'one.txt', '1'),
      task('c', { do: 'commit', message: 'c' }, needs('one')),
      task('t', { do: 'tag', name: 'v1' }, needs('c')),
    ])
    expect(await place.statuses()).toMatchObject({ plan: 'failed', c: 'completed', t: 'failed' })
    expect((await events('attempt.failed'))[0]?.result.failure).toMatchObject({
      class: 'policy',
      message: expect.stringMatching(/did not make/),
    })
  })
})
