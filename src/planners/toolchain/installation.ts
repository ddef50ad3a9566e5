// Is the project installed? A fresh clone has no `node_modules`, and after a pull the lock file is newer than what it installed. Only
// what can be seen without running anything counts: what lies outside the workspace (gems, modules of Go) is not known here.

import type { FoundCommand, RepositoryView } from '../planner.ts'
import { dependencyNames } from './dependency.ts'
import { type Evidence, objectIn } from './evidence.ts'
import { isYarnBerry, lockOf, nodeManager, workspaceOf } from './node.ts'
import { allOf, inFolder } from './packages.ts'

export interface Installation {
  readonly run: readonly string[]
  /** What shows that it is needed, as a sentence without its full stop. */
  readonly why: string
  /** Where the packages come from. */
  readonly network: readonly string[]
  /** What the tests are run with afterwards, if that is only known then. */
  readonly test?: FoundCommand
}

type View = Pick<RepositoryView, 'changedAt' | 'findProgram'>

/** `around`: the package whose tests are run, and the folders around it. */
export async function findInstallation(
  repository: View,
  around: readonly Evidence[],
  test: FoundCommand,
): Promise<Installation | null> {
  const found: Installation[] = []
  for (const evidence of around)
    for (const find of [ofNode, ofPython, ofRuby, ofPhp]) {
      const one = await find(repository, evidence, test)
      if (one !== null) found.push({ ...one, run: inFolder(one.run, evidence.folder) })
    }
  const [first] = found
  if (first === undefined) return null
  const tests = found.flatMap(one => one.test ?? [])
  return {
    // What is around comes first: a package may need it.
    run: allOf(found.map(({ run }) => run).reverse()),
    why: [...new Set(found.map(({ why }) => why))].join('; '),
    network: [...new Set(found.flatMap(({ network }) => network))],
    ...(tests[0] === undefined ? {} : { test: tests[0] }),
  }
}

/** Package managers write the lock file and their own record a moment apart. */
const SAME_TIME_MS = 5_000

async function ofNode(repository: View, evidence: Evidence): Promise<Installation | null> {
  const { folder, paths, text } = evidence
  if (!paths.has('package.json') || workspaceOf(evidence) !== null) return null
  const at = async (name: string) => (await repository.changedAt([`${folder}${name}`]))[0] ?? null
  const lock = lockOf(evidence)
  const own = objectIn(text('package.json'))
  const wanted = ['dependencies', 'devDependencies'].flatMap(key => Object.keys(own[key] ?? {}))
  const isWorkspace = own.workspaces !== undefined || text('pnpm-workspace.yaml') !== null
  if (wanted.length === 0 && !(isWorkspace && lock !== null)) return null
  const manager = nodeManager(evidence)
  const records = await repository.changedAt(RECORDS.map(name => `${folder}${name}`))
  const installed = records.find(time => time !== null) ?? (await at('node_modules'))
  const network = [...REGISTRIES[manager]]
  if (lock === null) {
    const times = await repository.changedAt(wanted.map(name => `${folder}node_modules/${name}`))
    const missing = wanted.filter((_, index) => times[index] === null)
    if (missing.length === 0) return null
    const why =
      installed === null ? `${folder}node_modules is not there` : `${missing[0]} is not in ${folder}node_modules`
    return { run: [manager, 'install', ...(manager === 'npm' ? ['--no-package-lock'] : [])], why, network }
  }
  const run = {
    npm: ['npm', 'ci'],
    pnpm: ['pnpm', 'install', '--frozen-lockfile'],
    yarn: ['yarn', 'install', isYarnBerry(evidence) ? '--immutable' : '--frozen-lockfile'],
    bun: ['bun', 'install', '--frozen-lockfile'],
  }[manager]
  if (installed === null) return { run, why: `${folder}node_modules is not there`, network }
  const isStale = ((await at(lock)) ?? 0) > installed + SAME_TIME_MS
  return isStale ? { run, why: `${folder}${lock} is newer than what is installed`, network } : null
}

/** What the package managers leave behind when they have installed. */
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

/** An environment in the project. Whether one outside has what the tests import shows only when they run. */
async function ofPython(repository: View, evidence: Evidence, test: FoundCommand): Promise<Installation | null> {
  const { folder, paths, text } = evidence
  const [environment] = await repository.changedAt([`${folder}.venv`])
  if (environment !== null) return null
  const manifest = text('pyproject.toml') ?? ''
  const why = `${folder}.venv is not there`
  if (paths.has('uv.lock')) {
    const extra = testExtra(manifest, 'extra')
    const group = testExtra(manifest, 'group')
    const words = [...(extra === null ? [] : ['--extra', extra]), ...(group === null ? [] : ['--group', group])]
    return await startable(repository, { run: ['uv', 'sync', ...words], why, network: PYPI })
  }
  if (paths.has('poetry.lock') && /^in-project\s*=\s*true/m.test(text('poetry.toml') ?? ''))
    return await startable(repository, { run: ['poetry', 'install'], why, network: PYPI })
  // Where pytest is on the path, so may be the rest.
  if (test.exists || test.run.at(-1) !== 'pytest' || (await repository.findProgram('python3')) === null) return null
  const wanted = pipWords(evidence, manifest)
  if (wanted === null || folder !== '') return null
  return {
    run: allOf([
      ['python3', '-m', 'venv', '.venv'],
      ['.venv/bin/pip', 'install', 'pytest', ...wanted],
    ]),
    why: `pytest is not installed, and ${why}`,
    network: PYPI,
    test: { run: ['./.venv/bin/pytest'], from: test.from, exists: true },
  }
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

/** The optional dependencies that are named for the tests. */
function testExtra(manifest: string, where: 'extra' | 'group'): string | null {
  const table = where === 'extra' ? 'project.optional-dependencies' : 'dependency-groups'
  const own = manifest.split(/^(?=\[)/m).find(part => part.startsWith(`[${table}]`)) ?? ''
  const names = [...own.matchAll(/^([\w-]+)\s*=\s*\[/gm)].map(match => match[1]!)
  return ['test', 'tests', 'testing', 'dev'].find(name => names.includes(name)) ?? null
}

/** Gems are in the workspace only where the settings of this clone say so. */
async function ofRuby(repository: View, { folder, text }: Evidence): Promise<Installation | null> {
  const path = /^BUNDLE_PATH:\s*"?([\w.][\w./-]*)"?\s*$/m.exec(text('.bundle/config') ?? '')?.[1]
  if (path === undefined || path.includes('..')) return null
  const [there] = await repository.changedAt([`${folder}${path}`])
  if (there !== null) return null
  const network = ['https://rubygems.org', 'https://index.rubygems.org']
  return await startable(repository, { run: ['bundle', 'install'], why: `${folder}${path} is not there`, network })
}

async function ofPhp(repository: View, { folder, text }: Evidence, test: FoundCommand): Promise<Installation | null> {
  const manifest = text('composer.json')
  if (manifest === null || dependencyNames('composer.json', manifest).every(name => !name.includes('/'))) return null
  const [there] = await repository.changedAt([`${folder}vendor/autoload.php`])
  if (there !== null) return null
  const network = ['https://repo.packagist.org', 'https://api.github.com', 'https://codeload.github.com']
  return await startable(repository, {
    run: ['composer', 'install'],
    why: `${folder}vendor is not there`,
    network,
    // It brings the test program.
    test: { run: test.run, from: test.from, exists: true },
  })
}

/** A missing program is told with the test command; a task that cannot start helps nobody. */
const startable = async (repository: View, one: Installation): Promise<Installation | null> =>
  (await repository.findProgram(one.run[0]!)) === null ? null : one
