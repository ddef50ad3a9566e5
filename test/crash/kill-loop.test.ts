// The random kill loop: mixed plans of one folder, an agent, a person who edits, and kills at random moments, judged by an oracle
// outside the product (test/crash/kill-loop). The seeds are new each time; a violation prints its own and the command that plays
// it again. `npm run kill-loop -- --kills 3000` does more.

import { expect, test } from 'vitest'
import { runKillLoop } from './kill-loop/loop.ts'

const KILLS = Number(process.env.PLANFOLD_KILLS ?? (process.env.PLANFOLD_CRASH === 'all' ? 300 : 20))
const SEED = Number(process.env.PLANFOLD_SEED ?? Math.floor(Date.now() / 1_000) % 1_000_000)

test(`${KILLS} kills of mixed plans lose nobody's work, and repeat nothing that was done`, {
  timeout: 240_000 + KILLS * 10_000,
}, async () => {
  const told: string[] = []
  const report = await runKillLoop({
    until: { kills: KILLS },
    seed: SEED,
    width: 3,
    without: new Set(),
    limitMs: 180_000 + KILLS * 8_000,
    say: line => told.push(line),
  })
  expect(told.join('\n'), `seeds from ${SEED}`).toBe('')
  expect(report.kills).toBe(KILLS)
  // A loop that meets little proves little.
  expect(report.episodes).toBeGreaterThanOrEqual(KILLS / 12)
  expect([...report.classes].sort()).toEqual(['idempotent', 'model', 'probed', 'pure', 'unsafe', 'workspace'])
})
