// An agent that is killed between its claim and its report. Its task comes back with a note of what was found; what it left half done is
// listed, and a person keeps it or rolls it back.

import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { MAIN, type Place, place } from './planfold.fixture.ts'

const AGENT = fileURLToPath(new URL('dying-agent.mjs', import.meta.url))
const PLAN = `planfold: 1
name: p
tasks:
  - { id: scoped, title: With a scope, write: ['src/**'] }
`
const FOUND = ['src/new.js', 'src/old.js', 'src/sum.js', 'src/tool.sh']

let here: Place
beforeEach(async () => {
  here = await place()
  mkdirSync(join(here.folder, 'src'))
  for (const file of ['sum.js', 'old.js', 'tool.sh']) writeFileSync(join(here.folder, 'src', file), `${file} before\n`)
  chmodSync(join(here.folder, 'src/tool.sh'), 0o644)
  await here.write('plan.yaml', PLAN)
  await here.planfold('run', 'plan.yaml')
})
afterEach(() => here.remove())

/** Every file with its mode and bytes. */
const files = (): readonly string[] =>
  readdirSync(join(here.folder, 'src'))
    .sort()
    .map(file => {
      const path = join(here.folder, 'src', file)
      return `${file} ${(statSync(path).mode & 0o777).toString(8)} ${readFileSync(path, 'utf8')}`
    })

/** Claims the task, works, and is killed with its MCP server; then its lease is over. */
async function killed(task: string): Promise<void> {
  const env = { PATH: process.env.PATH, HOME: here.folder }
  const agent = spawn(process.execPath, [AGENT, MAIN, task], {
    cwd: here.folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise(resolve => agent.once('exit', resolve))
  const said = await new Promise<string>((resolve, reject) => {
    let all = ''
    agent.stdout.setEncoding('utf8').on('data', (text: string) => {
      all += text
      if (all.includes('half way') && all.endsWith('\n')) resolve(all)
    })
    agent.once('exit', () => reject(new Error(`the agent ended: ${all}`)))
  })
  const { mcp, said: claimed } = JSON.parse(said.slice('half way '.length)) as { mcp: number; said: string }
  agent.kill('SIGKILL')
  process.kill(mcp, 'SIGKILL')
  await ended
  // It had ten minutes left. Nobody waits for that here: the same claim is given one millisecond.
  const token = /token: (\S+)/.exec(claimed)?.[1] ?? ''
  await here.planfold('claim', '--extend', 'p', task, '--token', token, '--lease', '1ms')
}

test('what it left is listed and kept, and still undone with the task', async () => {
  const task = 'scoped'
  const before = files()
  await killed(task)
  const half = files()

  const next = await here.planfold('next', 'p', task)
  expect(next.stdout).toContain(`was lost: its claim expired (no heartbeat); changed since the claim: ${FOUND[0]}`)
  expect(next.stdout).toContain(`it left ${FOUND.join(', ')}`)
  expect(next.stdout).toContain(`undo them: planfold rollback p --tasks ${task}`)
  expect(files()).toEqual(half)

  // The next agent finds the note and the files, and finishes the work.
  const { token, briefing } = (await here.json('claim', 'p', task, '--as', 'next-agent')) as {
    token: string
    briefing: { earlier: readonly { by: string; how: string; left: unknown }[] }
  }
  expect(briefing.earlier).toMatchObject([{ by: 'dying-agent', how: 'lost', left: { paths: FOUND, more: 0 } }])
  await here.write('src/sum.js', 'export const sum = (a, b) => a + b\n')
  await here.planfold('report', '--status', 'done', 'p', task, '--token', token)

  // All of it is the work of the task: that of both agents.
  expect(await here.planfold('rollback', 'p', '--tasks', task)).toMatchObject({ exit: 0 })
  expect(files()).toEqual(before)
})

test('what it left is rolled back when a person says so, and nothing of it is lost', async () => {
  const before = files()
  await killed('scoped')
  const half = files()

  const rolledBack = await here.planfold('rollback', 'p', '--tasks', 'scoped')
  expect(rolledBack).toMatchObject({ exit: 0, stderr: '' })
  for (const file of FOUND) expect(rolledBack.stdout).toContain(file)
  expect(files()).toEqual(before)

  expect(await here.planfold('undo', 'p')).toMatchObject({ exit: 0 })
  expect(files()).toEqual(half)
  expect((await here.planfold('doctor', 'store')).exit).toBe(0)
})
