// The programs that this machine can start, and its Python packages, found without running anything. For pyenv and rbenv, only the programs
// of the selected version count.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, delimiter, dirname, isAbsolute, join, relative } from 'node:path'
import type { Variables } from '../../../safety/environment.ts'
import { isProgram } from '../../../safety/files/plain-file.ts'

export interface Machine {
  readonly root: string
  readonly environment: Variables
}

/**
 * Among the programs that a project installed for itself, else on the path: the ones on the path have other packages. A package
 * manager on the path comes first, since it finds the project's own programs.
 */
export function findProgram(machine: Machine, name: string, folder = ''): string | null {
  const own = ownProgram(machine, name, folder, INSTALLED)
  if (own !== null && !PACKAGE_MANAGERS.test(name)) return own
  return programFile(machine, name) !== null ? name : (own ?? ownProgram(machine, name, folder, WRITTEN))
}

function ownProgram({ root }: Machine, name: string, folder: string, folders: readonly string[]): string | null {
  for (const place of folder === '' ? [''] : [folder, '']) {
    const own = folders.find(path => isProgram(join(root, place, path, name)))
    if (own !== undefined) return `${place === folder ? '.' : relative(folder, '')}/${own}/${name}`
  }
  return null
}

const INSTALLED = ['.venv/bin', 'venv/bin', 'node_modules/.bin', 'vendor/bin']
/** Scripts of the project's authors: `bin/test` is no replacement for a program called `test`. */
const WRITTEN = ['bin']
const PACKAGE_MANAGERS =
  /^(?:npm|npx|pnpm|pnpx|yarn|bun|bunx|node|deno|corepack|uv|uvx|poetry|pdm|pipenv|hatch|tox|nox|composer|php)$/

function programFile(machine: Machine, name: string): string | null {
  for (const folder of (machine.environment.PATH ?? '').split(delimiter).filter(isAbsolute)) {
    if (!isProgram(join(folder, name))) continue
    const chosen = chosenFolders(machine, folder)
    const file = (chosen ?? [folder]).map(at => join(at, name)).find(isProgram)
    if (file !== undefined) return file
  }
  return null
}

/** By the folder of shims: the variable and the file that select a version. */
const MANAGERS: { readonly [manager: string]: readonly [variable: string, file: string] } = {
  pyenv: ['PYENV_VERSION', '.python-version'],
  rbenv: ['RBENV_VERSION', '.ruby-version'],
}

/** The program folders of the selected versions; null for any other folder. */
function chosenFolders({ root, environment }: Machine, folder: string): readonly string[] | null {
  const home = dirname(folder)
  const manager = MANAGERS[basename(home).replace(/^\./, '')]
  if (manager === undefined || basename(folder) !== 'shims') return null
  const [variable, file] = manager
  const chosen =
    environment[variable]?.replaceAll(':', '\n') ?? textOf(join(root, file)) ?? textOf(join(home, 'version'))
  const wanted = (chosen ?? '').split(/\s+/).filter(one => one !== '' && !one.startsWith('#'))
  const versions = namesIn(join(home, 'versions'))
  return wanted.flatMap(one =>
    versions
      .filter(version => version === one || version.startsWith(`${one}.`))
      .map(version => join(home, 'versions', version, 'bin')),
  )
}

/** The distributions that `python3` finds, in lower case with hyphens; `name @ .` when installed from this folder; null without Python. */
export function pythonPackages(machine: Machine): ReadonlySet<string> | null {
  const program = programFile(machine, 'python3')
  if (program === null) return null
  const home = machine.environment.HOME
  const places = [dirname(dirname(program)), '/usr/local', ...(home === undefined ? [] : [join(home, '.local')])]
  const isOwn = existsSync(join(places[0]!, 'pyvenv.cfg'))
  const found = (isOwn ? places.slice(0, 1) : places).flatMap(place =>
    namesIn(join(place, 'lib'))
      .filter(name => name.startsWith('python3'))
      .flatMap(name => ['site-packages', 'dist-packages'].map(kind => join(place, 'lib', name, kind)))
      .flatMap(folder => namesIn(folder).map(name => [folder, name] as const)),
  )
  return new Set(
    found.flatMap(([folder, name]) => {
      const own = /^(.+?)(?:-\d[^-]*)?(?:-py[\d.]+)?\.(?:dist-info|egg-info|egg-link)$/.exec(name)?.[1]
      if (own === undefined) return []
      const plain = own.toLowerCase().replaceAll(/[_.]/g, '-')
      const source = textOf(name.endsWith('.egg-link') ? join(folder, name) : join(folder, name, 'direct_url.json'))
      return source?.includes(machine.root) === true ? [plain, `${plain} @ .`] : [plain]
    }),
  )
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}
