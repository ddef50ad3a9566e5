// `npm run teams`: the long tests of plans in PostgreSQL, one after the other. Ends with `N passed, N failed`.
//
//   npm run teams -- [NAME…]    only those
//
// With PLANFOLD_TEAMS=1 a test takes everything, and not the part of it that the ordinary run can afford.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

/** Each is a test file, or a program of its own. */
const PARTS = {
  cuts: { test: 'src/stores/postgres/lost-connection.test.ts' },
  stores: { test: 'sim/three-stores.test.ts' },
  // These start the built command: `npm run build` first.
  kills: { test: 'test/e2e/teams/kills.test.ts' },
  stops: { test: 'test/e2e/teams/stops.test.ts' },
  agents: { test: 'test/e2e/teams/agents.test.ts' },
  tail: { test: 'test/e2e/teams/tail.test.ts' },
}

const root = join(import.meta.dirname, '..')
const asked = process.argv.slice(2)
const unknown = asked.filter(name => PARTS[name] === undefined)
if (unknown.length > 0) {
  console.error(`there is no part '${unknown[0]}'; there are: ${Object.keys(PARTS).join(', ')}`)
  process.exit(2)
}
const results = Object.entries(PARTS)
  .filter(([name]) => asked.length === 0 || asked.includes(name))
  .map(([name, { test, program }]) => {
    const began = Date.now()
    const [file, ...args] = program ?? [
      'npx',
      'vitest',
      'run',
      '--project',
      'unit:*',
      '--project',
      'e2e',
      '--maxWorkers=1',
      test,
    ]
    const { status } = spawnSync(file, args, {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, PLANFOLD_TEAMS: '1' },
    })
    console.log(`${name}: ${status === 0 ? 'passed' : 'FAILED'} after ${Math.round((Date.now() - began) / 1000)} s\n`)
    return status === 0
  })
const failed = results.filter(passed => !passed).length
console.log(`${results.length - failed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
