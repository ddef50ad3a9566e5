// One truth about what waits, wherever it is looked at: inbox, review, show, status, handoff, audit and the end of a run.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fatesOf } from '../../../domain/revisions/merge.ts'
import type { AskedQuestion, InboxEntry } from '../../../engine/engine.ts'
import { standingsOf } from '../../../operations/revise-plan.ts'
import { plan, task } from '../../../testing/index.ts'
import { newPlace, type Place } from '../../place.fixture.ts'
import { cardOf } from '../../text/cards.fixture.ts'
import { resume } from '../plans/resume.ts'
import { run } from '../plans/run.ts'
import { show } from '../plans/show.ts'
import { status } from '../plans/status.ts'
import { audit } from '../records/audit.ts'
import { handoff } from '../records/handoff.ts'
import { propose } from '../revisions/proposals.ts'
import { answerQuestion, review } from './answer.ts'
import { approve, reject } from './approve.ts'
import { ask } from './ask.ts'
import { inbox } from './inbox.ts'
import { report } from './report.ts'

let here: Place
beforeEach(async () => {
  here = await newPlace()
})
afterEach(() => here.remove())

const start = async (text: string) => {
  await here.write('p.yaml', `planfold: 1\nname: p\n${text}`)
  return await here.say(context => run(context, 'p.yaml', { start: true }))
}
const out = async (body: Parameters<Place['say']>[0]): Promise<string> => (await here.say(body)).stdout

describe('what a gate has checked', () => {
  it('is shown wherever somebody is asked about it, with what was printed and what is theirs to judge', async () => {
    await start(
      'tasks: [{ id: g, gate: { type: tests, unmet: ask, checks: [{ check: "echo 2 broken; exit 3" }, It is elegant] } }]\n',
    )
    const looks: Parameters<Place['say']>[0][] = [
      context => inbox(context, {}),
      context => review(context, 'p', {}),
      context => show(context, 'p', 'g'),
      context => status(context, 'p'),
    ]
    for (const look of looks) {
      const stdout = await out(look)
      expect(stdout).toContain('✘ echo 2 broken; exit 3 (exit 3)')
      expect(stdout).toContain('│ 2 broken')
      expect(stdout).toContain('? It is elegant: for you to check')
    }
    expect(await out(context => show(context, 'p', 'g'))).toMatch(
      /\nNext: planfold approve p g\b.*\n {2}or: planfold reject p g -m 'why'\n/,
    )
    const said = await here.say(context => inbox(context, {}), { json: true })
    const { items } = (JSON.parse(said.stdout) as { data: { items: readonly InboxEntry[] } }).data
    expect(items[0]!.checks).toMatchObject([{ holds: false, evidence: 'exit 3', said: '2 broken' }, { holds: null }])
  })
})

it('many that wait are counted, and what is left out is found in the inbox; a title without end is cut', async () => {
  const gates = Array.from({ length: 7 }, (_, at) => `  - { id: g${at}, gate: approval }`).join('\n')
  await start(`tasks:\n  - { id: big, title: ${'é'.repeat(100_000)}, gate: approval }\n${gates}\n`)
  expect(await out(context => status(context, 'p'))).toContain('… and 3 more: planfold inbox')
  const looks: Parameters<Place['say']>[0][] = [
    context => inbox(context, {}),
    context => review(context, 'p', {}),
    context => show(context, 'p', undefined),
  ]
  for (const look of looks) {
    const lengths = (await out(look)).split('\n').map(({ length }) => length)
    expect(Math.max(...lengths)).toBeLessThan(3_000)
  }
  expect(await out(context => inbox(context, {}))).toContain('more characters: planfold show p big --all')
  expect(await out(context => show(context, 'p', 'big', { all: true }))).toContain('é'.repeat(100_000))
})

describe('a question that is open when its plan ends', () => {
  it('is left open in the handoff, waits nowhere, and is not answered any more', async () => {
    await start('tasks: [{ id: work }]\n')
    const asked = await here.say(context => ask(context, ['p', 'which one?'], {}), { json: true })
    const { id } = (JSON.parse(asked.stdout) as { data: AskedQuestion }).data
    const waiting = here.say(context => ask(context, ['p'], { id, wait: true, timeout: 120_000 }))
    await here.say(context => report(context, 'p', 'work', { status: 'done' }))
    await here.say(context => resume(context, 'p', {}))
    const over = { exit: 'ended', stderr: expect.stringContaining(`question '${id}' was not answered`) }
    expect(await waiting).toMatchObject(over)
    for (const wait of [true, false])
      expect(await here.say(context => ask(context, ['p'], { id, wait }))).toMatchObject(over)
    expect(await here.say(context => answerQuestion(context, 'p', id, ['this'], {}))).toMatchObject(over)
    expect(await out(context => inbox(context, {}))).toContain('nothing waits')
    expect(await out(context => show(context, 'p', id))).toContain('was not answered before the plan finished')
    const told = await out(context => handoff(context, 'p', {}))
    expect(told).toMatch(new RegExp(`## Still open\\n\\n- question \`${id}\` of .*, not answered: which one\\\\?\\?`))
  })
})

describe('a proposal', () => {
  const proposed = async (more: string): Promise<string> => {
    await here.write('next.yaml', `planfold: 1\nname: p\ntasks: [{ id: work }, { id: ${more} }]\n`)
    const said = await here.say(context => propose(context, 'p', 'next.yaml', { message: `add ${more}` }), {
      json: true,
    })
    return (JSON.parse(said.stdout) as { data: { id: string } }).data.id
  }

  it('needs no id while it is the only one; accepting it is a decision, and what it makes void is told', async () => {
    await start('tasks: [{ id: work }]\n')
    expect(await here.say(context => approve(context, 'p', undefined, {}))).toMatchObject({ exit: 'usage' })
    const first = await proposed('one')
    const said = await here.say(context => reject(context, 'p', undefined, { message: 'not yet' }))
    expect(said).toMatchObject({ exit: 0, stdout: expect.stringContaining(first) })
    const [second, third] = [await proposed('two'), await proposed('three')]
    const several = await here.say(context => approve(context, 'p', undefined, {}))
    expect(several).toMatchObject({ exit: 'usage', stderr: expect.stringContaining(`${second}, ${third}`) })
    expect(await here.say(context => approve(context, 'p', second, { message: 'yes' }))).toMatchObject({ exit: 0 })

    const readme = await out(context => handoff(context, 'p', {}))
    expect(readme).toMatch(new RegExp(`## Decisions\n[\\s\\S]*?proposal \`${first}\` declined: not yet`))
    expect(readme).toMatch(
      new RegExp(`## Decisions\n[\\s\\S]*?proposal \`${second}\` accepted \\(revision 2\\): add two`),
    )
    expect(readme).toMatch(new RegExp(`\`${third}\` add three — void`))
    const trail = await here.say(context => audit(context, 'p', {}), { json: true })
    const { lines } = (JSON.parse(trail.stdout) as { data: { lines: readonly { kind: string; text: string }[] } }).data
    const decisions = lines.filter(({ kind }) => kind === 'decision').map(({ text }) => text)
    expect(decisions).toContain(`proposal ${second} accepted: it becomes revision 2`)
    expect(lines.find(({ text }) => text.includes('made void'))).toMatchObject({
      kind: 'revision',
      text: expect.stringContaining(`made void: proposal ${third}`),
    })
  })
})

it('a revision tells of a task whose process has ended that it is tried again as it is written now', async () => {
  const cards = [
    cardOf('safe', 'running', { effect: 'idempotent' }),
    cardOf('unsafe', 'running', { effect: 'unsafe' }),
    cardOf('agent', 'running', { claimedBy: 'bo' }),
  ]
  const told = async (holder: { alive: boolean } | null) => {
    const standings = standingsOf(cards, { waiting: [], holder })
    const [was, next] = ['old', 'new'].map(title =>
      plan('p', task('safe', { title }), task('unsafe', { title }), task('agent', { title })),
    )
    return fatesOf(was!, next!, standings).map(({ why }) => why)
  }
  const goesOn = 'is running and goes on as it was started'
  expect(await told({ alive: true })).toEqual([goesOn, goesOn, goesOn])
  expect(await told(null)).toEqual([
    'was running when its process ended; it is tried again as it is written now',
    expect.stringContaining('a person says whether it happened'),
    goesOn,
  ])
})

it('a rollback that was stopped when the plan failed is named at its end, with where to answer', async () => {
  await here.write('mine.txt', 'as it was\n')
  const said = await start(
    `tasks:
  - { id: w, run: "echo plan > mine.txt", write: [mine.txt], effect: idempotent }
  - { id: x, needs: [w], run: "echo somebody > mine.txt; exit 1", effect: pure, recover: [{ on: [logic], abort: rollback }] }
`,
  )
  expect(said.stdout).toContain('  rollback stopped: ')
  expect(said.stdout.trimEnd().split('\n').at(-1)).toBe('  Next: planfold inbox')
  expect(await out(context => status(context, 'p'))).toContain('Next: planfold inbox')
  const again = await here.say(context => resume(context, 'p', {}))
  expect(again).toMatchObject({ exit: 'ended', stderr: expect.stringContaining('its rollback stopped') })
})
