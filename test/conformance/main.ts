// `npm run mcp:conformance`: Planfold's MCP server against the inspector (over stdio, and over HTTP with a token) and the conformance
// suite (over HTTP), in both generations of the protocol. Prints a line for each scenario; ends with 1 when anything fails that is not expected to, or passes that is.

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { under } from '../../src/server/route.ts'
import { mcpRoute } from '../../src/server/routes/mcp.ts'
import { served } from '../../src/server/server.fixture.ts'
import { MAIN } from '../e2e/planfold.fixture.ts'
import { type ServedProcess, serving } from '../e2e/serve.fixture.ts'
import { judge, type ServerName, unknownNames, type Verdict } from './expected-failures.ts'
import { fixtureFactory } from './fixture-server.ts'
import { CALLS, type Call, ERAS, type Era, inspect, overHttp, overStdio, WITHOUT_TOKEN } from './inspector.ts'
import { openTools, type Tools } from './pinned-tools.ts'
import { runSuite, VERSIONS, type Version } from './suite.ts'

const faults: string[] = []
const reasons = new Map<string, Set<string>>()
const totals: string[] = []

const tools = await openTools()
const home = await mkdtemp(join(tmpdir(), 'planfold-conformance-'))
try {
  await inspectBoth(tools)
  console.log(`\n${tools.names.conformance}, over HTTP`)
  print('server', 'version', 'scenario', 'passed', 'failed', 'warned', 'expected')
  await withPlanfold(['--no-auth'], ({ address }) => runVersions(tools, 'planfold', address))
  await withFixture(url => runVersions(tools, 'fixture', url))
} finally {
  await rm(home, { recursive: true, force: true })
}

console.log('\nExpected:')
for (const [reason, names] of reasons) console.log(`- ${reason}:\n    ${[...names].join(', ')}`)
console.log('')
for (const total of totals) console.log(total)
for (const fault of faults) console.log(`FAULT ${fault}`)
console.log(faults.length === 0 ? 'Nothing unexpected.' : `${faults.length} unexpected.`)
process.exitCode = faults.length === 0 ? 0 : 1

async function inspectBoth(tools: Tools): Promise<void> {
  console.log(tools.names.inspector)
  const one = async (transport: string, era: Era, call: Call, server: readonly string[]): Promise<void> => {
    const fault = await inspect(tools, server, { era, call, home })
    console.log(`${transport.padEnd(6)} ${era.padEnd(7)} ${call.name.padEnd(18)} ${fault === null ? 'ok' : 'FAILED'}`)
    if (fault !== null) faults.push(`inspector, ${transport}, ${era}, ${call.name}: ${fault}`)
  }
  for (const era of ERAS) {
    const stdio = overStdio([process.execPath, MAIN, 'mcp'], await mkdtemp(join(home, `${era}-`)))
    for (const call of CALLS) await one('stdio', era, call, stdio)
    await withPlanfold([], async ({ address, tokenFile }) => {
      const token = (await readFile(tokenFile!, 'utf8')).trim()
      for (const call of CALLS) await one('http', era, call, overHttp(`${address}/mcp`, token))
      await one('http', era, WITHOUT_TOKEN, overHttp(`${address}/mcp`, null))
    })
  }
}

async function withPlanfold(argv: readonly string[], body: (service: ServedProcess) => Promise<void>): Promise<void> {
  const service = await serving(await mkdtemp(join(home, 'service-')), ...argv)
  try {
    await body(service)
  } finally {
    service.kill('SIGTERM')
    await service.ended
  }
}

async function withFixture(body: (url: string) => Promise<void>): Promise<void> {
  const fixture = await served({ routes: under('mcp', [mcpRoute(() => fixtureFactory)]) })
  try {
    await body(fixture.url)
    faults.push(...fixture.errors.map(error => `fixture: the log says ${JSON.stringify(error)}`))
  } finally {
    await fixture.close()
  }
}

async function runVersions(tools: Tools, server: ServerName, url: string): Promise<void> {
  for (const version of VERSIONS) {
    const outcomes = await runSuite(tools, `${url}/mcp`, version, home)
    const verdicts = outcomes.map(outcome => judge(server, version, outcome))
    for (const verdict of verdicts) tell(server, version, verdict)
    for (const name of unknownNames(server, version, outcomes))
      faults.push(`${server} ${version}: the suite has no scenario ${name}: take it off the list`)
    const required = verdicts.filter(({ unscored }) => unscored === null)
    const clean = required.filter(({ isChecked, failed }) => isChecked && failed === 0)
    totals.push(`${server} ${version}: ${clean.length} of ${required.length} required scenarios pass`)
  }
}

function tell(server: ServerName, version: Version, verdict: Verdict): void {
  const { scenario, unscored, passed, failed, warned, isChecked, reason, faults: found } = verdict
  const shown = found.length > 0 ? 'NO' : reason === null ? '' : isChecked ? 'yes' : 'unchecked'
  print(server, version, unscored === null ? scenario : `${scenario} (${unscored})`, passed, failed, warned, shown)
  if (reason !== null) reasons.set(reason, (reasons.get(reason) ?? new Set()).add(scenario))
  faults.push(...found.map(fault => `${server} ${version} ${scenario}: ${fault}`))
}

function print(...columns: readonly (string | number)[]): void {
  const widths = [9, 11, 62, 7, 7, 7, 0]
  console.log(
    columns
      .map((text, at) => String(text).padEnd(widths[at]!))
      .join(' ')
      .trimEnd(),
  )
}
