// A plan that is kept in PostgreSQL, driven by real processes: one is killed, another goes on, and the journal holds what happened.
// Needs the extras: postgres

import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { compose, parsePlan, trusted } from '../src/index.ts'
import { ask, startServer } from '../src/stores/postgres/postgres.fixture.ts'

const server = await startServer()
afterAll(() => server?.stop())

const TASKS = Array.from({ length: 12 }, (_, at) => at + 1)
const PLAN = `
planfold: 1
name: many-steps
tasks:
${TASKS.map(
  at => `  - id: step-${at}
    ${at > 1 ? `needs: [step-${at - 1}]\n    ` : ''}run: mkdir -p out && echo ran >> out/${at}
    write: [out/**]
    effect: workspace`,
).join('\n')}
`

test.skipIf(server === null)('a plan in PostgreSQL survives the end of its process', async () => {
  await ask(server!.url('postgres'), 'CREATE DATABASE whole_plan')
  const database = server!.url('whole_plan')
  const folder = mkdtempSync(join(tmpdir(), 'planfold-whole-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const composed = await compose({ cwd: folder, environment: process.env, caller: trusted('ana'), database })
  onTestFinished(() => composed.close())
  const { engine, worker } = composed
  const parsed = parsePlan(PLAN)
  if (!parsed.ok) throw new Error(JSON.stringify(parsed))
  const made = await engine.submit(null, { type: 'create', definition: parsed.definition })
  if (!made.ok) throw new Error(made.refusal.message)
  expect(await engine.submit(made.plan, { type: 'start' })).toMatchObject({ ok: true })

  const driver = spawn(
    process.execPath,
    ['--import', 'tsx', join(import.meta.dirname, 'postgres-driver.ts'), database, folder, made.plan],
    {
      cwd: join(import.meta.dirname, '..'),
      stdio: 'inherit',
    },
  )
  onTestFinished(() => void driver.kill('SIGKILL'))
  const ended = new Promise(resolve => driver.once('exit', resolve))
  for await (const { events } of engine.watch({ after: 0, plan: made.plan, signal: new AbortController().signal }))
    if (events.some(event => event.type === 'attempt.succeeded' && event.task === 'step-4')) break
  driver.kill('SIGKILL')
  await ended
  expect(await engine.ask({ type: 'summary', plan: made.plan })).toMatchObject({ status: 'active' })

  const driven = await worker.drive(made.plan, { stop: new AbortController().signal })
  expect(driven).toMatchObject({ status: 'rested', rest: 'ended' })
  expect(await engine.ask({ type: 'summary', plan: made.plan })).toMatchObject({ status: 'completed' })
  expect(readdirSync(join(folder, 'out')).length).toBe(TASKS.length)
  // What a killed attempt wrote was taken back before the next one began.
  for (const at of TASKS) expect(readFileSync(join(folder, 'out', String(at)), 'utf8'), `step ${at}`).toBe('ran\n')
  expect(await engine.ask({ type: 'replay', plan: made.plan })).toMatchObject({ ok: true })
  expect(await engine.ask({ type: 'check' })).toMatchObject({ ok: true, faults: [] })
  expect((await engine.ask({ type: 'plans' })).items).toMatchObject([
    { name: 'many-steps', status: 'completed', done: 12 },
  ])
})
