// A revision is prepared from the plan as it stands, and told before anything is written.

import { beforeEach, expect, it } from 'vitest'
import type { PlanId, PlanName } from '../domain/id.ts'
import { exited, name, setup } from '../engine/rooms.fixture.ts'
import { type CurrentPlan, prepareRevision, readCurrentPlan, readRevision } from './revise-plan.ts'

let room: ReturnType<typeof setup>
let plan: PlanId
let current: CurrentPlan
beforeEach(async () => {
  room = setup(async ({ task }) => exited(task === 'test' ? 1 : 0))
  const definition = {
    name: 'ship' as PlanName,
    tasks: [
      { id: name('build'), action: { type: 'run', command: { argv: ['make'] } } },
      { id: name('test'), needs: [name('build')], action: { type: 'run', command: { argv: ['make', 'test'] } } },
    ],
  } as const
  const made = await room.engine.submit(null, { type: 'create', definition })
  if (!made.ok) throw new Error(made.refusal.message)
  plan = made.plan
  current = (await readCurrentPlan(room.engine, plan))!
})

const document = (...tasks: readonly string[]) => `planfold: 1\ntasks:\n${tasks.map(task => `  - ${task}\n`).join('')}`
const BUILD = '{ id: build, run: [make] }'
const LINT = '{ id: lint, needs: [test], run: [lint] }'

async function merged(text: string, mode: 'merge' | 'replace') {
  const read = await readRevision(text, current.definition, mode)
  if (!read.ok) return read.diagnostics.map(({ message }) => message)
  const { definition, told } = read.document
  return prepareRevision(current, { written: { definition, ended: told.ended, mode } })
}

it('a text that is merged keeps what it does not mention, and may need tasks it does not hold', async () => {
  expect(await merged(document(LINT), 'merge')).toMatchObject({
    status: 'prepared',
    revision: { definition: { name: 'ship', tasks: [{ id: 'build' }, { id: 'test' }, { id: 'lint' }] } },
  })
  expect(await merged(document(LINT), 'replace')).toEqual([expect.stringContaining("'test'")])
})

it('a text that replaces takes away what it does not mention, and says what becomes of every task', async () => {
  expect(await merged(document(BUILD), 'replace')).toMatchObject({
    status: 'prepared',
    revision: {
      definition: { tasks: [{ id: 'build' }] },
      fates: [
        { task: 'build', fate: 'kept' },
        { task: 'test', fate: 'gone' },
      ],
    },
  })
})

it('tasks are removed and put in order by name; what is needed still cannot go', () => {
  expect(prepareRevision(current, { remove: 'test' })).toMatchObject({
    status: 'prepared',
    revision: { definition: { tasks: [{ id: 'build' }] } },
  })
  expect(prepareRevision(current, { order: 'test' })).toMatchObject({
    status: 'prepared',
    revision: { definition: { tasks: [{ id: 'test' }, { id: 'build' }] } },
  })
  expect(prepareRevision(current, { remove: 'nobody' })).toMatchObject({ status: 'refused' })
})

it('ids are generated for a draft only', async () => {
  expect(prepareRevision(current, { ids: 'generated' })).toMatchObject({ status: 'prepared' })
  expect(prepareRevision({ ...current, status: 'active' }, { ids: 'generated' })).toMatchObject({
    status: 'refused',
    refusal: { code: 'not-allowed' },
  })
})

it('how each task stands is read with the plan', async () => {
  expect(current).toMatchObject({ revision: 1, status: 'draft' })
  expect(Object.fromEntries(current.standings)).toEqual({
    build: { status: 'pending', ran: false },
    test: { status: 'pending', ran: false },
  })
  await room.engine.submit(plan, { type: 'start' })
  await room.drive(plan)
  const after = (await readCurrentPlan(room.engine, plan))!
  expect(after.status).toBe('failed')
  expect(Object.fromEntries(after.standings)).toEqual({
    build: { status: 'completed', ran: true },
    test: { status: 'failed', ran: true },
  })
})
