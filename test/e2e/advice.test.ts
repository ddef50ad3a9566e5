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
