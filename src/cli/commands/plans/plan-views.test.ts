// Looking at plans as people do: after the only one has ended, while everything is halted, with titles, reasons and filters.

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { evolve } from '../../../domain/state/evolve.ts'
import { newState } from '../../../domain/state/fold.ts'
import { standing } from '../../../safety/sandbox/needs-sandbox.fixture.ts'
import { withDir } from '../../answer.ts'
import { type Context, withState } from '../../context.ts'
import { newPlace, type Place } from '../../place.fixture.ts'
import { choose } from '../people/answer.ts'
import { reject } from '../people/approve.ts'
import { showBudget } from '../policy/budget.ts'
import { handoff } from '../records/handoff.ts'
import { names } from '../upkeep/completion.ts'
import { prune } from '../upkeep/prune.ts'
import { graph } from './graph.ts'
import { list } from './list.ts'
import { log } from './log.ts'
import { next } from './next.ts'
import { halt, pause } from './pause.ts'
import { run } from './run.ts'
import { show } from './show.ts'
import { status } from './status.ts'
import { validate } from './validate.ts'

let place: Place
beforeEach(async () => {
  place = await newPlace()
})
afterEach(async () => await place.remove())

const text = async (body: (context: Context) => Promise<number>): Promise<string> => (await place.say(body)).stdout
const data = async (body: (context: Context) => Promise<number>) =>
  JSON.parse((await place.say(body, { json: true })).stdout).data

async function ran(document: string, file = 'plan.yaml'): Promise<void> {
  await place.write(file, document)
  await place.say(context => run(context, file, { start: true }))
}

const DONE = `planfold: 1
name: hello
tasks:
  - { id: greet, title: Say it, run: [echo, Hello there], effect: pure }
`
const FAILS = `planfold: 1
name: broken
tasks:
  - { id: build, title: Build it all, run: [sh, -c, "echo It BROKE; exit 3"], effect: pure }
  - { id: ship, title: Ship it, needs: [build], run: [echo, shipped], effect: pure }
`
const CHOICE = `planfold: 1
name: shop
tasks:
  - id: db
    title: Where do the data live?
    rationale: Everything else depends on it
    gate:
      type: decision
      options:
        - { id: postgres, title: PostgreSQL, pros: [solid], cons: [heavy], cost: 20 USD a month }
        - { id: sqlite, pros: [small] }
  - { id: use, needs: [db], run: [echo, used], effect: pure, estimate: 5m, budget: { cost: 2 USD, attempts: 3 } }
`

test('goals and notes with several lines are shown in lines, tabs as tabs, and neither can pass for a line of ours', async () => {
  await ran(
    'planfold: 1\nname: wordy\ngoal: "first\\n✔ second"\ntasks:\n  - { id: say, run: [printf, "a\\tb"], effect: pure }\n',
  )
  await place.say(context => log(context, 'wordy', undefined, { add: true, message: 'one\n   9 two\u001b[1A' }))
  expect(await text(context => show(context, 'wordy', undefined))).toContain('\n  first\n    ✔ second\n')
  const logged = await text(context => log(context, 'wordy', undefined, {}))
  expect(logged).toContain(` one\n${' '.repeat(25)}   9 two\\u{1b}[1A [`)
  expect(await text(context => log(context, 'wordy', 'say', { output: true }))).toContain('a\tb')
})

describe('a plan that is not named', () => {
  test('is the only one there is, once it has ended', async () => {
    await ran(DONE)
    expect(await text(context => show(context, undefined, undefined))).toContain('hello completed')
    expect(await text(context => show(context, 'greet', undefined))).toContain('greet completed')
    expect(await text(context => graph(context, undefined, {}))).toContain('greet')
    expect(await text(context => log(context, undefined, undefined, {}))).toContain('plan hello created with 1 task')
    const said = await text(context => status(context, undefined))
    expect(said).toMatch(/^no unfinished plan; the last one finished .*:\n✔ hello completed\n/)
  })

  test('must be named where several have ended', async () => {
    await ran(DONE)
    await ran(DONE.replace('name: hello', 'name: again'), 'again.yaml')
    expect(await place.say(context => show(context, undefined, undefined))).toMatchObject({
      exit: 'usage',
      stderr: expect.stringContaining('no unfinished plan, and 2 finished ones: '),
    })
  })
})

describe('words', () => {
  test('titles stay where there is a reason', async () => {
    await ran(FAILS)
    const lines = (await text(context => show(context, 'broken', undefined))).split('\n')
    const at = lines.findIndex(line => line.startsWith('build'))
    expect(lines[at]).toMatch(/failed .*Build it all$/)
    expect(lines[at + 1]).toMatch(/^ {4}.*3/)
    expect(lines.find(line => line.startsWith('ship'))).toMatch(/Ship it$/)
    expect(await text(context => graph(context, 'broken', {}))).toMatch(/build Build it all/)
    const { nodes } = await data(context => graph(context, 'broken', {}))
    expect(nodes[0]).toMatchObject({ name: 'build', title: 'Build it all' })
  })

  test('a plan waits for a person, a task is blocked', async () => {
    await ran(CHOICE)
    expect(await text(context => status(context, 'shop'))).toMatch(/^◆ shop waiting for a decision \(db\)/)
    expect(await text(context => list(context, {}))).toMatch(/shop +waiting/)
    expect(await text(context => list(context, { status: 'waiting' }))).toContain('shop')
    // Programs read the status as it is.
    expect((await data(context => list(context, {}))).items[0].status).toBe('blocked')
    await ran(FAILS)
    expect(await text(context => show(context, 'broken', undefined))).not.toContain('waiting')
  })

  test('every view counts the same tasks', async () => {
    await ran(`planfold: 1
name: wide
done: [{ check: ["true"] }]
tasks:
  - { id: each, matrix: { os: [linux, mac] }, run: [echo, hi], effect: pure }
`)
    // The task, its two children, and the definition of done.
    expect(await text(context => log(context, 'wide', undefined, {}))).toContain('created with 4 tasks')
    expect(await text(context => status(context, 'wide'))).toContain('tasks    4/4 done: 4 completed')
    expect(await text(context => list(context, {}))).toMatch(/wide +completed +4\/4/)
    expect((await data(context => show(context, 'wide', undefined))).tasks).toHaveLength(4)
    expect(await text(context => handoff(context, 'wide', {}))).toContain('4 tasks: 4 completed')
    expect(await text(context => validate(context, ['plan.yaml']))).toContain('with 3 tasks and a definition of done')
  })

  test('of one task: why, and its options with what speaks for and against them', async () => {
    await ran(CHOICE)
    const db = await text(context => show(context, 'shop', 'db'))
    expect(db).toContain('why      Everything else depends on it')
    expect(db).toContain('option   postgres: PostgreSQL; + solid; - heavy; costs 20 USD a month')
    const use = await text(context => show(context, 'shop', 'use'))
    expect(use).toMatch(/estimate 5m/)
    expect(use).toContain('budget   at most 2 USD, 3 attempts')
  })
})

describe('choose without an option', () => {
  test('lists them, and says how', async () => {
    await ran(CHOICE)
    for (const words of [['shop', 'db'], ['db']]) {
      const said = await place.say(context => choose(context, words, {}))
      expect(said, words.join(' ')).toEqual({
        exit: 0,
        stdout: "options of 'db':\n  postgres: PostgreSQL; + solid; - heavy; costs 20 USD a month\n  sqlite: + small\n",
        stderr: "Next: planfold answer shop db postgres -m 'why'\n",
      })
    }
    expect((await data(context => choose(context, ['db'], {}))).options).toMatchObject([
      { id: 'postgres' },
      { id: 'sqlite' },
    ])
    expect(await place.say(context => choose(context, ['shop', 'use'], {}))).toMatchObject({
      exit: 'illegal-transition',
    })
    expect((await place.say(context => choose(context, ['db', 'sqlite'], {}))).exit).toBe(0)
  })
})

describe('log', () => {
  test('is narrowed by text, by time and to what failed', async () => {
    await ran(FAILS)
    const failed = await text(context => log(context, 'broken', undefined, { failed: true }))
    expect(failed).toMatch(/build failed/)
    expect(failed).toMatch(/plan failed/)
    expect(failed).not.toMatch(/started/)
    const found = await data(context => log(context, 'broken', undefined, { grep: 'BUILD STARTED' }))
    expect(found.items.map(({ text: said }: { text: string }) => said)).toEqual(['build started'])
    expect(await text(context => log(context, 'broken', undefined, { since: { at: Date.now() + 60_000 } }))).toBe('')
    expect(await text(context => log(context, 'broken', undefined, { since: { agoMs: 60_000 } }))).toContain(
      'plan started',
    )
    expect(await text(context => log(context, 'broken', 'build', { output: true, grep: 'it broke' }))).toMatch(
      /(?:^|\n)It BROKE\n$/,
    )
    expect(await place.say(context => log(context, 'broken', undefined, { output: true, failed: true }))).toMatchObject(
      {
        exit: 'usage',
      },
    )
  })
})

describe('list', () => {
  test('hides archived plans, unless they are asked for', async () => {
    await ran(DONE)
    await place.say(context => prune(context, { before: 86_400_000, archive: true }))
    expect(await text(context => list(context, {}))).toContain('hello')
    const { plan } = await data(async context => await show(context, 'hello', undefined)).then(({ summary }) => ({
      plan: summary.id,
    }))
    expect(
      (
        await place.say(async context => {
          const composed = await context.openState({
            cwd: context.cwd,
            environment: context.environment,
            create: false,
          })
          const done = await composed.engine.submit(plan, { type: 'archive' })
          await composed.close()
          return done.ok ? 0 : 1
        })
      ).exit,
    ).toBe(0)
    const said = await place.say(context => list(context, {}))
    expect(said.stdout).toBe('no plans\n')
    expect(said.stderr).toContain('planfold list --archived')
    expect(await text(context => list(context, { archived: true }))).toMatch(/hello +completed, archived/)
    expect(await text(context => list(context, { all: true }))).toContain('hello')
  })
})

describe('status while everything is halted', () => {
  test('says so, and by whom, and not how to lift it', async () => {
    await ran(CHOICE)
    await place.say(context => halt(context, { message: 'it drops tables' }))
    for (const word of [undefined, 'shop']) {
      const said = await text(context => status(context, word))
      expect(said).toMatch(
        /^‖ all plans are halted by ana@example.com .*: it drops tables; nothing starts until a person lifts the halt/,
      )
      // Nothing goes on now, so nothing is said to.
      expect(said).not.toMatch(/--lift|planfold resume/)
    }
    expect((await data(context => status(context, 'shop'))).halted).toMatchObject({ reason: 'it drops tables' })
    await place.say(context => halt(context, { lift: true }))
    expect(await text(context => status(context, 'shop'))).not.toContain('everything is halted')
  })

  test('once it is lifted, nothing is said to be halted', async () => {
    await ran(CHOICE)
    await place.say(context => halt(context, { message: 'it drops tables' }))
    const agent = { json: true, environment: { CLAUDECODE: '1' } }
    const lifting = place.say(context => halt(context, { lift: true }), agent)
    await expect(lifting).rejects.toThrow('a coding agent may not administer')
    expect(await place.say(context => halt(context, { lift: true }))).toMatchObject({ exit: 0 })
    expect(await text(context => status(context, 'shop'))).toMatch(/^‖ shop paused \(the halt is lifted\)\n/)
    expect(await text(context => show(context, 'shop', undefined))).not.toContain('halted by')
  })
})

describe('a plan that a person paused by force', () => {
  test('was not halted, whatever the reason says; one of an old journal was', async () => {
    await ran(CHOICE)
    await place.say(context => pause(context, 'shop', { force: true, message: 'halted by mistake' }))
    expect(await text(context => status(context, 'shop'))).toMatch(/^‖ shop paused \(halted by mistake\)\n/)
    const old = { type: 'plan.paused', reason: 'halted by bo', force: true } as const
    const state = newState()
    evolve(state, old, 0)
    expect(state.byHalt).toBe(true)
    evolve(state, { ...old, halt: false }, 0)
    expect(state.byHalt).toBe(false)
  })
})

describe('what is said of a plan', () => {
  test('is said in the same words by status and budget', async () => {
    await ran(CHOICE)
    expect(await text(context => status(context, 'shop'))).toContain('shop waiting for a decision (db)\n')
    expect(await text(context => showBudget(context, 'shop'))).toMatch(/^shop: waiting for a decision \(db\)\n/)
  })

  test('of a draft: how to start it', async () => {
    await place.write('plan.yaml', DONE)
    await place.say(context => run(context, 'plan.yaml', { start: false }))
    const said = await text(context => next(context, 'hello', undefined, {}))
    expect(said).toBe("'greet' waits: the plan is not started\nNext: planfold run hello\n")
  })

  test('is not said twice where its title is its goal', async () => {
    await ran(DONE.replace('tasks:', 'title: Say hello\ngoal: Say hello\ntasks:'))
    expect((await text(context => show(context, 'hello', undefined))).match(/Say hello/g)).toHaveLength(1)
  })

  test('of a failed task that is optional: that it is', async () => {
    await ran('planfold: 1\nname: o\ntasks: [{ id: opt, run: ["false"], effect: pure, optional: true }]\n')
    expect(await text(context => status(context, 'o'))).toContain('  failed   opt (optional): exit 1\n')
  })

  test('why a gate failed is said, also where no reason was given', async () => {
    await ran('planfold: 1\nname: sk\ntasks: [{ id: c, gate: approval }]\n')
    await place.say(context => reject(context, 'sk', 'c', {}))
    expect(await text(context => show(context, 'sk', 'c'))).toContain('  reason   rejected, no reason given\n')
  })
})

describe('names for the shell', () => {
  test('are plans, tasks and checkpoints; where nothing is, nothing', async () => {
    expect(await place.say(context => names(context, 'plan', undefined))).toEqual({ exit: 0, stdout: '', stderr: '' })
    await ran(CHOICE)
    await ran(DONE, 'hello.yaml')
    const lines = async (...[kind, plan]: Parameters<typeof names> extends [unknown, ...infer R] ? R : never) =>
      (await text(context => names(context, kind, plan))).trim().split('\n')
    expect((await lines('plan', undefined)).toSorted()).toEqual(['hello', 'shop'])
    expect(await lines('task', 'shop')).toEqual(['db', 'use'])
    // One plan is open: its tasks can be named without it.
    expect((await lines('target', undefined)).toSorted()).toEqual(['db', 'hello', 'shop', 'use'])
    expect(await lines('checkpoint', 'hello')).toEqual([expect.stringMatching(/^cp-greet-/)])
    expect(await lines('where', 'hello')).toEqual(['greet', expect.stringMatching(/^cp-greet-/)])
  })
})

test('commands that are named lead to the state folder that was told', () => {
  const settings = { json: false, quiet: false, color: false, dir: "a b's" }
  expect(withDir({ settings }, 'planfold resume x')).toBe("planfold --dir 'a b'\\''s' resume x")
  expect(withDir({ settings: { json: false, quiet: false, color: false } }, 'planfold resume x')).toBe(
    'planfold resume x',
  )
})

test('a task is shown with its command, also when it has ended, and nothing in it hides', async () => {
  const hidden = `true${' '.repeat(4000)}; echo \u202egnp`
  await ran(`planfold: 1
name: shown
tasks:
  - { id: long, run: [sh, -c, ${JSON.stringify(hidden)}] }
`)
  expect(await text(context => show(context, 'shown', 'long'))).toContain(
    "it runs, as it is written:\n  sh -c 'true ⟨4000 spaces⟩ ; echo \\u{202e}gnp'\n",
  )
})

test('a write scope of a command is said as it is enforced; what it changed elsewhere is told where all files are compared', async () => {
  await ran(`planfold: 1
name: scoped
tasks:
  - { id: stray, write: [dist/**], run: "mkdir -p dist; echo a > dist/a; echo b > other.txt" }
  - { id: bare, needs: [stray], write: [dist/**], network: [], run: "echo b > dist/b" }
`)
  expect(await text(context => log(context, 'scoped', undefined, {}))).toContain(
    'outside its write scope other.txt changed while it ran',
  )
  expect(await text(context => show(context, 'scoped', 'bare'))).toMatch(
    standing.ok ? /only in dist\/\*\*\n/ : /only in dist\/\*\* \(declared, not enforced\)\n/,
  )
})

test('what a plan was made in is shown in short, and whole when asked', async () => {
  const definition = { name: 'p' as never, tasks: [{ id: 'a' as never, action: { type: 'external' } as const }] }
  const conversation = `ana: ${'we agreed on this '.repeat(40)}\u001b[2J the end`
  await place.say(context =>
    withState(context, { create: true }, async ({ engine }) => {
      const context = { files: ['a.ts', 'b.ts'], constraints: ['no new dependency'], conversation }
      return (await engine.submit(null, { type: 'create', definition, context })).ok ? 0 : 1
    }),
  )
  const short = await text(context => show(context, 'p', undefined, {}))
  expect(short).toContain('  files        a.ts, b.ts\n  constraint   no new dependency\n  conversation ana: we agreed')
  expect(short).not.toContain('the end')
  const whole = await text(context => show(context, 'p', undefined, { all: true }))
  expect([whole.includes('the end'), whole.includes('\u001b')]).toEqual([true, false])
  expect((await data(context => show(context, 'p', undefined, {}))).context).toMatchObject({
    files: ['a.ts', 'b.ts'],
    conversation,
  })
})

test('the steps of a task: none is said, and a plan has none', async () => {
  await ran(DONE)
  expect(await text(context => show(context, 'hello', 'greet', { steps: true }))).toBe(
    'greet: no steps are on record; only agents that Planfold starts report them\n',
  )
  expect(await place.say(context => show(context, 'hello', undefined, { steps: true }))).toMatchObject({
    exit: 'usage',
  })
})
