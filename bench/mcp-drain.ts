// `npm run bench:mcp`: many agents on one store, each the official MCP client with a `planfold mcp` process of its own. They claim and
// report until nothing is left; every claim is timed, and every task must have been claimed exactly once. Then one agent asks for the
// next task in a store with many tasks, over stdio and within one process. `BENCH_AGENTS`, `BENCH_TASKS` and `BENCH_STORED` say how many.
// Needs the extras: planners

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { performance } from 'node:perf_hooks'
import { Client, InMemoryTransport, type Transport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { encode } from 'gpt-tokenizer'
import { compose } from '../src/compose.ts'
import type { Actor } from '../src/domain/id.ts'
import { trusted } from '../src/engine/roles.ts'
import { proposedPlan } from '../src/extras/planners/goals/plan-goal.ts'
import { planningIn } from '../src/extras/planners/open-planners.ts'
import { mcpFactory } from '../src/mcp/server.ts'

export interface Drained {
  readonly tasks: number
  /** By task: how often an agent was told that it is its own. */
  readonly claims: ReadonlyMap<string, number>
  /** How many the plan says are done. */
  readonly done: number
  readonly claimMs: readonly number[]
  readonly seconds: number
  /** Of the answers to claim and report, per task. */
  readonly answerTokens: number
}

interface Agent {
  call(tool: 'plan_read' | 'plan_write', input: object): Promise<{ readonly text: string; readonly error: boolean }>
  close(): Promise<void>
}

/** `main`: the built command. Without `named`, agents claim the next task of all plans. */
export async function drain(
  main: string,
  { agents, tasks, named = true }: { readonly agents: number; readonly tasks: number; readonly named?: boolean },
): Promise<Drained> {
  return await inFolder(async folder => {
    const all = await Promise.all(Array.from({ length: agents }, (_, at) => overStdio(main, folder, `agent-${at}`)))
    try {
      await createPlan(all[0]!, tasks)
      const claims = new Map<string, number>()
      const claimMs: number[] = []
      let tokens = 0
      const began = performance.now()
      const which = named ? { plan: 'drain' } : {}
      await Promise.all(
        all.map(async agent => {
          for (;;) {
            const from = performance.now()
            const claimed = await agent.call('plan_write', { action: 'claim', ...which })
            const task = /^ok: (\S+) is yours/.exec(claimed.text)?.[1]
            if (task === undefined) {
              if (isDrained(claimed.text)) return
              throw new Error(claimed.text)
            }
            claimMs.push(performance.now() - from)
            claims.set(task, (claims.get(task) ?? 0) + 1)
            const reported = await agent.call('plan_write', { action: 'report', plan: 'drain', task, status: 'done' })
            if (reported.error) throw new Error(reported.text)
            tokens += encode(claimed.text).length + encode(reported.text).length
          }
        }),
      )
      const seconds = (performance.now() - began) / 1_000
      const { text } = await all[0]!.call('plan_read', { what: 'completed', plan: 'drain' })
      const done = Number(/(\d+) of \d+ tasks are done/.exec(text)?.[1])
      return { tasks, claims, done, claimMs, seconds, answerTokens: Math.round(tokens / tasks) }
    } finally {
      await Promise.all(all.map(agent => agent.close()))
    }
  })
}

/** Nothing is left to claim, or somebody else is about to report the last one. */
const isDrained = (text: string): boolean =>
  /nothing can be claimed|no task to claim|is ready to be claimed|status: completed/.test(text)

interface Waited {
  readonly times: readonly number[]
  /** Of this process: it says more than the clock where other work runs beside it. */
  readonly cpuMs: readonly number[]
}

/** How long `plan_read next` takes, asked again and again in one session, while somebody works on the plan. */
export async function askNext(
  how: 'stdio' | 'in process',
  { main, tasks, rounds }: { readonly main: string; readonly tasks: number; readonly rounds: number },
): Promise<Waited> {
  return await inFolder(async folder => {
    const agent = how === 'stdio' ? await overStdio(main, folder, 'agent') : await inProcess(folder)
    try {
      await createPlan(agent, tasks)
      await agent.call('plan_read', { what: 'next' })
      const [times, cpuMs]: [number[], number[]] = [[], []]
      for (let round = 0; round < rounds; round++) {
        // Between two questions the plan moves, as it does while agents work.
        const changed = await agent.call('plan_write', { action: 'status', task: `t${round}`, status: 'done' })
        if (changed.error) throw new Error(changed.text)
        const [from, cpu] = [performance.now(), process.cpuUsage()]
        const next = await agent.call('plan_read', { what: 'next' })
        times.push(performance.now() - from)
        const { user, system } = process.cpuUsage(cpu)
        cpuMs.push((user + system) / 1_000)
        if (!next.text.includes('Ready to claim')) throw new Error(next.text)
      }
      return { times, cpuMs }
    } finally {
      await agent.close()
    }
  })
}

async function createPlan(agent: Agent, count: number): Promise<void> {
  const tasks = Array.from({ length: count }, (_, at) => ({ id: `t${at}`, title: `Task ${at}` }))
  const document = { planfold: 1, name: 'drain', goal: 'Nothing is left', tasks }
  const made = await agent.call('plan_write', { action: 'create', document, start: true })
  if (made.error) throw new Error(made.text)
}

async function overStdio(main: string, folder: string, name: string): Promise<Agent> {
  const env = { PATH: process.env.PATH ?? '', HOME: folder }
  const args = [main, 'mcp', '--as', name]
  return await connected(
    new StdioClientTransport({ command: process.execPath, args, cwd: folder, env, stderr: 'inherit' }),
  )
}

async function inProcess(folder: string): Promise<Agent> {
  const composed = await compose({ cwd: folder, environment: { HOME: folder }, caller: trusted('bench' as Actor) })
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  const { engine, now } = composed
  const { planners, repository } = planningIn(composed, {})
  const factory = mcpFactory({
    open: async () => ({
      engine,
      now,
      templates: folder,
      propose: goal => proposedPlan({ planner: planners.get('heuristic')!, repository }, goal),
    }),
    version: '0',
    environment: {},
    as: 'agent',
  })
  const server = serveStdio(factory, { transport: ours as never })
  const agent = await connected(theirs)
  const close = async (): Promise<void> => {
    await agent.close()
    await server.close()
    await composed.close()
  }
  return { ...agent, close }
}

async function connected(transport: Transport): Promise<Agent> {
  const client = new Client({ name: 'bench', version: '1' })
  await client.connect(transport)
  return {
    call: async (name, input) => {
      const result = await client.callTool({ name, arguments: { ...input } }, { timeout: 600_000 })
      const [first] = result.content as readonly { readonly text: string }[]
      return { text: first?.text ?? '', error: result.isError === true }
    },
    close: () => client.close(),
  }
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'planfold-mcp-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export function percentile(times: readonly number[], part: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
}

export const timesText = (times: readonly number[]): string =>
  [0.5, 0.99, 1]
    .map(part => `${part === 1 ? 'max' : `p${part * 100}`} ${percentile(times, part).toFixed(1)} ms`)
    .join(', ')

async function main(): Promise<void> {
  const built = resolve('dist/cli/main.js')
  const agents = Number(process.env.BENCH_AGENTS ?? 16)
  const tasks = Number(process.env.BENCH_TASKS ?? 2_000)
  const stored = Number(process.env.BENCH_STORED ?? 20_000)
  for (const named of [true, false]) {
    const { claims, done, claimMs, seconds, answerTokens } = await drain(built, { agents, tasks, named })
    const twice = [...claims.values()].filter(times => times > 1).length
    const what = named ? 'of the plan they name' : 'of all plans'
    console.log(
      `${agents} agents over stdio drained ${tasks} tasks ${what} in ${seconds.toFixed(1)} s: ${twice} claimed twice, ${tasks - claims.size} never, ${done} done`,
    )
    console.log(`  claim: ${timesText(claimMs)}; answers to claim and report: ${answerTokens} tokens per task`)
    if (twice > 0 || claims.size !== tasks || done !== tasks) process.exitCode = 1
  }
  for (const how of ['in process', 'stdio'] as const) {
    const { times, cpuMs } = await askNext(how, { main: built, tasks: stored, rounds: 500 })
    console.log(`plan_read next with ${stored} tasks, ${how}: ${timesText(times)}`)
    if (how === 'in process') console.log(`  CPU time of client and server: ${timesText(cpuMs)}`)
  }
}

if (process.argv[1]?.endsWith('mcp-drain.ts')) await main()
