import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { compose } from '../../src/compose.ts'
import { trusted } from '../../src/engine/roles.ts'
import { makeTestFolder } from '../../src/operations/agents/test-agent.ts'
import { bubblewrap } from '../../src/safety/sandbox/bubblewrap.ts'
import { type AgentStep, agentScript } from '../../src/testing/agent-script.ts'
import { type ScriptedModel, scriptedModel } from '../../src/testing/scripted-model.ts'
import { grokPath } from '../agents/installed.ts'
import { MAIN } from './planfold.fixture.ts'

// A real coding agent (Grok Build), started by the built program in a real sandbox, against a model that follows a script.

const standing = await bubblewrap({ environment: process.env, outside: [] }).check()
const grok = grokPath()
const missing = !standing.ok
  ? standing.failure.message
  : grok === null
    ? 'grok is not installed: (cd test/agents/grok && npm install --no-save) && node test/agents/grok/unpack.mjs'
    : null
if (missing !== null) console.log(`skipped: ${missing}`)

const base = join(import.meta.dirname, '../../.cache', `started-agents-${process.pid}`)
let listener: Server
let reached = 0
let port = 0
const models: ScriptedModel[] = []

beforeAll(async () => {
  mkdirSync(base, { recursive: true })
  listener = createServer(socket => {
    reached++
    socket.destroy()
  })
  await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve))
  port = (listener.address() as { port: number }).port
})
afterAll(async () => {
  listener.close()
  for (const model of models) await model.close()
  rmSync(base, { recursive: true, force: true })
})

interface Run {
  readonly code: number | null
  readonly out: string
}

class World {
  readonly folder: string
  readonly root: string
  readonly #model: ScriptedModel

  private constructor(folder: string, model: ScriptedModel) {
    this.folder = folder
    this.root = join(folder, 'work')
    this.#model = model
  }

  static async open(name: string, steps: readonly AgentStep[], onStep?: (step: number) => void | Promise<void>) {
    const folder = join(base, name)
    const root = join(folder, 'work')
    makeTestFolder(root)
    mkdirSync(join(folder, 'home'))
    writeFileSync(join(folder, 'home/secret.txt'), 'the-secret-of-the-person')
    execFileSync('git', ['init', '-q', '.'], { cwd: root })
    execFileSync('git', ['add', '-A'], { cwd: root })
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', 'commit', '-qm', 'init'], { cwd: root })
    const script = agentScript({ root, scripts: { go: steps }, onStep: async (_, step) => await onStep?.(step) })
    const model = await scriptedModel(script)
    models.push(model)
    return new World(folder, model)
  }

  get model(): ScriptedModel {
    return this.#model
  }

  env(): NodeJS.ProcessEnv {
    return {
      PATH: `${grok}:${process.env.PATH}`,
      HOME: join(this.folder, 'home'),
      TZ: 'UTC',
      LANG: 'C.UTF-8',
      PLANFOLD_AS: 'ana@example.com',
      PLANFOLD_DIR: join(this.root, '.planfold'),
      ...this.#model.environment(),
    }
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.root, file), text)
  }

  read(file: string): string {
    return readFileSync(join(this.root, file), 'utf8')
  }

  start(...argv: readonly string[]) {
    const child = spawn(process.execPath, [MAIN, ...argv], {
      cwd: this.root,
      env: this.env(),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let out = ''
    child.stdout.on('data', chunk => {
      out += String(chunk)
    })
    child.stderr.on('data', chunk => {
      out += String(chunk)
    })
    const ended = new Promise<Run>(resolve => child.once('close', code => resolve({ code, out })))
    return { child, ended }
  }

  async run(...argv: readonly string[]): Promise<Run> {
    return await this.start(...argv).ended
  }

  /** Processes that bear the mark of this place. */
  alive(): readonly string[] {
    return readdirSync('/proc').filter(pid => {
      if (!/^\d+$/.test(pid)) return false
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`HOME=${join(this.folder, 'home')}\0`)
      } catch {
        return false
      }
    })
  }
}

const plan = (more = ''): string => `planfold: 1
name: repair
goal: sum.js adds
tasks:
  - id: fix
    agent: { use: grok, model: openai-chat/scripted }
    instruction: "Make the test pass. [script go]"
    write: [sum.js]
    retry: { attempts: 1 }
    accept: [{ check: [node, test.js] }]
${more}`

interface Inbox {
  /** Absent as long as there is no plan. */
  readonly data?: { readonly items: readonly { readonly id: string }[] }
}

interface Proposed {
  readonly data: object
}

interface Shown {
  readonly data: { readonly spent: object }
}

interface Listed {
  readonly data: { readonly agents: readonly { readonly name: string }[] }
}

interface Usage {
  readonly data: { readonly total: { readonly calls: number; readonly usage: { readonly [name: string]: number } } }
}

const FIX: readonly AgentStep[] = [
  { read: 'sum.js' },
  { edit: ['sum.js', 'a - b', 'a + b'] },
  { shell: 'node test.js' },
  { say: 'Fixed.' },
]

/** An agent of one's own: it asks its model once, and writes what that says. */
const COMMAND_AGENT = `#!/usr/bin/env node
const { readFileSync, writeFileSync } = require('node:fs')
const brief = readFileSync(0, 'utf8')
const tools = [{ type: 'function', function: { name: 'none', parameters: { type: 'object' } } }]
fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
  method: 'POST',
  headers: { 'content-type': 'application/json', authorization: 'Bearer ' + process.env.OPENAI_API_KEY },
  body: JSON.stringify({ model: 'scripted', tools, messages: [{ role: 'user', content: brief }] }),
})
  .then(answer => answer.json())
  .then(({ choices }) => {
    writeFileSync('sum.js', 'module.exports = (a, b) => ' + choices[0].message.content + '\\n')
    console.log(JSON.stringify({ text: 'done by my-agent with ' + process.env.OPENAI_API_KEY.length }))
  })
`

describe.skipIf(missing !== null)('an agent that Planfold starts', { timeout: 120_000 }, () => {
  test('repairs the test, is told what it needs, is counted, and can be undone', async () => {
    const world = await World.open('repairs', FIX)
    world.write('plan.yaml', plan())
    const run = await world.run('run', 'plan.yaml')
    expect(run.code, run.out).toBe(0)
    expect(world.read('sum.js')).toContain('a + b')
    const [first] = world.model.requests
    const prompt = first!.messages.map(({ text }) => text).join('\n')
    for (const told of ['Make the test pass', 'sum.js adds', 'node test.js', 'only sum.js', 'never: .git'])
      expect(prompt).toContain(told)
    // The key of the provider never reaches the agent; the token that does is good for nothing else.
    expect(first!.headers.authorization).toBe('Bearer sk-scripted-0123456789abcdef')
    const log = await world.run('log', 'repair', '--output')
    expect(log.out).toContain('Fixed.')
    const { served } = world.model
    // What it did, said it edits, and spent stands in the log, and is told by whoever asks; in the end it is in the journal.
    const lines = log.out.replaceAll('fix │ ', '')
    expect(lines).toContain('→ read sum.js\n')
    expect(lines).toContain('→ edit sum.js (+1 −1)\n│ @@ as the agent says @@\n│ -a - b\n│ +a + b\n')
    expect(lines).toContain('→ run node test.js\n')
    expect(run.out).toContain('fix │ → edit sum.js (+1 −1)\n')
    expect(run.out).toContain(`; models: ${served.calls} calls, `)
    const shown = JSON.parse((await world.run('show', 'repair', 'fix', '--json')).out) as Shown
    expect(shown.data.spent).toEqual({
      ...{ calls: served.calls, inputTokens: served.input, outputTokens: served.output, cost: { known: false } },
    })
    const { data } = JSON.parse((await world.run('models', 'usage', '--json')).out) as Usage
    const { inputTokens, outputTokens, cacheReadTokens } = data.total.usage
    expect({ calls: data.total.calls, inputTokens, outputTokens, cacheReadTokens }).toEqual({
      ...{ calls: served.calls, inputTokens: served.input },
      ...{ outputTokens: served.output, cacheReadTokens: served.cacheRead },
    })
    // What was recorded is replayed: no agent is started, and no model asked.
    expect(await world.run('replay', 'repair')).toMatchObject({ code: 0 })
    expect(world.model.served.calls).toBe(served.calls)
    // Its conversation stays as long as the retention says.
    const homes = () => readdirSync(join(world.root, '.planfold/agents')).length
    expect((await world.run('prune')).out).not.toContain('conversations')
    expect((await world.run('prune', '--before', '1ms', '--dry-run')).out).toContain(
      'agents of 1 plan would be removed',
    )
    expect(homes()).toBe(1)
    expect((await world.run('prune', '--before', '1ms')).out).toContain('agents of 1 plan were removed')
    expect(homes()).toBe(0)
    expect(await world.run('rollback', 'repair', '--tasks', 'fix', '--yes')).toMatchObject({ code: 0 })
    expect(world.read('sum.js')).toContain('a - b')
    expect(world.alive()).toEqual([])
  })

  test('fails when a criterion does not hold, whatever it says; the next attempt knows why', async () => {
    const world = await World.open('fails', [{ read: 'sum.js' }, { say: 'Fixed. All tests pass.' }])
    world.write('plan.yaml', plan().replace('attempts: 1', 'attempts: 2, backoff: 10ms'))
    const run = await world.run('run', 'plan.yaml')
    expect(run.code).not.toBe(0)
    expect(world.read('sum.js')).toContain('a - b')
    const prompts = world.model.requests.map(({ messages }) => messages.map(({ text }) => text).join('\n'))
    expect(prompts.some(text => text.includes('attempt 1 failed'))).toBe(true)
    expect(prompts.some(text => text.includes('not met: node test.js') || text.includes('not met:'))).toBe(true)
  })

  test('cannot write outside its scope, reach another host, or read what is not shown to it', async () => {
    const world = await World.open('attacks', [
      { shell: `echo escaped > ../outside.txt; echo escaped > test.js; echo escaped > .git/hooks/pre-commit; true` },
      {
        shell: `cat ${join(base, 'attacks/home/secret.txt')}; ls ${join(base, 'attacks/home')}; cat ~/.ssh/id_rsa; env; true`,
      },
      { shell: `node -e "require('net').connect(${port},'127.0.0.1').on('error',e=>console.log(e.code))"; true` },
      ...FIX,
    ])
    world.write('plan.yaml', plan())
    const before = world.read('test.js')
    const run = await world.run('run', 'plan.yaml')
    expect(run.code, run.out).toBe(0)
    expect(world.read('test.js')).toBe(before)
    expect(existsSync(join(world.folder, 'outside.txt'))).toBe(false)
    expect(existsSync(join(world.root, '.git/hooks/pre-commit'))).toBe(false)
    expect(reached).toBe(0)
    const all = world.model.requests.map(({ body }) => body).join('\n')
    expect(all).not.toContain('the-secret-of-the-person')
    expect(all).not.toContain('sk-scripted-0123456789abcdef')
  })

  test('asks a person before it writes outside its scope, also through a link; a no is obeyed and on record', async () => {
    const world = await World.open('asks', [{ write: ['linked.js', 'escaped\n'] }, ...FIX])
    symlinkSync(join(world.folder, 'outside.txt'), join(world.root, 'linked.js'))
    world.write('plan.yaml', plan().replace('write: [sum.js]', 'write: [sum.js, linked.js]'))
    const { ended } = world.start('run', 'plan.yaml')
    let question: string | null = null
    for (let round = 0; question === null && round < 40; round++) {
      const { data } = JSON.parse((await world.run('inbox', '--json')).out) as Inbox
      question = data?.items[0]?.id ?? null
    }
    if (question === null) throw new Error(`nobody was asked: ${(await ended).out}`)
    const shown = (await world.run('inbox')).out.replace(/\s+/g, ' ')
    expect(shown).toContain('outside the workspace')
    expect((await world.run('show', 'repair', 'fix')).out).toContain(`planfold answer repair ${question} `)
    expect(await world.run('answer', 'repair', question, 'allow=no')).toMatchObject({ code: 0 })
    await ended
    expect(existsSync(join(world.folder, 'outside.txt'))).toBe(false)
    expect((await world.run('log', 'repair')).out.replace(/\s+/g, ' ')).toContain('outside the workspace')
  })

  test('is parked when nobody answers in time, waits without spending a retry, and goes on with the answer', async () => {
    const world = await World.open('parked', [{ write: ['linked.js', 'escaped\n'] }, ...FIX])
    symlinkSync(join(world.folder, 'outside.txt'), join(world.root, 'linked.js'))
    world.write('plan.yaml', plan().replace('write: [sum.js]', 'write: [sum.js, linked.js]'))
    expect(await world.run('run', 'plan.yaml', '--no-start')).toMatchObject({ code: 0 })
    const composed = await compose({
      ...{ cwd: world.root, environment: world.env(), caller: trusted('ana@example.com') },
      agentPatienceMs: 500,
    })
    const [row] = (await composed.engine.ask({ type: 'plans', limit: 1 })).items
    expect(await composed.engine.submit(row!.id, { type: 'start' })).toMatchObject({ ok: true })
    const stop = new AbortController().signal
    expect(await composed.worker.drive(row!.id, { stop })).toMatchObject({ status: 'rested', rest: 'waiting' })
    await composed.close()
    expect(world.alive()).toEqual([])
    // It is needed: the plan has not ended.
    expect((await world.run('prune', '--before', '1ms')).out).not.toContain('conversations')
    // As long as nobody answers, no other attempt is made.
    const asked = world.model.requests.length
    expect(await world.run('resume', 'repair')).toMatchObject({ code: 4 })
    expect(world.model.requests.length).toBe(asked)
    expect((await world.run('log', 'repair')).out).toContain('nobody has answered yet')
    const { data } = JSON.parse((await world.run('inbox', '--json')).out) as Inbox
    expect(await world.run('answer', 'repair', data!.items[0]!.id, 'allow=yes')).toMatchObject({ code: 0 })
    const run = await world.run('resume', 'repair')
    expect(run.code, run.out).toBe(0)
    expect(world.read('sum.js')).toContain('a + b')
    // Allowed by a person, and still held by the sandbox.
    expect(existsSync(join(world.folder, 'outside.txt'))).toBe(false)
    expect((await world.run('log', 'repair', '--output')).out).toContain('took up conversation')
    const last = world.model.requests
      .at(-1)!
      .messages.map(({ text }) => text)
      .join('\n')
    expect(last).toContain('→ {"allow":"yes"}')
  })

  test('dies with Planfold, and the next attempt takes up its conversation', async () => {
    let killed: (() => void) | null = null
    const reachedStep = new Promise<void>(resolve => {
      killed = resolve
    })
    let isFirst = true
    const world = await World.open('killed', FIX, async step => {
      if (step !== 2 || !isFirst) return
      isFirst = false
      killed?.()
      await new Promise(resolve => setTimeout(resolve, 1_000))
    })
    world.write('plan.yaml', plan().replace('attempts: 1', 'attempts: 2'))
    const { child, ended } = world.start('run', 'plan.yaml')
    await reachedStep
    child.kill('SIGKILL')
    await ended
    for (let round = 0; world.alive().length > 0 && round < 500; round++) await new Promise(r => setTimeout(r, 10))
    expect(world.alive()).toEqual([])
    expect(world.read('sum.js')).toContain('a + b')
    const again = await world.run('run', 'plan.yaml')
    expect(again.code, again.out).toBe(0)
    const log = (await world.run('log', 'repair', '--output')).out
    const prompts = world.model.requests.map(({ messages }) => messages.map(({ text }) => text).join('\n'))
    expect(log + prompts.at(-1)).toContain('You were interrupted')
    expect(prompts.at(-1)).toContain('Files that are changed since this task began\n  sum.js')
  })

  test('works in a worktree of its own, and what it did is merged into the branch of the plan', async () => {
    const world = await World.open('apart', [{ shell: "sed -i 's/a - b/a + b/' sum.js" }, { say: 'Fixed.' }])
    world.write('plan.yaml', plan('git: { worktree: task }\n'))
    const run = await world.run('run', 'plan.yaml')
    expect(run.code, run.out).toBe(0)
    expect(String(execFileSync('git', ['show', 'plan/repair:sum.js'], { cwd: world.root }))).toContain('a + b')
    expect(world.read('sum.js')).toContain('a - b')
  })

  test('drafts a plan without writing anything', async () => {
    const tasks = [
      {
        ...{ id: 'fix', title: 'Fix sum', instruction: 'make it add', write: ['sum.js'] },
        accept: [{ check: ['node', 'test.js'] }],
      },
    ]
    const draft = { action: 'create', goal: 'sum adds', tasks }
    const world = await World.open('drafts', [
      { read: 'sum.js' },
      { shell: 'echo escaped > drafted.txt; true' },
      { call: ['search_tool', { query: 'plan_write' }] },
      { call: ['use_tool', { tool_name: 'planfold__plan_write', tool_input: draft }] },
      { say: 'Submitted.' },
    ])
    const before = readdirSync(world.root).sort()
    const goal = 'sum.js must add [script go]'
    const draftWithin = async (budget: string) =>
      await world.run(
        ...['plan', goal, '--with', 'grok', '--model', 'openai-chat/scripted', '--dry-run', '--json'],
        ...['--budget', budget],
      )
    // Cut short by its limit, it goes on with its conversation when the same is asked for again.
    const cut = await draftWithin('2 calls')
    expect(cut.code, cut.out).toBe(1)
    expect(cut.out).toContain('the limit of this drafting is reached (2 calls; 2 calls, ')
    expect(cut.out).toContain("say it again with `--budget '3 calls'`")
    const run = await draftWithin('40 calls')
    expect(run.code, run.out).toBe(0)
    expect(
      world.model.requests
        .at(-1)
        ?.messages.map(({ text }) => text)
        .join('\n'),
    ).toContain('You were interrupted')
    expect(readdirSync(join(world.root, '.planfold/drafting'))).toEqual([])
    const { data } = JSON.parse(run.out.slice(run.out.indexOf('{"planfold"'))) as Proposed
    expect(data).toMatchObject({ planner: 'agent', status: 'proposed', tasks: [{ id: 'fix', action: 'external' }] })
    expect(
      readdirSync(world.root)
        .filter(name => name !== '.planfold')
        .sort(),
    ).toEqual(before)
  })

  test('is listed and tested by planfold agents', async () => {
    const world = await World.open('listed', FIX)
    const { data } = JSON.parse((await world.run('agents', '--json')).out) as Listed
    expect(data.agents.find(({ name }) => name === 'grok')).toMatchObject({
      ...{ status: 'installed', road: 'acp', version: '1.0.41', tested: '1.0.41' },
    })
    const tested = await world.run('agents', 'test', 'grok')
    expect(tested.code, tested.out).toBe(0)
    expect(tested.out).toContain('Grok Build 1.0.41 fits')
  })

  test('may be any command, which gets the brief, a model and no key', async () => {
    const world = await World.open('command', [{ say: 'a + b' }])
    const program = join(world.folder, 'bin/my-agent')
    mkdirSync(join(world.folder, 'bin'))
    writeFileSync(program, COMMAND_AGENT, { mode: 0o755 })
    world.write(
      'plan.yaml',
      plan().replace('{ use: grok, model: openai-chat/scripted }', `{ command: [${program}, repair] }`),
    )
    const run = await world.run('run', 'plan.yaml')
    expect(run.code, run.out).toBe(0)
    expect(world.read('sum.js')).toContain('a + b')
    expect(world.model.requests[0]?.messages[0]?.text).toContain('Make the test pass')
    const log = (await world.run('log', 'repair', 'fix', '--output')).out
    expect(log).toContain('done by my-agent')
    expect(log).not.toContain('sk-scripted')
  })
})
