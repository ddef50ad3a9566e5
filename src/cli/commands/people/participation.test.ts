// Taking part in a plan: whoever claims a task learns what to do, names how it failed, and finds what a revision removed.

import { beforeEach, describe, expect, it } from 'vitest'
import { extraCommands } from '../../../extras.ts'
import { eachPlace, type Place, type Said } from '../../place.fixture.ts'
import { buildProgram } from '../../program.ts'
import { VERSION } from '../../version.ts'
import { log } from '../plans/log.ts'
import { next } from '../plans/next.ts'
import { run } from '../plans/run.ts'
import { show } from '../plans/show.ts'
import { status } from '../plans/status.ts'
import { revise } from '../revisions/revise.ts'
import { claim, retry } from './claim.ts'
import { type ReportOptions, report } from './report.ts'

const EXTRAS = await extraCommands()

const place = eachPlace()

const runs = (): Promise<Said> => place.say(context => run(context, 'plan.yaml', { start: true }))
const shows = (task: string): Promise<Said> => place.say(context => show(context, 'p', task))
const data = async (body: Parameters<Place['say']>[0]) =>
  JSON.parse((await place.say(body, { json: true })).stdout).data

describe('whoever takes a task in hand', () => {
  const PLAN = `planfold: 1
name: p
tasks:
  - { id: find, run: "echo '[\\"a.ts\\", \\"b.ts\\"]'", outputs: { files: { stdout: json } } }
  - id: probe
    needs: [find]
    title: Read it
    description: Look for leaks
    instruction: |
      open the file
      read it twice
    for_each: tasks.find.outputs.files
    inputs:
      file: "\${{ item }}"
      all: "\${{ tasks.find.outputs.files }}"
    preconditions: [{ expect: 1 < 2 }]
    accept: [{ expect: outputs.leaks >= 0 }, It is understood]
    failure_modes:
      - { name: too-long, detect: it has more than 1000 lines, advice: split it, recover: [mend] }
    outputs: { leaks: { report: integer } }
    on: { leaks: mend }
  - { id: mend, title: Mend it }
  - { id: odd, needs: [find], inputs: { a: 1, b: "\${{ tasks.find.outputs.files[7] }}", c: "\${{ tasks.mend.status }}" } }
`
  const expected = {
    task: 'probe/1',
    title: 'Read it (a.ts)',
    description: 'Look for leaks',
    instruction: 'open the file\nread it twice\n',
    bound: { item: 'a.ts', index: 0 },
    inputs: { file: 'a.ts', all: ['a.ts', 'b.ts'] },
    unresolved: [],
    preconditions: [{ type: 'expect', expression: '1 < 2' }],
    accept: [{ type: 'expect', expression: 'outputs.leaks >= 0' }, { type: 'prose' }],
    failureModes: [{ name: 'too-long', advice: 'split it', recover: ['mend'] }],
    outputs: { leaks: { from: 'report', type: 'integer' } },
    outcomes: { leaks: ['mend'] },
  }
  const LINES = [
    '  what     Look for leaks',
    '  do       open the file\n           read it twice',
    '  item     a.ts\n  index    0',
    '  input    file = a.ts\n  input    all = ["a.ts","b.ts"]',
    '  before   1 < 2',
    '  accept   outputs.leaks >= 0\n  accept   It is understood',
    '  output   leaks, to be reported: integer',
    '  mode     too-long: it has more than 1000 lines; split it; leads to mend',
    '  outcome  leaks leads to mend',
  ]
  beforeEach(async () => {
    await place.write('plan.yaml', PLAN)
    const first = await runs()
    expect(first.exit, first.stdout + first.stderr).toBe(4)
  })

  it('learns from show, next and claim what to do, with resolved inputs', async () => {
    const shown = await data(context => show(context, 'p', 'probe/1'))
    expect(shown.briefing).toMatchObject(expected)
    expect(shown.definition).toMatchObject({ id: 'probe/1', bound: { item: 'a.ts' } })
    const { briefings } = await data(context => next(context, 'p', undefined, {}))
    expect(briefings).toMatchObject([expected, { task: 'probe/2', inputs: { file: 'b.ts' } }, { task: 'odd' }])
    const nexts = [
      await place.say(context => next(context, 'p', undefined, {})),
      await place.say(context => next(context, 'p', 'probe/1', {})),
    ]
    const claimed = await place.say(context => claim(context, 'p', 'probe/1', {}))
    expect(claimed.stderr).toMatch(
      /planfold report p probe\/1 --status done --token \S+ --output leaks=…\n.*--mode MODE/,
    )
    const texts = [(await shows('probe/1')).stdout, ...nexts.map(said => said.stdout), claimed.stdout]
    for (const text of texts) for (const line of LINES) expect(text).toContain(line)
    expect(claimed.stdout).toMatch(/^task {3}probe\/1 {2}Read it \(a\.ts\)\ntoken {2}\S+\n/)
    expect((await data(context => claim(context, 'p', 'probe/2', {}))).briefing).toMatchObject({
      bound: { item: 'b.ts', index: 1 },
    })
  })

  it('is told why an input is not known, and what the others are', async () => {
    const { briefing } = await data(context => show(context, 'p', 'odd'))
    expect(briefing.inputs).toEqual({ a: 1, c: 'pending' })
    expect(briefing.unresolved).toMatchObject([{ input: 'b', message: expect.stringContaining('7') }])
    expect((await shows('odd')).stdout).toContain('  input    b is not known: ')
  })

  it('takes the same file up again as unchanged after its items were found', async () => {
    const again = await runs()
    expect(again.exit).toBe(4)
    expect(again.stderr).not.toContain('has changed')
    expect((await data(context => show(context, 'p', undefined))).summary.revision).toBe(2)
  })

  it('can be told how the file did change, and only that', async () => {
    await place.write('plan.yaml', PLAN.replace('title: Mend it', 'title: Mend them'))
    const again = await runs()
    expect(again.stderr).toContain('becomes revision 3')
    expect(again.stderr).not.toContain('a.ts')
    expect((await shows('probe/2')).exit).toBe(0)
  })
})

it('shows what is written by others harmlessly', async () => {
  await place.write(
    'plan.yaml',
    `planfold: 1\nname: p\ntasks: [{ id: a, instruction: "x\\e[2Jy", inputs: { k: "\\e[1m" } }]\n`,
  )
  await runs()
  const { stdout } = await place.say(context => claim(context, 'p', 'a', {}))
  expect(stdout).toContain('x\\u{1b}[2Jy')
  expect(stdout).not.toContain('\u001b')
})

describe('a failure that is named', () => {
  beforeEach(async () => {
    await place.write(
      'plan.yaml',
      `planfold: 1
name: p
tasks:
  - id: read
    failure_modes:
      - { name: paywall, detect: it asks for money, recover: [buy] }
      - { name: gone, detect: it is not there, recover: [search] }
  - { id: buy }
  - { id: search }
`,
    )
    await runs()
  })
  const fails = (options: Omit<Partial<ReportOptions>, 'message'>): Promise<Said> =>
    place.say(context => report(context, 'p', 'read', { status: 'failed', message: 'no', ...options }))

  it('leads where its mode recovers', async () => {
    expect(await fails({ mode: 'gone' })).toMatchObject({ exit: 0, stdout: expect.stringContaining('→ search') })
    const { ready } = await data(context => next(context, 'p', undefined, {}))
    expect(ready.map((card: { name: string }) => card.name)).toEqual(['search'])
  })

  it('is named on the command line', async () => {
    const said: Said[] = []
    const program = buildProgram(VERSION, EXTRAS, async body => {
      said.push(await place.say(body))
    })
    await program.parseAsync(['fail', 'p', 'read', '-m', 'no', '--mode', 'paywall'], { from: 'user' })
    expect(said).toMatchObject([{ exit: 0, stdout: expect.stringContaining('→ buy') }])
  })

  it('is refused when the task knows no such mode, and the near one is suggested', async () => {
    const { exit, stderr } = await fails({ mode: 'gonne' })
    expect(exit).toBe('unknown-reference')
    expect(stderr).toContain("no failure mode 'gonne'")
    expect((await data(context => next(context, 'p', undefined, {}))).ready).toMatchObject([{ name: 'read' }])
  })
})

describe('a task that a revision removed', () => {
  beforeEach(async () => {
    await place.write(
      'plan.yaml',
      'planfold: 1\nname: p\ntasks: [{ id: a, title: First }, { id: b, needs: [a] }, { id: c }]\n',
    )
    await runs()
    await place.say(context => report(context, 'p', 'a', { status: 'done', output: ['n=1'] }))
    await place.write('plan.yaml', 'planfold: 1\nname: p\ntasks: [{ id: b }]\n')
    expect(await place.say(context => revise(context, 'p', 'plan.yaml', { message: 'less' }))).toMatchObject({
      exit: 0,
    })
  })

  it('is still shown, with when it went and how it stood', async () => {
    expect((await shows('a')).stdout).toMatch(
      /a cancelled\n {2}title {4}First\n {2}removed {2}in revision 2 by ana@example\.com: less; it was completed\n/,
    )
    expect(await data(context => show(context, 'p', 'a'))).toMatchObject({
      task: { name: 'a', status: 'abandoned' },
      definition: { id: 'a', title: 'First' },
      removed: { revision: 2, was: 'completed', rationale: 'less' },
    })
    expect((await data(context => show(context, 'p', 'c'))).removed).toMatchObject({ was: 'ready' })
    expect((await data(context => show(context, 'p', 'b'))).removed).toBeNull()
  })

  it('keeps its lines in the log', async () => {
    const told = await place.say(context => log(context, 'p', 'a', {}))
    expect(told).toMatchObject({ exit: 0, stdout: expect.stringContaining('a completed') })
    expect(told.stderr).toContain("'a' was removed in revision 2")
    expect(await data(context => log(context, 'p', 'a', {}))).toMatchObject({ removed: 2 })
    expect((await place.say(context => log(context, 'p', 'a', { output: true }))).exit).toBe(0)
  })

  it('cannot be worked on, and a name that never was is no removed task', async () => {
    expect(await place.say(context => report(context, 'p', 'a', { status: 'done' }))).toMatchObject({
      exit: 'not-found',
      stderr: expect.stringContaining('revision 2 removed it'),
    })
    expect((await shows('nobody')).exit).toBe('not-found')
  })

  it('is no removed task once a later revision has it again', async () => {
    await place.write('plan.yaml', 'planfold: 1\nname: p\ntasks: [{ id: b }, { id: a }]\n')
    await place.say(context => revise(context, 'p', 'plan.yaml', {}))
    expect(await data(context => show(context, 'p', 'a'))).toMatchObject({ removed: null, task: { status: 'ready' } })
  })
})

it('a failed plan says how it is opened again, and can be revised then', async () => {
  await place.write('plan.yaml', 'planfold: 1\nname: p\ntasks: [{ id: a, run: [sh, -c, exit 3] }]\n')
  expect((await runs()).exit).toBe(1)
  await place.write('plan.yaml', 'planfold: 1\nname: p\ntasks: [{ id: a, run: [sh, -c, exit 0] }]\n')
  const revising = (): Promise<Said> =>
    place.say(async context => {
      try {
        return await revise(context, 'p', 'plan.yaml', {})
      } catch (error) {
        context.stdout.write(String((error as { hint?: string }).hint))
        throw error
      }
    })
  const refused = await revising()
  expect(refused.exit).toBe('ended')
  expect(refused.stdout).toBe(
    'run the changed file: planfold run FILE updates the plan and continues it; completed tasks stay completed',
  )
  expect((await place.say(context => retry(context, 'p', 'a', {}))).exit).toBe(0)
  expect((await revising()).exit).toBe(0)
  expect((await runs()).exit).toBe(0)
})

it('whose claim has run out is not said to be at work', async () => {
  await place.write('plan.yaml', 'planfold: 1\nname: p\ntasks:\n  - { id: a, instruction: write it }\n')
  await runs()
  await place.say(context => claim(context, 'p', 'a', { lease: 1 }))
  expect(await data(context => status(context, 'p'))).toMatchObject({ running: [], claimable: 1 })
})
