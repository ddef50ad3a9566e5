// Goals on the command line: split into sub-goals with a draft for each, looked at, gone on with; and draftings that are replayed.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { revise } from '../../../cli/commands/revisions/revise.ts'
import type { Context } from '../../../cli/context.ts'
import { newPlace, type Place, type Said } from '../../../cli/place.fixture.ts'
import { typing } from '../../../cli/terminal/typing.fixture.ts'
import { type ScriptedModel, scriptedModel } from '../../../testing/scripted-model.ts'
import { goals } from './goals.ts'
import { type PlanOptions, plan } from './plan.ts'

let place: Place
beforeEach(async () => {
  place = await newPlace()
  await place.write('greet.sh', 'greet() { echo "hello $1"; }\n')
  await place.write('Makefile', 'test:\n\tsh greet.sh\n')
})
afterEach(async () => await place.remove())

const GOAL = 'Rename `greet` to `salute`. Add an option `--loud` to greet.sh. Do not touch the Makefile.'
const ID = 'rename-greet-to-salute-add-an-option-loud-to'

const say = (act: (context: Context) => Promise<number>, environment = {}) =>
  place.say(act, { json: true, environment })
const planned = (words: readonly string[], options: PlanOptions, environment = {}) =>
  say(context => plan(context, words, options), environment)
const shown = (id?: string) => say(context => goals(context, id, {}))
// biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came.
const dataOf = ({ stdout }: Said): any => JSON.parse(stdout).data

test('a goal of several wishes becomes sub-goals, each with a draft; asked again, nothing is made twice', async () => {
  const { goal, parts } = dataOf(await planned([GOAL], { split: true }))
  expect(goal).toBe(ID)
  expect(parts).toMatchObject([
    {
      goal: `${ID}.1`,
      title: 'Rename `greet` to `salute`',
      name: 'rename-greet-to-salute',
      made: true,
      kind: 'rename',
    },
    { goal: `${ID}.2`, title: 'Add an option `--loud` to greet.sh', status: 'draft', made: true },
  ])
  const again = dataOf(await planned([], { goal: ID }))
  expect(again.parts.map(({ plan: id, made }: { plan: string; made: boolean }) => [id, made])).toEqual(
    parts.map(({ plan: id }: { plan: string }) => [id, false]),
  )
  const view = dataOf(await shown(ID))
  expect(view).toMatchObject({
    progress: { goals: 2, plans: { draft: 2 }, ratio: 0 },
    children: [
      { id: `${ID}.1`, criteria: ['Do not touch the Makefile.'], plans: [{ name: 'rename-greet-to-salute' }] },
      { id: `${ID}.2`, plans: [{ status: 'draft' }] },
    ],
  })
  expect(dataOf(await shown()).goals.map(({ id }: { id: string }) => id)).toEqual([ID])
  const text = await place.say(context => goals(context, ID, {}))
  expect(text.stdout).toContain('  plan rename-greet-to-salute (draft)')
})

test('one wish is planned as it is; a dry run keeps nothing; what cannot be is refused', async () => {
  const dry = dataOf(await planned([GOAL], { split: true, dryRun: true }))
  expect(dry).toMatchObject({ goal: null, parts: [{ plan: null, status: 'proposed' }, { plan: null }] })
  expect(existsSync(join(place.folder, '.planfold'))).toBe(false)
  const one = dataOf(await planned(['Rename `greet` to `salute`'], { split: true }))
  expect(one).toMatchObject({ goal: 'rename-greet-to-salute', parts: [{ goal: 'rename-greet-to-salute', made: true }] })
  const complaint = async (words: readonly string[], options: PlanOptions) =>
    (await place.say(context => plan(context, words, options))).stderr
  expect(await complaint([], { goal: 'nowhere' })).toContain("there is no goal 'nowhere'")
  expect(await complaint([GOAL], { split: true, yes: true })).toContain('several plans cannot be approved at once')
  expect(await complaint([GOAL], { goal: ID })).toContain('a goal and --goal cannot be used together')
  expect(await complaint([GOAL], { planner: 'agent' })).toContain('the planner needs the name of an agent')
})

const TASK = {
  id: 'greet-twice',
  title: 'Greet a second name',
  why: 'The goal asks for it.',
  kind: 'implement',
  how: 'work',
  instruction: 'Let greet take a second name.',
  write: ['greet.sh'],
  accept: [{ text: 'the tests pass', command: ['make', 'test'] }],
}
const DRAFT = { title: 'A second name', rationale: 'Small.', tasks: [TASK], done: [{ text: 'the tests pass' }] }
const ASKS = { question: 'Which name is first?', why: 'the order', answeredBy: 'person' }
const intake = (...unknowns: readonly object[]) => ({ objective: 'Two names.', done: [{ text: 'it works' }], unknowns })
const FINE = { problems: [] }

async function scripted(...answers: readonly object[]): Promise<ScriptedModel> {
  const server = await scriptedModel(answers.map(one => ({ text: JSON.stringify(one) })))
  onTestFinished(() => server.close())
  return server
}
const MODEL = { model: 'local/scripted' }

test('a model splits the goal too; too many or empty wishes are sent back, and its caps hold', async () => {
  const none = { wishes: [] }
  const two = {
    wishes: [
      { title: 'Greet two', why: 'x', criteria: ['in order'] },
      { title: 'Count them', why: 'y' },
    ],
  }
  const each = [intake(), DRAFT, FINE]
  const server = await scripted(none, two, ...each, ...each)
  const { parts } = dataOf(
    await planned(['Greet two people and count'], { split: true, ...MODEL }, server.environment()),
  )
  expect(parts).toMatchObject([
    { title: 'Greet two', name: 'a-second-name', tasks: expect.arrayContaining(['greet-twice', 'review']) },
    { title: 'Count them', name: 'a-second-name-2' },
  ])
  expect(server.requests[1]?.messages.at(-1)?.text).toContain('wishes has 0 items')
  expect(server.requests[2]?.messages[0]?.text).toContain('Greet two\nin order')
  expect(server.requests).toHaveLength(8)
  const stubborn = await scripted(none)
  const failed = await planned(['Greet two people and count'], { split: true, ...MODEL }, stubborn.environment())
  expect(failed.exit).toBe('model:malformed')
  expect(stubborn.requests).toHaveLength(3)
})

test('a recorded drafting is replayed without a request, and the same plan comes out, also after comments and edits', async () => {
  const next = { ...DRAFT, tasks: [{ ...TASK, title: 'Greet both' }] }
  const server = await scripted(intake(ASKS), DRAFT, FINE, intake(), next, FINE)
  const typed = 'the older\rcgreet-twice: say both\r\rq'
  const act = (context: Context) => plan({ ...context, terminal: typing(typed) }, ['Support a second name'], MODEL)
  const drafted = await place.say(act, { environment: server.environment() })
  expect(drafted.stdout).toContain('Greet both')
  await server.close()
  const replayed = dataOf(await planned([], { replay: 'a-second-name' }))
  expect(replayed).toMatchObject({ same: true, requests: 0, exchanges: 3, revision: 2, model: 'local/scripted' })
  expect(server.requests).toHaveLength(6)
  await place.say(context => revise(context, 'a-second-name', undefined, { message: 'no', remove: 'review' }))
  expect(dataOf(await planned([], { replay: 'a-second-name' }))).toMatchObject({ same: true, revision: 2 })
  await place.write('greet.sh', 'greet() { echo "bye $1"; }\n')
  const changed = await place.say(context => plan(context, [], { replay: 'a-second-name' }))
  expect(changed.exit).toBe('model:not-recorded')
  expect(changed.stderr).toContain("'a-second-name' could not be drafted again")
})

test('a plan that no model drafted has nothing to replay', async () => {
  await planned(['Rename `greet` to `salute`'], {})
  const said = await place.say(context => plan(context, [], { replay: 'rename-greet-to-salute' }))
  expect(said.stderr).toContain("'rename-greet-to-salute' has no recording")
})
