// `validate`, `handoff --out` and `init` in a folder of their own: how many faults are told, what is warned of, and where nothing
// is written.

import { existsSync } from 'node:fs'
import { mkdir, readdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { PlanName, TaskName } from '../../../domain/id.ts'
import type { PlanDefinition } from '../../../domain/plan.ts'
import { type Context, withState } from '../../context.ts'
import { CliError } from '../../exit.ts'
import { eachPlace } from '../../place.fixture.ts'
import { handoff } from '../records/handoff.ts'
import { analyze } from './analyze.ts'
import { init } from './init.ts'
import { resume } from './resume.ts'
import { run } from './run.ts'
import { validate } from './validate.ts'

const place = eachPlace()

const wrong = (count: number) =>
  `planfold: 1\nname: x\ntasks:\n${Array.from({ length: count }, (_, at) => `  - { id: t${at}, rum: ls }\n`).join('')}`

describe('a plan that cannot work', () => {
  const PLAN = 'planfold: 1\nname: x\ntasks:\n  - { id: a, run: [touch, began] }\n  - { id: b, run: [ls], cwd: /srv }\n'
  const FAULT = "5:30: 'b' runs in '/srv', which is not a folder inside the workspace"

  it('is refused with the same words by whoever reads it, and nothing of it is done', async () => {
    await place.write('plan.yaml', PLAN)
    const ways: readonly ((context: Context) => Promise<number>)[] = [
      context => run(context, 'plan.yaml', { start: true }),
      context => run(context, 'plan.yaml', { start: true, dryRun: true }),
      context => run(context, 'plan.yaml', { start: false }),
    ]
    const said: string[] = []
    for (const way of ways)
      await place.say(async context => {
        await way(context).catch((error: unknown) => said.push((error as Error).message))
        return 0
      })
    expect(said).toEqual(Array(ways.length).fill(`plan.yaml:${FAULT}`))
    const shown = await place.say(context => analyze(context, 'plan.yaml', {}))
    expect(shown).toMatchObject({ exit: 2, stdout: expect.stringContaining(FAULT.replace(': ', ': error: ')) })
    expect(await readdir(place.folder)).toEqual(['plan.yaml'])
  })

  it('is not started when it is there already', async () => {
    await place.say(context =>
      withState(context, { create: true }, async ({ engine }) => {
        const definition = {
          name: 'x' as PlanName,
          tasks: [
            { id: 'b' as TaskName, cwd: '/srv', action: { type: 'run', command: { argv: ['ls'] } } },
          ] satisfies PlanDefinition['tasks'],
        }
        return (await engine.submit(null, { type: 'create', definition })).ok ? 0 : 1
      }),
    )
    const said = await place.say(context => run(context, 'x', { start: true }))
    expect(said).toMatchObject({
      exit: 'invalid-plan',
      stderr: expect.stringContaining("plan 'x' cannot work: 'b' runs in"),
    })
    expect((await place.say(context => resume(context, 'x', {}))).exit).toBe('invalid-plan')
  })
})

describe('the faults of a file', () => {
  const faultsOf = async (count: number) => {
    await place.write('plan.yaml', wrong(count))
    let told: CliError | null = null
    await place.say(async context => {
      told = await validate(context, ['plan.yaml']).then(
        () => null,
        (error: unknown) => (error instanceof CliError ? error : null),
      )
      return 0
    })
    return told as CliError | null
  }

  it('are all told, in the order of the text', async () => {
    const told = await faultsOf(60)
    expect(told?.message).toBe('plan.yaml has 60 errors')
    expect(told?.diagnostics.map(({ line }) => line)).toEqual(Array.from({ length: 60 }, (_, at) => at + 4))
  })

  it('are told up to the bound the format names, and that there may be more', async () => {
    const told = await faultsOf(150)
    expect(told?.message).toBe('plan.yaml has at least 100 errors')
    expect(told?.diagnostics).toHaveLength(100)
  })
})

describe('a rule that would plan by a template', () => {
  const planBy = (template: string) => `planfold: 1
name: x
tasks:
  - id: a
    run: ["true"]
    effect: pure
    recover:
      - { ask: true }
      - { replan: { add: [{ id: b, recover: [{ replan: { template: ${template} } }] }] } }
      - { replan: { template: ${template} } }
`

  it('is warned of when there is no such template, by validate and by run', async () => {
    await place.write('plan.yaml', planBy('debg'))
    const said = await place.say(context => validate(context, ['plan.yaml']))
    expect(said.exit).toBe(0)
    expect(said.stdout).toContain("plan.yaml:10:31: warning: there is no template 'debg': this rule would")
    expect(said.stdout).toMatch(/plan\.yaml:9:\d+: warning: there is no template 'debg'/)
    expect(said.stdout).toContain("did you mean 'debug'?")
    const json = await place.say(context => validate(context, ['plan.yaml']), { json: true })
    expect(JSON.parse(json.stdout).data.files[0].warnings).toHaveLength(2)
    const ran = await place.say(context => run(context, 'plan.yaml', { start: false }))
    expect(ran).toMatchObject({ exit: 0, stderr: expect.stringContaining("there is no template 'debg'") })
  })

  it('is not warned of when there is one, stock or own', async () => {
    await mkdir(join(place.folder, '.planfold/templates'), { recursive: true })
    await place.write('.planfold/templates/mine.yaml', 'planfold-template: 2\n')
    for (const name of ['debug', 'mine']) {
      await place.write('plan.yaml', planBy(name))
      expect((await place.say(context => validate(context, ['plan.yaml']))).stdout).not.toContain('warning')
    }
  })
})

describe('a handoff', () => {
  const planned = async () => {
    await place.write('plan.yaml', 'planfold: 1\nname: x\ntasks: [{ id: a, run: ["true"], effect: pure }]\n')
    await place.say(context => run(context, 'plan.yaml', { start: false }))
  }

  it('is not written into what git keeps, nor into the state, by whatever path', async () => {
    await planned()
    await mkdir(join(place.folder, '.git'))
    await symlink('.git', join(place.folder, 'link'))
    for (const out of ['.git', '.git/a/b', 'link', 'link/a', '.GIT', 'sub/../.git', '.planfold', '.planfold/handoff']) {
      for (const force of [false, true]) {
        const said = await place.say(context => handoff(context, 'x', { out, force }))
        expect(said, out).toMatchObject({ exit: 'not-allowed', stderr: expect.stringContaining('belongs to') })
      }
    }
    expect(await readdir(join(place.folder, '.git'))).toEqual([])
    expect(existsSync(join(place.folder, '.planfold/README.md'))).toBe(false)
    expect(existsSync(join(place.folder, '.GIT/README.md'))).toBe(false)
  })

  it('is written elsewhere, also where nothing is yet, and never over what others wrote', async () => {
    await planned()
    for (const out of ['out/deep', '.github', 'out/deep'])
      expect((await place.say(context => handoff(context, 'x', { out }))).exit).toBe(0)
    await place.write('out/deep/README.md', '# x\n')
    expect((await place.say(context => handoff(context, 'x', { out: 'out/deep' }))).exit).toBe('exists')
    expect(await place.read('out/deep/README.md')).toBe('# x\n')
    expect((await place.say(context => handoff(context, 'x', { out: 'out/deep', force: true }))).exit).toBe(0)
  })
})

it('init says nothing when it is to be quiet', async () => {
  const quiet = (context: Context) => init({ ...context, settings: { ...context.settings, quiet: true } })
  expect(await place.say(quiet)).toEqual({ exit: 0, stdout: '', stderr: '' })
  expect(existsSync(join(place.folder, 'plan.yaml'))).toBe(true)
  expect((await place.say(quiet, { json: true })).stdout).toContain('"plan":null')
})

describe('run --set', () => {
  const TEMPLATE = `planfold-template: 2
name: greet
parameters:
  who: { about: whom to greet, required: true }
plan:
  name: greet-one
  tasks:
    - { id: hello, edit: { file: hello.txt, create: "\${{ params.who }}" } }
`

  it('runs a template with its parameters set; missing ones and strange ones are told', async () => {
    await place.write('greet.yaml', TEMPLATE)
    const go = (set?: string[]) => place.say(context => run(context, 'greet.yaml', { start: true, set }))
    const first = await go()
    expect(first, first.stderr).toMatchObject({
      exit: 'parameters',
      stderr: expect.stringContaining('1 parameter is missing'),
    })
    expect((await go(['whom=you'])).exit).toBe('parameters')
    expect((await go(['who=world'])).exit).toBe(0)
    expect(await place.read('hello.txt')).toBe('world')
  })

  it('is refused for a plan without parameters', async () => {
    await place.write('plan.yaml', 'planfold: 1\nname: p\ntasks: [{ id: a, run: [ls], effect: pure }]\n')
    const said = await place.say(context => run(context, 'plan.yaml', { start: true, set: ['x=1'] }))
    expect(said).toMatchObject({ exit: 'usage', stderr: expect.stringContaining('a plan without parameters') })
  })
})
