import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Event } from '../../domain/event.ts'
import type { PlanName, TaskName } from '../../domain/id.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import { realRooms, sh } from './perform-rollback.fixture.ts'

let place: Awaited<ReturnType<typeof realRooms>>
beforeEach(async () => {
  place = await realRooms()
})
afterEach(async () => await place.close())

const needs = (...names: string[]) => ({ needs: names as TaskName[] })

/** Independent of our own code: every path but the state folder, with type, mode, target and content. */
const hash = (): string =>
  execFileSync(
    'sh',
    [
      '-c',
      `find . -path ./.planfold -prune -o -path ./.git -prune -o -printf '%P %y %m %l\\n' | sort; find . -path ./.planfold -prune -o -path ./.git -prune -o -type f -print0 | sort -z | xargs -0r sha256sum`,
    ],
    { cwd: place.root, encoding: 'utf8' },
  )
const path = (name: string) => join(place.root, name)
const put = (name: string, text: string) => writeFileSync(path(name), text)
const text = (name: string) => readFileSync(path(name), 'utf8')

const STEPS = [
  sh('one', 'echo one > a; mkdir -p d/e; echo deep > d/e/f; chmod 755 a'),
  sh('two', 'sed -i s/one/two/ a; rm -r d; ln -s a link; mv keep moved', needs('one')),
  sh('three', 'echo three >> a; printf "\\0\\1" > bin; mkdir empty', needs('two')),
]

async function names() {
  return ((await place.engine.ask({ type: 'checkpoints', plan: 'plan' })) ?? []).map(({ name }) => name)
}

/** Until the journal says so. */
async function happened(type: Event['type']): Promise<void> {
  const { plan } = (await place.engine.ask({ type: 'find', reference: 'plan' }))!
  const enough = new AbortController()
  for await (const { events } of place.engine.watch({ plan, after: 0, signal: enough.signal }))
    if (events.some(event => event.type === type)) break
  enough.abort()
}

async function roll(order: Parameters<typeof place.submit>[0]) {
  const asked = await place.submit(order)
  if (!asked.ok) return asked
  await place.drive()
  const entries = (await place.engine.ask({ type: 'entries', plan: 'plan', limit: 1000 })) ?? []
  return entries
    .flatMap(({ events }) => events)
    .findLast(event => event.type === 'rollback.finished' || event.type === 'rollback.stopped')
}

/** The file system's clock goes in steps of some milliseconds: waits until it is later than now. */
function ticked(): void {
  const [from, file] = [Date.now(), join(place.root, '.planfold', 'tick')]
  do writeFileSync(file, '')
  while (statSync(file).ctimeMs <= from)
}

describe('going back', () => {
  it('restores what shell commands did, to every checkpoint, and forward again', async () => {
    put('keep', 'mine\n')
    put('other', 'not of the plan\n')
    const before = hash()
    await place.run(STEPS)
    const end = hash()
    expect(await place.statuses()).toMatchObject({ plan: 'completed' })
    const all = await names()
    expect(all).toEqual([expect.stringMatching(/^cp-one-\d{8}T\d{9}Z$/), expect.anything(), expect.anything()])

    expect(await roll({ type: 'rollback' })).toMatchObject({ type: 'rollback.finished' })
    expect(hash()).toBe(before)
    expect(await place.statuses()).toEqual({ plan: 'paused', one: 'ready', two: 'pending', three: 'pending' })

    expect(await roll({ type: 'undo' })).toMatchObject({ type: 'rollback.finished' })
    expect(hash()).toBe(end)
    expect(await place.statuses()).toEqual({
      plan: 'completed',
      one: 'completed',
      two: 'completed',
      three: 'completed',
    })

    expect(await roll({ type: 'undo' })).toMatchObject({ type: 'rollback.finished' })
    expect(hash()).toBe(before)

    expect(await roll({ type: 'rollback', to: all[0]! })).toMatchObject({ type: 'rollback.finished' })
    expect(text('a')).toBe('one\n')
    expect(text('d/e/f')).toBe('deep\n')
    expect(text('keep')).toBe('mine\n')
    expect(await place.statuses()).toEqual({ plan: 'paused', one: 'completed', two: 'ready', three: 'pending' })

    await place.submit({ type: 'resume' })
    await place.drive()
    expect(hash()).toBe(end)
    expect(await place.statuses()).toMatchObject({ plan: 'completed', three: 'completed' })
  })

  it('stops where a person has worked since, and does what they choose', async () => {
    put('keep', 'mine\n')
    await place.run(STEPS)
    put('a', 'by hand\n')
    const edited = hash()
    expect(await roll({ type: 'rollback' })).toMatchObject({ ok: false, refusal: { code: 'conflict' } })
    expect(hash()).toBe(edited)
    expect(await roll({ type: 'rollback', every: 'keep' })).toMatchObject({
      type: 'rollback.finished',
      left: [{ path: 'a', reason: 'kept: edited since', kept: true }],
    })
    expect(text('a')).toBe('by hand\n')
    expect(text('keep')).toBe('mine\n')
    expect(existsSync(path('bin'))).toBe(false)
  })

  it('takes back only some files, or only some tasks', async () => {
    put('keep', 'mine\n')
    await place.run(STEPS)
    const [one] = await names()
    await roll({ type: 'rollback', to: one!, files: ['d'] })
    expect(text('d/e/f')).toBe('deep\n')
    expect(text('a')).toBe('two\nthree\n')
    expect(await place.statuses()).toMatchObject({ plan: 'completed' })
    expect(await roll({ type: 'rollback', tasks: ['three' as TaskName] })).toMatchObject({ type: 'rollback.finished' })
    expect(text('a')).toBe('two\n')
    expect(existsSync(path('bin'))).toBe(false)
    expect(await place.statuses()).toEqual({ plan: 'paused', one: 'completed', two: 'completed', three: 'ready' })
  })

  it('asks before it takes back what another plan wrote meanwhile', async () => {
    const waits = (name: string, other: string) =>
      sh(name, `echo ${name} > ${name}; until [ -e ${other} ]; do sleep 0.01; done`)
    const made = await place.submit(
      { type: 'create', definition: { name: 'b' as PlanName, tasks: [waits('y', 'x')] } },
      null,
    )
    if (!made.ok) throw new Error(made.refusal.message)
    await place.submit({ type: 'start' }, 'b')
    await Promise.all([
      place.worker.drive(made.plan, { stop: new AbortController().signal }),
      place.run([waits('x', 'y')]),
    ])
    const answer = await roll({ type: 'rollback' })
    expect(answer).toMatchObject({ ok: false, refusal: { code: 'conflict' } })
    expect(await roll({ type: 'rollback', choices: { x: 'take', y: 'keep' } })).toMatchObject({ paths: 1 })
    expect(existsSync(path('x'))).toBe(false)
    expect(text('y')).toBe('y\n')
  })

  it('goes on without snapshots where there is no room for them, and never calls that set back', async () => {
    await place.close()
    place = await realRooms({ quotaBytes: 1_000 })
    put('big', 'x'.repeat(10_000))
    await place.run([sh('a', 'echo a > a')])
    expect(await place.statuses()).toMatchObject({ plan: 'completed' })
    const [after] = (await place.engine.ask({ type: 'checkpoints', plan: 'plan' })) ?? []
    expect(after?.standing.lacks).toMatch(/no room/)
    expect(await roll({ type: 'rollback' })).toMatchObject({
      ok: false,
      refusal: { message: expect.stringMatching(/cannot be reverted/) },
    })
    expect(await roll({ type: 'rollback', force: true })).toMatchObject({ type: 'rollback.finished', paths: 0 })
    expect(text('a')).toBe('a\n')
  })

  it('compensates what was done outside, last first, and tries again', async () => {
    const outside = `${place.root}.outside`
    const tasks = [
      sh('up', 'echo up >> log', { compensate: { type: 'run', command: { script: `echo down >> ${outside}` } } }),
      sh('push', 'echo push >> log', {
        ...needs('up'),
        retry: { attempts: 3, backoffMs: { min: 1, max: 2 } },
        compensate: {
          type: 'run',
          command: { script: `[ -e ${outside} ] && echo pull >> ${outside} || { touch ${outside}; exit 1; }` },
        },
      }),
      sh('check', 'exit 1', needs('push')),
    ]
    await place.run(tasks, { policy: { onFailure: 'keep' } })
    expect(await place.statuses()).toMatchObject({ plan: 'failed', check: 'failed' })
    expect(text('log')).toBe('up\npush\n')
    expect(await roll({ type: 'rollback' })).toMatchObject({ type: 'rollback.finished' })
    const entries = (await place.engine.ask({ type: 'entries', plan: 'plan', limit: 1000 })) ?? []
    const told = entries.flatMap(({ events }) => events).filter(({ type }) => type.startsWith('compensation'))
    expect(told.map(event => [event.type, 'task' in event ? event.task : ''])).toEqual([
      ['compensation.started', 'push'],
      ['compensation.retried', 'push'],
      ['compensation.started', 'push'],
      ['compensation.finished', 'push'],
      ['compensation.started', 'up'],
      ['compensation.finished', 'up'],
    ])
    expect(readFileSync(outside, 'utf8')).toBe('pull\ndown\n')
    expect(existsSync(path('log'))).toBe(false)
  })

  it('what somebody does while a compensation runs is theirs: files it touched stop the rollback, others stay', async () => {
    put('untouched', 'mine\n')
    const undo = 'echo by-hand >> f; echo by-hand >> untouched; echo by-hand > new'
    await place.run([sh('t', 'echo t > f', { compensate: { type: 'run', command: { script: undo } } })])
    expect(await roll({ type: 'rollback' })).toMatchObject({ type: 'rollback.stopped', conflicts: ['f'] })
    expect(text('f')).toBe('t\nby-hand\n')
    expect(await roll({ type: 'rollback', every: 'take' })).toMatchObject({
      type: 'rollback.finished',
      paths: 1,
      kept: [{ path: 'f', sha256: expect.any(String) }],
    })
    expect(existsSync(path('f'))).toBe(false)
    expect([text('untouched'), text('new')]).toEqual(['mine\nby-hand\n', 'by-hand\n'])
  })

  it('brings back what somebody put into a folder the plan made and took away', async () => {
    await place.run([
      sh('one', 'mkdir sub; echo s > sub/s; echo one > other'),
      { id: 'look' as TaskName, action: { type: 'gate', gate: 'approval' }, ...needs('one') },
      sh('two', 'rm -r sub', needs('look')),
    ])
    put('sub/notes', 'precious\n')
    await place.submit({ type: 'decide', task: 'look' as TaskName, verdict: 'approved', rationale: '' })
    await place.drive()
    expect(existsSync(path('sub'))).toBe(false)
    expect(await roll({ type: 'rollback' })).toMatchObject({ type: 'rollback.finished' })
    expect(text('sub/notes')).toBe('precious\n')
    expect([existsSync(path('sub/s')), existsSync(path('other'))]).toEqual([false, false])
  })

  /** Creates and starts a plan, and cuts off its first attempt as soon as it says something. */
  async function cutOff(...tasks: readonly TaskDefinition[]): Promise<void> {
    const made = await place.submit({ type: 'create', definition: { name: 'plan' as PlanName, tasks } }, null)
    if (!made.ok) throw new Error(made.refusal.message)
    await place.submit({ type: 'start' })
    const force = new AbortController()
    let begin = (): void => {}
    const begun = new Promise<void>(resolve => {
      begin = resolve
    })
    const driven = place.worker.drive(made.plan, { stop: force.signal, force: force.signal, onOutput: () => begin() })
    await begun
    force.abort()
    await driven
    expect(await place.statuses()).toMatchObject({ t: 'waiting' })
    ticked()
  }
  const decideT = async (verdict: 'again' | 'done') => {
    await place.submit({ type: 'decide', task: 't' as TaskName, verdict, rationale: '' })
    await place.drive()
  }

  it('asks about what was written between an attempt nobody saw end and the next one', async () => {
    put('a', 'mine\n')
    await cutOff(sh('t', 'echo t >> a; echo ready; [ -e go ] || sleep 60'))
    put('by-hand', 'h\n')
    put('go', '')
    await decideT('again')
    expect(await place.statuses()).toMatchObject({ t: 'completed' })
    expect(await roll({ type: 'rollback' })).toMatchObject({ ok: false, refusal: { code: 'conflict' } })
    expect(text('by-hand')).toBe('h\n')
  })

  const FOLDER = 'mkdir -p d; echo t > d/t; echo ready; [ -e go ] || sleep 60'

  it('takes back a folder that a cut off attempt made, although other tasks have worked in it since', async () => {
    const before = hash()
    await cutOff(sh('t', FOLDER), sh('u', 'echo u > d/u', needs('t')))
    await decideT('done')
    expect(await place.statuses()).toMatchObject({ plan: 'completed' })
    expect(await roll({ type: 'rollback' })).toMatchObject({ type: 'rollback.finished', paths: 3 })
    expect(hash()).toBe(before)
  })

  it('takes it back as well when the task was tried again after another one had worked in it', async () => {
    await cutOff(sh('t', FOLDER), { id: 'u' as TaskName, action: { type: 'external' } })
    const claimed = await place.submit({ type: 'claim', task: 'u' as TaskName })
    if (!claimed.ok) throw new Error(claimed.refusal.message)
    put('d/u', 'u\n')
    const { token } = claimed.claim!
    await place.submit({ type: 'report', task: 'u' as TaskName, token, result: { status: 'succeeded' } })
    put('go', '')
    ticked()
    await decideT('again')
    expect(await place.statuses()).toMatchObject({ plan: 'completed' })
    // Only what somebody put there is asked about.
    expect(await roll({ type: 'rollback', choices: { go: 'keep' } })).toMatchObject({
      type: 'rollback.finished',
      paths: 3,
    })
    expect([existsSync(path('d')), existsSync(path('go'))]).toEqual([false, true])
  })

  it('asks about a folder that somebody moved there, or changed, after the attempt was cut off', async () => {
    mkdirSync(path('.planfold/x'))
    await cutOff(sh('t', `mkdir own; ${FOLDER}`), sh('u', 'echo u > d/u; echo u > x/u', needs('t')))
    renameSync(path('.planfold/x'), path('x'))
    chmodSync(path('own'), 0o700)
    await decideT('done')
    const asked = await roll({ type: 'rollback' })
    expect(asked).toMatchObject({ ok: false, refusal: { code: 'conflict' } })
    expect(JSON.stringify(asked)).toMatch(/"own".*"x"/)
    expect(await roll({ type: 'rollback', choices: { own: 'keep', x: 'keep' } })).toMatchObject({ paths: 4 })
    expect([statSync(path('own')).mode & 0o777, existsSync(path('x')), existsSync(path('d'))]).toEqual([
      0o700,
      true,
      false,
    ])
  })

  it('does not set back a scope in which somebody has worked between two attempts', async () => {
    const definition = {
      name: 'plan' as PlanName,
      tasks: [
        sh('build', 'mkdir -p dist; echo p >> dist/a; [ -e ok ]', {
          write: ['dist/**'],
          network: [],
          retry: { attempts: 2, backoffMs: { min: 300, max: 300 } },
        }),
      ],
    }
    await place.submit({ type: 'create', definition }, null)
    await place.submit({ type: 'start' })
    const driven = place.drive()
    await happened('retry.scheduled')
    put('dist/mine', 'by hand\n')
    await driven
    expect(text('dist/mine')).toBe('by hand\n')
    expect(await place.statuses()).toMatchObject({ build: 'waiting' })
    put('ok', '')
    const task = 'build' as TaskName
    await place.submit({ type: 'decide', task, verdict: 'chosen', option: 'keep', rationale: 'it is mine' })
    await place.drive()
    expect(await place.statuses()).toMatchObject({ plan: 'completed' })
    expect(text('dist/mine')).toBe('by hand\n')
  })

  it('pruning takes nothing that was stored a moment ago, whatever age is asked for: somebody may be about to name it', async () => {
    const id = await place.rooms.store.blobs.put(Buffer.from('not named yet'))
    await place.engine.ask({ type: 'prune', before: Date.now() + 60_000, dryRun: false })
    expect(await place.rooms.store.blobs.get(id)).not.toBeNull()
  })

  it('a checkpoint is not called like an entry, one taken by itself, or another', async () => {
    await place.run([sh('one', 'true')])
    expect(await place.submit({ type: 'checkpoint', name: 'mine' })).toMatchObject({ ok: true })
    for (const name of ['mine', '4', 'cp-one-x', '../x', ''])
      expect(await place.submit({ type: 'checkpoint', name })).toMatchObject({ ok: false })
  })

  it('a plan that fails undoes what declared how; its work can be taken up again', async () => {
    const tasks = [
      sh('up', 'echo up >> log', { compensate: { type: 'run', command: { script: 'echo down >> log' } } }),
      sh('check', '[ -e fine ]', needs('up')),
    ]
    await place.run(tasks)
    expect(text('log')).toBe('up\ndown\n')
    expect(await place.statuses()).toMatchObject({ plan: 'failed', up: 'completed' })
    put('fine', '')
    expect(await place.submit({ type: 'retry', task: 'check' as TaskName })).toMatchObject({ ok: true })
    await place.drive()
    expect(text('log')).toBe('up\ndown\nup\n')
    expect(await place.statuses()).toMatchObject({ plan: 'completed', up: 'completed' })
  })

  it('sees what an agent writes between claim and report', async () => {
    put('a', 'before\n')
    const before = hash()
    await place.run([{ id: 'think' as TaskName, action: { type: 'external' } }])
    const claimed = await place.submit({ type: 'claim' })
    if (!claimed.ok) throw new Error(claimed.refusal.message)
    put('a', 'after\n')
    put('new', 'made\n')
    const { token } = claimed.claim!
    await place.submit({ type: 'report', task: 'think' as TaskName, token, result: { status: 'succeeded' } })
    expect(await place.statuses()).toEqual({ plan: 'completed', think: 'completed' })
    expect(await roll({ type: 'rollback' })).toMatchObject({ paths: 2 })
    expect(hash()).toBe(before)
  })

  it('between two checkpoints, a file that ends as it began is no difference', async () => {
    put('a', 'start\n')
    const scoped = (id: string, script: string, ...before: string[]) =>
      sh(id, script, { write: ['a', 'b'], network: [], ...(before.length === 0 ? {} : needs(...before)) })
    await place.run([
      scoped('one', 'echo one > a'),
      scoped('two', 'echo two > a; echo b > b', 'one'),
      scoped('three', 'echo one > a', 'two'),
      scoped('four', 'rm b', 'three'),
    ])
    const between = async (from: string, to: string) => {
      const diff = await place.engine.ask({ type: 'checkpointDiff', plan: 'plan', from, to })
      if (diff?.ok !== true) throw new Error(JSON.stringify(diff))
      expect(diff.basis).toBe('written')
      return diff.changes.map(({ path }) => path)
    }
    expect(await between('one', 'two')).toEqual(['a', 'b'])
    expect(await between('one', 'three')).toEqual(['b'])
    expect(await between('one', 'four')).toEqual([])
    expect(await between('four', 'two')).toEqual(['a', 'b'])
  })

  it('takes checkpoints by hand, by a task and by policy, and shows what differs', async () => {
    put('a', 'start\n')
    await place.run(
      [
        sh('one', 'echo one > a'),
        { id: 'safe' as TaskName, action: { type: 'checkpoint', name: 'before-two' }, ...needs('one') },
        sh('two', 'echo two > a', { ...needs('safe'), risks: ['it may break'] }),
      ],
      { policy: { checkpoints: { every: 100 } } },
    )
    expect(await place.submit({ type: 'checkpoint', name: 'mine' })).toMatchObject({ ok: true })
    const all = (await place.engine.ask({ type: 'checkpoints', plan: 'plan' })) ?? []
    expect(all.map(({ why }) => why)).toEqual(['after', 'after', 'task', 'risky', 'after', 'asked'])
    const diff = await place.engine.ask({ type: 'checkpointDiff', plan: 'plan', from: 'before-two', to: 'mine' })
    expect(diff).toMatchObject({ ok: true, basis: 'whole', changes: [{ path: 'a' }] })
    const card = await place.engine.ask({ type: 'checkpoint', plan: 'plan', checkpoint: 'before-two' })
    expect(card).toMatchObject({ ok: true, card: { completed: ['one', 'safe'], standing: { files: 1 } } })
    await roll({ type: 'rollback', to: 'before-two' })
    expect(text('a')).toBe('one\n')
  })
})

it('names the scope of a task that wrote too many files to be looked at', async () => {
  const { workspace } = place.rooms
  const failure = { class: 'logic', message: 'the write scope contains too much', retryable: false } as const
  const changesSince = async () => ({ ok: false as const, failure })
  Object.assign(place.rooms, { workspace: { ...workspace, changesSince } })
  await place.run([sh('many', 'mkdir many; echo x > many/x', { write: ['many/**'], effect: 'workspace' })])
  const uncovered = [{ task: 'many', paths: [{ path: 'many/**', reason: failure.message }] }]
  expect(await place.engine.ask({ type: 'summary', plan: 'plan' })).toMatchObject({ status: 'completed', uncovered })
  expect(await place.engine.ask({ type: 'rollbackPreview', plan: 'plan' })).toMatchObject({
    files: [{ path: 'many/**', will: 'leave', uncovered: true }],
  })
  expect(await roll({ type: 'rollback' })).toMatchObject({ paths: 0, left: [{ path: 'many/**', uncovered: true }] })
  expect(text('many/x')).toBe('x\n')
})

it('names a large file only for the task that changed or deleted it, and says that it cannot be restored', async () => {
  put('big', '')
  truncateSync(path('big'), 129 * 1024 ** 2)
  await expect.poll(() => Date.now() - statSync(path('big')).ctimeMs, { interval: 1 }).toBeGreaterThan(20)
  await place.run([sh('one', 'echo one > a'), sh('two', 'rm big; mkfifo pipe', needs('one'))])
  const paths = [
    { path: 'big', reason: 'too big', gone: true },
    { path: 'pipe', reason: 'special file' },
  ]
  expect((await place.engine.ask({ type: 'summary', plan: 'plan' }))?.uncovered).toEqual([{ task: 'two', paths }])
  expect(await roll({ type: 'rollback' })).toMatchObject({
    paths: 1,
    left: [
      { path: 'big', reason: expect.stringContaining('cannot be restored'), uncovered: true },
      { path: 'pipe', reason: expect.stringContaining('stays as it is'), uncovered: true },
    ],
  })
})
