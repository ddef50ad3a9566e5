// The tries of a task as a person sees them afterwards: in the output, in the log, and side by side.

import { expect, it } from 'vitest'
import { checkGraph } from '../../../domain/plan-rules/graph-rules.ts'
import { parsePlan } from '../../../format/plan/parse.ts'
import { eachPlace } from '../../place.fixture.ts'
import { log } from '../plans/log.ts'
import { run } from '../plans/run.ts'
import { compare } from './compare.ts'

const place = eachPlace()

const PLAN = `planfold: 1
name: p
tasks:
  - id: fix
    run: printf "$PLANFOLD_TRY\\nmore\\n" > out-$PLANFOLD_TRY.txt
    write: ['out-*.txt']
    network: []
    effects: [out-2.txt]
    tries: 3
    accept: [{ check: test ! -e out-3.txt }]
`

it('how each ended, which was taken and why, and what the others changed', async () => {
  await place.write('p.yaml', PLAN)
  const ran = await place.say(context => run(context, 'p.yaml', { start: true }))
  expect(ran.exit, ran.stdout + ran.stderr).toBe(0)
  expect(ran.stdout).toContain('fix: 3 tries begin (run, run, run)')
  expect(ran.stdout).toContain('fix: try 2 is the best: it changed the fewest paths outside `effects`')
  expect(await place.read('out-2.txt')).toBe('2\nmore\n')
  const compared = (await place.say(context => compare(context, 'p', 'fix', {}))).stdout
  expect(compared).toMatch(/^1 +run +passed +1 +2 /m)
  expect(compared).toMatch(/^3 +run +failed +1 +2 .*check failed: test ! -e out-3.txt/m)
  expect(compared).toContain('try 2 is the best')
  expect(compared).toContain('try 1 (run) changed\n--- out-1.txt\n@@ -0,0 +1,2 @@\n+1\n+more')
  expect(compared).not.toContain('--- out-2.txt')
  expect((await place.say(context => compare(context, 'p', 'fix', { all: true }))).stdout).toContain('--- out-2.txt')
  const json = JSON.parse((await place.say(context => compare(context, 'p', 'fix', {}), { json: true })).stdout)
  expect(json.data).toMatchObject({ judged: { best: { round: 1, number: 2 }, why: 'effects' } })
  expect(Object.keys(json.data.changes)).toHaveLength(3)
  expect((await place.say(context => log(context, 'p', 'fix', {}))).stdout).toContain('try 3 (run) failed')
})

it.each([
  ['tries: 1', 'tries'],
  ['tries: { with: [claude, codex] }', "a command cannot be tried 'with' agents"],
  ['tries: { with: 3, judge: { by: "!" } }', 'neither a model nor an agent'],
  ['tries: 3\n    effect: unsafe', 'its effect is unsafe'],
])('a plan that says %s is refused, with the place', (written, message) => {
  const read = parsePlan(PLAN.replace('tries: 3', written), { check: checkGraph })
  expect(read.ok).toBe(false)
  const [first] = read.ok ? [] : read.diagnostics
  expect(first?.message).toContain(message)
  expect(first?.line).toBe(9)
})
