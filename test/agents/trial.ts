// One agent through one plan: it is installed by `planfold agents install`, reads the plan, claims its task, writes the file with its own tool,
// and reports. Judged by the journal of Planfold, by what the MCP server heard, and by what the model was asked; never by the exit
// code of the agent, which is 0 also when everything was denied.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import type { Agent, Place } from './agents.ts'
import { promptFor, type ScriptedModel, type Scripts, startModel } from './scripted-model.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const MAIN = join(ROOT, 'dist/cli/main.js')
const AGENT_MS_MAX = 240_000

/** The first words of `planfold prime`. */
const PRIME = 'Planfold holds the plan of this project.'
const PRIMED_TASK = 'Your task (claimed by you)'
/** Not in the scope of the task. */
const OUTSIDE = 'other.mjs'
/** What the hook before a tool says. */
const DENIED = `${OUTSIDE} is outside what 'sum' of plan 'trial' may write`
const EVIDENCE = 'node test.mjs printed PASS'

export interface Findings {
  /** The version of MCP that it opened with. */
  readonly era: string
  readonly tools: readonly string[]
  /** Calls that the MCP server heard. */
  readonly calls: readonly string[]
  /** Of the first request of a model; for Claude Code also of the first after `/compact`. */
  readonly primes: readonly boolean[]
  readonly actor: string
  /** Who answered its question to a person; null while it waits in the inbox. */
  readonly answeredBy: string | null
  readonly ms: number
  /** Hosts that it tried to reach besides the model. */
  readonly elsewhere: readonly string[]
  /** What is wrong; nothing when all is well. */
  readonly faults: readonly string[]
  readonly folder: string
}

const PLAN = `planfold: 1
name: trial
goal: The sum is right
tasks:
  - id: sum
    title: Write sum.mjs
    write: [sum.mjs]
    accept:
      - check: node test.mjs
`
const TEST = `import sum from './sum.mjs'
if (sum(2, 2) !== 4) process.exit(1)
console.log('PASS')
`
const SUM = 'export default (a, b) => a + b\n'

export async function tryAgent(agent: Agent): Promise<Findings> {
  const folder = join(ROOT, '.cache/agents', agent.name)
  await rm(folder, { recursive: true, force: true })
  const project = join(folder, 'project')
  const model = await startModel(scriptsFor(agent, project))
  const place = { home: join(folder, 'home'), project, model: model.url }
  const environment = environmentOf(folder, place, agent)
  try {
    await prepare(folder, place)
    const planfold = async (...argv: readonly string[]): Promise<string> =>
      (await run(process.execPath, [MAIN, ...argv], { cwd: project, env: environment })).stdout
    // It waits for an agent, and says so with another exit code than 0.
    await planfold('run', 'plan.yaml').catch(() => '')
    await agent.setUp(place)
    if (agent.install !== null) await planfold('agents', 'install', agent.install, '--yes')
    const began = performance.now()
    const output = await converse(agent, place, environment)
    const ms = performance.now() - began
    await writeFile(join(folder, 'output.log'), output)
    await writeFile(join(folder, 'requests.jsonl'), model.requests.map(each => `${JSON.stringify(each)}\n`).join(''))
    const heard = await wireOf(folder)
    const { actor, answeredBy, faults } = judgeJournal(
      agent,
      JSON.parse(await planfold('log', 'trial', '--json')),
      JSON.parse(await planfold('show', 'trial', '--json')),
    )
    const asked = judgeRequests(agent, model, output)
    if (agent.install !== null) await planfold('agents', 'install', agent.install, '--uninstall', '--yes')
    return {
      ...heard,
      ...asked,
      actor,
      answeredBy,
      ms,
      elsewhere: [...model.refused],
      folder,
      faults: [
        ...faults,
        ...asked.faults,
        ...(agent.isGuarded && existsSync(join(project, OUTSIDE)) ? ['it wrote outside the scope of its task'] : []),
        ...(agent.isGuarded && !output.includes(DENIED) ? ['no write was denied'] : []),
        ...TOOLS.filter(tool => !heard.calls.includes(tool)).map(tool => `${tool} was not called`),
      ],
    }
  } finally {
    await model.close()
  }
}

const TOOLS = ['plan_read', 'plan_write']

/** Claude Code is compacted between its claim and its work. */
function scriptsFor(agent: Agent, project: string): Scripts {
  const begin = [
    ...agent.search,
    { call: 'plan_read', input: { what: 'next' } },
    { call: 'plan_write', input: { action: 'claim' } },
    { call: 'plan_write', input: { action: 'ask', text: 'Is it about whole numbers?' } },
  ]
  const finish = [
    ...(agent.isGuarded ? [agent.write(join(project, OUTSIDE), SUM)] : []),
    agent.write(join(project, 'sum.mjs'), SUM),
    { call: 'plan_write', input: { action: 'report', status: 'done', text: EVIDENCE } },
  ]
  const end = { say: 'The work is done.' }
  return { begin: [...begin, end], finish: [...finish, end], work: [...begin, ...finish, end] }
}

const promptsFor = (agent: Agent): readonly string[] =>
  agent.name === 'claude' ? [promptFor('begin'), '/compact', promptFor('finish')] : [promptFor('work')]

const run = promisify(execFile)

async function prepare(folder: string, { home, project }: Place): Promise<void> {
  for (const each of [home, project, join(folder, 'bin'), join(folder, 'tmp')]) await mkdir(each, { recursive: true })
  await writeFile(join(project, 'plan.yaml'), PLAN)
  await writeFile(join(project, 'test.mjs'), TEST)
  await run('git', ['init', '--quiet', project])
  // The command that the installed files call. What the agent says to the MCP server is kept beside.
  const command = join(folder, 'bin/planfold')
  const ours = `'${process.execPath}' '${MAIN}' "$@"`
  const script = `#!/bin/sh\nif [ "$1" = mcp ]; then tee -a '${folder}/wire.jsonl' | ${ours}; else exec ${ours}; fi\n`
  await writeFile(command, script)
  await chmod(command, 0o755)
}

function environmentOf(folder: string, place: Place, agent: Agent): NodeJS.ProcessEnv {
  const proxies = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'].map(name => [name, place.model])
  return {
    PATH: [join(folder, 'bin'), dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(delimiter),
    HOME: place.home,
    TMPDIR: join(folder, 'tmp'),
    LANG: 'C.UTF-8',
    ...Object.fromEntries(proxies),
    NO_PROXY: '127.0.0.1,localhost',
    no_proxy: '127.0.0.1,localhost',
    ...agent.environment(place),
  }
}

/** Runs the agent to its end and answers with all that it printed. */
async function converse(agent: Agent, place: Place, env: NodeJS.ProcessEnv): Promise<string> {
  const [program, ...first] = agent.program
  const prompts = [...promptsFor(agent)]
  const isOneByOne = prompts.length > 1
  const argv = agent.arguments(place, prompts[0]!)
  const child = spawn(program!, [...first, ...argv], { cwd: place.project, env, stdio: 'pipe', detached: true })
  const lines: string[] = []
  const write = (message: object): boolean => child.stdin.write(`${JSON.stringify(message)}\n`)
  const next = (): void => {
    const prompt = prompts.shift()
    if (prompt === undefined) child.stdin.end()
    else write({ type: 'user', message: { role: 'user', content: prompt } })
  }
  child.stdin.on('error', () => {})
  createInterface({ input: child.stdout }).on('line', line => {
    lines.push(line)
    if (!isOneByOne || !line.startsWith('{')) return
    const message = JSON.parse(line) as Printed
    if (message.type === 'result') next()
    if (message.request?.subtype === 'elicitation') write(answerOf(message))
  })
  createInterface({ input: child.stderr }).on('line', line => lines.push(`stderr: ${line}`))
  if (isOneByOne) next()
  else child.stdin.end()
  lines.push(await endOf(child))
  return `${lines.join('\n')}\n`
}

/** What Claude Code prints: among others that a turn has ended, and what a person is asked in its window. */
interface Printed {
  readonly type: string
  readonly request_id?: string
  readonly request?: { readonly subtype: string }
}

/** A person says yes. */
const answerOf = ({ request_id }: Printed): object => ({
  type: 'control_response',
  response: { subtype: 'success', request_id, response: { action: 'accept', content: { answer: 'yes' } } },
})

async function endOf(child: ChildProcess): Promise<string> {
  const timer = setTimeout(() => killGroup(child), AGENT_MS_MAX)
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code, signal) => resolve(`ended with ${code ?? signal}`))
    })
  } finally {
    clearTimeout(timer)
    killGroup(child)
  }
}

/** Whatever the agent started and left behind goes too. */
function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

interface Message {
  readonly method?: string
  readonly params?: {
    readonly name?: string
    readonly protocolVersion?: string
    readonly _meta?: { readonly [key: string]: unknown }
  }
}

async function wireOf(folder: string): Promise<Pick<Findings, 'era' | 'calls'>> {
  const path = join(folder, 'wire.jsonl')
  const lines = existsSync(path) ? (await readFile(path, 'utf8')).split('\n') : []
  const messages = lines.filter(line => line.startsWith('{')).map(line => JSON.parse(line) as Message)
  const opening = messages[0]?.params
  const version = opening?.protocolVersion ?? opening?._meta?.['io.modelcontextprotocol/protocolVersion']
  return {
    era: typeof version === 'string' ? version : 'none',
    calls: messages.filter(({ method }) => method === 'tools/call').map(({ params }) => params?.name ?? ''),
  }
}

interface Log {
  readonly data: { readonly items: readonly { readonly type: string; readonly actor: string }[] }
}
interface Shown {
  readonly data: {
    readonly summary: { readonly status: string }
    readonly tasks: readonly { readonly status: string; readonly outputs: { readonly evidence?: string } | null }[]
  }
}

/** The task was claimed and completed in the name of this agent, with what it said; its question is there, answered by a person. */
function judgeJournal(
  agent: Agent,
  { data: { items } }: Log,
  { data }: Shown,
): Pick<Findings, 'actor' | 'answeredBy' | 'faults'> {
  const by = (type: string): string => items.find(item => item.type === type)?.actor ?? 'nobody'
  const [claimed, completed, asked] = [by('attempt.started'), by('attempt.succeeded'), by('question.asked')]
  const answeredBy = items.find(({ type }) => type === 'question.answered')?.actor ?? null
  const task = data.tasks[0]
  return {
    actor: completed,
    answeredBy,
    faults: [
      ...(asked === claimed ? [] : [`the question was asked by ${asked}`]),
      ...((answeredBy !== null) === agent.hasWindow && answeredBy !== claimed ? [] : [`answered by ${answeredBy}`]),
      ...(agent.actor.test(claimed) ? [] : [`the task was claimed by ${claimed}`]),
      ...(completed === claimed ? [] : [`claimed by ${claimed}, but completed by ${completed}`]),
      ...(task?.status === 'completed' && data.summary.status === 'completed' ? [] : [`the task is ${task?.status}`]),
      ...(task?.outputs?.evidence === EVIDENCE ? [] : ['its evidence is not in the plan']),
    ],
  }
}

/** What the model was told: both tools in its first request, and the state of the plan where the agent has a hook for it. */
function judgeRequests(
  agent: Agent,
  { requests }: ScriptedModel,
  output: string,
): Pick<Findings, 'tools' | 'primes' | 'faults'> {
  const first = requests.find(({ script }) => script !== null)
  const shown = requests.find(({ script, step }) => script !== null && step === agent.search.length)
  const tools = TOOLS.filter(tool => shown?.tools.some(name => name.endsWith(tool)))
  const isPrimed = first?.body.includes(PRIME) === true
  const faults = [
    ...TOOLS.filter(tool => !tools.includes(tool)).map(tool => `${tool} was not offered to the model`),
    ...(agent.isPrimed && !isPrimed ? ['the first request has no prime'] : []),
  ]
  if (promptsFor(agent).length === 1) return { tools, primes: [isPrimed], faults }
  const after = requests.find(({ script }) => script === 'finish')
  const isCompacted = output.includes('"compact_boundary"') && after?.body.includes(promptFor('begin')) === false
  const isPrimedAgain = after?.body.includes(PRIME) === true && after.body.includes(PRIMED_TASK)
  return {
    tools,
    primes: [isPrimed, isPrimedAgain],
    faults: [
      ...faults,
      ...(isCompacted ? [] : ['the conversation was not compacted']),
      ...(isPrimedAgain ? [] : ['the first request after /compact has no prime with the claimed task']),
    ],
  }
}
