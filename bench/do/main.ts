// `npm run bench:do`: every situation worked by an honest agent and by lazy ones, from the goal to its end. The honest one must get to green,
// the others must not. `npm run bench:do -- negation cargo-workspace` tries only these; `--log` prints what the commands said.
// Needs the extras: agents

import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { testAgents } from '../../test/agents/installed.ts'
import { base, closeWorlds } from '../../test/e2e/started-agents.fixture.ts'
import { waysOf } from './lazy-agents.ts'
import { SITUATIONS, type Situation } from './situations.ts'
import { tryAgent } from './trial.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { log: { type: 'boolean' }, way: { type: 'string' }, keep: { type: 'boolean' } },
})
const unknown = positionals.filter(name => !SITUATIONS.some(one => one.name === name))
if (unknown.length > 0)
  throw new Error(
    `no such situation: ${unknown.join(', ')}; there are ${SITUATIONS.map(({ name }) => name).join(', ')}`,
  )

const [agent] = await testAgents()
if (agent === undefined || agent.missing !== null) process.exit(1)

/** Debian's toolchains; without them, what misses is said. */
function missingFor({ needs }: Situation): string | null {
  if (needs === undefined) return null
  const program = needs === 'cargo' ? '/usr/bin/cargo' : '/usr/bin/go'
  const installed = spawnSync('sh', ['scripts/install-missing.sh', needs, program], { stdio: 'inherit' })
  return installed.status === 0 ? null : `there is no ${program}: install Debian's ${needs}`
}

let faults = 0
let missing = 0
const began = performance.now()
for (const situation of SITUATIONS) {
  if (positionals.length > 0 && !positionals.includes(situation.name)) continue
  const why = missingFor(situation)
  if (why !== null) {
    missing += 1
    console.log(`${situation.name}: not tried: ${why}`)
    continue
  }
  console.log(`${situation.name}: ${situation.goal}`)
  for (const way of waysOf(situation)) {
    if (values.way !== undefined && way.name !== values.way) continue
    const { isGreen, why, ms, log } = await tryAgent(agent, situation, way)
    const isRight = isGreen === way.isHonest
    if (!isRight) faults += 1
    const ended = isGreen ? 'green' : `refused  ${why}`
    console.log(
      `  ${isRight ? 'ok   ' : 'WRONG'} ${way.name.padEnd(22)} ${(ms / 1000).toFixed(1).padStart(5)} s  ${ended}`,
    )
    if (values.log === true || !isRight) console.log(log.replaceAll(/^/gm, '        '))
  }
}
if (values.keep === true) console.log(`kept: ${base}`)
else await closeWorlds()
console.log(`${faults} wrong, ${missing} situations not tried, ${Math.round((performance.now() - began) / 1000)} s`)
process.exit(faults === 0 ? 0 : 1)
