// A real test of the network isolation: a program in the sandbox tries to connect to an open port of this machine.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inheritedEnvironment, type Variables } from '../environment.ts'
import type { Sandbox, SandboxNetwork } from './sandbox.ts'
import { tryBoxed } from './sandboxed-process.ts'

export type ConnectionTrial = { readonly reached: boolean } | { readonly fault: string; readonly lacks?: 'node' }

const TRIAL_MAX_MS = 20_000
const NOT_FOUND = 127

/** Prints the result; the listener outside confirms it. */
const CONNECT = `
const socket = require('net').connect({ host: '127.0.0.1', port: Number(process.argv[1]) })
socket.on('connect', () => { console.log('connected'); socket.destroy() })
socket.on('error', error => console.log('refused ' + error.code))
socket.setTimeout(5000, () => { console.log('refused late'); socket.destroy() })
`

/** `network`: `host` only to show that the test itself works. */
export async function tryConnection(
  sandbox: Sandbox,
  environment: Variables,
  network: SandboxNetwork = 'none',
): Promise<ConnectionTrial> {
  const folder = mkdtempSync(join(tmpdir(), 'planfold-connection-'))
  let heard = false
  const listener = createServer(socket => {
    heard = true
    socket.destroy()
  })
  try {
    const port = await new Promise<number>((resolve, reject) => {
      listener.once('error', reject)
      listener.listen(0, '127.0.0.1', () => {
        const address = listener.address()
        resolve(typeof address === 'object' && address !== null ? address.port : 0)
      })
    })
    const root = join(folder, 'workspace')
    mkdirSync(root)
    const wrapped = await sandbox.wrap({
      root,
      stateDir: join(folder, 'state'),
      cwd: root,
      write: [],
      network,
      argv: [process.execPath, '-e', CONNECT, String(port)],
      env: inheritedEnvironment(environment),
    })
    if (!wrapped.ok) return { fault: wrapped.failure.message }
    const { output, exit, fault } = await tryBoxed(wrapped.value, TRIAL_MAX_MS)
    if (heard || output.includes('connected')) return { reached: true }
    if (output.includes('refused ')) return { reached: false }
    return { fault: fault ?? 'its command said nothing', ...(exit === NOT_FOUND ? { lacks: 'node' } : {}) }
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) }
  } finally {
    listener.close()
    rmSync(folder, { recursive: true, force: true })
  }
}
