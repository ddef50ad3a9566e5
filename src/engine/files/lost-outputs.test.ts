// Declared output files while another task of the plan is at work on them, and after it was cut off.

import { existsSync, mkdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import type { PlanName } from '../../domain/id.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import { realRooms, sh } from '../rollback/perform-rollback.fixture.ts'

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
})

const a = sh('a', 'echo 1 > src/a.json; echo 2 > r.json', {
  write: ['src/**', 'r.json'],
  network: [],
  outputs: { a: { from: 'file', file: 'src/a.json' }, r: { from: 'file', file: 'r.json' } },
})

/** `a` is done, and `b` is in the middle of its work when the driver is told to stop. */
async function inTheMiddle(b: Partial<TaskDefinition>) {
  const made = await realRooms()
  opened.push(made)
  const { root, submit, engine, worker } = made
  for (const folder of ['src', 'sign']) mkdirSync(join(root, folder))
  const begun = new Promise<void>(resolve => {
    const watcher = watch(join(root, 'sign'), () => {
      watcher.close()
      resolve()
    })
  })
  const script = 'test -e go && exit 0; mv src/a.json src/half.json; touch sign/begun; sleep 60'
  const tasks = [a, sh('b', script, { needs: [a.id], ...b })]
  const definition = { name: 'plan' as PlanName, recovery: { outputs: 'remake' }, tasks } as const
  await submit({ type: 'create', definition }, null)
  await submit({ type: 'start' })
  const { plan } = (await engine.ask({ type: 'find', reference: 'plan' }))!
  const stop = new AbortController()
  const driving = worker.drive(plan, { stop: stop.signal })
  await begun
  const outputs = async () => (await engine.ask({ type: 'drift', plan }))?.outputs.map(({ file, what }) => [file, what])
  const events = async () =>
    ((await engine.ask({ type: 'entries', plan, limit: 500 })) ?? []).flatMap(one => one.events)
  const halt = async () => {
    stop.abort()
    await driving
  }
  opened.unshift({ close: halt })
  return { ...made, outputs, events, halt }
}

it('a file that an attempt under way has moved is not lost, nor after the attempt was cut off', async () => {
  const { root, outputs, events, halt, drive, statuses } = await inTheMiddle({ write: ['src/**'], network: [] })
  expect(await outputs()).toEqual([])
  rmSync(join(root, 'r.json'))
  expect(await outputs()).toEqual([['r.json', 'missing']])
  writeFileSync(join(root, 'r.json'), '2\n')
  await halt()
  expect(await outputs()).toEqual([])
  writeFileSync(join(root, 'go'), '')
  await drive()
  expect(await statuses()).toEqual({ plan: 'completed', a: 'completed', b: 'completed' })
  expect((await events()).filter(({ type }) => type === 'outputs.checked' || type === 'task.reopened')).toEqual([])
  // The half-made work was set back before the next attempt.
  expect(readFileSync(join(root, 'src/a.json'), 'utf8')).toBe('1\n')
  expect(existsSync(join(root, 'src/half.json'))).toBe(false)
})

it('while a task that declares nothing is at work, any file may be its doing', async () => {
  const { outputs, halt } = await inTheMiddle({ effect: 'idempotent' })
  expect(await outputs()).toEqual([])
  await halt()
  // Nothing sets it back: it is missing.
  expect(await outputs()).toEqual([['src/a.json', 'missing']])
})
