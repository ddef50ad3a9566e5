// What changed beside the scope of a command: told of a command that the person wrote, a failure of any other.

import { expect, it } from 'vitest'
import type { PlanName } from '../../domain/id.ts'
import { exited, name, setup } from '../rooms.fixture.ts'

const BUILD = {
  id: name('build'),
  action: { type: 'run', command: { argv: ['make'] } },
  write: ['dist/**'],
  network: [],
} as const

const runner = async () => ({ ...exited(0), beyond: { appeared: [], changed: ['README.md'] } })

it('a closed name that changed is said, and stands where somebody reviews the work', async () => {
  const room = setup(runner)
  const gate = { id: name('review'), needs: [BUILD.id], action: { type: 'gate', gate: 'approval' } } as const
  const plan = await room.define({ tasks: [BUILD, gate] })
  await room.drive(plan)
  const words = 'README.md changed while build ran, although it is not in its `write`; Planfold cannot tell by whom'
  expect(await room.engine.ask({ type: 'task', plan, task: BUILD.id })).toMatchObject({ status: 'completed' })
  const [asked] = (await room.engine.ask({ type: 'inbox' })).items
  expect(asked?.evidence).toMatchObject([{ task: 'build', status: 'completed', message: words }])
  const page = await room.engine.ask({ type: 'taskPage', plan, task: BUILD.id })
  expect(page?.attempts.map(({ beside }) => beside)).toEqual([[words]])
})

it('of a command that others wrote the attempt fails', async () => {
  const room = setup(runner)
  const made = await room.engine.submit(null, {
    type: 'create',
    definition: { name: 'plan' as PlanName, tasks: [BUILD] },
    written: 'others',
  })
  if (!made.ok) throw new Error(made.refusal.message)
  const { plan } = made
  expect(await room.engine.submit(plan, { type: 'start' })).toMatchObject({ ok: true })
  await room.drive(plan)
  expect(await room.engine.ask({ type: 'task', plan, task: BUILD.id })).toMatchObject({
    status: 'failed',
    reason: "'README.md' changed outside its write scope while it ran",
  })
})
