// `npm run bench:peers`: Planfold beside BullMQ (Redis that syncs each write), DBOS (PostgreSQL) and Restate, in one run: the same
// steps, by turns, each in a fresh process; of the rounds the median counts. Starts its own servers in a folder of its own and ends
// them. Whoever cannot be started here is named and left out.

import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { endServers, folder, freePort, listening, postgres, run, until, versionOf } from './servers.mjs'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const SHAPES = [
  ['chain', Number(process.env.BENCH_CHAIN ?? 10_000)],
  ['fan-out', 1_000],
  ['many', 2_000],
]
const here = import.meta.dirname
const OURS = join(here, '../../.bench/bench/candidate-process.js')

try {
  const peers = {}
  for (const [who, start] of Object.entries({ bullmq: redis, dbos: postgres, restate })) {
    try {
      peers[who] = await start()
    } catch (error) {
      console.log(`${who} is left out: ${error.message}`)
    }
  }
  const found = new Map()
  for (let round = 0; round < ROUNDS; round++)
    for (const [shape, steps] of SHAPES)
      for (const who of ['planfold', ...Object.keys(peers)]) {
        const words =
          who === 'planfold'
            ? [OURS, 'planfold', shape, steps]
            : [join(here, 'peer.mjs'), who, shape, steps, peers[who].address]
        const out = execFileSync(process.execPath, words.map(String), {
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'inherit'],
        })
        const { perSecond } = JSON.parse(out.trim().split('\n').at(-1))
        const key = `${who} ${shape}`
        found.set(key, [...(found.get(key) ?? []), perSecond])
        console.log(`round ${round + 1}: ${key} ${perSecond}/s`)
      }
  const middle = key => [...found.get(key)].sort((a, b) => a - b)[Math.floor(ROUNDS / 2)]
  console.table(
    SHAPES.map(([shape, steps]) => {
      const ours = middle(`planfold ${shape}`)
      const row = { shape, steps, planfold: ours }
      for (const who of Object.keys(peers)) {
        const theirs = middle(`${who} ${shape}`)
        row[`${who} ${peers[who].version}`] = `${theirs} (${(ours / theirs).toFixed(1)}×)`
      }
      return row
    }),
  )
} finally {
  await endServers()
}

async function redis() {
  const port = await freePort()
  run('redis-server', ['--port', port, '--dir', folder, '--appendonly', 'yes', '--appendfsync', 'always', '--save', ''])
  await listening(port)
  return { address: port, version: versionOf('bullmq') }
}

async function restate() {
  const program = join(here, 'node_modules/@restatedev/restate-server-linux-x64/bin/restate-server')
  if (!existsSync(program)) throw new Error('its server is not installed for this machine')
  const [ingress, admin, node] = [await freePort(), await freePort(), await freePort()]
  run(program, ['--no-logo', '--base-dir', join(folder, 'restate')], {
    RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
    RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
    RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
    RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${node}`,
    RESTATE_LOG_FILTER: 'error',
    DO_NOT_TRACK: '1',
  })
  const isUp = async () => {
    const [a, b] = await Promise.allSettled([
      fetch(`http://127.0.0.1:${admin}/health`),
      fetch(`http://127.0.0.1:${ingress}/restate/health`),
    ])
    return a.value?.ok === true && b.value?.ok === true
  }
  await until(isUp)
  return { address: `${ingress},${admin}`, version: versionOf('@restatedev/restate-server') }
}
