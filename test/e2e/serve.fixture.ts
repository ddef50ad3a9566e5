// The built service in a process of its own: `serving(folder, '--no-auth')` starts it at a port the system chooses.

import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { MAIN } from './planfold.fixture.ts'

export interface ServedProcess {
  /** e.g. `http://127.0.0.1:34567`. */
  readonly address: string
  readonly port: number
  readonly pid: number
  /** With the code that works once; null without tokens. */
  readonly link: string | null
  readonly tokenFile: string | null
  /** All it has written to standard error so far. */
  readonly stderr: () => string
  kill(signal: NodeJS.Signals): void
  readonly ended: Promise<{ readonly exit: number | null; readonly signal: NodeJS.Signals | null }>
}

/**
 * A port for a service that is started again at the same place: free now, and below those that the system gives to whoever leaves the
 * choice to it, so nobody takes it while the service is away.
 */
export async function lastingPort(): Promise<number> {
  for (let at = process.pid % PORTS; ; at = (at + 1) % PORTS) {
    const port = LOWEST_PORT + at
    const server = createServer()
    const isFree = await new Promise<boolean>(resolve => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!isFree) continue
    await new Promise(resolve => server.close(resolve))
    return port
  }
}
const [LOWEST_PORT, PORTS] = [20_000, 12_000]

export async function serving(folder: string, ...argv: readonly string[]): Promise<ServedProcess> {
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    TZ: 'UTC',
    PLANFOLD_AS: 'ana@example.com',
  }
  const child = spawn(process.execPath, [MAIN, 'serve', '--port', '0', '--json', ...argv], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [stdout, stderr] = ['', '']
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const ended = new Promise<{ exit: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (exit, signal) => resolve({ exit, signal }))
  })
  const told = new Promise<string>(resolve => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
      if (stdout.includes('\n')) resolve(stdout)
    })
  })
  const first = await Promise.race([told, ended.then(() => null)])
  if (first === null) throw new Error(`the service did not start:\n${stdout}${stderr}`)
  const { data } = JSON.parse(first) as { data: Omit<ServedProcess, 'stderr' | 'kill' | 'ended'> }
  const { address, port, pid, link, tokenFile } = data
  return { address, port, pid, link, tokenFile, stderr: () => stderr, kill: signal => child.kill(signal), ended }
}
