// A plan is completed, and afterwards its files are gone or others: `drift` says so.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import type { TaskName } from '../../domain/id.ts'
import { edit, realRooms, sh } from '../rollback/perform-rollback.fixture.ts'

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
})

async function completed(tasks: Parameters<Awaited<ReturnType<typeof realRooms>>['run']>[0]) {
  const made = await realRooms()
  opened.push(made)
  mkdirSync(join(made.root, 'sc'))
  writeFileSync(join(made.root, 'old'), 'old')
  await made.run(tasks)
  expect((await made.statuses()).plan).toBe('completed')
  const files = async () => (await made.engine.ask({ type: 'drift', plan: 'plan' }))?.files
  return { ...made, files }
}

it('a file that a completed task made and that is gone is told, where only written files are compared', async () => {
  const { root, files } = await completed([edit('a', 'sc/q', 'q')])
  expect(await files()).toMatchObject([{ path: 'sc/q', by: 'plan' }])
  rmSync(join(root, 'sc/q'))
  expect(await files()).toEqual([{ path: 'sc/q', what: 'deleted', by: 'somebody', tasks: ['a'] }])
})

it('the same where all files are compared, and for a change that somebody took back', async () => {
  const task = sh('a', 'echo q > sc/q; echo new > old', { effect: 'idempotent' })
  const { root, files } = await completed([task])
  rmSync(join(root, 'sc/q'))
  writeFileSync(join(root, 'old'), 'old')
  expect(await files()).toEqual([
    { path: 'old', what: 'changed', by: 'somebody', tasks: ['a'] },
    { path: 'sc/q', what: 'deleted', by: 'somebody', tasks: ['a'] },
  ])
})

it('what a task wrote before the plan was revised, and somebody changed after that, is told as well', async () => {
  const made = await realRooms()
  opened.push(made)
  const ok = {
    id: 'ok' as TaskName,
    needs: ['a', 'b'] as TaskName[],
    action: { type: 'gate', gate: 'approval' },
  } as const
  await made.run([edit('a', 'sc/q', 'q'), edit('b', 'sc/r', 'r'), ok])
  const files = async () => (await made.engine.ask({ type: 'drift', plan: 'plan' }))?.files
  writeFileSync(join(made.root, 'sc/r'), 'before the revision')
  const { definition } = (await made.engine.ask({ type: 'definition', plan: 'plan' }))!
  const revised = { type: 'revise', definition: { ...definition, title: 'New' }, rationale: 'a title' } as const
  expect(await made.submit(revised)).toMatchObject({ ok: true })
  expect(await files()).toEqual([])
  writeFileSync(join(made.root, 'sc/q'), 'by hand')
  expect(await files()).toEqual([{ path: 'sc/q', what: 'changed', by: 'somebody', tasks: ['a'] }])
})
