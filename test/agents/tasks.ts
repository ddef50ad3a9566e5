// `npm run agents`: every agent that is installed repairs the failing test of a small repository as an `agent` task, is driven to break
// out, and is killed with Planfold. Real agents, a real sandbox, a model that follows a script. See README.md.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { AGENT_NAMES, type AgentName } from '../../src/domain/plan-rules/agent-request.ts'
import { listAgents } from '../../src/runners/agent/find-agent.ts'
import type { KnownAgent } from '../../src/runners/runner.ts'
import { bubblewrap } from '../../src/safety/sandbox/bubblewrap.ts'
import { agentsPath } from './installed.ts'
import { attackTrial, killTrial, repairTrial, type TrialResult } from './task-trials.ts'

const HERE = import.meta.dirname
const CACHE = join(HERE, '../../.cache/agents')
/** Fewer than these, and the command fails. */
const RAN_MIN = 6
const ACP_MIN = 4

const args = process.argv.slice(2)
const only = args.includes('--only') ? (args[args.indexOf('--only') + 1] ?? '').split(',') : null
const kills = args.includes('--kills') ? Number(args[args.indexOf('--kills') + 1]) : 3

async function main(): Promise<number> {
  install('.', 'node_modules/@openai/codex')
  install('grok', 'grok/node_modules/@xai-official/grok')
  spawnSync(process.execPath, [join(HERE, 'grok/unpack.mjs')], { stdio: 'inherit' })
  const standing = await bubblewrap({ environment: process.env, outside: [] }).check()
  if (!standing.ok) {
    console.log(`no sandbox: ${standing.failure.message}`)
    return 1
  }
  mkdirSync(CACHE, { recursive: true })
  const path = `${agentsPath(CACHE)}:${process.env.PATH}`
  const known = listAgents({ environment: { PATH: path }, root: '/nonexistent' })
  const wanted = known.filter(({ name }) => only === null || only.includes(name))
  const ran: KnownAgent[] = []
  let failed = 0
  for (const agent of wanted) {
    if (agent.status === 'missing') {
      console.log(`skipped  ${agent.name}: ${SKIPPED[agent.name] ?? 'it could not be installed on this platform'}`)
      continue
    }
    const trials: readonly (readonly [string, () => Promise<TrialResult>])[] = [
      ['repairs the test', () => repairTrial(agent, path, folder(agent.name, 'repair'))],
      ['does not break out', () => attackTrial(agent, path, folder(agent.name, 'attack'))],
      ...(agent.road === 'acp'
        ? [
            [
              `is killed ${kills} times and goes on`,
              () => killTrial(agent, path, folder(agent.name, 'kill'), kills),
            ] as const,
          ]
        : []),
    ]
    let isFit = true
    for (const [what, trial] of trials) {
      const began = performance.now()
      const result = await trial().catch((error: Error) => ({ ok: false, told: error.message }))
      const seconds = ((performance.now() - began) / 1000).toFixed(1)
      console.log(
        `${result.ok ? 'ok      ' : 'FAILED  '} ${agent.name} ${agent.version ?? ''} (${agent.road}) ${what}, ${seconds} s: ${result.told}`,
      )
      isFit &&= result.ok
      if (!result.ok) failed++
    }
    if (isFit) ran.push(agent)
  }
  const acp = ran.filter(({ road }) => road === 'acp').length
  console.log(`${ran.length} agents passed, ${acp} of them through ACP; ${failed} trials failed`)
  if (failed > 0) return 1
  return only !== null || (ran.length >= RAN_MIN && acp >= ACP_MIN) ? 0 : 1
}

/** Those that are known and not pinned here, and why. */
const SKIPPED: { readonly [name in AgentName]?: string } = {
  cline: 'it is not pinned here: 455 MB for a road that pi stands for',
}

function folder(name: string, trial: string): string {
  const at = join(CACHE, 'tasks', `${name}-${trial}`)
  rmSync(at, { recursive: true, force: true })
  return at
}

/** Once; from the lock, without install scripts. */
function install(at: string, mark: string): void {
  if (existsSync(join(HERE, mark))) return
  console.log(`installing the agents of test/agents/${at === '.' ? '' : at} …`)
  spawnSync('npm', ['ci', '--silent'], { cwd: join(HERE, at), stdio: 'inherit' })
}

if (only?.some(name => !(AGENT_NAMES as readonly string[]).includes(name))) {
  console.log(`--only names agents: ${AGENT_NAMES.join(', ')}`)
  process.exit(2)
}
process.exit(await main())
