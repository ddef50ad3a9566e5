// Finds how a repository is tested, linted and built: from its own files (scripts, targets, configuration), else the convention
// of its language. Checks that the commands exist, and runs nothing.

import { type Looked, lookedLine, NOT_INSTALLED } from './look-result.ts'
import type { FoundCommand, FoundCommands, Installation, RepositoryView } from './planner.ts'
import { languageOf, roleOf } from './ranking/file-role.ts'
import { ciCommands, ciFiles, type NamedCommand } from './toolchain/ci-commands.ts'
import { type CommandPurpose as Purpose, purposeOfName } from './toolchain/command-purpose.ts'
import { type Candidate, type Evidence, languagesOf, targetsOf } from './toolchain/evidence.ts'
import { candidatesIn } from './toolchain/finders.ts'
import { findInstallation, lockedInstallation } from './toolchain/installation.ts'
import { nodeManager, scriptsOf } from './toolchain/node.ts'
import { allOf, inFolder, packageFolders, packagesAround, seenFrom } from './toolchain/packages.ts'
import { readsNoFile, type Scripts, workOf } from './toolchain/project-script.ts'
import { firstPythonTests, PYTHON_FILES } from './toolchain/python.ts'
import { absentSubmodules } from './toolchain/submodules.ts'

export interface Toolchain {
  readonly languages: readonly string[]
  readonly packageManagers: readonly string[]
  readonly commands: FoundCommands
  /** Adds test files as arguments, as in `pytest tests/test_a.py`; null if not supported. */
  readonly testFiles: ((files: readonly string[]) => readonly string[]) | null
  /** The deployment command or script, if there is one. */
  readonly deploy: string | null
  /** Scripts that these commands run: part of the checks, so a fix must not change them. */
  readonly tools: readonly string[]
  /** Installation to run first; null if up to date or unknown. */
  readonly installation: Installation | null
  /** Folders of submodules that were not fetched. */
  readonly submodules: readonly string[]
  /** Installs a dependency after an update of the lock file; null if the next build or run does. */
  readonly reinstallation: Pick<Installation, 'run' | 'network'> | null
}

/** Files that describe how a package is developed. */
const READ = [
  'package.json',
  'pnpm-workspace.yaml',
  'deno.json',
  'deno.jsonc',
  'Makefile',
  'makefile',
  'GNUmakefile',
  'justfile',
  'Justfile',
  ...PYTHON_FILES,
  'poetry.toml',
  'Rakefile',
  'Gemfile',
  '.rspec',
  '.bundle/config',
  'composer.json',
  'Cargo.toml',
  'go.work',
  'noxfile.py',
  'mypy.ini',
  'pom.xml',
  'settings.gradle',
  'settings.gradle.kts',
]
const MANIFESTS_MAX = 100

/**
 * `about`: the most relevant files, best first. Their package is tested at each step, the whole repository at the end. `looked`: shows
 * whether something must be installed first.
 */
export async function findToolchain(
  repository: RepositoryView,
  about: readonly string[] = [],
  looked?: Looked,
): Promise<Toolchain> {
  const files = (await repository.files()).map(({ path }) => path)
  const folders = packageFolders(files)
  const around = about.map(path => packagesAround(path, folders))
  const opened = await openEvidence(repository, files, ['', ...around.flat()])
  const top = opened('')
  const named = ciCommands(
    ciFiles(files).map(path => [path, top.text(path)] as const),
    scriptsOf(top.text('package.json')),
    nodeManager(top),
  )
  const language = languageOf(about[0] ?? '') ?? languagesOf(files)[0] ?? null
  const commandIn = async (evidence: Evidence, purpose: Purpose): Promise<FoundCommand | null> => {
    // A language used for a single script does not tell how the project is tested.
    const first = candidatesIn(evidence, language).find(candidate => candidate.purpose === purpose)
    const better = fromCi(named, purpose, first, evidence) ?? first
    return better === undefined ? null : await checked(repository, evidence, better)
  }
  const tests = await testsOf(around, async folder => {
    const evidence = opened(folder)
    return await commandIn({ ...evidence, about }, 'test')
  })
  const whole = (await commandIn(top, 'test')) ?? tests.outer
  const test = tests.inner ?? whole
  const part = opened(tests.folder)
  const either = async (purpose: Purpose): Promise<FoundCommand | null> =>
    (await commandIn(top, purpose)) ?? (tests.folder === '' ? null : await commandIn(part, purpose))
  const isOther = whole !== null && test !== null && whole.run.join(' ') !== test.run.join(' ')
  const scripts = scriptsOf(top.text('package.json'))
  const linter = await either('lint')
  const lint = linter !== null && readsNoFile(linter.run, scripts, files) ? null : linter
  const [types, build] = [await either('types'), await either('build')]
  // CI's `tsc` beside a script that checks the types is no build.
  const isTypes = build !== null && types !== null && build.from.startsWith('.') && isSameWork(build, types, scripts)
  const lacks = lackingIn(looked, [test, whole], [lint, types, build])
  const installation = test === null ? null : await findInstallation(repository, [part, ...part.above], test, lacks)
  const commands: FoundCommands = {
    test: installation?.test ?? test,
    ...(isOther ? { allTests: whole } : {}),
    lint,
    types,
    build: isTypes ? null : build,
    ci: await Promise.all(
      named.map(async one => {
        const own =
          one.in === undefined ? ([test, whole, lint, types].find(two => isSameWork(one, two, scripts)) ?? null) : null
        if (own !== null) return { ...one, ...own, purpose: own === types ? 'types' : one.purpose, from: one.from }
        const evidence = opened(one.in === undefined ? '' : `${one.in.replace(/\/$/, '')}/`)
        // Without the program's option for the folder: `commandLine` changes to `in` first.
        return {
          ...one,
          ...(await checked(repository, evidence, { purpose: one.purpose, run: one.run, from: one.from, in: '' })),
        }
      }),
    ),
  }
  return {
    languages: languagesOf(files),
    packageManagers: packageManagersOf(top),
    commands,
    testFiles: testFilesOf(commands.test, tests.folder),
    deploy: deployIn(top),
    tools: toolFiles(top, named),
    installation,
    submodules: await absentSubmodules(repository),
    reinstallation: lockedInstallation(top),
  }
}

const isSameWork = (
  one: Pick<FoundCommand, 'run'>,
  other: Pick<FoundCommand, 'run'> | null,
  scripts: Scripts,
): boolean => other !== null && workOf(one.run, scripts) === workOf(other.run, scripts)

/** The run that shows what is missing. Of the other checks only scripts count, whose tools come with the same installation. */
function lackingIn(
  looked: Looked | undefined,
  tests: readonly (FoundCommand | null)[],
  others: readonly (FoundCommand | null)[],
): string | null {
  const scripts = others.filter(one => /^(?:npm|pnpm|yarn|bun|bundle)$/.test(one?.run[0] ?? ''))
  const needed = new Set([...tests, ...scripts].flatMap(one => one?.run.join(' ') ?? []))
  const lacking = looked?.commands.find(({ run, why }) => why === NOT_INSTALLED && needed.has(run.join(' ')))
  return lacking === undefined ? null : `'${lookedLine(lacking)}' says that ${NOT_INSTALLED}`
}

interface PackageTests {
  readonly folder: string
  /** Of the package, or of several if nothing around them has tests. */
  readonly inner: FoundCommand | null
  /** Of the widest surrounding folder that has tests, below the top. */
  readonly outer: FoundCommand | null
}

async function testsOf(
  around: readonly (readonly string[])[],
  testIn: (folder: string) => Promise<FoundCommand | null>,
): Promise<PackageTests> {
  const [first = []] = around
  const shared = first.filter(folder => around.every(one => one.includes(folder)))
  const found: (readonly [folder: string, test: FoundCommand])[] = []
  for (const folder of shared) {
    const test = await testIn(folder)
    if (test !== null) found.push([folder, test])
  }
  if (found.length > 0) return { folder: found[0]![0], inner: found[0]![1], outer: found.at(-1)![1] }
  const each = new Map<string, FoundCommand>()
  for (const folders of around) {
    for (const folder of folders) {
      const test = each.get(folder) ?? (await testIn(folder))
      if (test === null) continue
      each.set(folder, test)
      break
    }
  }
  const all = [...each.values()]
  const [one] = all
  if (one === undefined) return { folder: '', inner: null, outer: null }
  const inner: FoundCommand = {
    ...(all.find(({ exists }) => !exists) ?? one),
    run: allOf(all.map(({ run }) => run)),
    from: all.map(({ from }) => from).join(' and '),
  }
  return { folder: '', inner, outer: null }
}

/** Reads all folders once and returns what each contains. */
async function openEvidence(
  repository: RepositoryView,
  files: readonly string[],
  folders: readonly string[],
): Promise<(folder: string) => Evidence> {
  const known = new Set(files)
  const manifests = files.filter(path => path.endsWith('/package.json')).slice(0, MANIFESTS_MAX)
  const settings = [...new Set(folders)].flatMap(folder => READ.map(name => `${folder}${name}`))
  const tests = [...new Set(folders)].flatMap(folder => firstPythonTests(files.filter(path => path.startsWith(folder))))
  // Untracked settings of this machine do not count.
  const wanted = [
    ...settings.filter(path => known.has(path) || /(^|\/)\.bundle\//.test(path)),
    ...ciFiles(files),
    ...manifests,
    ...tests,
  ]
  const texts = await repository.read(wanted)
  const read = new Map(wanted.map((path, index) => [path, texts[index] ?? null]))
  const within = packageFolders(files)
  const made = new Map<string, Evidence>()
  const open = (folder: string): Evidence => {
    const old = made.get(folder)
    if (old !== undefined) return old
    const own =
      folder === '' ? files : files.filter(path => path.startsWith(folder)).map(path => path.slice(folder.length))
    const outside = packagesAround(folder.replace(/\/$/, ''), within)
    const evidence: Evidence = {
      folder,
      paths: new Set(own),
      files: own,
      text: path => read.get(`${folder}${path}`) ?? null,
      above: folder === '' ? [] : outside.map(open),
      about: [],
    }
    made.set(folder, evidence)
    return evidence
  }
  return open
}

/** Prefers the command that CI runs over a guess, if it is the same tool or a program in the repository. */
function fromCi(
  named: readonly NamedCommand[],
  purpose: Purpose,
  found: Candidate | undefined,
  { paths, folder }: Evidence,
): Candidate | undefined {
  const isWide = ({ run }: NamedCommand): boolean => run.some(word => WIDE.test(word))
  const isHere = (one: NamedCommand): boolean => (one.in ?? '').replace(/\/$/, '') === folder.replace(/\/$/, '')
  const [program, command, option, name] = found?.run ?? []
  if (program === 'cargo' && option === '-p') return ofMember(named, command!, found!, name!)
  const fitting = named.filter(one => {
    const [program = '', second] = one.run
    if (one.purpose !== purpose || !isHere(one) || one.run.some(word => PARTLY.test(word))) return false
    // A custom build script may be a whole release.
    if (found === undefined) return purpose !== 'build' || !program.includes('/')
    if (found.isGuess !== true) return false
    if (/^(\.\/)?bin\//.test(program)) return paths.has(bareProgram(program))
    const isSame = program === found.run[0] && (second === found.run[1] || /^\W*$/.test(found.run[1] ?? ''))
    return isSame && (purpose !== 'test' || isWide(one))
  })
  return fitting.find(isWide) ?? [...fitting].sort((a, b) => a.run.length - b.run.length)[0]
}

const WIDE = /^(--workspace|--all|\.\/\.\.\.)$/

/** With the features and flags that CI uses for all members. */
function ofMember(
  named: readonly NamedCommand[],
  command: string,
  found: Candidate,
  name: string,
): Candidate | undefined {
  const wide = named.find(
    ({ run, in: folder }) =>
      run[0] === 'cargo' &&
      run[1] === command &&
      (folder ?? '') === (found.in ?? '').replace(/\/$/, '') &&
      run.some(word => WIDE.test(word)) &&
      !run.some(word => PARTLY.test(word) || word.startsWith('--exclude')),
  )
  if (wide === undefined) return undefined
  return { ...found, from: wide.from, run: wide.run.flatMap(word => (WIDE.test(word) ? ['-p', name] : word)) }
}

/** Options that restrict it to a part or to another platform. */
const PARTLY = /^(-p|--package|--target|--manifest-path|--doc|--no-run|-run|-k|-m|--filter)(=|$)/

const bareProgram = (program: string): string => program.replace(/^\.\//, '')

const DEPLOYS = ['deploy', 'deploy:production', 'deploy:prod', 'release']

function deployIn(top: Evidence): string | null {
  const { paths, text } = top
  const scripts = scriptsOf(text('package.json'))
  const script = DEPLOYS.slice(0, 3).find(name => scripts[name] !== undefined)
  if (script !== undefined) return `${nodeManager(top)} run ${script}`
  const target = targetsOf(top).find(({ targets }) => targets.has('deploy'))
  if (target !== undefined) return `${target.program} deploy`
  return (
    ['bin/deploy', 'script/deploy', 'scripts/deploy', 'scripts/deploy.sh', 'deploy.sh'].find(path => paths.has(path)) ??
    null
  )
}

/** `scripts/lint.mjs` in `"lint": "node scripts/lint.mjs"`: making the lint pass must not change the linter. */
function toolFiles({ paths, text }: Evidence, named: readonly NamedCommand[]): readonly string[] {
  const scripts = Object.entries(scriptsOf(text('package.json'))).filter(([name]) => purposeOfName(name) !== null)
  const lines = [...scripts.map(([, line]) => line), ...named.map(({ run }) => run.join(' '))]
  const words = lines.flatMap(line => [...line.matchAll(STARTED)].map(([, word]) => bareProgram(word!)))
  return [...new Set(words)].filter(word => paths.has(word) && roleOf(word) !== 'test')
}

/** The first variant that can start here, as run from the top. */
async function checked(
  repository: RepositoryView,
  evidence: Evidence,
  { run, from, program, missing, isGuess, or = [], in: folder = evidence.folder }: Candidate,
): Promise<FoundCommand> {
  const result = (words: readonly string[], rest: Omit<FoundCommand, 'run' | 'from'>): FoundCommand => ({
    run: inFolder(words, folder),
    from,
    ...rest,
  })
  if (missing !== undefined) return result(run, { exists: false, missing })
  for (const words of [run, ...or]) {
    const name = program ?? words[0]!
    const found = name.includes('/')
      ? evidence.paths.has(bareProgram(name))
        ? name
        : null
      : await repository.findProgram(name, evidence.folder)
    if (found !== null) return result(words[0] === name ? [found, ...words.slice(1)] : words, { exists: true })
  }
  const guessed = isGuess === true ? { isGuess } : {}
  return result(run, { exists: false, missing: `'${program ?? run[0]!}' is not installed`, ...guessed })
}

/** The file that a shell line starts. */
const STARTED =
  /(?:^|&&|;|\|)\s*(?:(?:node|deno run|bun|tsx|ts-node|python3?|ruby|perl|sh|bash)\s+(?:-\S+\s+)*)?([\w@.][\w@./-]*)/g

function packageManagersOf(top: Evidence): readonly string[] {
  const { paths, files } = top
  const found = new Set<string>()
  if (paths.has('package.json')) found.add(nodeManager(top))
  // Only files at the top and requirement folders, since there may be very many others.
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

function testFilesOf(test: FoundCommand | null, folder: string): Toolchain['testFiles'] {
  const run = test?.run
  if (run === undefined) return null
  const isPlain = folder === '' || run[0] === 'uv' || run[0] === 'poetry'
  if (isPlain && /(^|\/)(pytest|rspec)$/.test(run.at(-1)!))
    return files => [...run, ...files.map(file => seenFrom(folder, file))]
  const at = run.indexOf('unittest')
  return at < 0 || !isPlain ? null : files => [...run.slice(0, at + 1), ...files.map(file => seenFrom(folder, file))]
}
