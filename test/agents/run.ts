// `npm run agents:mcp`: real coding agents, in pinned versions, list and call the two tools of `planfold mcp` against a scripted model
// on loopback, and are told about the plan. An agent that cannot be installed here is skipped by name. Ends with 1 when an agent fails,
// or when fewer than four ran.
//
//   npm run agents:mcp                      all
//   npm run agents:mcp -- --only claude     this one; may be given several times

import { parseArgs } from 'node:util'
import { AGENTS, type Agent, versionOf } from './agents.ts'
import { installAgents } from './installed.ts'
import { type Findings, tryAgent } from './trial.ts'

const RUNS_MIN = 4

const { values } = parseArgs({ options: { only: { type: 'string', multiple: true } } })
const names = AGENTS.map(({ name }) => name)
const unknown = (values.only ?? []).filter(name => !names.includes(name))
if (unknown.length > 0) {
  console.error(`There is no agent ${unknown.join(', ')}. Agents are ${names.join(', ')}.`)
  process.exit(2)
}
const wanted = AGENTS.filter(({ name }) => values.only?.includes(name) ?? true)

installAgents()

const HEAD = [
  'agent',
  'version',
  'MCP',
  'tools seen',
  'plan_read',
  'plan_write',
  'prime',
  'question',
  'written by',
  'seconds',
  '',
]
const rows: (readonly string[])[] = []
let runs = 0
for (const agent of wanted) {
  const version = versionOf(agent)
  if (version === null) {
    console.log(`${agent.title}: skipped, ${agent.program.at(-1)} is not there for ${process.platform}-${process.arch}`)
    continue
  }
  console.log(`${agent.title} ${version} …`)
  runs += 1
  const found = await tryAgent(agent).catch((error: unknown) => {
    console.log(`${agent.title} failed: ${error instanceof Error ? error.stack : String(error)}`)
    process.exitCode = 1
    return null
  })
  if (found === null) continue
  rows.push(rowOf(agent, version, found))
  if (found.elsewhere.length > 0) console.log(`  refused: ${found.elsewhere.join(', ')}`)
  if (found.faults.length === 0) continue
  process.exitCode = 1
  console.log(
    `${agent.title} failed: ${found.faults.join('; ')}\n  see output.log and requests.jsonl in ${found.folder}`,
  )
}

const widths = HEAD.map((head, column) => Math.max(head.length, ...rows.map(row => row[column]!.length)))
for (const row of [HEAD, ...rows])
  console.log(
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
if (values.only === undefined && runs < RUNS_MIN) {
  console.log(`Only ${runs} agents ran; at least ${RUNS_MIN} must.`)
  process.exitCode = 1
}

function rowOf(agent: Agent, version: string, found: Findings): readonly string[] {
  const times = (tool: string): string => `${found.calls.filter(call => call === tool).length}×`
  const [first, afterCompaction] = found.primes
  const again = afterCompaction === undefined ? '' : afterCompaction ? ', after /compact' : ', not after /compact'
  return [
    agent.title,
    version,
    found.era,
    String(found.tools.length),
    times('plan_read'),
    times('plan_write'),
    first === true ? `at start${again}` : agent.isPrimed ? 'MISSING' : 'has no hook',
    found.answeredBy === null ? 'in the inbox' : 'answered',
    found.actor,
    (found.ms / 1_000).toFixed(1),
    found.faults.length === 0 ? 'ok' : 'FAILED',
  ]
}
