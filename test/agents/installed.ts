// The agents that are installed here for tests, as a PATH to find them on. None is ever taken from the person's own machine: versions are
// pinned in `package-lock.json` and `grok/package-lock.json`.

import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const HERE = import.meta.dirname
const MODULES = join(HERE, 'node_modules')
const PLATFORM = `${process.platform}-${process.arch}`

/** Grok alone: the one that the ordinary tests start. Null when it is not installed. */
export function grokPath(): string | null {
  const folder = join(HERE, 'grok/bin')
  return existsSync(join(folder, 'grok')) ? folder : null
}

/** Folders with the programs of all that are installed, and the Node that some of them need. */
export function agentsPath(cache: string): string {
  const links = join(cache, 'bin')
  mkdirSync(links, { recursive: true })
  // Installed for this platform only, without the package that would choose it.
  const opencode = join(MODULES, `opencode-${PLATFORM}/bin/opencode`)
  rmSync(join(links, 'opencode'), { force: true })
  if (existsSync(opencode)) symlinkSync(opencode, join(links, 'opencode'))
  return [links, grokPath(), join(MODULES, `node-${PLATFORM}/bin`), join(MODULES, '.bin')].filter(Boolean).join(':')
}
