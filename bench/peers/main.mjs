// `npm run bench:peers`: Planfold beside BullMQ (Redis that syncs each write), DBOS (PostgreSQL) and Restate, in one run: the same
// steps, by turns, each in a fresh process; of the rounds the median counts. Starts its own servers in a folder of its own and ends
// them. Whoever cannot be started here is named and left out.

import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const SHAPES = [
  ['chain', Number(process.env.BENCH_CHAIN ?? 10_000)],
  ['fan-out', 1_000],
  ['many', 2_000],
]
const here = import.meta.dirname
const OURS = join(here, '../../.bench/bench/candidate-process.js')
const folder = mkdtempSync(join(tmpdir(), 'planfold-peers-'))
const isRoot = process.getuid() === 0
const started = []

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
  for (const child of started.reverse()) await ended(child)
  rmSync(folder, { recursive: true, force: true })
}

async function redis() {
  const port = await freePort()
  run('redis-server', ['--port', port, '--dir', folder, '--appendonly', 'yes', '--appendfsync', 'always', '--save', ''])
  await listening(port)
  return { address: port, version: versionOf('bullmq') }
}

/** PostgreSQL refuses to run as root. */
async function postgres() {
  const port = await freePort()
  const data = join(folder, 'postgres')
  const as = isRoot ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'] : []
  if (isRoot) {
    execFileSync('install', ['-d', '-o', 'postgres', data])
    execFileSync('chmod', ['755', folder])
  }
  const words = [...as, 'initdb', '-D', data, '-U', 'bench', '-A', 'trust']
  execFileSync(words[0], words.slice(1), { stdio: 'ignore' })
  const [program, ...rest] = [...as, 'postgres', '-D', data, '-p', port, '-k', data, '-c', 'listen_addresses=127.0.0.1']
  run(program, rest)
  await listening(port)
  await until(() => {
    try {
      execFileSync('psql', ['-h', '127.0.0.1', '-p', port, '-U', 'bench', '-c', 'CREATE DATABASE bench', 'postgres'], {
        stdio: 'ignore',
      })
      return true
    } catch {
      return false
    }
  })
  return { address: `postgresql://bench@127.0.0.1:${port}/bench`, version: versionOf('@dbos-inc/dbos-sdk') }
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

function run(program, words, environment = {}) {
  const child = spawn(program, words.map(String), { stdio: 'ignore', env: { ...process.env, ...environment } })
  child.once('error', error => {
    child.fault = error
  })
  started.push(child)
  return child
}

function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const gone = new Promise(resolve => child.once('exit', resolve))
  child.kill('SIGTERM')
  return gone
}

/** Asks again for at most a minute. */
async function until(holds) {
  for (let round = 0; round < 300; round++) {
    const last = started.at(-1)
    if (last?.fault !== undefined) throw last.fault
    if (last !== undefined && last.exitCode !== null) throw new Error(`it ended with ${last.exitCode}`)
    if (await holds()) return
    await new Promise(resolve => setTimeout(resolve, 200))
  }
  throw new Error('it did not start within a minute')
}

function listening(port) {
  return until(
    () =>
      new Promise(resolve => {
        const socket = connect(port, '127.0.0.1', () => {
          socket.destroy()
          resolve(true)
        })
        socket.once('error', () => resolve(false))
      }),
  )
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}

function versionOf(name) {
  return JSON.parse(readFileSync(join(here, 'node_modules', name, 'package.json'), 'utf8')).version
}
