// Contracts in real rooms: what must hold before, after and at the end is judged, each with its evidence, and what a task wrote
// is held against what it declared.

import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Criterion, PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { busyRepository, edit, realRooms, sh } from '../rollback/perform-rollback.fixture.ts'

let place: Awaited<ReturnType<typeof realRooms>>
beforeEach(async () => {
  place = await realRooms()
})
afterEach(async () => {
  await place.close()
  fs.rmSync(place.root, { recursive: true, force: true })
})

const check = (script: string): Criterion => ({ type: 'check', command: { script } })
const expects = (expression: string): Criterion => ({ type: 'expect', expression })
const prose = (text: string): Criterion => ({ type: 'prose', text })
const needs = (...names: string[]) => ({ needs: names as unknown as NonNullable<TaskDefinition['needs']> })
const sha = (text: string): string => createHash('sha256').update(text).digest('hex')

const run = async (tasks: readonly TaskDefinition[], rest: Partial<PlanDefinition> = {}) => await place.run(tasks, rest)
const contract = async () => (await place.engine.ask({ type: 'contract', plan: 'plan' }))!
/** Without times and hashes, which differ from run to run. */
const told = async () =>
  (await contract()).lines.map(({ task, part, criterion, holds, judged }) => [
    `${task}/${part}: ${criterion}`,
    holds,
    judged?.evidence ?? null,
  ])
const failure = async (task: string) => {
  const entries = (await place.engine.ask({ type: 'entries', plan: 'plan', limit: 500 })) ?? []
  const failed = entries
    .flatMap(({ events }) => events)
    .findLast(event => event.type === 'attempt.failed' && event.task === task)
  return failed?.type === 'attempt.failed' ? failed.result.failure : null
}

describe('postconditions', () => {
  test('are judged after acceptance, and one that does not hold fails the task and what needs it', async () => {
    await run([
      sh('make', 'echo made > made.txt', {
        accept: [check('test -f made.txt')],
        postconditions: [expects('exit == 0'), check('echo one; echo two; test -f other.txt')],
      }),
      sh('use', 'true', needs('make')),
    ])
    expect(await place.statuses()).toMatchObject({ make: 'failed', use: 'blocked' })
    expect(await failure('make')).toMatchObject({
      class: 'logic',
      message: 'postcondition failed: echo one; echo two; test -f other.txt (exit 1: two)',
    })
    const { lines, counts } = await contract()
    expect(counts).toEqual({ holds: 2, broken: 1, open: 0 })
    expect(lines.at(-1)).toMatchObject({
      task: 'make',
      part: 'postcondition',
      by: 'command',
      holds: false,
      judged: {
        who: 'engine',
        visit: 1,
        isCurrent: true,
        said: 'one\ntwo',
        log: { sha256: sha('one\ntwo\n'), bytes: 8 },
      },
    })
  })

  test('are not asked of work that is not accepted', async () => {
    await run([sh('make', 'true', { accept: [check('false')], postconditions: [check('touch asked.txt')] })])
    expect(fs.existsSync(`${place.root}/asked.txt`)).toBe(false)
    expect(await told()).toEqual([
      ['make/acceptance: false', false, 'exit 1'],
      ['make/postcondition: touch asked.txt', null, null],
    ])
  })

  test('in words wait for a person, and what they say is the evidence', async () => {
    await run([sh('make', 'true', { postconditions: [prose('nobody noticed')] })])
    expect(await place.statuses()).toMatchObject({ make: 'waiting' })
    const decided = {
      type: 'decide',
      task: 'make' as TaskDefinition['id'],
      verdict: 'approved',
      rationale: 'I asked them',
    } as const
    expect((await place.submit(decided)).ok).toBe(true)
    await place.drive()
    expect(await place.statuses()).toMatchObject({ plan: 'completed', make: 'completed' })
    expect((await contract()).lines).toMatchObject([
      {
        part: 'postcondition',
        by: 'person',
        holds: true,
        judged: { who: 'ana@example.com', evidence: 'I asked them' },
      },
    ])
  })

  test('of work that an agent reports are judged as well', async () => {
    await run([
      {
        id: 'write' as TaskDefinition['id'],
        action: { type: 'external' },
        postconditions: [check('test -f report.md')],
      },
    ])
    const claimed = await place.submit({ type: 'claim', task: 'write' as TaskDefinition['id'] })
    if (!claimed.ok || claimed.claim === undefined) throw new Error('not claimed')
    const report = {
      type: 'report',
      task: claimed.claim.task,
      token: claimed.claim.token,
      result: { status: 'succeeded' },
    } as const
    const refused = { type: 'report.refused', failure: { message: expect.stringMatching(/^postcondition failed/) } }
    expect(await place.submit(report)).toMatchObject({ ok: true, events: [refused], claim: claimed.claim })
    // It stays in the hands of whoever reported it too early.
    expect(await place.statuses()).toMatchObject({ write: 'running' })
    const { lines } = await contract()
    expect(lines).toMatchObject([{ task: 'write', part: 'postcondition', holds: false }])
  })
})

describe('effects', () => {
  test('folders made for what was declared below them are no surprise', async () => {
    await run([sh('makes', 'mkdir -p out/deep; echo 1 > out/deep/a.txt', { effects: ['out/deep/*.txt'] })])
    expect(await told()).toEqual([['makes/effects: changes only out/deep/*.txt', true, '3 paths changed']])
  })

  test('what was changed and not declared fails the task, by name; what was declared does not', async () => {
    fs.mkdirSync(`${place.root}/src`)
    await run([
      sh('kept', 'echo 1 > src/a.txt', { effects: ['src/**'] }),
      sh('strayed', 'echo 2 > src/b.txt; echo 3 > elsewhere.txt', {
        effects: ['src/**'],
        ...needs('kept'),
        optional: true,
      }),
      sh('idle', 'true', { effects: [] }),
    ])
    expect(await place.statuses()).toMatchObject({ kept: 'completed', strayed: 'failed', idle: 'completed' })
    expect(await failure('strayed')).toMatchObject({
      class: 'policy',
      code: 'effects',
      retryable: false,
      message: 'it changed what it did not declare: elsewhere.txt',
    })
    expect(await told()).toEqual([
      ['kept/effects: changes only src/**', true, '1 path changed'],
      ['strayed/effects: changes only src/**', false, 'elsewhere.txt changed while it ran'],
      ['idle/effects: changes only nothing', true, '0 paths changed'],
    ])
  })

  test('writes beyond a declared scope are told where all files were looked at, and fail nothing', async () => {
    await run([sh('a', 'echo 1 > here.txt; echo 2 > there.txt', { write: ['here.txt'] })])
    expect(await place.statuses()).toMatchObject({ plan: 'completed', a: 'completed' })
    expect(await told()).toEqual([['a/effects: changes only here.txt', false, 'there.txt changed while it ran']])
  })

  test('what lies in the scope of somebody who worked at the same time is theirs; when they declare none, a person is asked', async () => {
    // Each waits for the other's file, so both are under way at once.
    const wait = (file: string) => `until [ -f ${file} ]; do sleep 0.02; done`
    await run([
      sh('a', `echo 1 > a.txt; ${wait('b.txt')}`, { effects: ['a.txt'] }),
      sh('b', `echo 2 > b.txt; ${wait('a.txt')}`, { effects: ['b.txt'] }),
    ])
    expect(await place.statuses()).toMatchObject({ plan: 'completed', a: 'completed', b: 'completed' })
    const again = await place.submit(
      {
        type: 'create',
        definition: {
          name: 'other' as PlanDefinition['name'],
          tasks: [
            sh('c', `echo 1 > c.txt; ${wait('d.txt')}`, { effects: ['c.txt'] }),
            sh('d', `echo 2 > d.txt; ${wait('c.txt')}`),
          ],
        },
      },
      null,
    )
    if (!again.ok) throw new Error(again.refusal.message)
    await place.submit({ type: 'start' }, 'other')
    const found = await place.engine.ask({ type: 'find', reference: 'other' })
    await place.worker.drive(found!.plan, { stop: new AbortController().signal })
    const other = await place.engine.ask({ type: 'contract', plan: 'other' })
    expect(other?.lines).toMatchObject([
      { task: 'c', holds: null, judged: { evidence: 'd.txt changed while it ran; d may have done it' } },
    ])
  })

  test('hold in a worktree of its own, and strays do not reach the branch of the plan', async () => {
    busyRepository(place.root)
    await run(
      [
        sh('kept', 'echo 1 > kept.txt', { effects: ['kept.txt'] }),
        sh('strayed', 'echo 1 > strayed.txt', { effects: ['kept.txt'], ...needs('kept') }),
      ],
      { git: { worktree: 'task' } },
    )
    expect(await place.statuses()).toMatchObject({ kept: 'completed', strayed: 'failed' })
    expect((await failure('strayed'))?.message).toBe('it changed what it did not declare: strayed.txt')
  })

  test('an edit may do less than it may write', async () => {
    await run([edit('a', 'a.txt', 'a\n', { effects: ['b.txt'] })])
    expect(await place.statuses()).toMatchObject({ a: 'failed' })
  })
})

describe('the whole contract', () => {
  test('every criterion is listed with verdict, evidence, time and entry; the definition of done keeps what its checks said', async () => {
    await run(
      [
        sh('measure', 'echo 41', {
          preconditions: [check('test -d .')],
          outputs: { n: { from: 'stdout', as: 'json' } },
          accept: [expects('outputs.n < 50')],
        }),
      ],
      { done: [check('echo all is well'), expects('tasks.measure.outputs.n == 41')] },
    )
    expect(await place.statuses()).toMatchObject({ plan: 'completed' })
    const { lines, counts, status } = await contract()
    expect({ counts, status }).toEqual({ counts: { holds: 4, broken: 0, open: 0 }, status: 'completed' })
    expect(await told()).toEqual([
      ['measure/precondition: test -d .', true, 'exit 0'],
      ['measure/acceptance: outputs.n < 50', true, 'outputs.n is 41'],
      ['done/done: echo all is well', true, 'exit 0'],
      ['done/done: tasks.measure.outputs.n == 41', true, 'tasks.measure.outputs.n is 41'],
    ])
    expect(lines[2]?.judged).toMatchObject({ said: 'all is well', log: { sha256: sha('all is well\n'), bytes: 12 } })
    const entries = (await place.engine.ask({ type: 'entries', plan: 'plan', limit: 500 })) ?? []
    for (const { judged } of lines)
      expect(entries.find(({ version }) => version === judged?.entry)?.hash).toBe(judged?.hash)
  })

  test('a plan whose definition of done does not hold ends failed, and says by what', async () => {
    await run([sh('a', 'true')], { done: [check('echo no; exit 3')] })
    expect(await place.statuses()).toMatchObject({ plan: 'failed', done: 'failed' })
    expect((await contract()).lines).toMatchObject([
      { part: 'done', holds: false, judged: { evidence: 'exit 3', said: 'no' } },
    ])
  })

  test('a precondition that does not hold is listed with what was seen; after the next visit it is what it was then', async () => {
    await run([sh('a', 'true', { preconditions: [check('test -f ready.txt')] })])
    expect(await told()).toEqual([['a/precondition: test -f ready.txt', false, 'exit 1']])
    fs.writeFileSync(`${place.root}/ready.txt`, '')
    await place.submit({ type: 'retry', task: 'a' as TaskDefinition['id'] })
    expect((await contract()).lines).toMatchObject([{ holds: false, judged: { visit: 1, isCurrent: false } }])
    await place.drive()
    expect(await told()).toEqual([['a/precondition: test -f ready.txt', true, 'exit 0']])
  })
})
