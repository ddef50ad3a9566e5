// An agent with nothing but a shell: `next --claim`, `report` and `log --add`, as programs read them.

import { afterEach, beforeEach, expect, it } from 'vitest'
import { newPlace, type Place } from '../../place.fixture.ts'
import { log } from '../plans/log.ts'
import { next } from '../plans/next.ts'
import { run } from '../plans/run.ts'
import { type ReportOptions, report } from './report.ts'

const PLAN = `planfold: 1
name: feature
tasks:
  - id: build
    title: Build it
    write: [src/**]
    inputs: { size: 3 }
    outputs: { tests: { report: number } }
    accept:
      - expect: outputs.tests >= 2
      - the page was looked at
  - { id: later, needs: [build] }
`

let place: Place
beforeEach(async () => {
  place = await newPlace()
  await place.write('plan.yaml', PLAN)
  await place.say(context => run(context, 'plan.yaml', { start: true }))
})
afterEach(() => place.remove())

const json = { json: true } as const
const dataOf = ({ stdout }: { readonly stdout: string }) => JSON.parse(stdout).data
const claimed = async () =>
  dataOf(await place.say(context => next(context, undefined, undefined, { claim: true }), json))
const says = async (options: ReportOptions, words: readonly (string | undefined)[] = []) =>
  await place.say(context => report(context, words[0], words[1], options), json)

it('next --claim answers with the task, its inputs, checks and scope, the token, and what to do next', async () => {
  const { token, ...claim } = await claimed()
  expect(claim).toMatchObject({
    name: 'feature',
    task: 'build',
    expiresInMs: 600_000,
    briefing: { inputs: { size: 3 }, write: ['src/**'], accept: [{ type: 'expect' }, { type: 'prose' }] },
    next: [
      `planfold claim feature build --extend --token ${token}`,
      `planfold report feature build --token ${token} --status done -m 'how you know' --output tests=…`,
      `planfold report feature build --token ${token} --status failed -m 'what went wrong'`,
    ],
  })
  const none = await place.say(context => next(context, undefined, undefined, { claim: true }), json)
  expect(none).toMatchObject({ exit: 'not-ready' })
})

it('report without a task means the one that is claimed; what a check refuses can be mended and reported again', async () => {
  await claimed()
  const low = await says({ status: 'done', output: ['tests=1'], tick: ['2'], message: 'looked at it' })
  expect(low.exit).toBe(1)
  expect(dataOf(low)).toMatchObject({
    task: 'build',
    accepted: false,
    unmet: [{ criterion: 'outputs.tests >= 2' }],
    ticked: ['the page was looked at'],
    next: [expect.stringMatching(/^planfold report feature build --status done --token /)],
  })
  const done = await says({ status: 'done', output: ['tests=2'], message: 'looked at it' })
  expect(done.exit).toBe(0)
  // A person still has to confirm what no command can check.
  expect(dataOf(done)).toMatchObject({ accepted: true, unmet: [], next: [], card: { status: 'waiting' } })
})

it('a tick that means no criterion reports nothing, and says which there are', async () => {
  await claimed()
  for (const tick of ['2 pages were looked at', '3', ''])
    expect(await says({ status: 'done', output: ['tests=2'], tick: [tick] })).toMatchObject({
      exit: 'unknown-reference',
      stderr: `'build' has no acceptance check '${tick}'`,
    })
  expect((await says({ status: 'failed', message: 'no time', retryable: true }, ['feature', 'build'])).exit).toBe(0)
})

it('what does not fit the status, and who has claimed nothing or too much, is told before anything is reported', async () => {
  const messages = async (...all: readonly ReportOptions[]) =>
    await Promise.all(all.map(async options => (await says(options)).stderr))
  expect(
    await messages(
      { status: 'failed' },
      { status: 'failed', message: 'x', outcome: 'y' },
      { status: 'done', mode: 'y' },
      { status: 'done', retryable: true },
      { status: 'done' },
    ),
  ).toEqual([
    'a failure report needs a message',
    '--outcome does not go with --status failed',
    '--mode does not go with --status done',
    '--retryable does not go with --status done',
    'ana@example.com has claimed no task',
  ])
  await place.write('other.yaml', 'planfold: 1\nname: other\ntasks: [{ id: a }, { id: b }]\n')
  await place.say(context => run(context, 'other.yaml', { start: true }))
  for (const task of ['a', 'b']) await place.say(context => next(context, 'other', task, { claim: true }))
  expect((await says({ status: 'done' }, ['other'])).stderr).toMatch(
    /^ana@example.com has claimed 2 tasks: [ab], [ab]$/,
  )
  expect((await says({ status: 'done' }, ['other', 'b'])).exit).toBe(0)
  expect(dataOf(await says({ status: 'done' }, ['other']))).toMatchObject({ task: 'a', accepted: true })
})

it('a claim of somebody else is reported with its token only', async () => {
  const { token } = await claimed()
  const as = (options: ReportOptions) =>
    place.say(context => report(context, 'feature', 'build', options), { ...json, environment: { PLANFOLD_AS: 'bob' } })
  expect(await as({ status: 'done', output: ['tests=2'], message: 'm' })).toMatchObject({ exit: expect.any(String) })
  expect(await as({ status: 'failed', message: 'stuck', token })).toMatchObject({ exit: 0 })
})

it('a note lands in the log', async () => {
  const said = await place.say(
    context => log(context, 'feature', 'build', { add: true, message: 'the API changed' }),
    json,
  )
  expect(dataOf(said).events).toEqual([{ type: 'note.added', text: 'the API changed', task: 'build' }])
})

it('--claim says what it cannot be used with', async () => {
  const said = async (options: Parameters<typeof next>[3]) =>
    (await place.say(context => next(context, undefined, undefined, options))).stderr
  expect(await said({ claim: true, explain: true })).toBe('--claim and --explain cannot be used together')
  expect(await said({ lease: 60_000 })).toBe('--lease needs --claim')
})
