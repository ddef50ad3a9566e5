import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { next, plainHint, quoted, stepsIn } from '../domain/hint.ts'
import type { PlanId, PlanName, TaskName } from '../domain/id.ts'
import { CAPTURED_FILE_MAX_BYTES } from '../domain/limits.ts'
import type { PlanDefinition, TaskDefinition } from '../domain/plan.ts'
import type { AdoptAsk } from '../engine/engine.ts'
import { EngineLocal } from '../engine/engine-local.ts'
import { trusted } from '../engine/roles.ts'
import { ME, realRooms, sh } from '../engine/rollback/perform-rollback.fixture.ts'
import type { Rooms } from '../engine/rooms.ts'
import { adoptFork } from './adopt-fork.ts'

let place: Awaited<ReturnType<typeof realRooms>>
beforeEach(async () => {
  place = await realRooms()
})
afterEach(async () => {
  await place.close()
  rmSync(place.base, { recursive: true, force: true })
})

const path = (...names: string[]) => join(place.root, ...names)
const put = (name: string, text: string) => writeFileSync(path(name), text)
const text = (...names: string[]) => readFileSync(path(...names), 'utf8')
const forkFolder = (...names: string[]) => path('.planfold', 'work', 'plan-fork', ...names)
const git = (cwd: string, ...args: string[]) =>
  execFileSync(
    'git',
    [
      '-c',
      'user.name=a',
      '-c',
      'user.email=a@example.com',
      '-c',
      'init.defaultBranch=main',
      '-c',
      'maintenance.auto=false',
      ...args,
    ],
    {
      cwd,
      encoding: 'utf8',
      env: { PATH: process.env.PATH, HOME: place.root, GIT_CONFIG_GLOBAL: '/dev/null' },
    },
  ).trim()

const needs = (...names: string[]) => ({ needs: names as TaskName[] })
const STEPS: readonly TaskDefinition[] = [
  sh('one', 'printf "1\\n2\\n3\\n4\\n5\\n6\\n7\\n" > shared; echo one > gone'),
  sh('two', 'echo main > only-main', needs('one')),
]
const OTHER: readonly TaskDefinition[] = [
  STEPS[0]!,
  sh('two', 'sed -i s/2/two/ shared; rm gone; mkdir -p d; echo new > d/new', needs('one')),
]

async function driveFork(plan: PlanId) {
  await place.worker.drive(plan, { stop: new AbortController().signal })
}

/** A plan that is done, and a fork of it that has done its second task another way. */
async function forked(rest: Partial<PlanDefinition> = {}): Promise<PlanId> {
  put('mine', 'mine\n')
  await place.run(STEPS, rest)
  const definition: PlanDefinition = { name: 'plan' as PlanName, ...rest, tasks: OTHER }
  const made = await place.submit({ type: 'fork', from: 'one', definition })
  if (!made.ok) throw new Error(made.refusal.message)
  await place.submit({ type: 'start' }, made.name)
  await driveFork(made.plan)
  return made.plan
}

const preview = async () => {
  const found = await place.engine.ask({ type: 'adoption', plan: 'plan-fork' })
  if (found?.ok !== true) throw new Error(found?.refusal.message)
  return found
}

const carryOut = async ({ plan, since }: { readonly plan: PlanId; readonly since: number }) => {
  await place.worker.drive(plan, { stop: new AbortController().signal })
  const entries = (await place.engine.ask({ type: 'entries', plan, after: since, limit: 1000 })) ?? []
  for (const { events } of entries)
    for (const event of events)
      if (event.type === 'rollback.finished' || event.type === 'rollback.stopped') return event
  return null
}

async function adopted(fork: PlanId, ask: AdoptAsk = {}) {
  const done = await adoptFork({ engine: place.engine, carryOut }, fork, ask)
  if (done.status === 'refused') throw new Error(`${done.refusal.message} (${plainHint(done.refusal.hint ?? '')})`)
  return done
}

async function undo() {
  const done = await place.submit({ type: 'undo' })
  if (!done.ok) throw new Error(done.refusal.message)
  await place.drive()
}

/** Larger than what a snapshot stores; takes no room. */
const putTooBig = (name: string) => {
  writeFileSync(name, '')
  truncateSync(name, CAPTURED_FILE_MAX_BYTES + 1)
}

/** An engine whose looks into snapshots of a fork are each followed by `then`. */
function engineWith(then: () => void): EngineLocal {
  const at: Rooms['at'] = to => {
    const moved = place.rooms.at!(to)
    const { snapshots } = moved
    if (snapshots === undefined) throw new Error('these rooms have snapshots')
    return {
      ...moved,
      snapshots: {
        snapshot: options => snapshots.snapshot(options),
        diff: (a, b, options) => snapshots.diff(a, b, options),
        compose: entries => snapshots.compose(entries),
        materialise: (snapshot, folder, instead) => snapshots.materialise(snapshot, folder, instead),
        preview: (target, writeSet) => snapshots.preview(target, writeSet),
        rollback: (target, writeSet, options) => snapshots.rollback(target, writeSet, options),
        resume: () => snapshots.resume(),
        settled: () => snapshots.settled(),
        entries: async (snapshot, paths) => {
          const found = await snapshots.entries(snapshot, paths)
          then()
          return found
        },
      },
    }
  }
  return new EngineLocal({ ...place.rooms, at }, trusted(ME))
}

const eventTypes = async (plan: string) =>
  ((await place.engine.ask({ type: 'entries', plan, limit: 1000 })) ?? []).flatMap(({ events }) =>
    events.map(({ type }) => type),
  )

describe.each(['a folder', 'a repository'])('adopting a fork of %s', where => {
  beforeEach(() => {
    if (where === 'a folder') return
    writeFileSync(path('.gitignore'), '.planfold/\n')
    git(place.root, 'init', '-q')
    put('tracked', 'committed\n')
    git(place.root, 'add', '.')
    git(place.root, 'commit', '-qm', 'first')
  })

  it('brings over what it changed, removes its folder, and is taken back by undo', async () => {
    const fork = await forked()
    expect((await preview()).changes.map(({ path: each }) => each).toSorted()).toEqual(['d', 'd/new', 'gone', 'shared'])
    expect(await adopted(fork)).toMatchObject({
      status: 'adopted',
      into: { name: 'plan' },
      folder: 'removed',
      why: null,
    })
    expect([text('shared'), existsSync(path('gone')), text('d/new')]).toEqual([
      '1\ntwo\n3\n4\n5\n6\n7\n',
      false,
      'new\n',
    ])
    expect([text('only-main'), text('mine')]).toEqual(['main\n', 'mine\n'])
    expect(existsSync(forkFolder())).toBe(false)
    if (where === 'a repository') expect(git(place.root, 'worktree', 'list').split('\n')).toHaveLength(1)
    expect(await place.statuses()).toMatchObject({ plan: 'completed', one: 'completed', two: 'completed' })
    expect((await eventTypes('plan-fork')).at(-1)).toBe('fork.adopted')
    expect((await place.engine.ask({ type: 'replay', plan: 'plan' }))?.fault ?? null).toBeNull()

    await undo()
    expect([text('shared'), text('gone'), existsSync(path('d'))]).toEqual(['1\n2\n3\n4\n5\n6\n7\n', 'one\n', false])
    // Its folder is gone; what it left was stored when it ended.
    expect(await preview()).toMatchObject({ seen: 'end', status: 'open' })
    await adopted(fork)
    expect([text('shared'), existsSync(path('gone')), text('d/new')]).toEqual([
      '1\ntwo\n3\n4\n5\n6\n7\n',
      false,
      'new\n',
    ])
  })

  it('stops where something changed here since, and does what is chosen: keep, take or merge', async () => {
    const fork = await forked()
    put('shared', '1\n2\n3\n4\n5\n6\nseven\n')
    put('gone', 'still wanted\n')
    const refusal = await place.submit({ type: 'adopt' }, 'plan-fork')
    expect(refusal).toMatchObject({ ok: false, refusal: { code: 'conflict', allowed: ['gone', 'shared'] } })
    expect([text('shared'), text('gone')]).toEqual(['1\n2\n3\n4\n5\n6\nseven\n', 'still wanted\n'])
    expect(existsSync(forkFolder('shared'))).toBe(true)

    const done = await adopted(fork, { choices: { shared: 'merge', gone: 'keep' } })
    expect(done).toMatchObject({ status: 'adopted', folder: 'removed' })
    expect([text('shared'), text('gone')]).toEqual(['1\ntwo\n3\n4\n5\n6\nseven\n', 'still wanted\n'])
    await undo()
    expect([text('shared'), text('gone')]).toEqual(['1\n2\n3\n4\n5\n6\nseven\n', 'still wanted\n'])
  })

  it('never takes back what a person did after the adoption', async () => {
    const fork = await forked()
    await adopted(fork)
    put('shared', 'edited after it\n')
    const done = await place.submit({ type: 'undo' })
    expect(done).toMatchObject({ ok: false, refusal: { code: 'conflict', allowed: ['shared'] } })
    expect(text('shared')).toBe('edited after it\n')
  })

  it('keeps the folder while paths were neither taken nor kept, and asks about them again', async () => {
    const fork = await forked()
    put('shared', '1\nZWEI\n3\n4\n5\n6\n7\n')
    const done = await adopted(fork, { every: 'merge' })
    expect(done).toMatchObject({ status: 'adopted', folder: 'kept' })
    expect([text('shared'), existsSync(forkFolder('shared'))]).toEqual(['1\nZWEI\n3\n4\n5\n6\n7\n', true])
    expect((await preview()).changes.map(({ path: each }) => each)).toEqual(['shared'])
    expect(await adopted(fork, { every: 'take' })).toMatchObject({ folder: 'removed' })
    expect(text('shared')).toBe('1\ntwo\n3\n4\n5\n6\n7\n')
  })

  it('that changes nothing does not hide the adoption before it from undo, which takes back both', async () => {
    const fork = await forked()
    put('shared', '1\nZWEI\n3\n4\n5\n6\n7\n')
    await adopted(fork, { every: 'merge' })
    expect(await adopted(fork, { every: 'keep' })).toMatchObject({ end: { paths: 0 }, folder: 'removed' })
    await undo()
    expect([text('shared'), text('gone'), existsSync(path('d'))]).toEqual(['1\nZWEI\n3\n4\n5\n6\n7\n', 'one\n', false])
    expect((await preview()).changes.map(({ path: each }) => each).toSorted()).toEqual(['d', 'd/new', 'gone', 'shared'])
    await undo()
    expect([existsSync(path('gone')), text('d/new')]).toEqual([false, 'new\n'])
    expect((await preview()).status).toBe('adopted')
  })

  it('finds what a person changed in the folder, and works when the folder is gone: the files were stored when the fork ended', async () => {
    const fork = await forked()
    expect((await eventTypes('plan-fork')).filter(type => type === 'checkpoint.taken')).toHaveLength(1)
    writeFileSync(forkFolder('by-hand'), 'edited in the fork\n')
    expect((await preview()).changes.map(({ path: each }) => each)).toContain('by-hand')
    rmSync(forkFolder(), { recursive: true })
    expect(await preview()).toMatchObject({ seen: 'end', status: 'open' })
    expect(await adopted(fork)).toMatchObject({ status: 'adopted', folder: 'removed' })
    expect([text('shared'), text('d/new')]).toEqual(['1\ntwo\n3\n4\n5\n6\n7\n', 'new\n'])
  })

  it('keeps a folder that holds ignored files, unless they may go', async () => {
    writeFileSync(path('.gitignore'), '.planfold/\nnode_modules/\n')
    const fork = await forked()
    mkdirSync(forkFolder('node_modules'))
    writeFileSync(forkFolder('node_modules', 'x'), 'made again\n')
    const done = await adopted(fork)
    expect(done).toMatchObject({ status: 'adopted', folder: 'kept', why: expect.stringContaining('node_modules') })
    expect(existsSync(forkFolder('node_modules', 'x'))).toBe(true)
    expect(await adopted(fork, { removeIgnored: true })).toMatchObject({ folder: 'removed', end: null })
    expect(existsSync(forkFolder())).toBe(false)
  })

  it('brings over later what was changed in a folder that was kept', async () => {
    const fork = await forked()
    await adopted(fork, { keepFolder: true })
    expect((await preview()).status).toBe('adopted')
    writeFileSync(forkFolder('shared'), 'once more\n')
    expect((await preview()).changes.map(({ path: each }) => each)).toEqual(['shared'])
    await adopted(fork)
    expect(text('shared')).toBe('once more\n')
  })

  it('can be ordered again after it was cut off at any step', async () => {
    const fork = await forked()
    // Ordered, and nobody carried it out.
    const ordered = await place.submit({ type: 'adopt' }, 'plan-fork')
    expect(ordered).toMatchObject({ ok: true, adopted: { status: 'ordered' } })
    expect((await preview()).status).toBe('under way')
    // The engine was killed and opened again; what is under way is carried out once.
    const engine = new EngineLocal(place.rooms, trusted(ME))
    expect(await adoptFork({ engine, carryOut }, fork, {})).toMatchObject({ folder: 'removed' })
    const types = await eventTypes('plan')
    expect(types.filter(type => type === 'rollback.finished')).toHaveLength(1)
    expect(text('shared')).toBe('1\ntwo\n3\n4\n5\n6\n7\n')
    // All of it once more changes nothing.
    expect(await adopted(fork)).toMatchObject({ status: 'adopted', end: null, folder: 'removed' })
    expect(await eventTypes('plan')).toEqual(types)
  })

  it('brings back all of it when it is adopted, undone and adopted again without its folder', async () => {
    const fork = await forked()
    writeFileSync(forkFolder('by-hand'), 'made after its end\n')
    expect(await adopted(fork)).toMatchObject({ folder: 'removed' })
    await undo()
    expect(existsSync(path('by-hand'))).toBe(false)
    await adopted(fork)
    expect([text('by-hand'), text('d/new')]).toEqual(['made after its end\n', 'new\n'])
  })

  it('takes nothing back when the folder vanished between the adoption and its end', async () => {
    const fork = await forked()
    writeFileSync(forkFolder('by-hand'), 'made after its end\n')
    expect(await place.submit({ type: 'adopt' }, 'plan-fork')).toMatchObject({ ok: true })
    await place.drive()
    rmSync(forkFolder(), { recursive: true })
    expect(await preview()).toMatchObject({ status: 'adopted', changes: [] })
    await adopted(fork)
    expect(text('by-hand')).toBe('made after its end\n')
  })

  it('removes only what the ignore rules match with --remove-ignored, and offers it for nothing else', async () => {
    writeFileSync(path('.gitignore'), '.planfold/\nnode_modules/\n')
    writeFileSync(path('.planfoldignore'), 'cache/\n')
    const fork = await forked()
    putTooBig(forkFolder('big'))
    const kept = await adopted(fork)
    expect(kept).toMatchObject({ folder: 'kept', why: expect.stringContaining('"big" (too big)') })
    expect(kept).toMatchObject({ why: expect.not.stringContaining('--remove-ignored') })
    for (const name of ['node_modules', 'cache']) {
      mkdirSync(forkFolder(name))
      writeFileSync(forkFolder(name, 'x'), 'made again\n')
    }
    const flagged = await adopted(fork, { removeIgnored: true })
    expect(flagged).toMatchObject({ folder: 'kept', why: expect.stringContaining('"big" (too big)') })
    expect(flagged).toMatchObject({ why: expect.not.stringContaining('node_modules') })
    expect(existsSync(forkFolder('big'))).toBe(true)
    rmSync(forkFolder('big'))
    expect(await adopted(fork)).toMatchObject({ folder: 'kept', why: expect.stringContaining('--remove-ignored') })
    expect(await adopted(fork, { removeIgnored: true })).toMatchObject({ folder: 'removed', why: null })
    expect(existsSync(forkFolder())).toBe(false)
  })

  it('looks again before the folder goes, and puts it back when somebody wrote into it meanwhile', async () => {
    const fork = await forked()
    const engine = engineWith(() => writeFileSync(forkFolder('shared'), 'saved at the last moment\n'))
    const done = await adoptFork({ engine, carryOut }, fork, {})
    expect(done).toMatchObject({ status: 'adopted', folder: 'kept', why: expect.stringContaining('"shared" changed') })
    expect(text('.planfold', 'work', 'plan-fork', 'shared')).toBe('saved at the last moment\n')
    expect(readdirSync(path('.planfold', 'work'))).toEqual(['plan-fork'])
    expect(await adopted(fork)).toMatchObject({ folder: 'removed' })
    expect(text('shared')).toBe('saved at the last moment\n')
  })

  it('puts a folder back whose removal was cut off before it had looked again', async () => {
    const fork = await forked()
    await adopted(fork, { keepFolder: true })
    renameSync(forkFolder(), path('.planfold', 'work', `.removing-${fork}`))
    writeFileSync(path('.planfold', 'work', `.removing-${fork}`, 'shared'), 'saved at the last moment\n')
    expect(await adopted(fork)).toMatchObject({ folder: 'kept', why: expect.stringContaining('"shared" changed') })
    expect(await adopted(fork)).toMatchObject({ folder: 'removed' })
    expect(text('shared')).toBe('saved at the last moment\n')
    expect(readdirSync(path('.planfold', 'work'))).toEqual([])
  })
})

it('a worktree that git does not list any more is kept with what stands outside of the workspace', async () => {
  await place.close()
  rmSync(place.base, { recursive: true, force: true })
  place = await realRooms({ inside: 'pkg' })
  writeFileSync(path('.gitignore'), '.planfold/\n')
  writeFileSync(join(place.base, 'outside'), 'committed\n')
  git(place.base, 'init', '-q')
  git(place.base, 'add', '.')
  git(place.base, 'commit', '-qm', 'first')
  const fork = await forked()
  expect(existsSync(forkFolder('pkg', 'shared'))).toBe(true)
  writeFileSync(forkFolder('outside'), 'edited by hand\n')
  expect(await adopted(fork)).toMatchObject({ folder: 'kept', why: expect.stringContaining('"outside"') })

  rmSync(join(place.base, '.git', 'worktrees'), { recursive: true })
  const unlisted = await adopted(fork, { removeIgnored: true })
  expect(unlisted).toMatchObject({ folder: 'kept', why: expect.stringContaining('git does not list it') })
  expect(readFileSync(forkFolder('outside'), 'utf8')).toBe('edited by hand\n')

  rmSync(forkFolder('.git'))
  const plain = await adopted(fork, { removeIgnored: true })
  expect(plain).toMatchObject({ folder: 'kept', why: expect.stringContaining('"outside" (outside of where') })
  expect(readFileSync(forkFolder('outside'), 'utf8')).toBe('edited by hand\n')
})

it('a committed file that the ignore rules match is no ignored file', async () => {
  writeFileSync(path('.gitignore'), '.planfold/\n*.env\n')
  put('set.env', 'committed\n')
  git(place.root, 'init', '-q')
  git(place.root, 'add', '.')
  git(place.root, 'add', '-f', 'set.env')
  git(place.root, 'commit', '-qm', 'first')
  const fork = await forked()
  writeFileSync(forkFolder('set.env'), 'edited by hand\n')
  const kept = await adopted(fork, { removeIgnored: true })
  expect(kept).toMatchObject({ folder: 'kept', why: expect.stringContaining('"set.env" (changed and not committed)') })
  expect(readFileSync(forkFolder('set.env'), 'utf8')).toBe('edited by hand\n')
})

it('a fork that works, a plan that works, and a plan that is no fork are refused with a way on', async () => {
  await place.run([...STEPS, { id: 'wait' as TaskName, action: { type: 'external' }, ...needs('two') }])
  expect(await place.submit({ type: 'adopt' })).toMatchObject({ ok: false, refusal: { code: 'illegal-transition' } })
  const made = await place.submit({ type: 'fork', from: 'one' })
  if (!made.ok) throw new Error(made.refusal.message)
  writeFileSync(forkFolder('shared'), 'by hand\n')
  expect(await place.submit({ type: 'claim', task: 'wait' as TaskName })).toMatchObject({ ok: true })
  const refused = await place.submit({ type: 'adopt' }, 'plan-fork')
  expect(refused).toMatchObject({
    ok: false,
    refusal: { code: 'not-ready', hint: expect.arrayContaining([next('pause', { plan: 'plan' })]) },
  })
  expect(text('shared')).toBe('1\n2\n3\n4\n5\n6\n7\n')
})

/** A task that holds these files between two attempts, in a plan of its own. */
async function held(name: string, write: readonly string[]): Promise<PlanId> {
  const retry = { attempts: 2, backoffMs: { min: 3_600_000, max: 3_600_000 } }
  const tasks = [sh('busy', 'exit 75', { write, network: [], retry })]
  const made = await place.submit({ type: 'create', definition: { name: name as PlanName, tasks } }, null)
  if (!made.ok) throw new Error(made.refusal.message)
  await place.submit({ type: 'start' }, name)
  await place.worker.drive(made.plan, { stop: new AbortController().signal, patienceMs: 0 })
  return made.plan
}

it('files that a task of another plan holds are not written: neither ordered nor begun', async () => {
  const fork = await forked()
  const before = text('shared')
  const q = await held('q', ['shared'])
  const refused = await place.submit({ type: 'adopt' }, 'plan-fork')
  expect(refused).toMatchObject({ ok: false, refusal: { code: 'not-ready', message: /task 'busy' of plan 'q'/ } })
  expect(refused.ok ? [] : stepsIn(refused.refusal.hint ?? '')).toContainEqual(quoted('cancel', { plan: 'q' }))
  await place.submit({ type: 'cancel' }, 'q')
  await place.worker.drive(q, { stop: new AbortController().signal })
  const ordered = await place.submit({ type: 'adopt' }, 'plan-fork')
  if (!ordered.ok) throw new Error(ordered.refusal.message)
  const r = await held('r', ['shared'])
  expect(await carryOut({ plan: ordered.plan, since: ordered.version })).toMatchObject({
    type: 'rollback.stopped',
    failure: { message: expect.stringContaining("task 'busy' of plan 'r'") },
  })
  expect(text('shared')).toBe(before)
  await place.submit({ type: 'cancel' }, 'r')
  await place.worker.drive(r, { stop: new AbortController().signal })
  expect(await adopted(fork)).toMatchObject({ status: 'adopted', folder: 'removed' })
  expect(text('shared')).toContain('two')
})

it('goes into another plan of the workspace when that is named, and undo of that plan takes it back', async () => {
  const fork = await forked()
  const made = await place.submit(
    { type: 'create', definition: { name: 'other' as PlanName, tasks: [sh('x', 'echo x > x')] } },
    null,
  )
  if (!made.ok) throw new Error(made.refusal.message)
  const refusal = async (into: string) => {
    const refused = await place.submit({ type: 'adopt', into }, 'plan-fork')
    return refused.ok ? null : [refused.refusal.code, refused.refusal.message]
  }
  expect(await refusal('nobody')).toEqual(['not-found', "there is no plan 'nobody'"])
  expect(await refusal('plan-fork')).toEqual(['invalid', 'a fork cannot be adopted into itself'])
  expect(await refusal('other')).toEqual(['illegal-transition', expect.stringContaining('was not started')])
  await place.submit({ type: 'start' }, 'other')
  await driveFork(made.plan)
  const before = (await eventTypes('plan')).length
  expect(await adopted(fork, { into: 'other' })).toMatchObject({ status: 'adopted', into: { name: 'other' } })
  expect([text('shared'), existsSync(path('gone')), text('x')]).toEqual(['1\ntwo\n3\n4\n5\n6\n7\n', false, 'x\n'])
  expect(existsSync(forkFolder())).toBe(false)
  expect((await eventTypes('other')).filter(type => type.startsWith('rollback.'))).toEqual([
    'rollback.started',
    'rollback.finished',
  ])
  expect(await eventTypes('plan')).toHaveLength(before)
  await place.submit({ type: 'undo' }, 'other')
  await driveFork(made.plan)
  expect([text('shared'), text('gone'), text('x')]).toEqual(['1\n2\n3\n4\n5\n6\n7\n', 'one\n', 'x\n'])
  // Into the plan it came from it was never adopted.
  expect(await preview()).toMatchObject({ status: 'open', into: { name: 'plan' } })
  await place.submit({ type: 'archive' }, 'other')
  expect(await refusal('other')).toEqual(['illegal-transition', expect.stringContaining('is archived')])
})

it('a plan that commits its work commits what it adopts, and undo takes that back', async () => {
  writeFileSync(path('.gitignore'), '.planfold/\n')
  git(place.root, 'init', '-q')
  git(place.root, 'add', '.')
  git(place.root, 'commit', '-qm', 'first')
  const fork = await forked({ git: { commits: 'task' } })
  const before = git(place.root, 'rev-parse', 'plan/plan')
  await adopted(fork)
  expect(git(place.root, 'log', '-1', '--format=%s', 'plan/plan')).toContain('adopt plan-fork')
  expect(git(place.root, 'show', 'plan/plan:d/new')).toBe('new')
  await undo()
  expect(git(place.root, 'rev-parse', 'plan/plan')).toBe(before)
})

it('a fork says which files it copied that are in no commit', async () => {
  git(place.root, 'init', '-q')
  put('tracked', 'committed\n')
  git(place.root, 'add', 'tracked')
  git(place.root, 'commit', '-qm', 'first')
  put('notes.txt', 'nobody else needs to see this\n')
  await place.run(STEPS)
  const made = await place.submit({ type: 'fork', from: 'one' })
  expect(made).toMatchObject({ ok: true, fork: { works: { uncommitted: { paths: 1, first: ['notes.txt'] } } } })
})
