// `npm run bench:teams`: Planfold on PostgreSQL beside DBOS, on the same server with its usual durability. Both stay warm in processes of
// their own and take turns; of the rounds the medians count, and of each round the ratio.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { ask, endServers, postgres } from './servers.mjs'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)
const SHAPES = [
  ['chain', Number(process.env.BENCH_CHAIN ?? 1_000)],
  ['fan-out', 1_280],
  ['many', 2_000],
]
const WARM = Number(process.env.BENCH_WARM ?? 3_000)
const here = import.meta.dirname

try {
  const { address, version } = await postgres()
  const ours = address.replace(/bench$/, 'planfold')
  ask(address, 'CREATE DATABASE planfold')
  const lanes = {
    planfold: await begin(join(here, '../../.bench/bench/teams-lane.js'), ours),
    dbos: await begin(join(here, 'peer.mjs'), 'dbos', 'lane', '0', address),
  }
  for (const lane of Object.values(lanes)) {
    await run(lane, 'chain', WARM)
    await run(lane, 'fan-out', 640)
    await run(lane, 'many', 400)
  }
  const found = SHAPES.map(() => [])
  for (let round = 0; round < ROUNDS; round++)
    for (const [at, [shape, steps]] of SHAPES.entries()) {
      const row = { load: loadavg()[0] }
      for (const who of round % 2 === 0 ? ['planfold', 'dbos'] : ['dbos', 'planfold']) {
        const { ms, sent } = await run(lanes[who], shape, steps)
        row[who] = Math.round((steps / ms) * 1_000)
        if (sent !== undefined) row.trips = sent / steps
      }
      found[at].push(row)
      console.log(
        `round ${round + 1}: ${shape} planfold ${row.planfold}/s, dbos ${row.dbos}/s, ${(row.planfold / row.dbos).toFixed(1)}×, load ${row.load.toFixed(1)}`,
      )
    }
  console.table(
    SHAPES.map(([shape, steps], at) => ({
      shape,
      steps,
      'planfold/s': middle(found[at].map(({ planfold }) => planfold)),
      [`dbos ${version}/s`]: middle(found[at].map(({ dbos }) => dbos)),
      ratio: middle(found[at].map(({ planfold, dbos }) => planfold / dbos)).toFixed(2),
      'round trips a step': middle(found[at].map(({ trips }) => trips)).toFixed(3),
    })),
  )
  for (const lane of Object.values(lanes)) lane.disconnect()
} finally {
  await endServers()
}

async function begin(program, ...words) {
  const lane = fork(program, words, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  await answerOf(lane)
  return lane
}

async function run(lane, shape, steps) {
  const answer = answerOf(lane)
  lane.send({ shape, steps })
  return await answer
}

async function answerOf(lane) {
  const over = new AbortController()
  const ended = once(lane, 'exit', { signal: over.signal }).then(() => {
    throw new Error('a lane ended')
  })
  ended.catch(() => {})
  try {
    return (await Promise.race([once(lane, 'message', { signal: over.signal }), ended]))[0]
  } finally {
    over.abort()
  }
}

function middle(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]
}
