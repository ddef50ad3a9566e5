// Proves that the sandbox works on this machine: a command in it tries what must fail. Writing outside, connecting to this machine and
// beyond, reading a key, signalling a process outside. A single success means there is no sandbox.

import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inheritedEnvironment, type Variables } from '../environment.ts'
import type { Answer } from '../safety-refusal.ts'
import type { SandboxRequest, Wrapped } from './sandbox.ts'
import { tryBoxed } from './sandboxed-process.ts'

const CANARY_MAX_MS = 20_000

/** `isMade`: the sandbox started, but does not confine. */
export interface CanaryFault {
  readonly fault: string
  readonly isMade: boolean
}

export async function canary(
  wrap: (request: SandboxRequest) => Promise<Answer<Wrapped>>,
  environment: Variables,
): Promise<CanaryFault | null> {
  const folder = mkdtempSync(join(tmpdir(), 'planfold-canary-'))
  const listener = createServer(socket => socket.destroy())
  try {
    const root = join(folder, 'workspace')
    for (const name of ['workspace/out', 'workspace/.git', 'beside']) mkdirSync(join(folder, name), { recursive: true })
    const secret = join(folder, 'beside', 'key')
    writeFileSync(secret, 'secret\n', { mode: 0o600 })
    const port = await listening(listener)
    const request: SandboxRequest = {
      root,
      stateDir: join(folder, 'state'),
      cwd: root,
      write: ['out/**'],
      network: 'none',
      argv: ['/bin/sh', '-c', TRIES, 'canary', secret, String(port)],
      env: inheritedEnvironment(environment),
    }
    const wrapped = await wrap(request)
    if (!wrapped.ok) return { fault: wrapped.failure.message, isMade: false }
    const { output, fault, isMade } = await tryBoxed(wrapped.value, CANARY_MAX_MS)
    const broken = output.split('\n').filter(line => line.startsWith('open: '))
    const no = (fault: string): CanaryFault => ({ fault, isMade })
    if (broken.length > 0) return no(broken.map(line => line.slice('open: '.length)).join(', '))
    if (fault !== null) return no(fault)
    if (!output.includes('done') || !existsSync(join(root, 'out/written'))) return no('a command in it could not work')
    if (existsSync(join(root, 'outside')) || existsSync(join(root, '.git/outside'))) return no('it wrote outside')
    return null
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error), isMade: false }
  } finally {
    listener.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Each line that begins with `open:` is a missing restriction. */
const TRIES = `
echo yes > out/written || exit 1
(echo no > outside) 2>/dev/null && echo 'open: the workspace is writable'
(echo no > .git/outside) 2>/dev/null && echo 'open: .git is writable'
(echo no > "$1") 2>/dev/null && echo 'open: a file outside is writable'
(cat "$1") 2>/dev/null && echo 'open: a file outside is readable'
(cat /etc/shadow) >/dev/null 2>&1 && echo 'open: /etc/shadow is readable'
(echo no > /usr/planfold-canary) 2>/dev/null && echo 'open: /usr is writable'
case "$(tr '\\0' ' ' < /proc/1/cmdline)" in *'echo ready'*) ;; *) echo 'open: processes outside can be seen and signalled' ;; esac
(: > /proc/1/mem) 2>/dev/null && echo 'open: process 1 can be changed'
[ "$(cat /proc/net/dev 2>/dev/null | grep -vc 'lo:')" -le 2 ] || echo 'open: it has a network'
grep -q ":$(printf '%04X' "$2") " /proc/net/tcp 2>/dev/null && echo 'open: a port of this machine is there'
echo 1 > /proc/sys/kernel/core_pattern 2>/dev/null && echo 'open: /proc/sys is writable'
echo done
`

async function listening(server: Server): Promise<number> {
  return await new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : 0)
    })
  })
}
