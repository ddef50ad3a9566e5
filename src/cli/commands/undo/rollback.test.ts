import { execFileSync } from 'node:child_process'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Context } from '../../context.ts'
import { newPlace, type Place } from '../../place.fixture.ts'
import { approve } from '../people/approve.ts'
import { log } from '../plans/log.ts'
import { resume } from '../plans/resume.ts'
import { run } from '../plans/run.ts'
import { handoff } from '../records/handoff.ts'
import { checkpoint, diffCheckpoints, showCheckpoint } from './checkpoints.ts'
import { compare } from './compare.ts'
import { type RollbackOptions, rollback as rollBack, undo } from './rollback.ts'

const PLAN = `planfold: 1
name: release
tasks:
  - { id: build, run: "echo built > out; echo b > b" }
  - { id: pack, needs: [build], run: "echo packed >> out; echo p > p" }
`

/** The tasks here declare nothing, and nobody works beside them. What is left without the option is tried at the end. */
const rollback = (context: Context, word: string | undefined, options: RollbackOptions): Promise<number> =>
  rollBack(context, word, { includeUnclaimed: true, ...options })

let place: Place
beforeEach(async () => {
  place = await newPlace()
  await place.write('plan.yaml', PLAN)
  await place.say(context => run(context, 'plan.yaml', { start: true }))
})
afterEach(() => place.remove())

const out = () => place.read('out').catch(() => null)

describe('rollback without --to', () => {
  test('asks at a terminal before everything goes back: y does it, any other key changes nothing', async () => {
    const no = await place.say(context => rollback(context, 'release', {}), { keys: 'n' })
    expect(no).toMatchObject({
      exit: 0,
      stderr: expect.stringMatching(/roll back all of release\? \[y\/N\] n\nnothing was changed\n$/),
    })
    expect(await out()).toBe('built\npacked\n')
    const yes = await place.say(context => rollback(context, 'release', {}), { keys: 'y' })
    expect(yes).toMatchObject({ exit: 0 })
    expect(await out()).toBeNull()
  })

  test('does not ask with --yes, with a place, for some tasks, or for a dry run', async () => {
    const dry = await place.say(context => rollback(context, 'release', { dryRun: true }), { keys: 'n' })
    expect([dry.exit, dry.stderr]).toEqual([0, 'dry run: nothing was changed\n'])
    expect(await place.say(context => rollback(context, 'release', { to: 'build' }), { keys: 'n' })).toMatchObject({
      exit: 0,
    })
    expect(await out()).toBe('built\n')
    await place.say(context => undo(context, 'release', {}))
    expect(await place.say(context => rollback(context, 'release', { yes: true }), { keys: 'n' })).toMatchObject({
      exit: 0,
    })
    await place.say(context => undo(context, 'release', {}))
    expect(await out()).toBe('built\npacked\n')
  })

  test('without a terminal it refuses and names --yes; saying what becomes of edited files is consent', async () => {
    for (const json of [false, true]) {
      const said = await place.say(context => rollback(context, 'release', {}), { json })
      expect(said).toMatchObject({ exit: 'not-confirmed' })
      expect(`${said.stdout}${said.stderr}`).toContain('needs --yes')
    }
    expect(await out()).toBe('built\npacked\n')
    expect(await place.say(context => rollback(context, 'release', { keep: [] }))).toMatchObject({ exit: 0 })
    expect(await out()).toBeNull()
  })
})

test("a rollback of some tasks or files says what it does, and what undo put back is nobody else's", async () => {
  await place.say(context => rollback(context, 'release', { yes: true }))
  await place.say(context => undo(context, 'release', {}))
  const tasks = await place.say(context => rollback(context, 'release', { tasks: ['pack'] }))
  expect(tasks.stdout).not.toContain('not by the plan')
  expect(tasks).toMatchObject({ exit: 0 })
  expect(tasks.stdout).toMatch(/^revert what pack wrote in release\n/)
  expect(tasks.stdout).toContain('release: reverted what pack wrote; ')
  expect(await out()).toBe('built\n')
  const files = await place.say(context => rollback(context, 'release', { files: ['b'] }))
  expect(files.stdout).toMatch(/^revert b of release to before its first task \(entry 2\)\n/)
  const told = await place.say(context => log(context, 'release', undefined, {}))
  expect(told.stdout).toContain('reverting what pack wrote')
  expect(told.stdout).toContain('plan paused: reverted what pack wrote')
})

test('undo twice is a redo, and says so; the third is an undo again', async () => {
  await place.say(context => rollback(context, 'release', { yes: true }))
  const heads: string[][] = []
  for (let nth = 1; nth <= 3; nth += 1) {
    const { stdout } = await place.say(context => undo(context, 'release', {}))
    heads.push(stdout.split('\n').filter(line => /^(undo|redo) |^✔ |: planfold undo/.test(line)))
  }
  const undone = [
    expect.stringMatching(/^undo the last rollback of release \(back to entry \d+\)$/),
    '✔ release: the last rollback was undone; 3 paths changed',
    '  Redo: planfold undo release',
  ]
  const redone = [
    expect.stringMatching(/^redo what was undone last in release \(back to entry \d+\)$/),
    '✔ release: what was undone last was redone; 3 paths changed',
    '  Undo: planfold undo release',
  ]
  expect(heads).toEqual([undone, redone, undone])
})

test('decisions that get lost are named, with who made them', async () => {
  await place.write(
    'gated.yaml',
    'planfold: 1\nname: gated\ntasks: [{ id: a, run: "true" }, { id: g, needs: [a], gate: approval }]\n',
  )
  await place.say(context => run(context, 'gated.yaml', { start: true }))
  await place.say(context => rollback(context, 'gated', { yes: true }))
  await place.say(context => resume(context, 'gated', {}))
  expect(await place.say(context => approve(context, 'gated', 'g', {}))).toMatchObject({ exit: 0 })
  const { stdout } = await place.say(context => undo(context, 'gated', { dryRun: true }))
  expect(stdout).toMatch(/\n {2}decisions lost: g \(approved by \S+\)\n/)
})

test('a compensation that fails stops it, with its reason, its output and the commands that go on', async () => {
  await place.write(
    'failing.yaml',
    'planfold: 1\nname: failing\ntasks: [{ id: make, run: "echo a > made", compensate: { run: "exit 7" } }]\n',
  )
  await place.say(context => run(context, 'failing.yaml', { start: true }))
  const stopped = await place.say(context => rollback(context, 'failing', { yes: true }))
  expect(stopped).toMatchObject({ exit: 1 })
  expect(stopped.stdout).toContain('undo step of make failed: exit 7')
  expect(stopped.stdout).toContain('planfold log failing make --output\n')
  expect(stopped.stdout).toContain(
    '\n  Next: planfold rollback failing --include-unclaimed\n    or: planfold rollback failing --include-unclaimed --force',
  )
})

test('the place it goes to is said once', async () => {
  const { stdout } = await place.say(context => rollback(context, 'release', { to: 'build', dryRun: true }))
  expect(stdout.split('\n')[0]).toMatch(/^roll release back to after build \(entry \d+, .*\)$/)
  expect(stdout.split('\n')[0]!.match(/entry|after build/g)).toEqual(['after build', 'entry'])
})

test('visits that were opened by going back count as retries nowhere', async () => {
  await place.say(context => rollback(context, 'release', { yes: true }))
  await place.say(context => undo(context, 'release', {}))
  await place.say(context => rollback(context, 'release', { yes: true }))
  const resumed = await place.say(context => resume(context, 'release', {}))
  expect(resumed).toMatchObject({ exit: 0 })
  expect(resumed.stdout).not.toMatch(/retried|visit/)
  const told = await place.say(context => log(context, 'release', undefined, {}))
  expect(told.stdout).not.toMatch(/started \(.*visit/)
  await place.write('other.yaml', PLAN.replace('name: release', 'name: other'))
  await place.say(context => run(context, 'other.yaml', { start: true }))
  const compared = await place.say(context => compare(context, 'release', 'other', {}), { json: true })
  const { tasks } = (JSON.parse(compared.stdout) as { data: { tasks: { a: { visits: number } }[] } }).data
  expect(tasks.map(({ a }) => a.visits)).toEqual([1, 1])
  const handed = await place.say(context => handoff(context, 'release', {}), { json: true })
  const { postmortem } = (JSON.parse(handed.stdout) as { data: { postmortem: string } }).data
  expect(postmortem).not.toContain('Retries')
})

test('--keep is no failure: what was to stay stays, and so does the folder it lies in', async () => {
  await place.write(
    'kept.yaml',
    "planfold: 1\nname: kept\ntasks:\n  - { id: make, run: 'mkdir made; echo a > made/a; echo b > made/b' }\n",
  )
  await place.say(context => run(context, 'kept.yaml', { start: true }))
  await place.write('made/a', 'mine')
  const back = await place.say(context => rollback(context, 'kept', { keep: ['made/a'] }))
  expect(back).toMatchObject({ exit: 0 })
  expect(await place.read('made/a')).toBe('mine')
  expect(await place.read('made/b').catch(() => null)).toBeNull()
})

test('checkpoints show takes the words rollback takes, and says when one means several', async () => {
  const before = await place.say(context => showCheckpoint(context, 'release', 'before:pack'))
  expect(before).toMatchObject({ exit: 0, stdout: expect.stringContaining('completed build') })
  expect(await place.say(context => diffCheckpoints(context, 'release', 'before:pack', undefined, {}))).toMatchObject({
    exit: 0,
  })
  const several = await place.say(context => showCheckpoint(context, 'release', 'cp-'))
  expect(several).toMatchObject({
    stderr: expect.stringContaining("'cp-' is the beginning of 2 checkpoints: cp-build-"),
  })
})

test('a checkpoint in a repository without commits tells of no conflicts', async () => {
  execFileSync('git', ['init', '--quiet'], { cwd: place.folder })
  await place.say(context => checkpoint(context, 'release', { name: 'fresh' }))
  const shown = await place.say(context => showCheckpoint(context, 'release', 'fresh'))
  expect(shown.stdout).toContain('no commits yet')
  expect(shown.stdout).not.toContain('conflict')
})

test('a dry run of a plan that has ended says so of each task', async () => {
  const { stdout } = await place.say(context => run(context, 'release', { start: true, dryRun: true }))
  expect(stdout.match(/already completed/g)).toHaveLength(2)
  expect(stdout).not.toContain('later release')
})

describe("what may be a person's", () => {
  const PLAN = `planfold: 1
name: slow
tasks:
  - { id: build, run: "echo built > out; echo edited > mine" }
  - { id: strict, needs: [build], run: "echo s > strict", write: [strict], network: [] }
`
  beforeEach(async () => {
    await place.write('mine', 'mine')
    await place.write('slow.yaml', PLAN)
    const environment = { PLANFOLD_SANDBOX: '' }
    expect(await place.say(context => run(context, 'slow.yaml', { start: true }), { environment })).toMatchObject({
      exit: 0,
    })
  })
  const both = async () => [await place.read('mine'), await place.read('strict').catch(() => null)]

  test('is marked, stays in a script, and the command that includes it is named', async () => {
    const said = await place.say(context => rollBack(context, 'slow', { yes: true }))
    expect([said.exit, await both()]).toEqual([0, ['edited\n', null]])
    expect(said.stdout).toContain('3 paths, 2 of them perhaps yours\n')
    expect(said.stdout).toContain(
      'leave    mine  perhaps yours: it changed while build ran; --include-unclaimed would restore it\n',
    )
    expect(said.stdout).toMatch(/! slow: rolled back to .*, except 2 paths; 1 path changed\n/)
    expect(said.stdout).toContain(
      'kept     mine, out, perhaps yours. To revert them as well:\n           planfold rollback slow --include-unclaimed\n',
    )
    await place.say(context => rollBack(context, 'slow', { yes: true, includeUnclaimed: true }))
    expect(await both()).toEqual(['mine', null])
  })

  test('at a terminal one answer includes it', async () => {
    const said = await place.say(context => rollBack(context, 'slow', {}), { keys: 'y' })
    expect([said.exit, await both()]).toEqual([0, ['mine', null]])
    expect(said.stderr).toContain('revert 2 paths as well that may be yours (see above)? [y/N] y\n')
  })

  test('is taken by its name', async () => {
    await place.say(context => rollBack(context, 'slow', { yes: true, take: ['mine'] }))
    expect([await both(), await place.read('out')]).toEqual([['mine', null], 'built\n'])
  })
})

test('what a task made and nobody saved is named by the run, the preview and the rollback, which then exits with 1', async () => {
  await place.write(
    'big.yaml',
    `planfold: 1
name: big
tasks:
  - id: make
    run: truncate -s 129M made/big; mkfifo made/pipe; echo hi > made/small
    write: [made/**]
    network: []
`,
  )
  await mkdir(join(place.folder, 'made'))
  const ran = await place.say(context => run(context, 'big.yaml', { start: true }))
  expect(ran).toMatchObject({
    exit: 0,
    stdout: expect.stringContaining('not saved, so a rollback leaves it: made/big (too big), made/pipe (special file)'),
  })
  const dry = await place.say(context => rollback(context, 'big', { dryRun: true }))
  expect(dry.stdout).toMatch(/leave +made\/big +too big; it was not saved, so it stays as it is/)
  const back = await place.say(context => rollback(context, 'big', { yes: true }), { json: true })
  expect(back.exit).toBe(1)
  const { outcome } = JSON.parse(back.stdout).data
  expect(outcome).toMatchObject({
    paths: 1,
    left: [
      { path: 'made/big', uncovered: true },
      { path: 'made/pipe', uncovered: true },
    ],
  })
  expect((await readdir(join(place.folder, 'made'))).sort()).toEqual(['big', 'pipe'])
  const told = await place.say(context => log(context, 'big', undefined, {}))
  expect(told.stdout).toContain('made/big not changed: too big; it was not saved')
  // Who removes them has nothing left that a rollback would have to name.
  await rm(join(place.folder, 'made'), { recursive: true })
  expect((await place.say(context => rollback(context, 'big', { dryRun: true }))).stdout).not.toContain('not saved')
})
