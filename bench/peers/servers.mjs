// Servers of the benchmarks, in a folder of their own, and how to end them.

import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const here = import.meta.dirname
export const folder = mkdtempSync(join(tmpdir(), 'planfold-peers-'))
const isRoot = process.getuid() === 0
const started = []

export async function endServers() {
  for (const child of started.reverse()) await ended(child)
  rmSync(folder, { recursive: true, force: true })
}

/** PostgreSQL refuses to run as root. */
export async function postgres() {
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
      ask(`postgresql://bench@127.0.0.1:${port}/postgres`, 'CREATE DATABASE bench')
      return true
    } catch {
      return false
    }
  })
  return { address: `postgresql://bench@127.0.0.1:${port}/bench`, version: versionOf('@dbos-inc/dbos-sdk') }
}

export function ask(address, statement) {
  execFileSync('psql', [address, '-c', statement], { stdio: 'ignore' })
}

export function run(program, words, environment = {}) {
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
export async function until(holds) {
  for (let round = 0; round < 300; round++) {
    const last = started.at(-1)
    if (last?.fault !== undefined) throw last.fault
    if (last !== undefined && last.exitCode !== null) throw new Error(`it ended with ${last.exitCode}`)
    if (await holds()) return
    await new Promise(resolve => setTimeout(resolve, 200))
  }
  throw new Error('it did not start within a minute')
}

export function listening(port) {
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

export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}

export function versionOf(name) {
  return JSON.parse(readFileSync(join(here, 'node_modules', name, 'package.json'), 'utf8')).version
}
