// Budgets through the command line: a plan that has used up what it may use is paused, asks, and goes on with more, losing and
// repeating nothing; a kill in the middle of a call of a model leaves what it reserved spent; when the time is over, nothing lives on.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { type Script, type ScriptedModel, scriptedModel } from '../../src/testing/scripted-model.ts'
import { isRunning } from '../crash/harness.ts'
import { place } from './in-process.fixture.ts'
import { jsonBy, type Place } from './planfold.fixture.ts'

let here: Place
let server: ScriptedModel | null = null
afterEach(async () => {
  await here.remove()
  await server?.close()
  server = null
})

async function withModel(script: Script): Promise<ScriptedModel> {
  server = await scriptedModel(script)
  here = await place(server.environment('sk-not-a-real-key-0123456789'))
  return server
}

const textOf = (file: string): string => readFileSync(join(here.folder, file), 'utf8')

interface Shown {
  readonly status: string
  readonly blocks: readonly {
    readonly task: string | null
    readonly lines: readonly {
      readonly key: string
      readonly spent: number
      readonly reserved: number
      readonly left: number
    }[]
  }[]
  readonly asked: { readonly id: string } | null
}

const budgetOf = async (plan: string): Promise<Shown> => (await here.json('budget', plan)) as Shown
/** By a process of its own: what only looks at the store while another writes cannot be followed by a writer in the same one. */
const budgetSeenApart = async (plan: string): Promise<Shown> =>
  (await jsonBy((...argv) => here.start(...argv).ended)('budget', plan)) as Shown
const line = ({ blocks }: Shown, key: string) => blocks[0]!.lines.find(one => one.key === key)!

describe('attempts', () => {
  test('three tasks with two attempts: it pauses and asks, and goes on where it was', async () => {
    here = await place()
    await here.write(
      'plan.yaml',
      `planfold: 1
name: three
policy:
  budget: { attempts: 2 }
tasks:
  - { id: a, run: "echo a >> log" }
  - { id: b, needs: [a], run: "echo b >> log" }
  - { id: c, needs: [b], run: "echo c >> log" }
`,
    )
    const ran = await here.planfold('run', 'plan.yaml')
    expect(ran.exit).toBe(4)
    expect(ran.stdout).toContain('the plan may use 2 attempts: 2 attempts spent, 1 attempt needed')
    const shown = await budgetOf('three')
    expect(shown).toMatchObject({ status: 'paused', asked: { id: expect.stringMatching(/^more-/) } })
    expect(line(shown, 'attempts')).toMatchObject({ spent: 2, reserved: 0, left: 0 })
    expect((await here.planfold('inbox')).stdout).toContain('more=yes')
    const refused = await here.planfold('resume', 'three')
    expect(refused.exit).toBe(3)
    expect(refused.stderr).toContain('planfold budget add three --attempts 1')
    expect((await here.planfold('budget', 'add', 'three', '--tokens', '5k')).exit).toBe(2)
    expect((await here.planfold('budget', 'add', 'three', '--attempts', '1')).exit).toBe(0)
    expect((await here.planfold('resume', 'three')).exit).toBe(0)
    expect(textOf('log')).toBe('a\nb\nc\n')
    expect((await here.planfold('audit', 'replay', 'three')).exit).toBe(0)
    expect((await here.planfold('doctor', 'store')).exit).toBe(0)
  })
})

describe('a model', () => {
  const plan = (budget: string) => `planfold: 1
name: ask
policy:
  budget: ${budget}
tasks:
  - id: ask
    model: { use: anthropic/claude-opus-4-5, output_tokens: 1000 }
    instruction: What is this?
  - { id: then, needs: [ask], run: [echo, done] }
`
  const answer = { text: 'a test', usage: { input: 100, output: 5, cacheRead: 0 } }

  test('killed with -9 in the middle of a call, it has spent all that was reserved; with more it goes on', async () => {
    const model = await withModel((_, index) => (index === 0 ? { silent: true } : answer))
    // One call can cost a little more than 0.03 USD.
    await here.write('plan.yaml', plan('{ cost: 0.05 USD, calls: 5 }'))
    const running = here.start('run', 'plan.yaml')
    await model.asked(1)
    expect(line(await budgetSeenApart('ask'), 'cost')).toMatchObject({ spent: 0, reserved: expect.closeTo(0.033, 2) })
    running.kill('SIGKILL')
    await running.ended
    expect((await here.planfold('resume', 'ask')).exit).toBe(4)
    expect(model.requests, 'nothing more was sent').toHaveLength(1)
    const cut = await budgetOf('ask')
    const { spent, reserved } = line(cut, 'cost')
    expect([cut.status, reserved]).toEqual(['paused', 0])
    expect(spent).toBeGreaterThan(0.025)
    expect(line(cut, 'calls')).toMatchObject({ spent: 1, reserved: 0, left: 4 })
    expect((await here.planfold('budget', 'add', 'ask', '--cost', '0.05 USD')).exit).toBe(0)
    expect((await here.planfold('resume', 'ask')).exit).toBe(0)
    expect(model.requests).toHaveLength(2)
    const done = await budgetOf('ask')
    expect(line(done, 'cost').spent).toBeCloseTo(spent + (100 * 5 + 5 * 25) / 1e6, 9)
    expect(line(done, 'calls')).toMatchObject({ spent: 2, reserved: 0 })
    expect((await here.planfold('audit', 'replay', 'ask')).exit).toBe(0)
  })

  test('whose price is not known is not asked before a person agrees', async () => {
    const model = await withModel([answer])
    await here.write('plan.yaml', plan('{ cost: 1 USD }').replace('claude-opus-4-5', 'scripted'))
    expect((await here.planfold('run', 'plan.yaml')).exit).toBe(4)
    expect(model.requests).toHaveLength(0)
    const { asked } = await budgetOf('ask')
    expect((await here.planfold('answer', 'ask', asked!.id, 'more=yes')).exit).toBe(0)
    expect((await here.planfold('resume', 'ask')).exit).toBe(0)
    expect(model.requests).toHaveLength(1)
  })

  test('with `exceeded: fail` the task fails, and nothing is sent', async () => {
    const model = await withModel([answer])
    await here.write('plan.yaml', plan('{ cost: 0.001 USD, exceeded: fail }'))
    const ran = await here.planfold('run', 'plan.yaml')
    expect(ran.exit).toBe(1)
    expect(ran.stdout).toContain('the budget is used up')
    expect(model.requests).toHaveLength(0)
  })
})

describe('attempts to spend more than there is (A100)', () => {
  const many = (budget: string, more = '') => `planfold: 1
name: many
policy:
  budget: ${budget}
concurrency: 6
tasks:
  - id: ask
    for_each: [1, 2, 3, 4, 5, 6]
    model: { use: anthropic/claude-opus-4-5, output_tokens: 1000 }
    instruction: "What is \${{ item }}?"
${more}`
  const answer = { text: 'a number', usage: { input: 100, output: 5, cacheRead: 0 } }

  test('by many tasks at once: as many calls are sent as were allowed, and with more each is sent once', async () => {
    const model = await withModel([answer])
    await here.write('plan.yaml', many('{ calls: 3 }'))
    expect((await here.planfold('run', 'plan.yaml')).exit).toBe(4)
    expect(model.requests).toHaveLength(3)
    expect(line(await budgetOf('many'), 'calls')).toMatchObject({ spent: 3, reserved: 0, left: 0 })
    await here.planfold('budget', 'add', 'many', '--calls', '3')
    expect((await here.planfold('resume', 'many')).exit).toBe(0)
    const asked = model.requests.map(({ messages }) => messages.at(-1)?.text).sort()
    expect(asked).toEqual([1, 2, 3, 4, 5, 6].map(item => `What is ${item}?`))
  })

  test('by retries: all attempts of all tasks share it', async () => {
    const model = await withModel([{ text: '' }])
    await here.write('plan.yaml', many('{ calls: 4 }', '    retry: { attempts: 9, backoff: 1ms }\n'))
    expect((await here.planfold('run', 'plan.yaml')).exit).toBe(4)
    expect(model.requests.length).toBeLessThanOrEqual(4)
  })

  test('by a provider that counts nothing: what was reserved is spent', async () => {
    const model = await withModel([{ text: 'a number', usage: { input: 0, output: 0, cacheRead: 0 } }])
    await here.write('plan.yaml', many('{ cost: 0.1 USD }'))
    expect((await here.planfold('run', 'plan.yaml')).exit).toBe(4)
    // Each call can cost a little more than 0.03 USD.
    expect(model.requests.length).toBeLessThanOrEqual(3)
    expect(line(await budgetOf('many'), 'cost').spent).toBeGreaterThan(0.06)
  })
})

describe('a plan that is run by a task of another', () => {
  test('is paid for by both', async () => {
    const model = await withModel([{ text: 'a test', usage: { input: 100, output: 5, cacheRead: 0 } }])
    const program = join(import.meta.dirname, '../../dist/cli/main.js')
    await here.write(
      'inner.yaml',
      `planfold: 1
name: inner
tasks:
  - id: ask
    model: { use: anthropic/claude-opus-4-5, output_tokens: 1000 }
    instruction: What is this?
`,
    )
    await here.write(
      'outer.yaml',
      `planfold: 1
name: outer
policy:
  budget: { cost: 1 USD, calls: 5 }
tasks:
  - id: both
    effect: pure
    env: ${JSON.stringify(Object.fromEntries(Object.entries(model.environment('sk-not-a-real-key-0123456789')).filter(([name]) => !name.startsWith('PLANFOLD_'))))}
    run: [${JSON.stringify(process.execPath)}, ${JSON.stringify(program)}, run, inner.yaml]
`,
    )
    const ran = await here.planfold('run', 'outer.yaml')
    expect([ran.exit, ran.exit === 0 ? '' : ran.stdout]).toEqual([0, ''])
    expect(model.requests).toHaveLength(1)
    const shown = await budgetOf('outer')
    expect(line(shown, 'calls')).toMatchObject({ spent: 1, reserved: 0 })
    expect(line(shown, 'cost').spent).toBeCloseTo((100 * 5 + 5 * 25) / 1e6, 9)
  })
})

describe('time', () => {
  test('two seconds after its end no process of the plan is alive, whatever it does about it', async () => {
    here = await place()
    // Counted in beats of 50 ms: on a busy machine they come later, as everything else does.
    const beat = `trap '' TERM INT HUP; echo $$ > $1.pid; while :; do echo beat >> $1; sleep 0.05; done`
    await here.write('beat.sh', beat)
    await here.write(
      'plan.yaml',
      `planfold: 1
name: long
policy:
  budget: { time: 1s }
tasks:
  - { id: long, run: "sh beat.sh forked & setsid sh beat.sh apart & sh beat.sh own", effect: pure }
`,
    )
    expect((await here.planfold('run', 'plan.yaml')).exit).toBe(4)
    for (const name of ['own', 'forked', 'apart']) {
      expect(isRunning(Number(textOf(`${name}.pid`))), name).toBe(false)
      expect(textOf(name).split('\n').length, name).toBeLessThan(3_000 / 50)
    }
    const shown = await budgetOf('long')
    expect(shown).toMatchObject({ status: 'paused', asked: { id: expect.any(String) } })
    expect(line(shown, 'timeMs').spent, 'it had its time').toBeGreaterThanOrEqual(1_000)
  })
})
