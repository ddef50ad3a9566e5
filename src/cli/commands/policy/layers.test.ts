import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lacks } from '../../../composition/missing-extra.fixture.ts'
import { type Context, withState } from '../../context.ts'
import type { CliError } from '../../exit.ts'
import { findPlan } from '../../find-target.ts'
import { newPlace } from '../../place.fixture.ts'
import { retry } from '../people/claim.ts'
import { list } from '../plans/list.ts'
import { log } from '../plans/log.ts'
import { resume } from '../plans/resume.ts'
import { run } from '../plans/run.ts'
import { validate } from '../plans/validate.ts'
import { change, logPolicy, showPolicy } from './policy.ts'

let place: Awaited<ReturnType<typeof newPlace>>
let config: string
let etc: string
beforeEach(async () => {
  place = await newPlace()
  config = await mkdtemp(join(tmpdir(), 'planfold-config-'))
  etc = await mkdtemp(join(tmpdir(), 'planfold-etc-'))
  await mkdir(join(place.folder, '.planfold'), { mode: 0o700 })
})
afterEach(async () => {
  await place.remove()
  for (const folder of [config, etc]) await rm(folder, { recursive: true, force: true })
})

const organisationFile = () => join(etc, 'policy.yaml')
const environment = () => ({ XDG_CONFIG_HOME: config, PLANFOLD_ORGANISATION_POLICY: organisationFile() })
const organisation = (text: string) => writeFile(organisationFile(), text, { mode: 0o644 })
const project = (text: string) => writeFile(join(place.folder, '.planfold', 'config.yaml'), text)
async function user(text: string): Promise<void> {
  await mkdir(join(config, 'planfold'), { recursive: true })
  await writeFile(join(config, 'planfold', 'policy.json'), text, { mode: 0o600 })
}
const say = (body: Parameters<typeof place.say>[0], more: { readonly [name: string]: string } = {}) =>
  place.say(body, { environment: { ...environment(), ...more } })
const asJson = (body: Parameters<typeof place.say>[0]) => place.say(body, { json: true, environment: environment() })
async function ran(plan: string, more: { readonly [name: string]: string } = {}) {
  await place.write('p.yaml', plan)
  return await say(context => run(context, 'p.yaml', { start: true }), more)
}

describe('policy show', () => {
  it('lists what is in effect, with where each line comes from', async () => {
    await organisation('sandbox: preferred\ncommands:\n  deny: [[sudo, "**"]]\nbudget: { time: 2h }\n')
    await user('{ "commands": { "ask": [["git", "push", "**"]] }, "budget": { "time": "3h", "attempts": 9 } }')
    await project('policy:\n  write: ["src/**"]\n  budget: { time: 1h }\n')
    const { stdout } = await say(showPolicy)
    expect(stdout.split('\n').map(line => line.trim().split(/ {2,}/))).toEqual([
      ['what', 'rule', 'where'],
      ['sandbox', 'preferred', `organisation ${organisationFile()}:1`],
      ['commands.deny', 'sudo **', `organisation ${organisationFile()}:3`],
      ['budget.attempts', '9', `you ${config}/planfold/policy.json:1`],
      ['commands.ask', 'git push **', `you ${config}/planfold/policy.json:1`],
      ['write', 'src/**', `project ${place.folder}/.planfold/config.yaml:2`],
      ['budget.time', '1h', `project ${place.folder}/.planfold/config.yaml:3`],
      [''],
    ])
    const { data } = JSON.parse((await asJson(showPolicy)).stdout)
    expect(data.policy[0]).toEqual({
      key: 'sandbox',
      value: 'preferred',
      from: 'organisation',
      file: organisationFile(),
      line: 1,
    })
  })

  it('of a plan that has started shows what was written down then', async () => {
    await organisation('commands: { deny: [[sudo, "**"]] }\n')
    await ran(
      'planfold: 1\nname: p\npolicy: { limits: { attempts: 5 } }\ntasks: [{ id: a, run: [echo, a], write: [x] }]\n',
    )
    await organisation('commands: { deny: [[other]] }\n')
    const { data } = JSON.parse((await asJson(context => showPolicy(context, 'p'))).stdout)
    const lines = data.policy.map(({ key, value, from }: { key: string; value: string; from: string }) => [
      key,
      value,
      from,
    ])
    expect(lines).toEqual([
      ['commands.deny', 'sudo **', 'organisation'],
      ['limits.attempts', '5', 'plan'],
      ['write', 'x', 'task'],
    ])
    const journal = await asJson(context => log(context, 'p', undefined, {}))
    expect(journal.stdout).toContain(organisationFile())
  })

  it.skipIf(lacks('publishers'))(
    '--egress lists what leaves the machine, without what may be secret in an address',
    async () => {
      await organisation('data: { traces: deny }\nnetwork: { allow: ["*.example"], unknown: ask }\nsandbox: off\n')
      await place.write(
        'p.yaml',
        `planfold: 1
name: p
notify: [{ webhook: "https://hooks.example/services/T0/KEY" }]
policy: { network: [a.example] }
tasks:
  - { id: a, run: [echo, a] }
  - { id: m, model: { use: local/m }, instruction: What? }
`,
      )
      await say(context => run(context, 'p.yaml', { start: false }))
      const otlp = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://u:pw@127.0.0.1:4318' }
      const shown = await place.say(context => showPolicy(context, 'p', { egress: true }), {
        json: true,
        environment: { ...environment(), ...otlp },
      })
      const { egress } = JSON.parse(shown.stdout).data
      expect(
        egress.map(({ kind, address, from }: { kind: string; address: string; from: string }) => [kind, address, from]),
      ).toEqual([
        ['model', expect.stringContaining('127.0.0.1'), 'task m'],
        ['webhook', 'https://hooks.example/…', 'notify of the plan'],
        ['traces', 'http://127.0.0.1:4318/v1/traces', 'OTEL_EXPORTER_OTLP_ENDPOINT'],
        ['network', 'at most *.example', expect.stringContaining(organisationFile())],
        ['network', 'at most others when a person allows them', expect.stringContaining(organisationFile())],
        ['network', 'a.example', 'policy of the plan'],
      ])
      expect(egress[2].denied).toContain(organisationFile())
      expect(shown.stdout).not.toMatch(/KEY|pw/)
    },
  )
})

describe('a policy that cannot be used refuses to start', () => {
  const PLAN = 'planfold: 1\nname: p\ntasks: [{ id: a, run: [touch, made] }]\n'
  const broken: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['an unknown key', () => organisation('sandbx: required\n')],
    ['an unknown word', () => organisation('sandbox: always\n')],
    ['no YAML', () => organisation('a: [\n')],
    ['a bad address', () => organisation('network: ["ftp://a.example"]\n')],
    ['a folder', () => mkdir(organisationFile())],
    ['nothing there', async () => {}],
    [
      'others may write it',
      async () => {
        await organisation('sandbox: off\n')
        await chmod(organisationFile(), 0o666)
      },
    ],
    [
      'others may write its folder',
      async () => {
        await organisation('sandbox: off\n')
        await chmod(etc, 0o777)
      },
    ],
    [
      'it lies in the workspace',
      async () => {
        await place.write('org.yaml', 'sandbox: off\n')
        await symlink(join(place.folder, 'org.yaml'), organisationFile())
      },
    ],
    [
      'an unknown key of the project',
      async () => {
        await organisation('sandbox: off\n')
        await project('policy: { netwrk: [] }\n')
      },
    ],
    [
      'the file of the project is a link',
      async () => {
        await organisation('sandbox: off\n')
        await place.write('config.yaml', 'policy: {}\n')
        await symlink(join(place.folder, 'config.yaml'), join(place.folder, '.planfold', 'config.yaml'))
      },
    ],
    [
      'an unknown key of the user',
      async () => {
        await organisation('sandbox: off\n')
        await user('{ "budgt": {} }')
      },
    ],
  ]
  for (const [name, make] of broken)
    it(name, async () => {
      await make()
      const { exit } = await ran(PLAN)
      expect(exit).not.toBe(0)
      await expect(readFile(join(place.folder, 'made'))).rejects.toThrow('ENOENT')
    })

  it('and one that allows less than the plan asks for is told at its place, and nothing is made; a draft stays one', async () => {
    await organisation('write: ["src/**"]\n')
    const plan = 'planfold: 1\nname: p\ntasks: [{ id: a, run: [touch, made], write: [docs/x] }]\n'
    const why = `task 'a' wants to write 'docs/x', which the organisation's policy (${organisationFile()}:1) does not allow`
    expect(await ran(plan)).toMatchObject({ exit: 'invalid-plan', stderr: `p.yaml:3:45: ${why}` })
    expect(await say(context => run(context, 'p', { start: true }))).toMatchObject({ exit: 'not-found' })
    expect(await say(context => run(context, 'p.yaml', { start: false }))).toMatchObject({ exit: 0 })
    const draft = await say(context => run(context, 'p', { start: true }))
    expect(draft.stderr).toContain(`${why}; 'p' was not started and is kept as a draft`)
  })

  it('and says where it is wrong, and what to write', async () => {
    await organisation('sandbox: off\nnetwrk: []\nbudget: { tme: 2h }\n')
    await place.write('p.yaml', PLAN)
    const said = async (doing: (context: Context) => Promise<number>) => {
      let told: readonly unknown[] = []
      await say(context =>
        doing(context).catch(error => {
          told = (error as CliError).diagnostics
          throw error
        }),
      )
      return told
    }
    const file = organisationFile()
    const faults = [
      { file, line: 2, column: 1, source: 'netwrk: []', hint: "did you mean 'network'?" },
      { file, line: 3, column: 11, source: 'budget: { tme: 2h }', hint: "did you mean 'time'?" },
    ]
    expect(await said(context => run(context, 'p.yaml', { start: true }))).toMatchObject(faults)
    await organisation('sandbox: off\n')
    const failing = 'planfold: 1\nname: f\ntasks: [{ id: a, run: "false" }]\n'
    expect(await say(context => run(context, 'p.yaml', { start: false }))).toMatchObject({ exit: 0 })
    await place.write('f.yaml', failing)
    expect(await say(context => run(context, 'f.yaml', { start: true }))).toMatchObject({ exit: 1 })
    await organisation('sandbox: off\nnetwrk: []\nbudget: { tme: 2h }\n')
    const draft = await say(context => run(context, 'p', { start: true }))
    expect(draft.stderr).toContain("'p' was not started and is kept as a draft\n")
    for (const goingOn of [
      (context: Context) => run(context, 'p', { start: true }),
      (context: Context) => resume(context, 'f', {}),
      (context: Context) => run(context, 'f.yaml', { start: true }),
      (context: Context) => retry(context, 'f', 'a', {}),
    ])
      expect(await said(goingOn)).toMatchObject(faults)
    expect(await said(context => validate(context, ['p.yaml', 'p.yaml']))).toMatchObject(faults)
    expect(await said(context => showPolicy(context))).toMatchObject(faults)
  })

  it('and a plan that would begin afresh is not made, nor told of', async () => {
    await organisation('limits: { attempts: 5 }\n')
    await place.write('p.yaml', PLAN)
    const finished = await say(context => run(context, 'p.yaml', { start: true }))
    expect(finished.exit).toBe(0)
    await project('policy:\n  sandbox: maybe\n')
    for (const again of [true, false]) {
      const refused = await say(context => run(context, 'p.yaml', { start: true, again }))
      const file = join(place.folder, '.planfold/config.yaml')
      const stderr = `${file}:2:12: unknown value "maybe" for 'sandbox'`
      expect(refused).toMatchObject({ exit: 'invalid-policy', stdout: '', stderr })
    }
    await project('policy: {}\n')
    const plans = await say(context => list(context, {}))
    expect(plans.stdout).toContain('p ')
    expect(plans.stdout).not.toContain('p-2')
  })
})

describe('rules about commands', () => {
  it('deny the action, a check and an undo: the task fails as a matter of policy, and nothing is done', async () => {
    await organisation('commands: { deny: [[sudo, "**"], [git, tag, "**"]] }\n')
    for (const task of [
      'run: [sudo, "true"]',
      'run: "echo a; sudo true"',
      'run: [env, sudo, "true"]',
      'run: [touch, made], accept: [{ check: sudo true }]',
      'run: [touch, made], compensate: { run: [sudo, "true"] }',
    ]) {
      const { stdout, stderr, exit } = await ran(`planfold: 1\nname: p\ntasks: [{ id: a, ${task} }]\n`)
      expect([task, exit]).toEqual([task, expect.anything()])
      expect(`${stdout}${stderr}`).toContain("the organisation's policy")
      await expect(readFile(join(place.folder, 'made'))).rejects.toThrow('ENOENT')
    }
    const failures = await say(context =>
      withState(context, { create: false, reading: true }, async ({ engine }) => {
        const { plan } = await findPlan(engine, 'p')
        const entries = (await engine.ask({ type: 'entries', plan })) ?? []
        const failed = entries.flatMap(({ events }) => events).filter(event => event.type === 'attempt.failed')
        context.stdout.write(JSON.stringify(failed.map(({ result: { failure } }) => [failure.class, failure.code])))
        return 0
      }),
    )
    expect(JSON.parse(failures.stdout)).toEqual(Array(5).fill(['policy', 'policy:command']))
  })

  it('ask at a gate before the task', async () => {
    await organisation('commands: { ask: [[touch, "**"]] }\n')
    const { stdout, stderr } = await ran('planfold: 1\nname: p\ntasks: [{ id: a, run: [touch, made] }]\n')
    expect(`${stdout}${stderr}`).toContain("asks before 'touch **'")
    await expect(readFile(join(place.folder, 'made'))).rejects.toThrow('ENOENT')
    const { approve } = await import('../people/approve.ts')
    const approved = await say(context => approve(context, 'p', 'a', { comment: 'fine' } as never))
    expect(approved).toMatchObject({ exit: 0 })
    const { resume } = await import('../plans/resume.ts')
    await say(context => resume(context, 'p', {}))
    expect((await readFile(join(place.folder, 'made'))).length).toBe(0)
  })
})

describe('an approval', () => {
  it('is void when the policy around the plan has changed before it was used', async () => {
    await organisation('commands: { ask: [[touch, "**"]] }\n')
    await ran('planfold: 1\nname: p\ntasks: [{ id: a, run: [touch, made] }]\n')
    const { approve } = await import('../people/approve.ts')
    const { pause } = await import('../plans/pause.ts')
    const { resume } = await import('../plans/resume.ts')
    await say(context => pause(context, 'p', {}))
    expect(await say(context => approve(context, 'p', 'a', {}))).toMatchObject({ exit: 0 })
    await organisation('commands: { ask: [[touch, "**"]] }\nlimits: { attempts: 9 }\n')
    const { stdout, stderr } = await say(context => resume(context, 'p', {}))
    expect(`${stdout}${stderr}`).toContain('its approval is no longer valid: its policy changed since')
    await expect(readFile(join(place.folder, 'made'))).rejects.toThrow('ENOENT')
    await say(context => approve(context, 'p', 'a', {}))
    await say(context => resume(context, 'p', {}))
    expect((await readFile(join(place.folder, 'made'))).length).toBe(0)
  })
})

describe('what leaves the machine', () => {
  let server: Server
  const asked: string[] = []
  let port = 0
  beforeEach(async () => {
    asked.length = 0
    server = createServer((request, response) => {
      asked.push(request.url ?? '')
      response.end('{}')
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    port = (server.address() as AddressInfo).port
  })
  afterEach(() => {
    server.close()
  })

  it.skipIf(lacks('publishers'))('is held back where the policy says so: webhooks, models, traces', async () => {
    const plan = (name: string, policy = '') => `planfold: 1
name: ${name}
${policy}notify: [{ on: completed, webhook: "http://127.0.0.1:${port}/hook" }]
tasks: [{ id: a, run: [echo, a] }, { id: m, optional: true, model: { use: local/m }, instruction: What? }]
`
    const out = {
      PLANFOLD_MODEL_URL: `http://127.0.0.1:${port}/v1`,
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    }
    await organisation('limits: { attempts: 99 }\n')
    await ran(plan('open'), out)
    expect(asked).toEqual(expect.arrayContaining(['/hook', '/v1/traces']))
    expect(asked.some(path => path.startsWith('/v1/chat'))).toBe(true)
    asked.length = 0
    await ran(plan('own', 'policy: { data: { models: deny, webhooks: deny, traces: deny } }\n'), out)
    expect(asked).toEqual([])
    await organisation('data: { models: deny, webhooks: deny, traces: deny }\n')
    await ran(plan('closed'), out)
    expect(asked).toEqual([])
    const journal = await asJson(context => log(context, 'closed', undefined, {}))
    expect(journal.stdout).toContain('allows nothing to be sent to webhooks (data.webhooks: deny)')
    expect(journal.stdout).toContain('allows nothing to be sent to models (data.models: deny)')
  })

  it('by git is compared with the network of the layers, because it goes past the sandbox', async () => {
    await organisation(`sandbox: off\nnetwork: ["https://git.example"]\n`)
    const git = (...words: string[]) => execFileSync('git', words, { cwd: place.folder })
    git('init', '-q')
    git('remote', 'add', 'origin', `http://127.0.0.1:${port}/x.git`)
    const fetched = await ran('planfold: 1\nname: p\ntasks: [{ id: a, run: [git, fetch, origin] }]\n')
    expect(`${fetched.stdout}${fetched.stderr}`).toContain(`git would reach 127.0.0.1:${port}`)
    expect(asked).toEqual([])
  })
})

describe('the layers around a plan', () => {
  it('demand gates that the plan leaves out, and limit its attempts', async () => {
    await organisation('gates: { before: [delete] }\nlimits: { attempts: 2 }\n')
    const asks = await ran(
      'planfold: 1\nname: p\npolicy: { gates: none }\ntasks: [{ id: a, kind: delete, run: [touch, made] }]\n',
    )
    expect(`${asks.stdout}${asks.stderr}`).toContain('deletes data')
    await expect(readFile(join(place.folder, 'made'))).rejects.toThrow('ENOENT')
    const retried = await ran(
      'planfold: 1\nname: q\npolicy: { limits: { attempts: 50 } }\ntasks: [{ id: a, effect: pure, run: "false", retry: { attempts: 5, backoff: 1ms } }]\n',
    )
    expect(`${retried.stdout}${retried.stderr}`).toContain('all of its 2 attempts')
  })

  it('hold what it writes', async () => {
    await project('policy: { write: ["src/**"] }\n')
    const edit = (file: string) => `planfold: 1\nname: p\ntasks: [{ id: a, edit: [{ file: ${file}, create: text }] }]\n`
    await organisation('limits: { attempts: 5 }\n')
    expect((await ran(edit('src/a.txt'))).exit).toBe(0)
    const { stdout, stderr } = await ran(edit('b.txt'))
    const why = `'b.txt' may not be written: the project's policy (${place.folder}/.planfold/config.yaml:1) allows only src/**`
    expect(stderr).toContain(`warning: 'a' will fail: ${why}\n`)
    expect(stdout).toContain(`a failed: ${why}\n`)
    expect(stdout).toContain('change that rule, or write elsewhere\n')
    await expect(readFile(join(place.folder, 'b.txt'))).rejects.toThrow('ENOENT')
    const refused = await ran('planfold: 1\nname: w\ntasks: [{ id: a, run: [echo, a], write: ["docs/**"] }]\n')
    expect(refused.exit).not.toBe(0)
  })

  it('are not changed by a task, nor by the plan, once it runs', async () => {
    await organisation('limits: { attempts: 50 }\n')
    await project('policy: { commands: { deny: [[touch, "**"]] } }\n')
    // Whoever gets at the file all the same, without a sandbox: the plan goes on under what was written down.
    const { exit } = await ran(
      'planfold: 1\nname: p\npolicy: { write: ["**"] }\ntasks: [{ id: a, run: "rm .planfold/config.yaml" }, { id: b, needs: [a], run: [touch, made] }]\n',
    )
    expect(exit).not.toBe(0)
    await expect(readFile(join(place.folder, 'made'))).rejects.toThrow('ENOENT')
    const edited = await ran(
      'planfold: 1\nname: q\npolicy: { write: ["**"] }\ntasks: [{ id: a, edit: [{ file: .planfold/config.yaml, create: "policy: {}" }] }]\n',
    )
    expect(edited.exit).not.toBe(0)
  })

  it('are read again when a person takes the plan up', async () => {
    const plan = 'planfold: 1\nname: p\ntasks: [{ id: a, run: [touch, made] }]\n'
    await organisation('commands: { deny: [[touch, "**"]] }\n')
    expect((await ran(plan)).exit).not.toBe(0)
    await organisation('commands: { deny: [[sudo, "**"]] }\nsandbx: off\n')
    expect((await ran(plan)).exit).not.toBe(0)
    await organisation('commands: { deny: [[sudo, "**"]] }\n')
    expect((await ran(plan)).exit).toBe(0)
    expect((await readFile(join(place.folder, 'made'))).length).toBe(0)
    const { data } = JSON.parse((await asJson(context => showPolicy(context, 'p'))).stdout)
    expect(data.policy.map(({ value }: { value: string }) => value)).toEqual(['sudo **'])
  })

  it('that became stricter while the plan waits hold when it is resumed, and it is said; what they allow by now does not', async () => {
    await organisation('limits: { attempts: 50 }\n')
    await project('policy: { commands: { deny: [[rm, "**"]] } }\n')
    await ran(
      'planfold: 1\nname: p\nconcurrency: 1\ntasks:\n  - { id: g, gate: approval }\n  - { id: a, needs: [g], run: [touch, made] }\n  - { id: b, needs: [g], run: [rm, p.yaml] }\n',
    )
    const { approve } = await import('../people/approve.ts')
    const { resume } = await import('../plans/resume.ts')
    const moved = '# a comment moves the lines\npolicy: { commands: { deny: [[rm, "**"]] } }\n'
    await project(moved)
    expect((await say(context => resume(context, 'p', {}))).stdout).not.toContain('policy')
    await project('policy: { commands: { deny: [[touch, "**"]] } }\n')
    const file = join(place.folder, '.planfold/config.yaml')
    const { stdout, stderr } = await say(context => resume(context, 'p', {}))
    expect(`${stdout}${stderr}`).toContain(`plan resumed; the policy has changed in ${file}; under the policy of`)
    expect((await say(context => resume(context, 'p', {}))).stdout).not.toContain('the policy has changed')
    // What was shown at the gate was shown under another policy: each task asks again.
    for (const task of ['g', 'a', 'b']) {
      expect(await say(context => approve(context, 'p', task, {}))).toMatchObject({ exit: 0 })
      if (task === 'g') await say(context => resume(context, 'p', {}))
    }
    const { stdout: failed } = await say(context => resume(context, 'p', {}))
    expect(failed).toContain("denies 'touch **'")
    expect(failed).toContain("denies 'rm **'")
    await expect(readFile(join(place.folder, 'made'))).rejects.toThrow('ENOENT')
    expect((await readFile(join(place.folder, 'p.yaml'))).length).toBeGreaterThan(0)
  })

  it('refuse a plan that asks for more than they allow, with the line that says so', async () => {
    await organisation('sandbox: off\nnetwork: [a.example]\n')
    await place.write('p.yaml', 'planfold: 1\nname: p\ntasks: [{ id: a, run: [echo, a], network: [b.example] }]\n')
    let message = ''
    await say(async context => {
      try {
        return await run(context, 'p.yaml', { start: true })
      } catch (error) {
        message = (error as Error).message
        throw error
      }
    })
    expect(message).toContain(`task 'a' wants to reach 'b.example'`)
    expect(message).toContain(`${organisationFile()}:2`)
  })
})

describe('a rule of the person', () => {
  it('is added by their word, recorded with who and when, and never goes beyond the organisation', async () => {
    await organisation('commands: { deny: [[sudo, "**"]], ask: [[git, push, "**"]] }\nnetwork: ["*.example"]\n')
    const set = (how: 'allow' | 'ask' | 'deny' | 'remove', ...words: string[]) =>
      asJson(context => change(context, how, 'command', words, {}))
    expect(await set('allow', 'npm', '**')).toMatchObject({ exit: 0 })
    expect(await set('deny', 'curl', '**')).toMatchObject({ exit: 0 })
    expect(JSON.parse(await readFile(join(config, 'planfold', 'policy.json'), 'utf8'))).toEqual({
      commands: { allow: [['npm', '**']], deny: [['curl', '**']] },
    })
    expect(await set('allow', 'sudo', 'id')).toMatchObject({ exit: 'policy' })
    expect(await set('allow', 'git', '**')).toMatchObject({ exit: 'policy' })
    const network = (address: string) => asJson(context => change(context, 'allow', 'network', [address], {}))
    expect(await network('https://a.example')).toMatchObject({ exit: 0 })
    expect(await network('https://a.other')).toMatchObject({ exit: 'policy' })
    expect(await set('remove', 'npm', '**')).toMatchObject({ exit: 0 })
    expect(await set('remove', 'npm', '**')).toMatchObject({ exit: 'not-found' })
    const { changes } = JSON.parse((await asJson(logPolicy)).stdout).data
    expect(
      changes.map(({ by, did, what, rule }: { by: string; did: string; what: string; rule: string }) => [
        by,
        did,
        what,
        rule,
      ]),
    ).toEqual([
      ['ana@example.com', 'allow', 'command', 'npm **'],
      ['ana@example.com', 'deny', 'command', 'curl **'],
      ['ana@example.com', 'allow', 'network', 'https://a.example'],
      ['ana@example.com', 'remove', 'command', 'npm **'],
    ])
    expect(changes[0].at).toBeGreaterThan(1_700_000_000_000)
  })

  it('is not changed by a coding agent', async () => {
    await organisation('sandbox: off\n')
    for (const name of ['CLAUDECODE', 'GEMINI_CLI']) {
      const said = await place.say(context => change(context, 'allow', 'command', ['npm'], {}), {
        json: true,
        environment: { ...environment(), [name]: '1' },
      })
      expect(said).toMatchObject({ exit: 'policy' })
    }
  })
})
