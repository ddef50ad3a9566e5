// The agents that are installed here for tests, as a PATH to find them on. None is ever taken from the person's own machine: versions are
// pinned in `package-lock.json` and `grok/package-lock.json`.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

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

/** Grok alone: the one that the ordinary tests start. Null when it is not installed. */
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
