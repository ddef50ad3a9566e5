// Plans from elsewhere and back: brought in, worked on, written back.

import { readFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { place } from './in-process.fixture.ts'
import type { Place } from './planfold.fixture.ts'

const SAMPLES = fileURLToPath(new URL('../fixtures/dialects/backlogs/', import.meta.url))

let here: Place
beforeEach(async () => {
  here = await place()
})
afterEach(() => here.remove())

it('a backlog is imported, claimed, done, and written back to its own file', async () => {
  await cp(join(SAMPLES, 'task-master-bare.json'), join(here.folder, 'tasks.json'))
  expect(await here.planfold('import', 'tasks.json', '--name', 'garden', '--start')).toMatchObject({
    exit: 0,
    stdout: 'garden is started. Next: planfold resume garden\n',
    stderr: 'read as task-master: 2 tasks\n',
  })
  const claim = (await here.json('claim', 'garden')) as { task: string; token: string }
  expect(claim.task).toBe('10')
  expect(await here.planfold('report', '--status', 'done', 'garden', '10', '--token', claim.token)).toMatchObject({
    exit: 0,
  })
  // Its test strategy is prose: a person says whether it holds.
  // What was refused is told when it fails.
  const approved = await here.planfold('approve', 'garden', '10', '-m', 'the number fell')
  expect([approved.exit, approved.stderr]).toEqual([0, 'Next: planfold claim garden\n'])
  const out = await here.planfold('export', 'garden', '--to', 'task-master', '--out', 'tasks.json')
  expect(out).toEqual({ exit: 0, stdout: 'garden is written to tasks.json\n', stderr: '' })
  const before = readFileSync(join(SAMPLES, 'task-master-bare.json'), 'utf8')
  expect(await here.read('tasks.json')).toBe(before.replace('"status": "pending"', '"status": "done"'))
  expect(await here.planfold('export', 'garden', '--original')).toMatchObject({ exit: 0, stdout: before })
})

it('a folder of Backlog.md goes in and out', async () => {
  await cp(join(SAMPLES, 'backlog-md'), join(here.folder, 'shop/tasks'), { recursive: true })
  expect(await here.planfold('import', 'shop')).toMatchObject({
    exit: 0,
    stdout: 'shop is a draft; start it with: planfold run shop\n',
  })
  expect(await here.planfold('export', 'shop', '--to', 'backlog-md', '--out', 'out/')).toMatchObject({
    exit: 0,
    stderr: '',
  })
  const name = 'task-9 - Ask-the-landlord.md'
  expect(await here.read(`out/${name}`)).toBe(readFileSync(join(SAMPLES, 'backlog-md', name), 'utf8'))
})

it("another planner's tables become plans, told one by one", async () => {
  await cp(join(SAMPLES, 'task-tables.json'), join(here.folder, 'dump.json'))
  const said = await here.planfold('import', 'dump.json')
  expect(said).toMatchObject({ exit: 0, stdout: expect.stringContaining('2 of 2 plans made') })
  expect(await here.planfold('status', 'greet-everyone-unicode-tp-42')).toMatchObject({
    stdout: expect.stringContaining('draft'),
  })
  expect(await here.planfold('doctor', 'store')).toMatchObject({ exit: 0 })
  expect(await here.planfold('import', 'dump.json')).toMatchObject({ exit: 3, stdout: '0 of 2 plans made\n' })
})

it('formats lists what is read and printed; a wrong word is helped along', async () => {
  const { stdout } = await here.planfold('import', '--formats')
  for (const name of ['planfold', 'task-master', 'beads', 'backlog-md', 'spec-kit']) expect(stdout).toContain(name)
  expect(await here.planfold('import', 'x', '--from', 'bead')).toMatchObject({
    exit: 2,
    stderr: expect.stringContaining("did you mean 'beads'?"),
  })
})
