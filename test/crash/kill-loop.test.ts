// The random kill loop: mixed plans of one folder, an agent, a person who edits, and kills at random moments, judged by an oracle
// outside the product (test/crash/kill-loop). With `npm run crash` the seeds are new each time; a violation prints its own and the
// command that plays it again. `npm run kill-loop -- --kills 3000` does more. Here, commands that are not killed need no process of their own.

import { expect, test } from 'vitest'
import { planfoldIn } from '../e2e/in-process.fixture.ts'
import type { Short } from './kill-loop/cli.ts'
import { runKillLoop } from './kill-loop/loop.ts'
import { makeScenario } from './kill-loop/scenario.ts'
import { ALL } from './kill-points.ts'

const KILLS = Number(process.env.PLANFOLD_KILLS ?? (ALL ? 300 : 12))
const KILLS_PER_EPISODE = ALL ? 12 : 6
const CLASSES = ['idempotent', 'model', 'probed', 'pure', 'unsafe', 'workspace']

/** From here on, the first two episodes meet tasks of every class. */
function firstSeed(from: number): number {
  for (let seed = from; ; seed++) {
    const plans = [seed, seed + 1].flatMap(each => makeScenario(each, new Set()).plans)
    const met = new Set<string>(plans.flatMap(({ tasks }) => tasks.map(task => task.class)))
    if (met.size === CLASSES.length) return seed
  }
}
const SEED = firstSeed(Number(process.env.PLANFOLD_SEED ?? (ALL ? Math.floor(Date.now() / 1_000) % 1_000_000 : 1)))

const short: Short = async (folder, environment, argv) => {
  const { exit, stdout, stderr } = await planfoldIn(folder, environment)(...argv)
  return { code: exit, out: stdout, err: stderr }
}

test(`${KILLS} kills of mixed plans lose nobody's work, and repeat nothing that was done`, {
  timeout: 1_800_000 + KILLS * 10_000,
}, async () => {
  const told: string[] = []
  const report = await runKillLoop({
    until: { kills: KILLS },
    seed: SEED,
    width: 3,
    without: new Set(),
    limitMs: 1_200_000 + KILLS * 8_000,
    say: line => told.push(line),
    killsPerEpisode: KILLS_PER_EPISODE,
    ...(ALL ? {} : { short }),
  })
  expect(told.join('\n'), `seeds from ${SEED}`).toBe('')
  expect(report.kills).toBe(KILLS)
  // A loop that meets little proves little.
  expect(report.episodes).toBeGreaterThanOrEqual(Math.ceil(KILLS / KILLS_PER_EPISODE))
  expect([...report.classes].sort()).toEqual(CLASSES)
  expect([...report.modes].sort()).toEqual(['as you', 'held'])
})
