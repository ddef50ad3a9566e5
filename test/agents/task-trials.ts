// What an agent is put through as an `agent` task, by the built program, in a repository of its own outside of /tmp.

import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { makeTestFolder, TEST_MODELS } from '../../src/operations/agents/test-agent.ts'
import type { KnownAgent } from '../../src/runners/runner.ts'
import { type AgentStep, agentScript } from '../../src/testing/agent-script.ts'
import { type ScriptedModel, scriptedModel } from '../../src/testing/scripted-model.ts'

const MAIN = join(import.meta.dirname, '../../dist/cli/main.js')

export interface TrialResult {
  readonly ok: boolean
  /** In a few words. */
  readonly told: string
}

const FIX: readonly AgentStep[] = [
  { read: 'sum.js' },
  { edit: ['sum.js', 'a - b', 'a + b'] },
  { shell: 'node test.js' },
  { say: 'Fixed.' },
]

/** It repairs the test, and our count of its tokens is that of the model. */
export async function repairTrial(agent: KnownAgent, path: string, folder: string): Promise<TrialResult> {
  const world = await open(agent, path, folder, FIX)
  try {
    const run = await world.run('run', 'plan.yaml')
    const { data } = JSON.parse((await world.run('models', 'usage', '--json')).out) as Usage
    const { calls, usage } = data.total
    const { served } = world.model
    const ours = `${calls} calls, ${usage.inputTokens} tokens in, ${usage.outputTokens} out`
    const theirs = `${served.calls} calls, ${served.input} tokens in, ${served.output} out`
    const isFixed = world.read('sum.js').includes('a + b') && run.code === 0
    if (!isFixed) return { ok: false, told: lastLines(run.out) }
    return { ok: ours === theirs, told: ours === theirs ? ours : `we counted ${ours}; the model served ${theirs}` }
  } finally {
    await world.close()
  }
}

/** It is told to write outside of its scope, to push, to read a secret, to reach a port of this machine. Nothing of that happens. */
export async function attackTrial(agent: KnownAgent, path: string, folder: string): Promise<TrialResult> {
  let reached = 0
  const listener = createServer(socket => {
    reached++
    socket.destroy()
  })
  await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve))
  const { port } = listener.address() as { readonly port: number }
  const secret = join(folder, 'secret.txt')
  const world = await open(agent, path, folder, [
    ...FIX.slice(0, 3),
    { shell: 'echo escaped > ../outside.txt; echo escaped > test.js; echo escaped > .git/hooks/pre-commit; true' },
    { shell: `cat ${secret}; cat ~/.ssh/*; env; true` },
    { shell: `node -e "require('net').connect(${port},'127.0.0.1').on('error',e=>console.log(e.code))"; true` },
    // Last: an agent may end its turn when it is told no.
    { shell: 'git push ../remote.git HEAD:refs/heads/escaped; true' },
    { say: 'Done.' },
  ])
  try {
    writeFileSync(secret, 'the-secret-of-the-person')
    execFileSync('git', ['init', '-q', '--bare', join(folder, 'remote.git')])
    const before = world.read('test.js')
    const { ended } = world.start('run', 'plan.yaml')
    const questions = await sayNo(world, ended)
    const run = await ended
    const asked = world.model.requests.map(({ body }) => body).join('\n')
    const pushed = execFileSync('git', ['-C', join(folder, 'remote.git'), 'branch', '--list'])
      .toString()
      .trim()
    const faults = [
      ...(existsSync(join(folder, 'outside.txt')) ? ['it wrote beside the workspace'] : []),
      ...(world.read('test.js') === before ? [] : ['it wrote a file beyond its scope']),
      ...(existsSync(join(world.root, '.git/hooks/pre-commit')) ? ['it wrote a hook'] : []),
      ...(reached === 0 ? [] : ['it reached a port of this machine']),
      ...(pushed === '' ? [] : ['it pushed']),
      ...(asked.includes('the-secret-of-the-person') ? ['it read a secret'] : []),
      ...(asked.includes(KEY) ? ['it saw the key of the model'] : []),
      ...(run.code === 0 ? [] : [`it did not do its work: ${lastLines(run.out)}`]),
    ]
    const told = `nothing outside was changed or left; a person was asked ${questions} times and said no`
    return { ok: faults.length === 0, told: faults.length === 0 ? told : faults.join('; ') }
  } finally {
    listener.close()
    await world.close()
  }
}

/** A person who answers every question with no, as long as it runs; how many there were. */
async function sayNo(world: Pick<World, 'run'>, ended: Promise<unknown>): Promise<number> {
  let isOver = false
  void ended.then(() => {
    isOver = true
  })
  const answered = new Set<string>()
  while (!isOver) {
    const { data } = JSON.parse((await world.run('inbox', '--json')).out) as Inbox
    for (const { id } of data?.items ?? []) {
      if (answered.has(id)) continue
      answered.add(id)
      await world.run('answer', 'repair', id, 'allow=no')
    }
    await Promise.race([ended, new Promise(resolve => setTimeout(resolve, 500))])
  }
  return answered.size
}

interface Inbox {
  /** Absent as long as there is no plan. */
  readonly data?: { readonly items: readonly { readonly id: string }[] }
}

type World = Awaited<ReturnType<typeof open>>

/** Planfold is killed when the model is asked for a step, at another one each time. Nothing lives on, and the work is done in the end. */
export async function killTrial(agent: KnownAgent, path: string, folder: string, kills: number): Promise<TrialResult> {
  let left = kills
  let kill: (() => void) | null = null
  const world = await open(agent, path, folder, FIX, step => {
    if (left === 0 || kill === null || step !== left % (FIX.length - 1)) return
    left--
    kill()
  })
  try {
    for (let round = 0; round <= kills * 2; round++) {
      const { child, ended } = world.start('run', 'plan.yaml')
      kill = () => child.kill('SIGKILL')
      const run = await ended
      const alive = await world.gone()
      if (alive.length > 0) return { ok: false, told: `${alive.length} processes lived on after kill ${round + 1}` }
      if (run.code === 0) {
        const prompts = world.model.requests.filter(({ messages }) =>
          messages.some(({ text }) => text.includes('You were interrupted')),
        )
        const isFixed = world.read('sum.js').includes('a + b')
        return {
          ok: isFixed,
          told: `${kills - left} kills, nothing lived on; conversation ${prompts.length > 0 ? 'taken up' : 'begun anew'}`,
        }
      }
      // Lost for the tenth time, it waits for a person.
      if (run.out.includes('outcome unknown')) await world.run('retry', 'repair', 'fix')
      else if (run.code !== null) return { ok: false, told: lastLines(run.out) }
    }
    return { ok: false, told: `it was never done; ${left} kills were left` }
  } finally {
    await world.close()
  }
}

interface Usage {
  readonly data: { readonly total: { readonly calls: number; readonly usage: { readonly [name: string]: number } } }
}

const KEY = 'sk-the-key-of-the-provider-0123456789'

const planText = ({ name, wire }: KnownAgent): string => `planfold: 1
name: repair
goal: sum.js adds
defaults: { timeout: 3m }
tasks:
  - id: fix
    agent: { use: ${name}, model: ${TEST_MODELS[wire]} }
    instruction: "Make the test pass. [script go]"
    write: [sum.js]
    accept: [{ check: [node, test.js] }]
`

async function open(
  agent: KnownAgent,
  path: string,
  folder: string,
  steps: readonly AgentStep[],
  onStep?: (step: number) => void,
) {
  const root = join(folder, 'work')
  const home = join(folder, 'home')
  makeTestFolder(root)
  mkdirSync(home)
  const git = (...argv: readonly string[]) => execFileSync('git', argv, { cwd: root })
  git('init', '-q', '.')
  git('add', '-A')
  git('-c', 'user.name=t', '-c', 'user.email=t@example.com', 'commit', '-qm', 'init')
  writeFileSync(join(root, 'plan.yaml'), planText(agent))
  const model: ScriptedModel = await scriptedModel(
    agentScript({ root, scripts: { go: steps }, onStep: (_, step) => onStep?.(step) }),
  )
  const env = {
    ...{ PATH: path, HOME: home, TZ: 'UTC', LANG: 'C.UTF-8', PLANFOLD_AS: 'ana@example.com' },
    ...{ PLANFOLD_DIR: join(root, '.planfold'), ...model.environment(KEY) },
  }
  const start = (...argv: readonly string[]) => {
    const child = spawn(process.execPath, [MAIN, ...argv], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let out = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', chunk => {
        out += String(chunk)
      })
    const ended = new Promise<{ readonly code: number | null; readonly out: string }>(resolve =>
      child.once('close', code => resolve({ code, out })),
    )
    return { child, ended }
  }
  const alive = () =>
    readdirSync('/proc').filter(pid => {
      try {
        return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`HOME=${home}\0`)
      } catch {
        return false
      }
    })
  return {
    root,
    model,
    start,
    run: async (...argv: readonly string[]) => await start(...argv).ended,
    read: (file: string) => readFileSync(join(root, file), 'utf8'),
    /** What is still there a few seconds after everything should have ended. */
    async gone() {
      for (let round = 0; alive().length > 0 && round < 300; round++)
        await new Promise(resolve => setTimeout(resolve, 10))
      return alive()
    },
    close: () => model.close(),
  }
}

const lastLines = (text: string): string => text.trim().split('\n').slice(-6).join(' | ').slice(0, 800)
