import { describe, expect, it } from 'vitest'
import { lacks } from '../../../composition/missing-extra.fixture.ts'
import { eachPlace } from '../../place.fixture.ts'
import { analyze } from './analyze.ts'
import { graph } from './graph.ts'
import { validate } from './validate.ts'

const place = eachPlace()

const PLAN = `planfold: 1
name: p
title: Two at once
goal: It works
owner: ana
done: [{ check: npm test, text: all tests pass }, Nobody complains]
stakeholders: [ben]
tasks:
  - { id: a, write: [src/**], network: [], run: make a, estimate: 2m, rollback: make clean, accept: [{ expect: exit == 0 }] }
  - { id: b, write: [src/b.c], network: [], run: make b, estimate: 3m, rollback: make clean, accept: [It is fast] }
  - { id: ok, needs: [a, b], gate: approval }
  - { id: push, needs: [ok], kind: deploy, run: [git, push], estimate: 1m, compensate: { run: [git, push, --delete] }, accept: [Done] }
`

describe('analyze', () => {
  it('is one screen that a person can read', async () => {
    await place.write('plan.yaml', PLAN)
    const { exit, stdout } = await place.say(context => analyze(context, 'plan.yaml', {}))
    expect(exit).toBe(0)
    expect(stdout).toBe(`p — Two at once
4 tasks in 3 stages · 3 run, 1 gate · 2 workspace, 1 pure, 1 unsafe

stage  tasks  which
    1      2  a, b
    2      1  ok
    3      1  push

critical path  5m: b → ok → push
estimate       7m in parallel, 7m sequentially
               1m assumed for 1 task without an estimate
speed-up       1× (max 1.4×)
parallelism    max 1 task at once (widest stage 2, limit 4), 1 on average

1 warning
plan.yaml:10:21: warning: 'a' and 'b' could run at once but write the same files (src/b.c); they will be run one after the other [scope-overlap]
  hint: let one need the other, or narrow what they write
`)
  })

  it('with --strict does not pass over warnings, and never over errors', async () => {
    await place.write('plan.yaml', PLAN)
    expect((await place.say(context => analyze(context, 'plan.yaml', { strict: true }))).exit).toBe(2)
    await place.write('bad.yaml', PLAN.replace('needs: [a, b]', 'needs: [a, push]'))
    const { exit, stdout } = await place.say(context => analyze(context, 'bad.yaml', {}))
    expect(exit).toBe(2)
    expect(stdout).toMatch(/bad\.yaml:12:24: error: dependency cycle: push → ok → push \[cycle\]/)
    expect(stdout).toContain('2 never')
  })

  it('answers programs with places and numbers', async () => {
    await place.write('plan.yaml', PLAN)
    const { stdout } = await place.say(context => analyze(context, 'plan.yaml', {}), { json: true })
    const { data } = JSON.parse(stdout) as { data: Record<string, unknown> }
    expect(data).toMatchObject({
      name: 'p',
      ok: true,
      waves: [['a', 'b'], ['ok'], ['push']],
      criticalPath: { tasks: ['b', 'ok', 'push'], ms: 300_000 },
      findings: [{ code: 'scope-overlap', severity: 'warning', task: 'b', file: 'plan.yaml', line: 10, column: 21 }],
    })
  })
})

it('validate says of every check who or what checks it', async () => {
  await place.write('plan.yaml', PLAN)
  const { stdout } = await place.say(context => validate(context, ['plan.yaml']))
  expect(stdout).toContain(`
  task      key     checked by  check
  the plan  done    command     npm test (all tests pass)
  the plan  done    a person    Nobody complains
  a         accept  expression  exit == 0
  b         accept  a person    It is fast
  push      accept  a person    Done
`)
  const { stdout: json } = await place.say(context => validate(context, ['plan.yaml']), { json: true })
  const { data } = JSON.parse(json) as { data: { files: readonly unknown[] } }
  expect(data.files[0]).toMatchObject({
    dialect: null,
    sketch: [],
    criteria: { length: 5, 0: { task: null, judgedBy: 'command' } },
  })
})

it('graph draws a file in every way, and one way at a time', async () => {
  await place.write('plan.yaml', PLAN)
  const drawn = async (options: Parameters<typeof graph>[2]) =>
    (await place.say(context => graph(context, 'plan.yaml', options))).stdout.split('\n')[0]
  expect(await drawn({})).toBe('   1 a')
  expect(await drawn({ tree: true })).toBe('p — Two at once')
  if (!lacks('pictures')) {
    expect(await drawn({ mermaid: true })).toBe('flowchart TD')
    expect(await drawn({ dot: true })).toBe('digraph "p" {')
    expect(await drawn({ markdown: true })).toBe('# Two at once')
  }
  expect((await place.say(context => graph(context, 'plan.yaml', { dot: true, tree: true }))).exit).toBe('usage')
})
