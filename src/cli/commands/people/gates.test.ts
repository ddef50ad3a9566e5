// Gates from the command line: who may answer what, how often, and where an answer leads.

import { describe, expect, it } from 'vitest'
import { eachPlace, type Place, type Said } from '../../place.fixture.ts'
import { resume } from '../plans/resume.ts'
import { run } from '../plans/run.ts'
import { show } from '../plans/show.ts'
import { status } from '../plans/status.ts'
import { answerAny, answerQuestion, choose, pushBack } from './answer.ts'
import { approve, reject } from './approve.ts'
import { claim } from './claim.ts'

const place = eachPlace()

const PLAN = `planfold: 1
name: p
tasks:
  - { id: find, title: Find it }
  - id: sound
    needs: [find]
    gate: { type: invariant, checks: [{ expect: 1 < 2 }] }
  - { id: review, needs: [sound], gate: { type: approval, show: [diff] } }
  - id: store
    gate: { type: decision, options: [{ id: sqlite }, { id: postgres }] }
    on: { postgres: [serve] }
  - { id: serve, title: Serve it }
`

const says = (body: Parameters<Place['say']>[0]): Promise<Said> => place.say(body)
const begin = async () => {
  await place.write('plan.yaml', PLAN)
  await says(context => run(context, 'plan.yaml', { start: true }))
}

describe('what only a person can judge', () => {
  it('is part of the one question a gate asks, whether it is a check or a precondition', async () => {
    await place.write(
      'plan.yaml',
      `planfold: 1
name: p
tasks:
  - { id: g, gate: { type: approval, checks: [It reads well] }, preconditions: [{ expect: 1 < 2 }, Sources are good] }
`,
    )
    const asked = await says(context => run(context, 'plan.yaml', { start: true }))
    expect(asked.stdout).toMatch(/g waits for approval\n +\? Sources are good: for you to check\n +\? It reads well/)
    const said = await says(context => approve(context, 'p', 'g', { message: 'they are' }))
    expect(said.stdout).toContain('plan completed')
  })
})

it('reviewers, affected people and a claimed approval are shown with the plan and at its gates, and approve nothing', async () => {
  await place.write(
    'plan.yaml',
    `planfold: 1
name: p
reviewers: [ana]
impacted: [checkout users]
approval: { by: [Ana], date: 2026-10-01 }
tasks: [{ id: g, gate: { type: approval, role: reviewer } }]
`,
  )
  const asked = await says(context => run(context, 'plan.yaml', { start: true }))
  const lines = [
    'reviewers: ana',
    'impacted: checkout users',
    'claimed, not an approval here: "approved by Ana (2026-10-01)", says the plan written by ',
  ]
  for (const line of lines) expect(asked.stdout).toContain(line)
  const [plan, gate] = [
    await says(context => show(context, 'p', undefined)),
    await says(context => show(context, 'p', 'g')),
  ]
  for (const line of lines) expect([plan.stdout.includes(line), gate.stdout.includes(line)]).toEqual([true, true])
  const refused = await says(context => approve(context, 'p', 'g', { message: 'it says so' }))
  expect(refused.stderr).toContain("only the role 'reviewer' (ana) may decide about 'g'")
})

describe('a decision', () => {
  it('is taken by its option, once, and leads there', async () => {
    await begin()
    expect((await says(context => choose(context, ['p', 'store', 'mongo'], {}))).stderr).toContain(
      "unknown option 'mongo'",
    )
    const said = await says(context => choose(context, ['store', 'postgres'], { message: 'known' }))
    expect(said.stdout).toContain('chose postgres')
    expect(said.stdout).toContain('ready: serve')
    expect((await says(context => choose(context, ['p', 'store', 'sqlite'], {}))).exit).not.toBe(0)
  })
})

describe('what was answered', () => {
  it('is what the next task reads', async () => {
    await place.write(
      'plan.yaml',
      `planfold: 1
name: p
tasks:
  - { id: size, gate: { type: decision, options: [{ id: small }, { id: large }] } }
  - { id: place, gate: { type: question, question: Where?, form: [{ name: host }] } }
  - id: ship
    needs: [size, place]
    run: [sh, -c, 'echo "$1 $2 $3 $4" > shipped.txt', sh, "\${{ tasks.size.outputs.choice }}", "\${{ tasks.size.outputs.rationale }}", "\${{ tasks.size.outputs.by }}", "\${{ tasks.place.outputs.host }}"]
`,
    )
    const asked = await says(context => run(context, 'plan.yaml', { start: true }))
    expect(asked.stderr).toBe('run with your permissions, not in the sandbox: ship\n')
    await says(context => choose(context, ['p', 'size', 'large'], { message: 'roomy' }))
    await says(context => answerQuestion(context, 'p', 'place', ['host=h1'], {}))
    await says(context => resume(context, 'p', {}))
    expect(await place.read('shipped.txt')).toBe('large roomy ana@example.com h1\n')
  })
})

describe('answer', () => {
  const PLAN = `planfold: 1
name: p
tasks:
  - { id: size, gate: { type: decision, options: [{ id: small }, { id: large }] } }
  - { id: place, gate: { type: question, question: Where?, form: [{ name: host }] } }
  - { id: ok, gate: approval }
`
  const answers = (...words: readonly string[]) => says(context => answerAny(context, words, {}))

  it('chooses or fills in by what is asked, with or without the plan', async () => {
    await place.write('plan.yaml', PLAN)
    await says(context => run(context, 'plan.yaml', { start: true }))
    expect((await answers('p', 'size')).stdout).toBe("options of 'size':\n  small\n  large\n")
    expect((await answers('size', 'large')).stdout).toContain('chose large')
    expect(await answers('place')).toMatchObject({ exit: 'usage', stderr: expect.stringContaining('missing answer') })
    expect((await answers('place', 'host=h1')).exit).toBe(0)
    expect((await answers('p', 'ok', 'yes')).exit).toBe('illegal-transition')
    expect(await answers('p', 'nosuch', 'x=1')).toMatchObject({
      exit: 'not-found',
      stderr: expect.stringContaining("plan 'p' has no task or question 'nosuch'"),
    })
  })

  it('refuses options that do not go together', async () => {
    const refused = (words: readonly string[], options: Parameters<typeof answerAny>[2]) =>
      says(context => answerAny(context, words, options))
    expect(await refused([], {})).toMatchObject({ exit: 'usage' })
    expect(await refused(['p', 'ok'], { approve: true })).toMatchObject({ exit: 'usage' })
    expect(await refused(['p', 'ok'], { all: true })).toMatchObject({ exit: 'usage' })
    expect(await refused(['p', 'ok'], { pushBack: true })).toMatchObject({ exit: 'usage' })
    expect(await refused(['p', 'ok'], { to: 'a' })).toMatchObject({ exit: 'usage' })
  })
})

describe('a gate', () => {
  const reach = async () => {
    await begin()
    const { report } = await import('./report.ts')
    await says(context => report(context, 'p', 'find', { status: 'done' }))
  }

  it('asks without anybody driving, and shows what there is to look at', async () => {
    await reach()
    const { stdout } = await says(context => status(context, 'p'))
    expect(stdout).toContain('review waits for approval')
    expect(stdout).toContain('see: diff')
    expect(stdout).toContain("planfold answer p review --push-back -m 'what to change'")
  })

  it('is sent back with words that whoever takes the work up reads', async () => {
    await reach()
    const said = await says(context => pushBack(context, 'p', 'review', { message: 'look\u001b[2J closer' }))
    expect(said.stdout).toContain('find')
    const claimed = await says(context => claim(context, 'p', 'find', {}))
    expect(claimed.stdout).toMatch(/said +\S+ at review: look\\u\{1b\}\[2J closer/)
    expect((await says(context => pushBack(context, 'p', 'review', { message: 'again' }))).exit).not.toBe(0)
  })

  it('is not answered to something else than was looked at', async () => {
    await reach()
    for (const answer of [approve, reject]) {
      const said = await says(context => answer(context, 'p', 'review', { hash: '0123456789abcdef' }))
      expect([said.exit, said.stderr]).toEqual(['conflict', expect.stringContaining('not 0123456789ab')])
    }
    expect((await says(context => approve(context, 'p', 'review', {}))).exit).toBe(0)
  })

  it('is approved with a whole document, or not at all', async () => {
    await reach()
    await place.write('other.yaml', PLAN.replace('name: p', 'name: q'))
    await place.write('less.yaml', PLAN.replace(/ {2}- \{ id: review.*\n/, ''))
    await place.write('more.yaml', `${PLAN}  - { id: more, needs: [review], title: More }\n`)
    expect((await says(context => approve(context, 'p', 'review', { edit: 'other.yaml' }))).exit).not.toBe(0)
    expect((await says(context => approve(context, 'p', 'review', { edit: 'less.yaml' }))).stderr).toContain(
      "removes 'review'",
    )
    const said = await says(context => approve(context, 'p', 'review', { edit: 'more.yaml', message: 'and this' }))
    expect(said.stdout).toContain('revision 2: approved with edits: and this')
    expect(said.stdout).toContain('ready: more')
  })
})
