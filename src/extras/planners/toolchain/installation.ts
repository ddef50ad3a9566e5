// Is the project installed? A fresh clone has no `node_modules`, and after a pull the lock file is newer than the installation.
// Only what is visible without running anything counts: installations outside the workspace (gems, Go modules) are unknown.

import type { FoundCommand, Installation, RepositoryView } from '../planner.ts'
import { dependencyNames } from './dependency.ts'
import { type Evidence, objectIn } from './evidence.ts'
import { isYarnBerry, lockOf, nodeManager, workspaceOf } from './node.ts'
import { allOf, inFolder } from './packages.ts'

type View = Pick<RepositoryView, 'changedAt' | 'findProgram' | 'pythonPackages'>

/** `around`: the package to test and its surrounding folders. `lacks`: how a run has shown that something is missing. */
export async function findInstallation(
  repository: View,
  around: readonly Evidence[],
  test: FoundCommand,
  lacks: string | null = null,
): Promise<Installation | null> {
  const found: Installation[] = []
  for (const evidence of around)
    for (const find of findersFor(test)) {
      const one = await find(repository, evidence, test, lacks)
      if (one !== null) found.push({ ...one, run: inFolder(one.run, evidence.folder) })
    }
  const [first] = found
  if (first === undefined) return null
  const tests = found.flatMap(one => one.test ?? [])
  return {
    // Outer folders first: a package may need them.
    run: allOf(found.map(({ run }) => run).reverse()),
    why: [...new Set(found.map(({ why }) => why))].join('; '),
    network: [...new Set(found.flatMap(({ network }) => network))],
    ...(tests[0] === undefined ? {} : { test: tests[0] }),
  }
}

/** A documentation page with a `package.json` does not matter for a gem's tests. For a program that is not listed, all are asked. */
function findersFor({ run: [program = ''] }: FoundCommand): typeof FINDERS {
  if (/^(?:mvn|gradle|\.\/gradlew|dotnet|swift|mix)$/.test(program)) return []
  const [, ...own] = PROGRAMS.find(([pattern]) => pattern.test(program.split('/').at(-1)!)) ?? [null, ...FINDERS]
  return own
}

/** Package managers write the lock file and their own record a moment apart. */
const SAME_TIME_MS = 5_000

async function ofNode(
  repository: View,
  evidence: Evidence,
  _: FoundCommand,
  lacks: string | null,
): Promise<Installation | null> {
  const { folder, paths, text } = evidence
  if (!paths.has('package.json') || workspaceOf(evidence) !== null) return null
  const at = async (name: string) => (await repository.changedAt([`${folder}${name}`]))[0] ?? null
  const lock = lockOf(evidence)
  const own = objectIn(text('package.json'))
  const wanted = ['dependencies', 'devDependencies'].flatMap(key => Object.keys(own[key] ?? {}))
  const isWorkspace = own.workspaces !== undefined || text('pnpm-workspace.yaml') !== null
  if (wanted.length === 0 && !(isWorkspace && lock !== null)) return null
  const records = await repository.changedAt(RECORDS.map(name => `${folder}${name}`))
  const installed = records.find(time => time !== null) ?? (await at('node_modules'))
  const manager = nodeManager(evidence)
  const locked = lockedInstallation(evidence)
  if (locked === null || lock === null) {
    const times = await repository.changedAt(wanted.map(name => `${folder}node_modules/${name}`))
    const missing = wanted.filter((_, index) => times[index] === null)
    if (missing.length === 0 && lacks === null) return null
    const why =
      installed === null
        ? `${folder}node_modules is not there`
        : missing.length === 0
          ? lacks!
          : `${missing[0]} is not in ${folder}node_modules`
    const run = [manager, 'install', ...(manager === 'npm' ? ['--no-package-lock'] : [])]
    return { run, why, network: REGISTRIES[manager] }
  }
  if (installed === null) return { ...locked, why: `${folder}node_modules is not there` }
  const isStale = ((await at(lock)) ?? 0) > installed + SAME_TIME_MS
  if (isStale) return { ...locked, why: `${folder}${lock} is newer than what is installed` }
  return lacks === null ? null : { ...locked, why: lacks }
}

/** Exactly the locked versions; fails if the lock file does not match the manifest. */
export function lockedInstallation(evidence: Evidence): Pick<Installation, 'run' | 'network'> | null {
  if (lockOf(evidence) === null) return null
  const manager = nodeManager(evidence)
  const run = {
    npm: ['npm', 'ci'],
    pnpm: ['pnpm', 'install', '--frozen-lockfile'],
    yarn: ['yarn', 'install', isYarnBerry(evidence) ? '--immutable' : '--frozen-lockfile'],
    bun: ['bun', 'install', '--frozen-lockfile'],
  }[manager]
  return { run, network: REGISTRIES[manager] }
}

/** Files that package managers write after an installation. */
const RECORDS = [
  'node_modules/.package-lock.json',
  'node_modules/.modules.yaml',
  'node_modules/.yarn-state.yml',
  'node_modules/.yarn-integrity',
  '.pnp.cjs',
]

const NPM = 'https://registry.npmjs.org'
const REGISTRIES = { npm: [NPM], pnpm: [NPM], yarn: [NPM, 'https://registry.yarnpkg.com'], bun: [NPM] } as const
const PYPI = ['https://pypi.org', 'https://files.pythonhosted.org']

/** A virtual environment in the project, or the Python on the path with all required packages. */
async function ofPython(
  repository: View,
  evidence: Evidence,
  test: FoundCommand,
  lacks: string | null,
): Promise<Installation | null> {
  const { folder, paths, text } = evidence
  const times = await repository.changedAt(ENVIRONMENTS.map(name => `${folder}${name}`))
  const environment = ENVIRONMENTS.find((_, at) => times[at] !== null)
  if (environment !== undefined && lacks === null && test.exists) return null
  const manifest = text('pyproject.toml') ?? ''
  const why = lacks ?? (environment === undefined ? `${folder}.venv is not there` : (test.missing ?? ''))
  if (paths.has('uv.lock') && (await repository.findProgram('uv')) !== null) {
    const extra = testExtra(manifest, 'extra')
    const group = testExtra(manifest, 'group')
    const words = [...(extra === null ? [] : ['--extra', extra]), ...(group === null ? [] : ['--group', group])]
    return { run: ['uv', 'sync', ...words], why, network: PYPI }
  }
  const isInProject = /^in-project\s*=\s*true/m.test(text('poetry.toml') ?? '')
  if (paths.has('poetry.lock') && (isInProject || lacks !== null))
    return await startable(repository, { run: ['poetry', 'install'], why, network: PYPI })
  if (lacks !== null && paths.has('pdm.lock'))
    return await startable(repository, { run: ['pdm', 'sync', '--dev'], why, network: PYPI })
  if (lacks !== null && paths.has('Pipfile.lock'))
    return await startable(repository, { run: ['pipenv', 'sync', '--dev'], why, network: PYPI })
  const isModule = /(^|\/)python3?$/.test(test.run[0]!)
  if (folder !== '' || !(isModule || /(^|\/)pytest$/.test(test.run.at(-1)!))) return null
  if (environment !== undefined) {
    const wanted = pipWords(evidence, manifest)
    if (wanted === null) return null
    const pip = [`${environment}/bin/python3`, '-m', 'pip', 'install', ...(isModule ? [] : ['pytest']), ...wanted]
    return { run: pip, why, network: PYPI, test: inEnvironment(test, environment) }
  }
  const installed = await repository.pythonPackages()
  // These managers keep environments elsewhere, which are not inspected.
  if (installed === null || (test.exists && /^(?:uv|poetry|pdm|pipenv|hatch)$/.test(test.run[0]!))) return null
  const missing = requiredNames(evidence, manifest).find(name => !installed.has(name))
  if (test.exists && missing === undefined && lacks === null) return null
  const isPoetry = /^\[tool\.poetry\]/m.test(manifest) && !/^\[project\]/m.test(manifest)
  const wanted = pipWords(evidence, manifest)
  if (wanted === null && !isPoetry) return null
  const newest = wanted?.includes('--group') === true ? [['.venv/bin/pip', 'install', '--upgrade', 'pip']] : []
  return {
    run: allOf([
      ['python3', '-m', 'venv', '.venv'],
      ...newest,
      ...(isPoetry
        ? [
            ['.venv/bin/pip', 'install', 'poetry'],
            ['.venv/bin/poetry', 'install'],
          ]
        : [['.venv/bin/pip', 'install', ...(isModule ? [] : ['pytest']), ...(wanted ?? [])]]),
    ]),
    why: lacks ?? `${test.exists ? missing : 'pytest'} is not installed, and ${why}`,
    network: PYPI,
    test: inEnvironment(test, '.venv'),
  }
}

/** As the README files of Python projects call them. */
const ENVIRONMENTS = ['.venv', 'venv']

/** The test command with the programs of the environment, which exist after the installation. */
function inEnvironment(test: FoundCommand, environment: string): FoundCommand {
  const bin = `./${environment}/bin`
  const at = test.run.findIndex(word => /(^|\/)(?:python3?|pytest)$/.test(word))
  const run = /(^|\/)pytest$/.test(test.run.at(-1)!) ? [`${bin}/pytest`] : [`${bin}/python3`, ...test.run.slice(at + 1)]
  return { run, from: test.from, exists: true }
}

/** Requirements of the package and its tests, without platform-specific ones; and the package itself if it is in `src/`. */
function requiredNames({ files, text }: Evidence, manifest: string): readonly string[] {
  const parts = manifest.split(/^(?=\[)/m)
  const partOf = (table: string): string => parts.find(part => part.startsWith(`[${table}]`)) ?? ''
  const listed = (part: string, key: string | null): readonly string[] => {
    const list = new RegExp(`^${key}\\s*=\\s*\\[((?:[^\\]"']|"[^"]*"|'[^']*')*)\\]`, 'm').exec(part)?.[1] ?? ''
    return [...list.matchAll(/["']([A-Za-z][\w.-]*)[^"';]*["']/g)].map(match => match[1]!)
  }
  const keys = [...partOf('tool.poetry.dependencies').matchAll(/^([A-Za-z][\w.-]*)\s*=(?!.*(?:optional|markers))/gm)]
  const lines = [...(text('requirements.txt') ?? '').matchAll(/^([A-Za-z][\w.-]*)(?![^\n]*;)/gm)]
  const isHidden = files.some(path => /^src\/[^/]+\/__init__\.py$/.test(path)) && !/^pythonpath\b/m.test(manifest)
  const own = /^name\s*=\s*["']([\w.-]+)["']/m.exec(partOf('project') || partOf('tool.poetry'))?.[1]
  const plain = (name: string): string => name.toLowerCase().replaceAll(/[_.]/g, '-')
  return [
    ...listed(partOf('project'), 'dependencies'),
    ...listed(tableOf(manifest, 'extra'), testExtra(manifest, 'extra')),
    ...listed(tableOf(manifest, 'group'), testExtra(manifest, 'group')),
    ...[...keys, ...lines].map(match => match[1]!),
  ]
    .map(plain)
    .filter(name => name !== 'python')
    .concat(own !== undefined && isHidden ? [`${plain(own)} @ .`] : [])
}

function pipWords({ paths }: Evidence, manifest: string): readonly string[] | null {
  const files = ['requirements-dev.txt', 'requirements-test.txt', 'requirements.txt'].filter(name => paths.has(name))
  const extra = testExtra(manifest, 'extra')
  const group = testExtra(manifest, 'group')
  const isPackage = /^\[(project|build-system)\]/m.test(manifest) || paths.has('setup.py')
  const words = [
    ...files.flatMap(name => ['-r', name]),
    ...(isPackage ? ['-e', extra === null ? '.' : `.[${extra}]`] : []),
    ...(group === null ? [] : ['--group', group]),
  ]
  return words.length === 0 ? null : words
}

function testExtra(manifest: string, where: 'extra' | 'group'): string | null {
  const names = [...tableOf(manifest, where).matchAll(/^([\w-]+)\s*=\s*\[/gm)].map(match => match[1]!)
  return ['test', 'tests', 'testing', 'dev'].find(name => names.includes(name)) ?? null
}

/** The table, also where its keys are written with dots: `optional-dependencies.tests` below `[project]`. */
function tableOf(manifest: string, where: 'extra' | 'group'): string {
  const table = where === 'extra' ? 'project.optional-dependencies' : 'dependency-groups'
  const parts = manifest.split(/^(?=\[\[?[\w.-]+\]\]?[ \t]*(?:#.*)?$)/m)
  const own = parts.find(part => part.startsWith(`[${table}]`))
  if (own !== undefined || where === 'group') return own ?? ''
  const project = parts.find(part => part.startsWith('[project]')) ?? ''
  return project
    .split(/^(?=[\w-])/m)
    .flatMap(line => /^optional-dependencies\.([\s\S]*)$/.exec(line)?.[1] ?? [])
    .join('')
}

/** Gems are in the workspace only if this clone is configured so; elsewhere only a run shows whether they are there. */
async function ofRuby(
  repository: View,
  { folder, paths, text }: Evidence,
  _: FoundCommand,
  lacks: string | null,
): Promise<Installation | null> {
  const path = /^BUNDLE_PATH:\s*"?([\w.][\w./-]*)"?\s*$/m.exec(text('.bundle/config') ?? '')?.[1]
  const [there = 0] = path === undefined || path.includes('..') ? [] : await repository.changedAt([`${folder}${path}`])
  if (there !== null && (lacks === null || !paths.has('Gemfile'))) return null
  const network = ['https://rubygems.org', 'https://index.rubygems.org']
  const why = there === null ? `${folder}${path} is not there` : lacks!
  return await startable(repository, { run: ['bundle', 'install'], why, network })
}

async function ofPhp(
  repository: View,
  { folder, text }: Evidence,
  test: FoundCommand,
  lacks: string | null,
): Promise<Installation | null> {
  const manifest = text('composer.json')
  if (manifest === null || dependencyNames('composer.json', manifest).every(name => !name.includes('/'))) return null
  const [there] = await repository.changedAt([`${folder}vendor/autoload.php`])
  if (there !== null && lacks === null) return null
  const network = ['https://repo.packagist.org', 'https://api.github.com', 'https://codeload.github.com']
  return await startable(repository, {
    run: ['composer', 'install'],
    why: there === null ? `${folder}vendor is not there` : lacks!,
    network,
    // The installation provides the test program.
    test: { run: test.run, from: test.from, exists: true },
  })
}

/** Modules and crates are in a cache outside the workspace, so only a run shows whether they are there. */
async function ofGo(
  repository: View,
  { paths }: Evidence,
  _: FoundCommand,
  lacks: string | null,
): Promise<Installation | null> {
  if (lacks === null || !paths.has('go.mod')) return null
  const network = ['https://proxy.golang.org', 'https://sum.golang.org']
  return await startable(repository, { run: ['go', 'mod', 'download'], why: lacks, network })
}

async function ofRust(
  repository: View,
  { folder, paths }: Evidence,
  _: FoundCommand,
  lacks: string | null,
): Promise<Installation | null> {
  // A workspace is fetched as a whole.
  if (lacks === null || folder !== '' || !paths.has('Cargo.toml')) return null
  const network = ['https://index.crates.io', 'https://static.crates.io']
  const run = ['cargo', 'fetch', ...(paths.has('Cargo.lock') ? ['--locked'] : [])]
  return await startable(repository, { run, why: lacks, network })
}

/** A missing program is reported with the test command; a task that cannot start would not help. */
const startable = async (repository: View, one: Installation): Promise<Installation | null> =>
  (await repository.findProgram(one.run[0]!)) === null ? null : one

const FINDERS = [ofNode, ofPython, ofRuby, ofPhp, ofGo, ofRust]
const PROGRAMS: readonly (readonly [RegExp, ...typeof FINDERS])[] = [
  [/^(?:npm|npx|pnpm|yarn|bun|node|deno)$/, ofNode],
  [/^(?:pytest|python3?|uv|poetry|pdm|pipenv|tox|nox|hatch)$/, ofPython],
  [/^(?:bundle|rspec|rake|ruby)$/, ofRuby],
  [/^(?:composer|php|phpunit)$/, ofPhp],
  [/^go$/, ofGo],
  [/^cargo$/, ofRust],
]
