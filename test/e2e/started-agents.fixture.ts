// A folder with a failing test, a home and a scripted model, for a coding agent that the built program starts in a real sandbox: the
// scripted one of `test/agents`, or Grok Build.
// Needs the extras: agents

import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type AgentScriptOptions, type AgentStep, agentScript } from '../../src/extras/agents/agent-script.ts'
import { makeTestFolder } from '../../src/extras/agents/test-agent.ts'
import { type ScriptedModel, scriptedModel } from '../../src/testing/scripted-model.ts'
import { type TestAgent, testAgents } from '../agents/installed.ts'
import { planfoldIn } from './in-process.fixture.ts'
import { MAIN } from './planfold.fixture.ts'

export const AGENTS = await testAgents()
/** For what does not depend on the agent: the real one where it is asked for. */
export const ONE_AGENT = [AGENTS.findLast(({ missing }) => missing === null) ?? AGENTS[0]!]

/** Where the folders of this process stand. */
export const base = join(import.meta.dirname, '../../.cache', `started-agents-${process.pid}`)
const models: ScriptedModel[] = []

/** Removes all that was opened. */
export async function closeWorlds(): Promise<void> {
  for (const model of models) await model.close()
  rmSync(base, { recursive: true, force: true })
}

interface Run {
  readonly code: number | null
  readonly out: string
}

export class World {
  readonly folder: string
  readonly root: string
  readonly #model: ScriptedModel
  readonly #path: string

  private constructor(folder: string, model: ScriptedModel, path: string) {
    this.#path = path
    this.folder = folder
    this.root = join(folder, 'work')
    this.#model = model
  }

  static async open(
    agent: TestAgent,
    name: string,
    steps: readonly AgentStep[] | AgentScriptOptions['scripts'],
    {
      onStep,
      files,
      PATH = process.env.PATH,
    }: {
      readonly onStep?: ((step: number) => void | Promise<void>) | undefined
      /** In the place of a folder with a failing test. */
      readonly files?: { readonly [path: string]: string }
      readonly PATH?: string | undefined
    } = {},
  ) {
    const folder = join(base, agent.name, name)
    const root = join(folder, 'work')
    if (files === undefined) makeTestFolder(root)
    mkdirSync(join(folder, 'home'), { recursive: true })
    writeFileSync(join(folder, 'home/secret.txt'), 'the-secret-of-the-person')
    const script = agentScript({
      root,
      scripts: Array.isArray(steps) ? { go: steps } : (steps as AgentScriptOptions['scripts']),
      onStep: async (_, step) => await onStep?.(step),
    })
    const model = await scriptedModel(script)
    models.push(model)
    const world = new World(folder, model, `${agent.path}:${PATH}`)
    for (const [file, text] of Object.entries(files ?? {})) world.write(file, text)
    world.git('init', '-q', '.')
    world.commit('init')
    return world
  }

  get model(): ScriptedModel {
    return this.#model
  }

  env(): NodeJS.ProcessEnv {
    return {
      PATH: this.#path,
      HOME: join(this.folder, 'home'),
      TZ: 'UTC',
      LANG: 'C.UTF-8',
      PLANFOLD_AS: 'ana@example.com',
      PLANFOLD_DIR: join(this.root, '.planfold'),
      ...this.#model.environment(),
    }
  }

  write(file: string, text: string): void {
    mkdirSync(dirname(join(this.root, file)), { recursive: true })
    writeFileSync(join(this.root, file), text)
  }

  git(...words: readonly string[]): string {
    return execFileSync('git', words, { cwd: this.root, encoding: 'utf8' }).trim()
  }

  /** All that there is. */
  commit(message: string): void {
    this.git('add', '-A')
    this.git('-c', 'user.name=t', '-c', 'user.email=t@t', 'commit', '-qm', message)
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
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        out += text
      })
    const ended = new Promise<Run>(resolve => child.once('close', code => resolve({ code, out })))
    /** Until it has said this. */
    const says = (words: string): Promise<void> =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (out.includes(words)) resolve()
        }
        child.stdout.on('data', look)
        look()
        void ended.then(() => reject(new Error(`it ended without saying '${words}': ${out}`)))
      })
    return { child, ended, says }
  }

  /** The built program, to its end. */
  async run(...argv: readonly string[]): Promise<Run> {
    return await this.start(...argv).ended
  }

  /** The same command in this process, for what starts no agent. */
  async tell(...argv: readonly string[]): Promise<Run> {
    const { exit, stdout, stderr } = await planfoldIn(this.root, this.env())(...argv)
    return { code: exit, out: stdout + stderr }
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

export const plan = (more = ''): string => `planfold: 1
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

export interface Inbox {
  /** Absent as long as there is no plan. */
  readonly data?: { readonly items: readonly { readonly id: string }[] }
}

export const FIX: readonly AgentStep[] = [
  { read: 'sum.js' },
  { edit: ['sum.js', 'a - b', 'a + b'] },
  { shell: 'node test.js' },
  { say: 'Fixed.' },
]
