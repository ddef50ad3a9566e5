import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Contract } from '../../../domain/views/contract.ts'
import { newPlace, type Place } from '../../place.fixture.ts'
import { run } from '../plans/run.ts'
import { validate } from '../plans/validate.ts'
import { contract } from './contract.ts'

let here: Place
beforeEach(async () => {
  here = await newPlace()
})
afterEach(() => here.remove())

const PLAN = `planfold: 1
name: cache
done:
  - { check: [test, -f, cache.txt], text: there is a cache }
tasks:
  - id: build
    preconditions: [{ check: test -d . }]
    run: echo 1 > cache.txt
    effect: idempotent
    accept: [{ check: test -s cache.txt }]
    postconditions: [{ check: "echo not yet; exit 7" }, It smells\u202e of "roses"]
    effects: [cache.txt]
`

const start = () => here.say(context => run(context, 'p.yaml', { start: true }))
/** Times and hashes differ from run to run. */
const tidy = (text: string): string =>
  text.replace(/ · (?:just now|\d+\w+ ago)/g, ' · NOW').replace(/output [0-9a-f]{12}/g, 'output HASH')

describe('planfold show --checks', () => {
  it('lists every criterion with verdict, evidence, time and entry; what was written by others is escaped', async () => {
    await here.write('p.yaml', PLAN)
    expect((await start()).exit).not.toBe(0)
    const said = await here.say(context => contract(context, 'cache', {}))
    expect(said.exit).toBe(0)
    expect(tidy(said.stdout)).toBe(`cache revision 1: 2 passed, 1 failed, 3 pending

build
  ✔ precondition  test -d .
      exit 0 · NOW · entry 3
  ✔ acceptance    test -s cache.txt
      exit 0 · NOW · entry 4
  ✖ postcondition echo not yet; exit 7
      exit 7 · NOW · entry 4 · output HASH
      | not yet
  · postcondition It smells\\u{202e} of "roses" · needs a person
  · effects       changes only cache.txt · not run yet

done
  · done          there is a cache: test -f cache.txt · not run yet
`)
    const open = await here.say(context => contract(context, 'cache', { open: true }))
    expect(open.stdout).not.toContain('acceptance')
  })

  it('says the same as JSON', async () => {
    await here.write('p.yaml', PLAN.replace('exit 7', 'exit 0').replace(/, It smells.*\]/, ']'))
    expect((await start()).exit).toBe(0)
    const said = await here.say(context => contract(context, 'cache', {}), { json: true })
    const { data } = JSON.parse(said.stdout) as { data: Contract }
    expect(data).toMatchObject({ name: 'cache', status: 'completed', counts: { holds: 5, broken: 0, open: 0 } })
    expect(data.lines.map(({ part, holds, by }) => [part, holds, by])).toEqual([
      ['precondition', true, 'command'],
      ['acceptance', true, 'command'],
      ['postcondition', true, 'command'],
      ['effects', true, 'files'],
      ['done', true, 'command'],
    ])
  })

  it('a plan that demands nothing says so; validate tells beforehand how each is judged', async () => {
    await here.write('p.yaml', 'planfold: 1\nname: bare\ntasks: [{ id: a, run: ["true"], effect: pure }]\n')
    await start()
    expect((await here.say(context => contract(context, 'bare', {}))).stdout).toBe('bare revision 1 has no checks\n')
    await here.write('q.yaml', PLAN)
    const told = await here.say(context => validate(context, ['q.yaml']))
    expect(told.stdout).toContain('postconditions')
  })
})
