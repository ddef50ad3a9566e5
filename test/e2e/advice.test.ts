// What the command line says about a plan and advises to do next: the words are true, and the commands that they name can be run.

import { afterEach, beforeEach, expect, it } from 'vitest'
import { place } from './in-process.fixture.ts'
import type { Place } from './planfold.fixture.ts'

let here: Place
beforeEach(async () => {
  here = await place()
})
afterEach(() => here.remove())

/** Writes a plan under this name, and runs it. */
const runs = async (name: string, text: string, ...options: readonly string[]) => {
  await here.write(`${name}.yaml`, `planfold: 1\nname: ${name}\n${text}`)
  return await here.planfold('run', `${name}.yaml`, ...options)
}

it('a task of one of several unfinished plans is asked for with its plan', async () => {
  const gate = 'tasks: [{ id: review, gate: approval }]\n'
  await runs('one', gate)
  await runs('two', 'tasks: [{ id: other }]\n')
  expect(await here.planfold('approve', 'review')).toEqual({
    exit: 2,
    stdout: '',
    stderr:
      "error: 2 plans are unfinished, and 'review' is a task of one\nhint: write the plan before the task: one review\n",
  })
  expect((await here.planfold('show', 'review')).stderr).toContain('hint: write the plan before the task: one review')
  expect((await here.planfold('approve', 'reviw')).stderr).toContain("error: there is no plan 'reviw'")
  expect((await here.planfold('approve', 'one', 'review')).exit).toBe(0)
  expect((await here.planfold('answer', 'two', 'othre', 'yes')).stderr).toBe(
    "error: plan 'two' has no task or question 'othre'\nhint: planfold inbox lists all questions\n",
  )
})

it('a question without a text asks by its title, and names its fields and how to answer', async () => {
  const said = await runs(
    'ct',
    `tasks:
  - id: q
    title: Where?
    gate:
      type: question
      form: [{ name: region, type: choice, choices: ["eu west", us] }, { name: size, type: number, optional: true }]
`,
  )
  expect(said.stdout).toContain(`
  answer   q asks: Where?
           region (eu west | us)
           size (number, optional)
           planfold answer ct q 'region=eu west'
`)
  expect((await here.planfold('show', 'ct', 'q')).stdout).toContain(
    'q asks: Where?\n  region (eu west | us)\n  size (number, optional)\n',
  )
  const { items } = (await here.json('inbox')) as {
    items: readonly { asks: { question: string }; answers: unknown[] }[]
  }
  expect(items.map(({ asks }) => asks.question)).toEqual(['Where?'])
  expect(items[0]?.answers[0]).toMatchObject({ command: "planfold answer ct q 'region=eu west'" })
  expect((await here.planfold('answer', 'ct', 'q', 'region=eu west')).exit).toBe(0)
})

it('of a plan that waits to be claimed the next step is a claim, after a run as in its status and in converge', async () => {
  const plan =
    'tasks: [{ id: a, run: ["true"], effect: pure }, { id: b, needs: [a] }]\ndone: [{ check: test -f x.txt }]\n'
  const said = await runs('ext', plan)
  expect(said.stdout.trimEnd().split('\n').at(-1)).toBe('  Next: planfold claim ext')
  expect((await here.planfold('status', 'ext')).stdout).toContain('  Next: planfold claim ext\n')
  expect((await here.planfold('converge', 'ext', '--with', 'true')).stdout).toBe(
    'ext is waiting for an agent or a person to claim b. Next: planfold claim ext, then planfold converge ext\n' +
      '  --with is for the tasks that converge adds; it does nothing for this one\n',
  )
  await here.planfold('claim', 'ext')
  expect((await here.planfold('converge', 'ext')).stdout).toBe(
    'ext is waiting for ana@example.com (b). Next: wait for the report; if ana@example.com is gone: planfold release ext b, then planfold converge ext\n',
  )
})

it('a request of a finished plan is refused because the plan is finished, with what can be done', async () => {
  await runs('ok', 'tasks: [{ id: g, gate: approval }]\n')
  await here.planfold('approve', 'ok', 'g')
  for (const hash of [[], ['--hash', '1234'], ['--hash', '0123456789ab']])
    expect(await here.planfold('approve', 'ok', 'g', ...hash)).toEqual({
      exit: 3,
      stdout: '',
      stderr: 'error: cannot answer: the plan is finished (status: completed)\nhint: you can: planfold retry ok TASK\n',
    })
})

it('a task whose time is used up can be run again when there is more, and that is said', async () => {
  const said = await runs('b2', 'policy: { budget: { time: 300ms } }\ntasks: [{ id: a, run: [sleep, "30"] }]\n')
  const add = 'before a retry, allow more time: planfold budget add b2 --time 10m'
  expect(said.stdout).toContain(add)
  expect((await here.planfold('status', 'b2')).stdout).toContain(add)
  expect((await here.planfold('inbox')).stdout).toContain('a retry needs a larger time budget first')
  expect((await here.planfold('budget', 'add', 'b2', '--time', '10m')).exit).toBe(0)
})

it('more budget takes the pause away, and says that the plan must be resumed', async () => {
  await runs(
    'bud',
    'policy: { budget: { attempts: 1 } }\ntasks: [{ id: a, run: ["true"], effect: pure }, { id: b, needs: [a], run: ["true"], effect: pure }]\n',
  )
  expect(await here.planfold('budget', 'add', 'bud', '--attempts', '5')).toEqual({
    exit: 0,
    stdout: 'ana@example.com added 5 attempts to the budget of the plan\nthe plan is no longer paused\n',
    stderr: 'Next: planfold resume bud\n',
  })
})

it('several failed tasks are run again by one command', async () => {
  const said = await runs('q', 'tasks: [{ id: a, run: ["false"] }, { id: b, run: ["false"] }, { id: c, needs: [a] }]\n')
  expect(said.stdout).toContain('  Next: planfold resume q\n')
  await here.planfold('skip', 'q', 'c', '-m', 'no')
  const status = (await here.planfold('status', 'q')).stdout
  expect(status).toContain('  tasks    1/3 done or skipped: 2 failed · 1 skipped\n')
  expect(status).toContain('planfold resume q runs all 2 failed tasks again\n')
})
