// A plan is saved as a template, and never over another one.

import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import type { PlanId, PlanName } from '../domain/id.ts'
import type { PlanDefinition, TaskDefinition } from '../domain/plan.ts'
import { exited, name, setup } from '../engine/rooms.fixture.ts'
import {
  findTemplate,
  keepTemplate,
  type PrintedTemplate,
  planFromTemplate,
  planToSave,
  printAsTemplate,
} from './templates.ts'

const task = (id: string): TaskDefinition => ({
  id: name(id),
  action: { type: 'external' },
  instruction: 'Ship the release',
})
const PLAN: PlanDefinition = { name: 'ship' as PlanName, tasks: [task('a'), task('b')] }

let folder: string
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'planfold-templates-')), 'templates')
})
function printed(parameters: readonly (readonly [string, string])[] = []): PrintedTemplate {
  const done = printAsTemplate(PLAN, { name: 'again', parameters })
  if (done.status !== 'printed') throw new Error(done.status)
  return done.template
}

it('what is saved is the plan as it stands now, and how it stands is told', async () => {
  const room = setup(async () => exited(0))
  const plan = await room.define({
    name: 'ship' as PlanName,
    tasks: [{ ...task('a'), action: { type: 'run', command: { argv: ['true'] } } }],
  })
  expect(await planToSave(room.engine, plan)).toMatchObject({ status: 'active', definition: { name: 'ship' } })
  await room.drive(plan)
  expect(await planToSave(room.engine, plan)).toMatchObject({ status: 'completed' })
  expect(await planToSave(room.engine, 'nobody' as PlanId)).toBeNull()
})

it('a value becomes a parameter, and the template makes the plan again', async () => {
  const template = printed([['what', 'release']])
  expect(await keepTemplate(folder, template)).toMatchObject({ status: 'kept' })
  const found = await findTemplate(folder, 'again')
  if (found.status !== 'found') throw new Error(found.status)
  const made = planFromTemplate(found.template, { what: 'hotfix' })
  expect(made.ok && made.definition.tasks[0]?.instruction).toBe('Ship the hotfix')
})

it('what cannot be a template is said, and nothing is written', () => {
  expect(printAsTemplate(PLAN, { name: 'not a name', parameters: [] })).toMatchObject({ status: 'unfit' })
  expect(printAsTemplate(PLAN, { name: 'again', parameters: [['what', 'nowhere']] })).toMatchObject({ status: 'unfit' })
  expect(printAsTemplate(PLAN, { name: 'again', parameters: [], tasksMax: 1 })).toEqual({ status: 'too-large' })
  expect(printAsTemplate(PLAN, { name: 'again', parameters: [], tasksMax: 2 })).toMatchObject({ status: 'printed' })
})

it('another one of the same name is replaced only when that is said; the same one is known again', async () => {
  const first = await keepTemplate(folder, printed())
  if (first.status !== 'kept') throw new Error(first.status)
  const other = printed([['what', 'release']])
  expect(await keepTemplate(folder, printed())).toMatchObject({ status: 'taken', isSame: true })
  expect(await keepTemplate(folder, other)).toMatchObject({ status: 'taken', isSame: false })
  expect(await readFile(first.path, 'utf8')).toBe(printed().text)
  expect(await keepTemplate(folder, other, { replace: true })).toEqual(first)
  expect(await readFile(first.path, 'utf8')).toBe(other.text)
})
