// Needs the extras: agents

import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, test as anyTest, beforeAll, describe, expect } from 'vitest'
import { base, closeWorlds, FIX, type Inbox, ONE_AGENT, plan, World } from './started-agents.fixture.ts'

// A coding agent, started by the built program in a real sandbox, against a model that follows a script: a small one of our own or, with
// PLANFOLD_REAL_AGENTS=1, Grok Build. More of it, and all other agents: `npm run agents`.

let listener: Server
let reached = 0
let port = 0

beforeAll(async () => {
  listener = createServer(socket => {
    reached++
    socket.destroy()
  })
  await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve))
  port = (listener.address() as { port: number }).port
})
afterAll(async () => {
  listener.close()
  await closeWorlds()
})

interface Shown {
  readonly data: { readonly spent: object; readonly programs: readonly string[] }
}

interface Usage {
  readonly data: { readonly total: { readonly calls: number; readonly usage: { readonly [name: string]: number } } }
}

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

describe.each(ONE_AGENT)('an agent that Planfold starts: $name', agent => {
  const test = anyTest.skipIf(agent.missing !== null)
  test('repairs the test, is told what it needs, is counted, and can be undone', async () => {
    const world = await World.open(agent, 'repairs', FIX)
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
    const log = await world.tell('log', 'repair', '--output')
    expect(log.out).toContain('Fixed.')
    const { served } = world.model
    // What it did, said it edits, and spent stands in the log, and is told by whoever asks; in the end it is in the journal.
    const lines = log.out.replaceAll('fix │ ', '')
    expect(lines).toContain('→ read sum.js\n')
    expect(lines).toContain('→ edit sum.js (+1 −1)\n│ @@ as the agent says @@\n│ -a - b\n│ +a + b\n')
    expect(lines).toContain('→ run node test.js\n')
    expect(run.out).toContain('fix │ → edit sum.js (+1 −1)\n')
    expect(run.out).toContain(`; models: ${served.calls} calls, `)
    const shown = JSON.parse((await world.tell('show', 'repair', 'fix', '--json')).out) as Shown
    // The agent that ran, with its model, stands among the programs of the attempt.
    expect(shown.data.programs.filter(one => one.startsWith('agent grok '))).toEqual([
      expect.stringMatching(/^agent grok \S.* \(\/.*\/grok\) with the model \w/),
    ])
    expect(shown.data.spent).toEqual({
      ...{ calls: served.calls, inputTokens: served.input, outputTokens: served.output, cost: { known: false } },
    })
    // What it did, with its words before it where its protocol gives them.
    const steps = await world.tell('show', 'repair', 'fix', '--steps')
    expect(steps.out).toMatch(/attempt 1\n(?: {2}.*\n)* {2}→ edit sum\.js \(\+1 −1\)\n/)
    expect(steps.out).toContain('  Fixed.')
    const { data } = JSON.parse((await world.tell('models', 'usage', '--json')).out) as Usage
    const { inputTokens, outputTokens, cacheReadTokens } = data.total.usage
    expect({ calls: data.total.calls, inputTokens, outputTokens, cacheReadTokens }).toEqual({
      ...{ calls: served.calls, inputTokens: served.input },
      ...{ outputTokens: served.output, cacheReadTokens: served.cacheRead },
    })
    // What was recorded is replayed: no agent is started, and no model asked.
    expect(await world.tell('replay', 'repair')).toMatchObject({ code: 0 })
    expect(world.model.served.calls).toBe(served.calls)
    // Its conversation stays as long as the retention says.
    const homes = () => readdirSync(join(world.root, '.planfold/agents')).length
    expect((await world.tell('prune')).out).not.toContain('conversations')
    expect((await world.tell('prune', '--before', '1ms', '--dry-run')).out).toContain(
      'agents of 1 plan would be removed',
    )
    expect(homes()).toBe(1)
    expect((await world.tell('prune', '--before', '1ms')).out).toContain('agents of 1 plan were removed')
    expect(homes()).toBe(0)
    expect(await world.tell('rollback', 'repair', '--tasks', 'fix', '--yes')).toMatchObject({ code: 0 })
    expect(world.read('sum.js')).toContain('a - b')
    expect(world.alive()).toEqual([])
  })

  test('cannot write outside its scope, reach another host, or read what is not shown to it', async () => {
    const world = await World.open(agent, 'attacks', [
      { shell: `echo escaped > ../outside.txt; echo escaped > test.js; echo escaped > .git/hooks/pre-commit; true` },
      {
        shell: `cat ${join(base, agent.name, 'attacks/home/secret.txt')}; ls ${join(base, agent.name, 'attacks/home')}; cat ~/.ssh/id_rsa; env; true`,
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
    const world = await World.open(agent, 'asks', [{ write: ['linked.js', 'escaped\n'] }, ...FIX])
    symlinkSync(join(world.folder, 'outside.txt'), join(world.root, 'linked.js'))
    world.write('plan.yaml', plan().replace('write: [sum.js]', 'write: [sum.js, linked.js]'))
    const { ended, says } = world.start('run', 'plan.yaml')
    await says('outside the workspace')
    const { data } = JSON.parse((await world.tell('inbox', '--json')).out) as Inbox
    const question = data!.items[0]!.id
    const shown = (await world.tell('inbox')).out.replace(/\s+/g, ' ')
    expect(shown).toContain('outside the workspace')
    expect((await world.tell('show', 'repair', 'fix')).out).toContain(`planfold answer repair ${question} `)
    expect(await world.tell('answer', 'repair', question, 'allow=no')).toMatchObject({ code: 0 })
    await ended
    expect(existsSync(join(world.folder, 'outside.txt'))).toBe(false)
    expect((await world.tell('log', 'repair')).out.replace(/\s+/g, ' ')).toContain('outside the workspace')
  })

  test('dies with Planfold, and the next attempt takes up its conversation', async () => {
    let killed: (() => void) | null = null
    const reachedStep = new Promise<void>(resolve => {
      killed = resolve
    })
    let isFirst = true
    let dead: () => void = () => {}
    const isDead = new Promise<void>(resolve => {
      dead = resolve
    })
    const world = await World.open(agent, 'killed', FIX, {
      onStep: async step => {
        if (step !== 2 || !isFirst) return
        isFirst = false
        killed?.()
        await isDead
      },
    })
    world.write('plan.yaml', plan().replace('attempts: 1', 'attempts: 2'))
    const { child, ended } = world.start('run', 'plan.yaml')
    await reachedStep
    child.kill('SIGKILL')
    await ended
    await expect.poll(() => world.alive()).toEqual([])
    dead()
    expect(world.read('sum.js')).toContain('a + b')
    const again = await world.run('run', 'plan.yaml')
    expect(again.code, again.out).toBe(0)
    const log = (await world.tell('log', 'repair', '--output')).out
    const prompts = world.model.requests.map(({ messages }) => messages.map(({ text }) => text).join('\n'))
    expect(log + prompts.at(-1)).toContain('You were interrupted')
    expect(prompts.at(-1)).toContain('Files that are changed since this task began\n  sum.js')
  })

  test('may be any command, which gets the brief, a model and no key', async () => {
    const world = await World.open(agent, 'command', [{ say: 'a + b' }])
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
    const log = (await world.tell('log', 'repair', 'fix', '--output')).out
    expect(log).toContain('done by my-agent')
    expect(log).not.toContain('sk-scripted')
  })
})
