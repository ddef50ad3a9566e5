// The agents that are installed here for tests, as a PATH to find them on. None is ever taken from the person's own machine: versions are
// pinned in `package-lock.json` and `grok/package-lock.json`. The ordinary tests start a small agent of our own (`scripted-agent.ts`) and,
// with PLANFOLD_REAL_AGENTS=1, also Grok Build.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { bubblewrap } from '../../src/safety/sandbox/bubblewrap.ts'

const HERE = import.meta.dirname
const MODULES = join(HERE, 'node_modules')
const PLATFORM = `${process.platform}-${process.arch}`

/** Once for each lock: on some platforms an agent stays missing, however often it is installed. No install scripts run. */
export function installAgents(): void {
  installIn(HERE, 'the agents into test/agents/node_modules: 2.4 GB')
  const grok = join(HERE, 'grok')
  installIn(grok, 'Grok Build into test/agents/grok/node_modules: 0.2 GB')
  spawnSync(process.execPath, [join(grok, 'unpack.mjs')], { stdio: 'inherit' })
}

function installIn(folder: string, what: string): void {
  const lock = readFileSync(join(folder, 'package-lock.json'), 'utf8')
  const mark = join(folder, 'node_modules/.installed-lock.json')
  if (existsSync(mark) && readFileSync(mark, 'utf8') === lock) return
  console.log(`installing ${what}, once …`)
  const npm = (...args: readonly string[]) =>
    spawnSync('npm', [...args, '--ignore-scripts', '--no-audit', '--no-fund', '--silent'], {
      cwd: folder,
      stdio: 'inherit',
    }).status === 0
  // `npm ci` wants packages of all systems to be there. Where the registry lacks one, the lock is followed all the same, and not changed.
  if (npm('ci') || npm('install', '--no-save')) writeFileSync(mark, lock)
  else console.log('npm failed; agents that are not there are skipped')
}

/** An agent that the ordinary tests start, as `grok`. */
export interface TestAgent {
  readonly name: 'scripted' | 'grok'
  /** The folder that its program is in. */
  readonly path: string
  /** Why it cannot be started here; null when it can. */
  readonly missing: string | null
}

/** The scripted one, and the real one where that is asked for. */
export async function testAgents(): Promise<readonly TestAgent[]> {
  const standing = await bubblewrap({ environment: process.env, outside: [] }).check()
  const without = standing.ok ? null : standing.failure.message
  const agents: TestAgent[] = [{ name: 'scripted', path: standing.ok ? scriptedPath() : '', missing: without }]
  const grok = grokPath()
  const missing = without ?? (grok === null ? 'Grok Build is not installed: npm test installs it' : null)
  if (process.env.PLANFOLD_REAL_AGENTS === '1') agents.push({ name: 'grok', path: grok ?? '', missing })
  for (const agent of agents) if (agent.missing !== null) console.log(`skipped: ${agent.name}: ${agent.missing}`)
  return agents
}

/** The scripted agent as one file, so that a sandbox has nothing else to show of it. */
function scriptedPath(): string {
  const folder = join(HERE, '../../.cache/scripted-agent')
  mkdirSync(folder, { recursive: true })
  const { outputFiles } = buildSync({
    ...{ entryPoints: [join(HERE, 'scripted-agent.ts')], bundle: true, write: false, platform: 'node', format: 'cjs' },
    banner: { js: '#!/usr/bin/env node' },
  })
  // Other test processes may be starting it just now.
  const put = (name: string, text: string | Uint8Array): void => {
    const fresh = join(folder, `${name}.${process.pid}`)
    writeFileSync(fresh, text, { mode: 0o755 })
    renameSync(fresh, join(folder, name))
  }
  put('package.json', '{"type":"commonjs"}')
  put('grok', outputFiles[0]!.contents)
  return folder
}

/** Null when it is not installed. */
export function grokPath(): string | null {
  const folder = join(HERE, 'grok/bin')
  return existsSync(join(folder, 'grok')) ? folder : null
}

/** Folders with the programs of all that are installed, and the Node that some of them need. */
export function agentsPath(cache: string): string {
  const links = join(cache, 'bin')
  mkdirSync(links, { recursive: true })
  // Installed for this platform only, without the packages that would choose it.
  const natives = { opencode: `opencode-${PLATFORM}/bin/opencode`, cline: `@cline/cli-${PLATFORM}/bin/cline` }
  for (const [name, program] of Object.entries(natives)) {
    rmSync(join(links, name), { force: true })
    if (existsSync(join(MODULES, program))) symlinkSync(join(MODULES, program), join(links, name))
  }
  return [links, grokPath(), join(MODULES, `node-${PLATFORM}/bin`), join(MODULES, '.bin')].filter(Boolean).join(':')
}
