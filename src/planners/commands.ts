// How a repository is tested, linted and built: found in its own files (scripts, targets, configuration), else the usual way of its
// language; and checked to be there. Nothing is run.

import type { FoundCommand, FoundCommands, RepositoryView } from './planner.ts'
import { languageOf, roleOf } from './ranking/file-role.ts'
import { ciCommands, ciFiles, type NamedCommand } from './toolchain/ci-commands.ts'
import { type CommandPurpose as Purpose, purposeOfName } from './toolchain/command-purpose.ts'

export interface Toolchain {
  readonly languages: readonly string[]
  readonly packageManagers: readonly string[]
  readonly commands: FoundCommands
  /** Several tests can be named behind the test command, as `pytest tests/test_a.py`. */
  readonly testFiles: ((files: readonly string[]) => readonly string[]) | null
  /** The command or script that deploys, where the repository has one. */
  readonly deploy: string | null
  /** Files that say how it is tested, linted or built, and so are no part of a fix: scripts that the commands run. */
  readonly tools: readonly string[]
}

interface Candidate {
  readonly purpose: Purpose
  readonly run: readonly string[]
  readonly from: string
  /** The program that must be there when it is not the first word. */
  readonly program?: string
  /** What the repository itself lacks for it. */
  readonly missing?: string
  /** The usual way of the language, which the repository does not say itself. */
  readonly isGuess?: true
}

interface Evidence {
  readonly paths: ReadonlySet<string>
  readonly files: readonly string[]
  /** Of the files named in `READ`, where they are. */
  text(path: string): string | null
}

const PYTHON_FILES = [
  'pyproject.toml',
  'setup.cfg',
  'setup.py',
  'tox.ini',
  'pytest.ini',
  'requirements.txt',
  'requirements-dev.txt',
  'Pipfile',
]

/** Files at the top that say how a project is worked on. */
const READ = [
  'package.json',
  'deno.json',
  'deno.jsonc',
  'Makefile',
  'makefile',
  'GNUmakefile',
  'justfile',
  'Justfile',
  ...PYTHON_FILES,
  'Rakefile',
  'Gemfile',
  '.rspec',
  'composer.json',
  'Cargo.toml',
  'noxfile.py',
  'mypy.ini',
]

export async function findToolchain(repository: RepositoryView): Promise<Toolchain> {
  const files = (await repository.files()).map(({ path }) => path)
  const paths = new Set(files)
  const ciPaths = ciFiles(files)
  const wanted = [...READ.filter(path => paths.has(path)), ...ciPaths, ...firstPythonTests(files)]
  const texts = await repository.read(wanted)
  const read = new Map(wanted.map((path, index) => [path, texts[index] ?? null]))
  const evidence: Evidence = { paths, files, text: path => read.get(path) ?? null }
  const languages = languagesOf(files)
  // A language of which there is one script says nothing about how the project is tested.
  const candidates = [...new Set(FINDERS)].flatMap(find => find(evidence, languages))
  const named = ciCommands(
    ciPaths.map(path => [path, evidence.text(path)] as const),
    scriptsOf(evidence.text('package.json')),
  )
  const chosen = async (purpose: Purpose): Promise<FoundCommand | null> => {
    const [first] = candidates.filter(candidate => candidate.purpose === purpose)
    const better = fromCi(named, purpose, first, paths) ?? first
    return better === undefined ? null : await checked(repository, paths, better)
  }
  const commands: FoundCommands = {
    test: await chosen('test'),
    lint: await chosen('lint'),
    types: await chosen('types'),
    build: await chosen('build'),
    ci: await Promise.all(
      named.map(async ({ run, ...rest }) => ({ ...rest, ...(await checked(repository, paths, { run, ...rest })) })),
    ),
  }
  return {
    languages,
    packageManagers: packageManagersOf(evidence),
    commands,
    testFiles: testFilesOf(commands.test),
    deploy: deployIn(evidence),
    tools: toolFiles(evidence, named),
  }
}

/** What the project's own CI runs is better than a guess, where it is the same tool or a program of the repository. */
function fromCi(
  named: readonly NamedCommand[],
  purpose: Purpose,
  found: Candidate | undefined,
  paths: ReadonlySet<string>,
): Candidate | undefined {
  const isWide = ({ run }: NamedCommand): boolean => run.some(word => /^(--workspace|--all|\.\/\.\.\.)$/.test(word))
  const fitting = named.filter(one => {
    const [program = '', second] = one.run
    if (one.purpose !== purpose || one.in !== undefined || one.run.some(word => PARTLY.test(word))) return false
    // A build of its own script may be a whole release.
    if (found === undefined) return purpose !== 'build' || !program.includes('/')
    if (found.isGuess !== true) return false
    if (/^(\.\/)?bin\//.test(program)) return paths.has(bareProgram(program))
    const isSame = program === found.run[0] && (second === found.run[1] || /^\W*$/.test(found.run[1] ?? ''))
    return isSame && (purpose !== 'test' || isWide(one))
  })
  return fitting.find(isWide) ?? [...fitting].sort((a, b) => a.run.length - b.run.length)[0]
}

/** Only a part of it, or for another machine. */
const PARTLY = /^(-p|--package|--target|--manifest-path|--doc|--no-run|-run|-k|-m|--filter)(=|$)/

const bareProgram = (program: string): string => program.replace(/^\.\//, '')

const DEPLOYS = ['deploy', 'deploy:production', 'deploy:prod', 'release']

function deployIn({ paths, text }: Evidence): string | null {
  const scripts = paths.has('package.json') ? scriptsOf(text('package.json')) : {}
  const script = DEPLOYS.slice(0, 3).find(name => scripts[name] !== undefined)
  if (script !== undefined) return `${nodeManager(paths)} run ${script}`
  for (const [program, names] of TARGET_FILES) {
    const from = names.find(name => text(name) !== null)
    if (from !== undefined && targetsIn(text(from)!).has('deploy')) return `${program} deploy`
  }
  return (
    ['bin/deploy', 'script/deploy', 'scripts/deploy', 'scripts/deploy.sh', 'deploy.sh'].find(path => paths.has(path)) ??
    null
  )
}

/** `scripts/lint.mjs` of `"lint": "node scripts/lint.mjs"`: whoever makes the lint pass does not change the linter. */
function toolFiles({ paths, text }: Evidence, named: readonly NamedCommand[]): readonly string[] {
  const scripts = Object.entries(scriptsOf(text('package.json'))).filter(([name]) => purposeOfName(name) !== null)
  const lines = [...scripts.map(([, line]) => line), ...named.map(({ run }) => run.join(' '))]
  const words = lines.flatMap(line => [...line.matchAll(STARTED)].map(([, word]) => bareProgram(word!)))
  return [...new Set(words)].filter(word => paths.has(word) && roleOf(word) !== 'test')
}

async function checked(
  repository: RepositoryView,
  paths: ReadonlySet<string>,
  { run, from, program = run[0]!, missing }: Candidate,
): Promise<FoundCommand> {
  if (missing !== undefined) return { run, from, exists: false, missing }
  const found = program.includes('/')
    ? paths.has(bareProgram(program))
      ? program
      : null
    : await repository.findProgram(program)
  if (found === null) return { run, from, exists: false, missing: `'${program}' is not installed` }
  return { run: run[0] === program ? [found, ...run.slice(1)] : run, from, exists: true }
}

/** The file that a line of a shell starts. */
const STARTED =
  /(?:^|&&|;|\|)\s*(?:(?:node|deno run|bun|tsx|ts-node|python3?|ruby|perl|sh|bash)\s+(?:-\S+\s+)*)?([\w@.][\w@./-]*)/g

/** By the number of source files, most first. */
function languagesOf(files: readonly string[]): readonly string[] {
  const counts = new Map<string, number>()
  for (const path of files) {
    const role = roleOf(path)
    const language = role === 'source' || role === 'test' ? languageOf(path) : null
    if (language !== null) counts.set(language, (counts.get(language) ?? 0) + 1)
  }
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([language]) => language)
}

type Finder = (evidence: Evidence, languages: readonly string[]) => readonly Candidate[]

/** In the order in which they are believed. */
const FINDERS: readonly Finder[] = [
  fromNode,
  fromDeno,
  fromGo,
  fromRust,
  fromPython,
  fromRuby,
  fromOthers,
  fromTargets,
  fromShell,
]

function fromNode({ paths, text }: Evidence): readonly Candidate[] {
  if (!paths.has('package.json')) return []
  const scripts = scriptsOf(text('package.json'))
  const manager = nodeManager(paths)
  const found: Candidate[] = []
  for (const [purpose, names] of NODE_SCRIPTS) {
    const name = names.find(one => scripts[one] !== undefined && !/no test specified/.test(scripts[one]))
    if (name === undefined) continue
    const run = name === 'test' ? [manager, 'test'] : [manager, 'run', name]
    found.push({ purpose, run: manager === 'bun' ? ['bun', 'run', name] : run, from: `package.json, script '${name}'` })
  }
  if (paths.has('tsconfig.json') && /"typescript"/.test(text('package.json') ?? ''))
    found.push({
      purpose: 'types',
      run: ['npx', '--no-install', 'tsc', '--noEmit'],
      from: 'tsconfig.json',
      isGuess: true,
    })
  return found
}

const NODE_SCRIPTS: readonly (readonly [Purpose, readonly string[]])[] = [
  ['test', ['test', 'tests', 'test:unit', 'unit']],
  ['lint', ['lint', 'eslint', 'check', 'lint:check']],
  ['types', ['typecheck', 'type-check', 'types', 'check-types', 'check:types', 'test:types', 'tsc']],
  ['build', ['build', 'compile', 'bundle']],
]

function nodeManager(paths: ReadonlySet<string>): string {
  if (paths.has('pnpm-lock.yaml')) return 'pnpm'
  if (paths.has('yarn.lock')) return 'yarn'
  if (paths.has('bun.lock') || paths.has('bun.lockb')) return 'bun'
  return 'npm'
}

function scriptsOf(text: string | null): { readonly [name: string]: string } {
  const scripts = objectIn(text).scripts
  if (typeof scripts !== 'object' || scripts === null) return {}
  return Object.fromEntries(
    Object.entries(scripts).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}

/** Whatever a repository holds may be broken; then it says nothing. */
export function objectIn(text: string | null): { readonly [key: string]: unknown } {
  try {
    const read: unknown = JSON.parse(text ?? '{}')
    return typeof read === 'object' && read !== null ? (read as { readonly [key: string]: unknown }) : {}
  } catch {
    return {}
  }
}

function fromDeno({ paths, text }: Evidence): readonly Candidate[] {
  const file = ['deno.json', 'deno.jsonc'].find(name => paths.has(name))
  if (file === undefined) return []
  const tasks = (objectIn(text(file)).tasks ?? {}) as { readonly [name: string]: unknown }
  const test = 'test' in tasks ? ['deno', 'task', 'test'] : ['deno', 'test']
  return [
    { purpose: 'test', run: test, from: file },
    { purpose: 'lint', run: ['deno', 'lint'], from: file },
  ]
}

function fromGo({ paths, files }: Evidence, [main]: readonly string[]): readonly Candidate[] {
  if (!paths.has('go.mod') && main !== 'Go') return []
  const from = paths.has('go.mod') ? 'go.mod' : 'Go files'
  const linter = files.find(path => /^\.golangci\.(ya?ml|toml|json)$/.test(path))
  return [
    { purpose: 'test', run: ['go', 'test', './...'], from, isGuess: true },
    linter === undefined
      ? { purpose: 'lint', run: ['go', 'vet', './...'], from, isGuess: true }
      : { purpose: 'lint', run: ['golangci-lint', 'run'], from: linter },
    { purpose: 'build', run: ['go', 'build', './...'], from, isGuess: true },
  ]
}

function fromRust({ paths, text }: Evidence): readonly Candidate[] {
  if (!paths.has('Cargo.toml')) return []
  // Without it, a workspace with a package at the top leaves out its members.
  const all = /^\[workspace\]/m.test(text('Cargo.toml') ?? '') ? ['--workspace'] : []
  const [from, isGuess] = ['Cargo.toml', true] as const
  return [
    { purpose: 'test', run: ['cargo', 'test', ...all], from, isGuess },
    { purpose: 'lint', run: ['cargo', 'clippy', ...all], from, isGuess },
    { purpose: 'build', run: ['cargo', 'build', ...all], from, isGuess },
  ]
}

const firstPythonTests = (files: readonly string[]): readonly string[] =>
  files.filter(path => /\.py$/.test(path) && roleOf(path) === 'test').slice(0, 20)

function fromPython(evidence: Evidence, languages: readonly string[]): readonly Candidate[] {
  const { paths, files, text } = evidence
  const configured = PYTHON_FILES.filter(path => paths.has(path))
  if (configured.length === 0 && languages[0] !== 'Python') return []
  const all = configured.map(path => ({ path, text: text(path) ?? '' }))
  const found: Candidate[] = []
  const tests = firstPythonTests(files)
  const named = all.find(({ path, text }) => path === 'pytest.ini' || /\bpytest\b/.test(text))
  const inTests = tests.map(path => text(path) ?? '')
  if (named !== undefined || paths.has('conftest.py') || files.some(path => /(^|\/)conftest\.py$/.test(path)))
    found.push({ purpose: 'test', run: ['pytest'], from: named?.path ?? 'conftest.py' })
  else if (inTests.some(body => /^\s*(import|from) pytest\b/m.test(body)))
    found.push({ purpose: 'test', run: ['pytest'], from: 'the tests, which import pytest' })
  else if (inTests.some(body => /\bunittest\b/.test(body)))
    found.push({ purpose: 'test', run: unittestIn(tests), from: 'the tests, which import unittest' })
  else if (tests.length > 0) found.push({ purpose: 'test', run: ['pytest'], from: 'the names of the tests' })
  for (const [tool, run] of PYTHON_LINTERS) {
    const file = all.find(({ text }) => new RegExp(`\\b${tool}\\b`).test(text))?.path
    const own = [`.${tool}`, `${tool}config.json`, `${tool}.toml`, `.${tool}.toml`, `${tool}.ini`, `.${tool}rc`].find(
      path => paths.has(path),
    )
    if (file !== undefined || own !== undefined)
      found.push({ purpose: PYTHON_TYPES.has(tool) ? 'types' : 'lint', run, from: own ?? file!, isGuess: true })
  }
  const sessions = [...(text('noxfile.py') ?? '').matchAll(/^@nox\.session\b[^\n]*\n(?:@[^\n]*\n)*def (\w+)/gm)]
  const environments = [...(text('tox.ini') ?? '').matchAll(/^\[testenv:([\w-]+)\]/gm)]
  for (const [run, from, names] of [
    [['nox', '-s'], 'noxfile.py', sessions],
    [['tox', '-e'], 'tox.ini', environments],
  ] as const)
    for (const [, name] of names) {
      const purpose = purposeOfName(name!)
      if (purpose !== null) found.push({ purpose, run: [...run, name!], from: `${from}, '${name}'` })
    }
  return found
}

const PYTHON_TYPES = new Set(['mypy', 'pyright'])
const PYTHON_LINTERS: readonly (readonly [string, readonly string[]])[] = [
  ['ruff', ['ruff', 'check', '.']],
  ['flake8', ['flake8']],
  ['pylint', ['pylint', '.']],
  ['mypy', ['mypy', '.']],
  ['pyright', ['pyright']],
]

/** Tests in a folder without `__init__.py` are found only when the folder is named. */
function unittestIn(tests: readonly string[]): readonly string[] {
  const folders = new Set(tests.map(path => path.split('/').slice(0, -1).join('/')))
  const [folder] = folders
  if (folders.size !== 1 || folder === '') return ['python3', '-m', 'unittest']
  return ['python3', '-m', 'unittest', 'discover', '-s', folder!]
}

function fromRuby({ paths, files, text }: Evidence, [main]: readonly string[]): readonly Candidate[] {
  if (!paths.has('Gemfile') && !paths.has('Rakefile') && main !== 'Ruby') return []
  const bundled = paths.has('Gemfile') ? ['bundle', 'exec'] : []
  const rake = text('Rakefile') ?? ''
  const found: Candidate[] = []
  if (
    files.some(path => path.startsWith('spec/') && path.endsWith('_spec.rb')) &&
    /rspec/i.test(`${text('Gemfile') ?? ''}${text('.rspec') ?? ''}${rake}`)
  )
    found.push({
      purpose: 'test',
      run: [...bundled, 'rspec'],
      from: paths.has('.rspec') ? '.rspec' : 'spec/',
      isGuess: true,
    })
  else if (paths.has('bin/rails') && files.some(path => /^test\/.*_test\.rb$/.test(path)))
    found.push({ purpose: 'test', run: ['bin/rails', 'test'], from: 'bin/rails', isGuess: true })
  else if (rake !== '') {
    const target = /\btest\b/i.test(rake) ? ['test'] : []
    found.push({ purpose: 'test', run: [...bundled, 'rake', ...target], from: 'Rakefile', isGuess: true })
  }
  if (paths.has('.rubocop.yml')) found.push({ purpose: 'lint', run: [...bundled, 'rubocop'], from: '.rubocop.yml' })
  return found
}

/** One file says it all. */
const OTHERS: readonly (readonly [pattern: RegExp, test: readonly string[], build: readonly string[]])[] = [
  [/^gradlew$/, ['./gradlew', 'test'], ['./gradlew', 'build']],
  [/^build\.gradle(\.kts)?$/, ['gradle', 'test'], ['gradle', 'build']],
  [/^pom\.xml$/, ['mvn', 'test'], ['mvn', 'package']],
  [/^build\.sbt$/, ['sbt', 'test'], ['sbt', 'compile']],
  [/^mix\.exs$/, ['mix', 'test'], ['mix', 'compile']],
  [/^[^/]+\.(sln|slnx|csproj)$/, ['dotnet', 'test'], ['dotnet', 'build']],
  [/^Package\.swift$/, ['swift', 'test'], ['swift', 'build']],
  [/^composer\.json$/, ['composer', 'test'], []],
  [/^pubspec\.yaml$/, ['dart', 'test'], []],
  [/^build\.zig$/, ['zig', 'build', 'test'], ['zig', 'build']],
  [/^stack\.yaml$/, ['stack', 'test'], ['stack', 'build']],
  [/^[^/]+\.cabal$/, ['cabal', 'test'], ['cabal', 'build']],
]

function fromOthers({ files, text }: Evidence): readonly Candidate[] {
  return OTHERS.flatMap(([pattern, test, build]): readonly Candidate[] => {
    const from = files.find(path => pattern.test(path))
    if (from === undefined) return []
    if (from === 'composer.json' && scriptsOf(text(from)).test === undefined)
      return [{ purpose: 'test', run: ['vendor/bin/phpunit'], from }]
    const found: Candidate[] = [{ purpose: 'test', run: test, from }]
    return build.length === 0 ? found : [...found, { purpose: 'build', run: build, from }]
  })
}

/** `make test`, `just test`. */
function fromTargets({ text }: Evidence): readonly Candidate[] {
  return TARGET_FILES.flatMap(([program, names]) => {
    const from = names.find(name => text(name) !== null)
    if (from === undefined) return []
    const targets = targetsIn(text(from)!)
    return TARGETS.flatMap(([purpose, wanted]) => {
      const target = wanted.find(name => targets.has(name))
      return target === undefined ? [] : [{ purpose, run: [program, target], from: `${from}, target '${target}'` }]
    })
  })
}

const TARGET_FILES = [
  ['make', ['Makefile', 'makefile', 'GNUmakefile']],
  ['just', ['justfile', 'Justfile']],
] as const

const targetsIn = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(/^([\w-]+)(?:\s[^:=\n]*)?:(?!=)/gm)].map(match => match[1]!))

const TARGETS: readonly (readonly [Purpose, readonly string[]])[] = [
  ['test', ['test', 'tests', 'check']],
  ['lint', ['lint', 'shellcheck', 'fmt-check']],
  ['types', ['typecheck', 'type-check', 'types', 'mypy']],
  ['build', ['build', 'all']],
]

function fromShell({ files, paths }: Evidence, languages: readonly string[]): readonly Candidate[] {
  const found: Candidate[] = []
  const bats = files.find(path => path.endsWith('.bats'))
  if (bats !== undefined) {
    const folder = bats.split('/').slice(0, -1).join('/') || '.'
    found.push({ purpose: 'test', run: ['bats', folder], from: bats })
  }
  for (const run of files.filter(path => /^(bin|script)\/[\w-]+$/.test(path)).slice(0, 100)) {
    const purpose = purposeOfName(run.split('/')[1]!)
    if (purpose !== null) found.push({ purpose, run: [run], from: run })
  }
  const script = TEST_SCRIPTS.find(path => paths.has(path))
  if (script !== undefined) found.push({ purpose: 'test', run: ['sh', script], from: script })
  const shell = languages.includes('Shell') ? files.filter(path => /\.(sh|bash)$/.test(path)) : []
  if (languages[0] === 'Shell' && shell.length > 0)
    found.push({ purpose: 'lint', run: ['shellcheck', ...shell.slice(0, 30)], from: 'shell scripts' })
  return found
}

const TEST_SCRIPTS = [
  'test.sh',
  'tests.sh',
  'run-tests.sh',
  'run_tests.sh',
  'test/run.sh',
  'tests/run.sh',
  'test/test.sh',
  'tests/test.sh',
  'scripts/test.sh',
]

function packageManagersOf({ paths, files }: Evidence): readonly string[] {
  const found = new Set<string>()
  if (paths.has('package.json')) found.add(nodeManager(paths))
  // Files at the top, and folders of requirements: there may be very many others.
  const telling = files.filter(path => !path.includes('/') || path.startsWith('requirements'))
  for (const [pattern, name] of MANAGERS) if (telling.some(path => pattern.test(path))) found.add(name)
  return [...found]
}

const MANAGERS: readonly (readonly [RegExp, string])[] = [
  [/^uv\.lock$/, 'uv'],
  [/^poetry\.lock$/, 'poetry'],
  [/^Pipfile$/, 'pipenv'],
  [/^(requirements.*\.txt|setup\.py|pyproject\.toml)$/, 'pip'],
  [/^go\.mod$/, 'go'],
  [/^Cargo\.toml$/, 'cargo'],
  [/^Gemfile$/, 'bundler'],
  [/^composer\.json$/, 'composer'],
  [/^pom\.xml$/, 'maven'],
  [/^build\.gradle(\.kts)?$/, 'gradle'],
]

function testFilesOf(test: FoundCommand | null): Toolchain['testFiles'] {
  const run = test?.run
  if (run === undefined) return null
  if (/(^|\/)pytest$/.test(run[0]!) || run.at(-1) === 'rspec') return files => [...run, ...files]
  if (run.includes('unittest')) return files => ['python3', '-m', 'unittest', ...files]
  return null
}
