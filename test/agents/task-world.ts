// The world of one trial: a repository with a failing test outside of /tmp, a plan with one `agent` task, a home, a model that follows a
// script and counts as real ones do, and the built program.
// Needs the extras: agents

import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AgentScriptOptions, type AgentStep, agentScript } from '../../src/extras/agents/agent-script.ts'
import { makeTestFolder, testModel } from '../../src/extras/agents/test-agent.ts'
import type { KnownAgent } from '../../src/runners/runner.ts'
import { type ScriptedReply, type ScriptedRequest, scriptedModel } from '../../src/testing/scripted-model.ts'

const MAIN = join(import.meta.dirname, '../../dist/cli/main.js')
const WATCH = join(import.meta.dirname, 'process-watch.mjs')

/** The agent under trial, where its program is found, and a folder that nothing else uses. */
export interface Trial {
  readonly agent: KnownAgent
  readonly path: string
  readonly folder: string
}

export interface WorldOptions {
  readonly steps: readonly AgentStep[]
  /** In the place of a plan with one task that follows `steps`. */
  readonly staged?: Staged
  /** Of the whole plan. */
  readonly budgetTokens?: number
  /** In a conversation that is taken up, the model goes on with the repair. */
  readonly goesOn?: boolean
  readonly answersAfterMs?: number
  readonly onAsked?: () => void
  readonly onAnswered?: () => void
}

/** A plan, and what its model answers, depending on nothing but what it is told. */
export interface Staged {
  readonly plan: string
  readonly scripts: AgentScriptOptions['scripts']
  /** For what no agent asks. */
  readonly answer?: (request: ScriptedRequest) => ScriptedReply
  readonly isDone: (world: { read(file: string): string }) => boolean
}

export interface Run {
  readonly code: number | null
  readonly out: string
}

export type World = Awaited<ReturnType<typeof openWorld>>

/** It looks twice before it repairs something: half of the budget ends before that. */
export const FIX: readonly AgentStep[] = [
  { read: 'sum.js' },
  { read: 'test.js' },
  { shell: 'node test.js' },
  { read: 'sum.js' },
  { edit: ['sum.js', 'a - b', 'a + b'] },
  { shell: 'node test.js' },
  { say: 'Fixed.' },
]

/** Of the provider: no agent may ever see it. */
export const KEY = 'sk-the-key-of-the-provider-0123456789'

const planText = ({ name, wire }: KnownAgent, budgetTokens: number | undefined): string => `planfold: 1
name: repair
goal: sum.js adds
defaults: { timeout: 3m }
${budgetTokens === undefined ? '' : `policy: { budget: { tokens: ${budgetTokens} } }\n`}tasks:
  - id: fix
    agent: { use: ${name}, model: ${testModel(wire)} }
    instruction: "Make the test pass. [script go]"
    write: [sum.js]
    accept: [{ check: [node, test.js] }]
`

export async function openWorld({ agent, path, folder }: Trial, options: WorldOptions) {
  const root = join(folder, 'work')
  const home = join(folder, 'home')
  makeTestFolder(root)
  mkdirSync(home)
  const git = (...argv: readonly string[]) => execFileSync('git', argv, { cwd: root })
  git('init', '-q', '.')
  git('add', '-A')
  git('-c', 'user.name=t', '-c', 'user.email=t@example.com', 'commit', '-qm', 'init')
  const { staged } = options
  writeFileSync(join(root, 'plan.yaml'), staged?.plan ?? planText(agent, options.budgetTokens))
  const script = agentScript({ root, scripts: staged?.scripts ?? { go: options.steps, 'go-on': FIX.slice(-4) } }) as (
    request: ScriptedRequest,
    index: number,
  ) => Promise<ScriptedReply>
  const model = await scriptedModel(async (request, index) => {
    options.onAsked?.()
    const isAsked =
      staged?.answer !== undefined && request.messages.some(({ text }) => text.includes('Why did it fail?'))
    const reply = isAsked
      ? staged.answer!(request)
      : await script(options.goesOn === true ? takenUp(request) : request, index)
    if (options.answersAfterMs !== undefined) await new Promise(resolve => setTimeout(resolve, options.answersAfterMs))
    setImmediate(() => options.onAnswered?.())
    return { ...reply, usage: usageOf(request) }
  })
  const env = {
    ...{ PATH: path, HOME: home, TZ: 'UTC', LANG: 'C.UTF-8', PLANFOLD_AS: 'ana@example.com' },
    ...{ PLANFOLD_DIR: join(root, '.planfold'), ...model.environment(KEY) },
  }
  const startWith = (more: { readonly [name: string]: string }, argv: readonly string[]) => {
    const child = spawn(process.execPath, [...argv], {
      cwd: root,
      env: { ...env, ...more },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let out = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', chunk => {
        out += String(chunk)
      })
    const ended = new Promise<Run>(resolve => child.once('close', code => resolve({ code, out })))
    return { child, ended }
  }
  const start = (...argv: readonly string[]) => startWith({}, [MAIN, ...argv])
  const run = async (...argv: readonly string[]) => await start(...argv).ended
  return {
    root,
    home,
    model,
    start,
    run,
    /** The `data` that a command prints; an empty object when it has none. */
    async ask<T>(...argv: readonly string[]): Promise<Partial<T>> {
      const { out } = await run(...argv, '--json')
      return (JSON.parse(out) as { readonly data?: T }).data ?? {}
    },
    /** A command, and what it started and connected to, a line each. */
    async watched(...argv: readonly string[]): Promise<Run & { readonly did: readonly string[] }> {
      const file = join(folder, 'did.txt')
      writeFileSync(file, '')
      const ended = await startWith({ PLANFOLD_WATCH_FILE: file }, ['--import', WATCH, MAIN, ...argv]).ended
      return { ...ended, did: readFileSync(file, 'utf8').split('\n').filter(Boolean) }
    },
    read: (file: string) => readFileSync(join(root, file), 'utf8'),
    isFixed: () =>
      staged?.isDone({ read: (file: string) => readFileSync(join(root, file), 'utf8') }) ??
      readFileSync(join(root, 'sum.js'), 'utf8').includes('a + b'),
    /** What the gateway wrote down of calls that were answered, as it is on disk now. */
    recorded: () => recordedIn(join(root, '.planfold/models/attempts')),
    /** Processes that bear the mark of this place. */
    alive: () =>
      readdirSync('/proc').filter(pid => {
        try {
          return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`HOME=${home}\0`)
        } catch {
          return false
        }
      }),
    close: () => model.close(),
  }
}

/** Four bytes of what is asked are a token. */
function usageOf({ body, outputTokensMax }: ScriptedRequest) {
  const input = Math.ceil(body.length / 4)
  return { input, output: Math.min(60, outputTokensMax ?? 60), cacheRead: Math.floor(input / 3) }
}

/** A conversation that was taken up goes on before the repair. It reads the file again: Qwen wants that after a new start. */
const takenUp = (request: ScriptedRequest): ScriptedRequest => ({
  ...request,
  messages: request.messages.map(({ role, text }) => ({
    role,
    text: text.includes('You were interrupted') ? text.replace('[script go]', '[script go-on]') : text,
  })),
})

interface KeptLine {
  readonly exchange: {
    readonly request: { readonly path: string; readonly body: never }
    readonly response: { readonly status: number }
  }
}

function recordedIn(folder: string): readonly KeptLine['exchange'][] {
  let names: readonly string[]
  try {
    names = readdirSync(folder)
  } catch {
    return []
  }
  return names
    .flatMap(name => readFileSync(join(folder, name), 'utf8').split('\n'))
    .flatMap(line => {
      try {
        return line === '' ? [] : [(JSON.parse(line) as KeptLine).exchange]
      } catch {
        // Cut off by a kill.
        return []
      }
    })
}

export const lastLines = (text: string): string => text.trim().split('\n').slice(-6).join(' | ').slice(0, 800)
