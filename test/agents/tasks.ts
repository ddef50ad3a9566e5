// `npm run agents`: every agent that is installed is put through the trials of an `agent` task. Real agents, a real sandbox, a model that
// follows a script; nothing leaves this machine. Before that, what only Grok is asked (`started-agents.test.ts`). See README.md.
//
//   npm run agents                         all
//   npm run agents -- grok claude          these
//   npm run agents -- pi --kills 20        so many kills for each
//   npm run agents -- grok --only review   this trial alone
// Needs the extras: agents, models

import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { isStartable } from '../../src/extras/agents/agent-settings.ts'
import { listAgents } from '../../src/extras/agents/find-agent.ts'
import { stockRows } from '../../src/extras/agents/known-agents.ts'
import { testModel } from '../../src/extras/agents/test-agent.ts'
import type { KnownAgent } from '../../src/runners/runner.ts'
import { bubblewrap } from '../../src/safety/sandbox/bubblewrap.ts'
import { agentsPath, installAgents } from './installed.ts'
import { type Killed, killTrial } from './kill-trial.ts'
import { staged as secondOpinions } from './review-script.ts'
import { attackTrial, budgetTrial, repairTrial, type TrialResult } from './task-trials.ts'
import type { Trial } from './task-world.ts'

const CACHE = join(import.meta.dirname, '../../.cache/agents')
/** Fewer than these, and the command fails. */
const PASSED_MIN = 6
const ACP_MIN = 4
/** One of each road is killed at many points, the others at a few. */
const MANY_KILLS: ReadonlySet<string> = new Set(['grok', 'pi'])
const KILLS = { many: 20, few: 2 }
/** Agents that are tried at the same time: they mostly wait. */
const AT_ONCE = 2

/** Those that review and are criticised, killed at writes of the journal: the first at each of them. */
const SECOND_OPINIONS: ReadonlyMap<string, number | null> = new Map([
  ['grok', null],
  ['opencode', 3],
  ['claude', 3],
])

const { values, positionals } = parseArgs({
  options: { kills: { type: 'string' }, only: { type: 'string' } },
  allowPositionals: true,
})
const names = stockRows()
  .filter(isStartable)
  .map(({ name }) => name)
const unknown = positionals.filter(name => !names.includes(name))
if (unknown.length > 0 || !/^\d{1,3}$/.test(values.kills ?? '3')) {
  console.error(`npm run agents -- [AGENT …] [--kills NUMBER] [--only TRIAL]; agents are ${names.join(', ')}`)
  process.exit(2)
}
async function main(): Promise<number> {
  installAgents()
  const standing = await bubblewrap({ environment: process.env, outside: [] }).check()
  if (!standing.ok) {
    console.log(`no sandbox: ${standing.failure.message}`)
    return 1
  }
  mkdirSync(CACHE, { recursive: true })
  const path = `${agentsPath(CACHE)}:${process.env.PATH}`
  const known = await listAgents({ environment: { PATH: path }, root: '/nonexistent', stateDir: '/nonexistent' })
  const wanted = known.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
  // What only one of them is asked: with Grok, which is there on every platform.
  const isTested = values.only !== undefined || !wanted.some(({ name }) => name === 'grok') || runTests()
  const tried = new Map<KnownAgent, Tried>()
  const waiting = [...wanted]
  const work = async (): Promise<void> => {
    for (let agent = waiting.shift(); agent !== undefined; agent = waiting.shift()) {
      if (agent.status !== 'missing') tried.set(agent, await tryAgent(agent, path))
      else console.log(`skipped ${agent.name}: it could not be installed on this platform`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  const rows = wanted.map(agent => tried.get(agent)?.row ?? [agent.title, 'skipped', ...HEAD.slice(2).map(() => '')])
  const passed = wanted.filter(agent => tried.get(agent)?.faults === 0)
  const failed = [...tried.values()].reduce((sum, { faults }) => sum + faults, 0)
  const acp = passed.filter(({ road }) => road === 'acp').length
  const isEnough = positionals.length > 0 || (passed.length >= PASSED_MIN && acp >= ACP_MIN)
  console.log(`\n${tableOf([HEAD, ...rows])}\n`)
  console.log(`${passed.length} agents passed everything, ${acp} of them through ACP; ${failed} trials failed`)
  if (!isEnough) console.log(`at least ${PASSED_MIN} must pass, ${ACP_MIN} of them through ACP`)
  if (!isTested) console.log('tests of test/agents failed, see above')
  return failed === 0 && isEnough && isTested ? 0 : 1
}

function runTests(): boolean {
  const vitest = join(import.meta.dirname, '../../node_modules/vitest/vitest.mjs')
  const config = join(import.meta.dirname, 'vitest.config.ts')
  const env = { ...process.env, PLANFOLD_REAL_AGENTS: '1' }
  return spawnSync(process.execPath, [vitest, 'run', '--config', config], { stdio: 'inherit', env }).status === 0
}

const HEAD = [
  ...['agent', 'version', 'road', 'repaired', 'attacks held', "tokens = server's", 'replay', 'half budget, more'],
  ...['killed, resumed', 'reviewed; criticised', 'seconds'],
]

interface Tried {
  readonly row: readonly string[]
  /** Trials that failed. */
  readonly faults: number
}

async function tryAgent(agent: KnownAgent, path: string): Promise<Tried> {
  const began = performance.now()
  let faults = 0
  const trial = async <T extends TrialResult>(name: string, run: (at: Trial) => Promise<T>): Promise<T | null> => {
    if (values.only !== undefined && values.only !== name) return null
    const folder = join(CACHE, 'tasks', `${agent.name}-${name}`)
    rmSync(folder, { recursive: true, force: true })
    const from = performance.now()
    const result = await run({ agent, path, folder }).catch((error: Error) => error)
    const isOk = !(result instanceof Error) && result.faults.length === 0
    const told = result instanceof Error ? result.message : isOk ? result.told : result.faults.join('; ')
    console.log(`${isOk ? 'ok    ' : 'FAILED'}  ${agent.name} ${name}, ${secondsSince(from)} s: ${told}`)
    if (!isOk) faults++
    return result instanceof Error ? null : result
  }
  const repaired = await trial('repair', repairTrial)
  const attacked = await trial('attack', attackTrial)
  const parked = await trial('budget', at => budgetTrial(at, repaired?.tokens ?? 0))
  const kills = Number(values.kills ?? (MANY_KILLS.has(agent.name) ? KILLS.many : KILLS.few))
  const killed = kills === 0 ? null : await trial('kill', at => killTrial(at, kills))
  const opinions: (Killed | null)[] = []
  const few = SECOND_OPINIONS.get(agent.name)
  const points = values.kills === undefined ? few : Number(values.kills)
  if (few !== undefined && points !== undefined && points !== 0)
    for (const [name, staged] of Object.entries(secondOpinions(agent.name, testModel(agent.wire))))
      opinions.push(await trial(name, at => killTrial(at, points, staged)))
  const yes = (isSo: boolean | undefined): string => (isSo === true ? 'yes' : values.only === undefined ? 'NO' : '')
  const row = [
    ...[agent.title, versionOf(agent), agent.road ?? ''],
    ...[
      yes(repaired?.isRepaired),
      values.only === undefined ? `${attacked?.held ?? 0} of ${attacked?.attacks ?? 4}` : '',
      yes(repaired?.isCounted),
    ],
    ...[yes(repaired?.isReplayed), yes(parked?.faults.length === 0)],
    killed === null ? '' : `${killed.kills - killed.faults.length} of ${killed.kills}, ${killed.takenUp} taken up`,
    opinions.map(one => (one === null ? '' : `${one.kills - one.faults.length} of ${one.kills}`)).join('; '),
    secondsSince(began),
  ]
  return { row, faults }
}

/** Of what is started: for some that is an adapter, which brings the agent with it. */
const versionOf = ({ install, version }: KnownAgent): string =>
  install?.endsWith('-acp') ? `${version} (${install.split('/').at(-1)})` : (version ?? '')

const secondsSince = (began: number): string => ((performance.now() - began) / 1_000).toFixed(1)

/** As Markdown, so that it can be put into the guide. */
function tableOf(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map(row => row[column]!.length)))
  const line = (row: readonly string[]) => `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`
  const [head, ...others] = rows.map(line)
  return [head, `|${widths.map(width => '-'.repeat(width + 2)).join('|')}|`, ...others].join('\n')
}

process.exit(await main())
