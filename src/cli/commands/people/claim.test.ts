// `planfold retry` of work that is completed: the engine refuses to do something unsafe twice, the person at the terminal may say that
// it is meant, and `--repeat` says so without one.

import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Context, Terminal } from '../../context.ts'
import { newPlace, type Place, type Said } from '../../place.fixture.ts'
import { run } from '../plans/run.ts'
import { approve } from './approve.ts'
import { retry } from './claim.ts'
import { report } from './report.ts'

let place: Place
beforeEach(async () => {
  place = await newPlace()
  await place.write('plan.yaml', 'planfold: 1\nname: p\ntasks:\n  - { id: mail, run: echo sent >> sent.txt }\n')
  const done = await place.say(context => run(context, 'plan.yaml', { start: true }))
  expect(done).toMatchObject({ exit: 0 })
})
afterEach(() => place.remove())

/** Somebody who presses one key when they are asked. */
function pressing(key: string, released: string[] = []): Terminal {
  return {
    columns: () => 80,
    rows: () => 24,
    onResize: () => () => {},
    onKey: listener => {
      setImmediate(listener, key)
      return () => released.push('keys')
    },
  }
}
const says = (body: (context: Context) => Promise<number>): Promise<Said> => place.say(body)
const REFUSED = "'mail' is completed and would be done a second time; its effect is unsafe to repeat"

it('is refused without a terminal, with the words that say it is meant', async () => {
  const said = await says(context => retry(context, 'p', 'mail', {}))
  expect(said).toMatchObject({ exit: 'not-ready' })
  expect(said.stderr).toContain(REFUSED)
  expect((await says(context => retry(context, 'p', 'mail', { repeat: true }))).stdout).toContain('ready: mail')
})

it('asks on a terminal: y does it again, anything else leaves it', async () => {
  const released: string[] = []
  for (const key of ['n', '\r', '\u001b', 'x']) {
    const said = await says(context => retry({ ...context, terminal: pressing(key, released) }, 'p', 'mail', {}))
    expect(said).toMatchObject({ exit: 'not-ready', stdout: '' })
    expect(said.stderr).toContain(`${REFUSED}. Do it again? [y/N] no`)
  }
  const yes = await says(context => retry({ ...context, terminal: pressing('y', released) }, 'p', 'mail', {}))
  expect(yes).toMatchObject({ exit: 0 })
  expect(yes.stdout).toContain('ready: mail')
  // The terminal is a person's again, each time.
  expect(released).toHaveLength(5)
})

it('asks nobody where a program reads', async () => {
  const settings = { json: true, quiet: false, color: false }
  const said = await says(context => retry({ ...context, settings, terminal: pressing('y') }, 'p', 'mail', {}))
  expect(said.exit).toBe('not-ready')
})

it('approving a question names the command that answers it', async () => {
  const question = 'gate: { type: question, question: which?, form: [{ name: size }, { name: colour }] }'
  await place.write('q.yaml', `planfold: 1\nname: q\ntasks:\n  - { id: ask, ${question} }\n`)
  await says(context => run(context, 'q.yaml', { start: true }))
  const said = await says(context => approve(context, 'q', 'ask', {}))
  expect(said.stderr).toContain("this does not answer 'ask', which waits for an answer, not for approval")
  const { CliError } = await import('../../exit.ts')
  const complaint = await says(async context => {
    try {
      return await approve(context, 'q', 'ask', {})
    } catch (error) {
      if (error instanceof CliError) context.stdout.write(error.hint ?? '')
      throw error
    }
  })
  expect(complaint.stdout).toBe('answer it: `planfold answer q ask size=… colour=…`')
})

it('a failure with undo steps names the command that runs them', async () => {
  await place.write(
    'u.yaml',
    'planfold: 1\nname: u\ntasks:\n  - { id: up, run: echo up, effect: idempotent, compensate: { run: echo down } }\n  - { id: ext, needs: [up] }\n',
  )
  await place.say(context => run(context, 'u.yaml', { start: true }))
  const said = await place.say(context => report(context, 'u', 'ext', { status: 'failed', message: 'nope' }))
  expect(said.stderr).toContain('Next: planfold resume u')
  const refused = await place.say(context => retry(context, 'u', 'ext', {}))
  expect(refused.stderr).toContain('the plan failed and its undo steps have not ended')
})
