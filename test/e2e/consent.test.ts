// Consent from the command line: what is approved is what was shown, and only that is executed. The commands record themselves in a
// file outside the workspace.

import { existsSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { place } from './in-process.fixture.ts'
import type { Place } from './planfold.fixture.ts'

let here: Place
let record: string

beforeEach(async () => {
  here = await place()
  record = `${here.folder}-record`
})

afterEach(async () => {
  await here.remove()
  await rm(record, { force: true })
})

const done = (): readonly string[] => (existsSync(record) ? readFileSync(record, 'utf8').trimEnd().split('\n') : [])

const plan = (more = ''): string => `
planfold: 1
name: release
${more}
tasks:
  - id: ok
    gate: approval
  - id: ship
    kind: deploy
    title: "Ship \\u202eit"
    needs: [ok]
    run: [sh, ship.sh, "to prod"]
`

interface Asked {
  readonly asks: { readonly asks: { readonly type: string }; readonly hash: string }
}

const hashOf = async (task: string): Promise<string> => ((await here.json('show', 'release', task)) as Asked).asks.hash

describe('an approval on the command line', () => {
  it('P46 is for the script as it stood when it was shown; changed, it is asked about again, and nothing is executed', async () => {
    await here.write('ship.sh', `echo "shipped $1" >> ${record}\n`)
    await here.write('plan.yaml', plan())
    expect((await here.planfold('run', 'plan.yaml')).exit).toBe(4)
    const shown = (await here.planfold('show', 'release', 'ok', '--all')).stdout
    expect(shown).toContain('[2] "to prod"')
    expect(shown).toContain(`│ echo "shipped $1" >> ${record}`)
    const seen = await hashOf('ok')
    expect(await here.json('show', 'release', 'ok')).toMatchObject({
      shown: {
        type: 'gate',
        tasks: [{ task: 'ship', impact: 'deploy', does: { argv: ['sh', 'ship.sh', 'to prod'] } }],
      },
    })

    expect((await here.planfold('approve', 'release', 'ok', '--hash', 'f'.repeat(12))).exit).toBe(3)
    expect((await here.planfold('approve', 'release', 'ok', '--hash', seen.slice(0, 12))).exit).toBe(0)
    await here.write('ship.sh', `echo changed >> ${record}\n`)
    expect((await here.planfold('resume', 'release')).exit).toBe(4)
    expect(done()).toEqual([])
    const asked = (await here.planfold('inbox')).stdout
    expect(asked).toContain('ship.sh changed since')
    expect(asked).toContain("from the plan's author (not verified):")
    expect(asked).toContain('Ship \\u{202e}it')

    // The approval of then, said again, is for something else.
    expect((await here.planfold('approve', 'release', 'ship', '--hash', seen.slice(0, 12))).exit).toBe(3)
    const now = await hashOf('ship')
    expect((await here.planfold('approve', 'release', 'ship', '--hash', now.slice(0, 12))).exit).toBe(0)
    expect((await here.planfold('resume', 'release')).exit).toBe(0)
    expect(done()).toEqual(['changed'])
    expect((await here.planfold('audit', 'replay', 'release')).exit).toBe(0)
  })

  it('P47 is given once, however many give it at once', async () => {
    await here.write('ship.sh', `echo shipped >> ${record}\n`)
    await here.write('plan.yaml', plan())
    await here.planfold('run', 'plan.yaml')
    const said = await Promise.all([1, 2, 3].map(async () => await here.planfold('approve', 'release', 'ok')))
    expect(said.map(({ exit }) => exit).sort()).toEqual([0, 3, 3])
    expect((await here.planfold('resume', 'release')).exit).toBe(0)
    expect((await here.planfold('approve', 'release', 'ok')).exit).toBe(3)
    expect(done()).toEqual(['shipped'])
    const entries = (await here.planfold('log', 'release')).stdout
    expect(entries.match(/ok approved/g)).toHaveLength(1)
  })

  it('is not asked for where the policy says so, and that is said', async () => {
    await here.write('ship.sh', `echo shipped >> ${record}\n`)
    await here.write(
      'plan.yaml',
      plan('policy: { gates: { before: [] } }')
        .replace(/ {2}- id: ok\n {4}gate: approval\n/, '')
        .replace('needs: [ok]', ''),
    )
    const ran = await here.planfold('run', 'plan.yaml')
    expect(ran.exit).toBe(0)
    expect(ran.stderr).toContain("'ship' deploys, and no approval is asked for")
    expect(done()).toEqual(['shipped'])
  })
})

it('what a person and an agent see: gates that hold one task, a question, work that asks before it is claimed, work done twice', async () => {
  await here.write(
    'plan.yaml',
    `
planfold: 1
name: truth
tasks:
  - { id: g1, gate: approval }
  - { id: g2, gate: approval }
  - { id: q, gate: { type: question, question: where to?, form: [{ name: where }] } }
  - { id: both, needs: [g1, g2], effect: pure, run: [ls] }
  - { id: note, needs: [q], edit: [{ file: a.txt, create: hi }] }
  - { id: ship, kind: deploy, instruction: ship it }
  - { id: mail, run: 'echo sent >> ${record}' }
`,
  )
  expect((await here.planfold('run', 'plan.yaml')).exit).toBe(4)
  const inbox = (await here.planfold('inbox')).stdout
  expect(inbox).toContain('also waits for g2')
  expect(inbox).toContain('also waits for g1')
  expect(inbox).not.toContain('approving it lets this task begin')
  expect(inbox).toContain('your answer starts: note')
  expect(inbox).toContain('writes    nothing (declared read-only)')
  await here.planfold('approve', 'truth', 'g2')
  expect((await here.planfold('show', 'truth', 'g1')).stdout).toContain('if you approve, this runs:')

  const approved = await here.planfold('approve', 'truth', 'q')
  expect([approved.exit, approved.stderr]).toEqual([3, expect.stringContaining('`planfold answer truth q where=…`')])

  const early = await here.planfold('claim', 'truth', 'ship')
  expect([early.exit, early.stderr]).toEqual([3, expect.stringContaining('`planfold approve truth ship` approves it')])
  expect((await here.planfold('approve', 'truth', 'ship')).exit).toBe(0)
  expect((await here.planfold('claim', 'truth')).stdout).toContain('task   ship')

  expect(done()).toEqual(['sent'])
  const twice = await here.planfold('retry', 'truth', 'mail')
  expect([twice.exit, twice.stderr]).toEqual([3, expect.stringContaining('`planfold retry truth mail --repeat`')])
  expect((await here.planfold('retry', 'truth', 'mail', '--repeat')).exit).toBe(0)
  await here.planfold('resume', 'truth')
  expect(done()).toEqual(['sent', 'sent'])
})
