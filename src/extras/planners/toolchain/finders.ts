// Finds candidate commands in a folder's files, by language and tool, in order of precedence.

import { type CommandPurpose as Purpose, purposeOfName } from './command-purpose.ts'
import { type Candidate, type Evidence, languagesOf, objectIn, targetsOf } from './evidence.ts'
import { fromNode, scriptsOf } from './node.ts'
import { fromPython } from './python.ts'

type Finder = (evidence: Evidence, languages: readonly string[]) => readonly Candidate[]

const FINDERS: readonly (readonly [find: Finder, ...languages: string[]])[] = [
  [fromNode, 'TypeScript', 'JavaScript', 'Vue', 'Svelte'],
  [fromDeno],
  [fromGo, 'Go'],
  [fromRust, 'Rust'],
  [fromPython, 'Python'],
  [fromRuby, 'Ruby'],
  [fromOthers],
  [fromTargets],
  [fromShell],
]

/** Tools of the goal's language come first: a Go project may have a `package.json` for its website. */
export function candidatesIn(evidence: Evidence, language: string | null): readonly Candidate[] {
  const languages = languagesOf(evidence.files)
  const isFirst = ([, ...own]: (typeof FINDERS)[number]): boolean => language !== null && own.includes(language)
  const sorted = [...FINDERS.filter(isFirst), ...FINDERS.filter(one => !isFirst(one))]
  return sorted.flatMap(([find]) => find(evidence, languages))
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

function fromGo(evidence: Evidence, [main]: readonly string[]): readonly Candidate[] {
  const { paths, files } = evidence
  if (!paths.has('go.mod') && main !== 'Go') return []
  const from = paths.has('go.mod') ? 'go.mod' : paths.has('go.work') ? 'go.work' : 'Go files'
  const linter = files.find(path => /^\.golangci\.(ya?ml|toml|json)$/.test(path))
  // From the top of a Go workspace, modules are given as folders in every version; `-C` needs Go 1.20.
  const { folder } = evidence
  const around = evidence.above.find(one => goWorkUses(one.text('go.work') ?? '', folder.slice(one.folder.length)))
  const at = around === undefined ? {} : { in: around.folder }
  const named = (pattern: string): string =>
    around === undefined ? pattern : `./${folder.slice(around.folder.length)}${pattern.slice('./'.length)}`
  const test = goPatterns(evidence)?.map(named) ?? null
  const all = paths.has('go.work') ? (goPatterns({ ...evidence, about: [] }) ?? ['./...']) : [named('./...')]
  return [
    ...(test === null ? [] : [{ purpose: 'test', run: ['go', 'test', ...test], from, isGuess: true, ...at } as const]),
    linter === undefined
      ? { purpose: 'lint', run: ['go', 'vet', ...all], from, isGuess: true, ...at }
      : { purpose: 'lint', run: ['golangci-lint', 'run'], from: linter },
    { purpose: 'build', run: ['go', 'build', ...all], from, isGuess: true, ...at },
  ]
}

/** `./...` stops at nested modules. Null if a target runs the tests of all modules, or nothing does. */
function goPatterns(evidence: Evidence): readonly string[] | null {
  const { files, text, about, folder } = evidence
  const modules = files.filter(path => /(^|\/)go\.mod$/.test(path)).map(path => path.slice(0, -'go.mod'.length))
  const isInside = about.every(
    path => !modules.some(module => module !== '' && path.slice(folder.length).startsWith(module)),
  )
  if (about.length > 0 && isInside && modules.includes('')) {
    const packages = new Set(files.filter(path => path.endsWith('_test.go')).map(path => path.replace(/[^/]*$/, '')))
    const near = packages.size > GO_PACKAGES_MAX ? sharedFolder(about.map(path => path.slice(folder.length))) : ''
    return [near === '' ? './...' : `./${near}...`]
  }
  if (modules.length < 2 && modules[0] !== undefined && modules[0] !== '') return null
  if (text('go.work') !== null) {
    const used = modules.filter(module => goWorkUses(text('go.work')!, module))
    if (used.length > 0) return used.map(module => `./${module}...`)
  }
  if (modules.length > 1 && targetsOf(evidence).some(({ targets }) => targets.has('test'))) return null
  return modules.length === 0 || modules.includes('') ? ['./...'] : null
}

/** With more packages, only those in the folder of the files the goal is about are tested at each step, and all at the end. */
const GO_PACKAGES_MAX = 40

const goWorkUses = (text: string, module: string): boolean =>
  text.split(/\s+/).some(word => word.replace(/^\.\/?|\/$/g, '') === module.slice(0, -1) && word.startsWith('.'))

function sharedFolder(files: readonly string[]): string {
  const [first = '', ...others] = files.map(path => path.replace(/[^/]*$/, ''))
  const parts = first.split('/').slice(0, -1)
  const folders = parts.map((_, at) => `${parts.slice(0, parts.length - at).join('/')}/`)
  return folders.find(folder => others.every(one => one.startsWith(folder))) ?? ''
}

function fromRust(evidence: Evidence): readonly Candidate[] {
  const manifest = evidence.text('Cargo.toml')
  if (manifest === null) return []
  const isWorkspace = ({ text }: Evidence): boolean => /^\[workspace\]/m.test(text('Cargo.toml') ?? '')
  const around = isWorkspace(evidence) ? undefined : evidence.above.find(isWorkspace)
  const own = manifest.split(/^(?=\[)/m).find(part => part.startsWith('[package]'))
  const name = /^name\s*=\s*"([\w-]+)"/m.exec(own ?? '')?.[1]
  const isMember = around !== undefined && name !== undefined && !isExcluded(around, evidence.folder)
  // Without it, a workspace with a root package skips its members.
  const all = isMember ? ['-p', name] : isWorkspace(evidence) ? ['--workspace'] : []
  const rest = {
    from: `${evidence.folder}Cargo.toml`,
    isGuess: true,
    ...(isMember ? { in: around.folder } : {}),
  } as const
  return [
    { purpose: 'test', run: ['cargo', 'test', ...all], ...rest },
    { purpose: 'lint', run: ['cargo', 'clippy', ...all], ...rest },
    { purpose: 'build', run: ['cargo', 'build', ...all], ...rest },
  ]
}

function isExcluded({ text, folder }: Evidence, member: string): boolean {
  const listed = /^exclude\s*=\s*\[([^\]]*)\]/m.exec(text('Cargo.toml') ?? '')?.[1] ?? ''
  return listed.split(',').some(one => {
    const path = one
      .trim()
      .replace(/^["']|["']$/g, '')
      .replace(/\/?\**$/, '')
    return path !== '' && member.slice(folder.length).startsWith(`${path}/`)
  })
}

function fromRuby({ paths, files, text, above }: Evidence, [main]: readonly string[]): readonly Candidate[] {
  if (!paths.has('Gemfile') && !paths.has('Rakefile') && main !== 'Ruby') return []
  const bundled = [paths, ...above.map(one => one.paths)].some(one => one.has('Gemfile')) ? ['bundle', 'exec'] : []
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

/** Languages for which one file is enough. */
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

function fromOthers(evidence: Evidence): readonly Candidate[] {
  const { files, text } = evidence
  return OTHERS.flatMap(([pattern, test, build]): readonly Candidate[] => {
    const from = files.find(path => pattern.test(path))
    if (from === undefined) return []
    if (from === 'composer.json' && scriptsOf(text(from)).test === undefined)
      return [{ purpose: 'test', run: ['vendor/bin/phpunit'], from, program: 'phpunit' }]
    const module = from === 'pom.xml' || from.startsWith('build.gradle') ? javaModule(evidence, from) : undefined
    if (module !== undefined) return module
    const found: Candidate[] = [{ purpose: 'test', run: test, from }]
    return build.length === 0 ? found : [...found, { purpose: 'build', run: build, from }]
  })
}

/** Maven and Gradle modules are built from the top with their dependencies; undefined for a standalone build. */
function javaModule({ folder, above }: Evidence, from: string): readonly Candidate[] | undefined {
  const top = above.at(-1)
  const path = folder.replace(/\/$/, '')
  const common = { purpose: 'test', from: `${folder}${from}`, in: '' } as const
  if (from === 'pom.xml')
    return top?.text('pom.xml')?.includes('<module>') === true
      ? [{ ...common, run: ['mvn', '-pl', path, '-am', 'test'] }]
      : undefined
  const settings = top?.text('settings.gradle') ?? top?.text('settings.gradle.kts') ?? ''
  const project = path.replaceAll('/', ':')
  if (top?.paths.has('gradlew') !== true) return undefined
  const isIncluded = settings.split(/[^\w:.-]+/).some(word => word.replace(/^:/, '') === project)
  return isIncluded ? [{ ...common, run: ['./gradlew', `:${project}:test`] }] : []
}

function fromTargets(evidence: Evidence): readonly Candidate[] {
  return targetsOf(evidence).flatMap(({ program, from, targets }) =>
    TARGETS.flatMap(([purpose, wanted]) => {
      const target = wanted.find(name => targets.has(name))
      return target === undefined ? [] : [{ purpose, run: [program, target], from: `${from}, target '${target}'` }]
    }),
  )
}

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
    found.push({ purpose: 'lint', run: ['shellcheck', ...shell.slice(0, 30)], from: 'shell scripts', isGuess: true })
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
