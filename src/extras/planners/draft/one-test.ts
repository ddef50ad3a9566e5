// How a single test file is run, if the test runner is known: during work, seconds matter more than the whole suite.

import { shellLine } from '../end-checks.ts'
import type { Toolchain } from '../found-commands.ts'
import type { GoalAnalysis, RepositoryView } from '../planner.ts'
import { objectIn } from '../toolchain/evidence.ts'
import { inFolder, packageFolders, packagesAround, seenFrom } from '../toolchain/packages.ts'

/** The test named like the first file, else the best one in its package. */
export function likelyTest(
  { files, tests: ranked }: Pick<GoalAnalysis, 'files' | 'tests'>,
  paths: readonly string[],
): GoalAnalysis['tests'][number] | undefined {
  const folders = packageFolders(paths)
  const packageOf = (path: string): string => packagesAround(path, folders)[0]!
  const home = packageOf(files[0]?.path ?? '')
  const tests = ranked.filter(({ path }) => packageOf(path) === home && !HELPS.test(path))
  const nameOf = (path: string): string =>
    path
      .slice(path.lastIndexOf('/') + 1)
      .replace(/\.\w+$/, '')
      .toLowerCase()
  const name = nameOf(files[0]?.path ?? '')
  const folder = files[0]?.path.replace(/[^/]*$/, '') ?? ''
  const isBeside = (path: string): boolean =>
    path.startsWith(folder) || /(?:^|\/)(?:tests?|specs?|__tests__)\//.test(path)
  const own = tests.slice(0, LOOKED_AT).find(({ path }) => {
    const stem = nameOf(path).replace(/^(.+)[._-](?:test|spec)s?$|^test[_-](.+)$/, '$1$2')
    return (stem === name || stem === `${name}test` || stem === `${name}spec`) && isBeside(path)
  })
  return COMMON.test(name) ? tests[0] : (own ?? tests[0])
}

/** Shared helpers contain no tests. */
const HELPS = /(?:^|[/_.-])(?:utils?|helpers?|fixtures?|support|shared_examples|setup|conftest|common|mocks?)[/_.-]/i
/** Files beyond these are rarely in the scope. */
const LOOKED_AT = 3
/** Names that occur in every folder. */
const COMMON = /^(?:index|main|mod|lib|init|__init__|)$/

/** A shell line; null for an unknown runner. */
export async function oneTestCommand(
  repository: Pick<RepositoryView, 'read'>,
  { toolchain, paths, file }: { toolchain: Toolchain; paths: readonly string[]; file: string },
): Promise<string | null> {
  const { commands, testFiles } = toolchain
  if (testFiles !== null) return shellLine(testFiles([file]))
  if (/\.[cm]?[jt]sx?$/.test(file)) return await nodeTest(repository, paths, file)
  const run = commands.test?.run.join(' ') ?? ''
  if (/^go test\b/.test(run)) return goTest(paths, file)
  if (/^cargo (test|nextest)\b/.test(run)) return cargoTest(paths, file)
  if (/\brspec$|^mix test\b|\bphpunit$|^bats\b|\bdart test$|\brails test$/.test(run))
    return shellLine([...commands.test!.run.filter(word => !paths.some(path => path.startsWith(`${word}/`))), file])
  if (/\brake test$/.test(run)) return `${run} TEST=${shellLine([file])}`
  return null
}

/** By the nearest package's script, else by its dependencies. */
async function nodeTest(
  repository: Pick<RepositoryView, 'read'>,
  paths: readonly string[],
  file: string,
): Promise<string | null> {
  const known = new Set(paths)
  const folder = foldersAbove(file).find(one => known.has(`${one}package.json`))
  if (folder === undefined) return null
  const [text] = await repository.read([`${folder}package.json`])
  const {
    scripts = {},
    devDependencies = {},
    dependencies = {},
  } = objectIn(text ?? null) as {
    readonly [key: string]: { readonly [name: string]: unknown } | undefined
  }
  const script = Object.entries(scripts)
    .filter(([name]) => /^(test|unit)\b/.test(name))
    .map(([, line]) => String(line))
    .join(' ; ')
  const runner =
    RUNNERS.find(([, pattern]) => pattern.test(script)) ??
    RUNNERS.find(([name]) => name in devDependencies || name in dependencies)
  if (runner === undefined) return null
  const [name, , words] = runner
  const before = name === 'node' || name === 'bun' ? [] : starter(known)
  const line = shellLine([...before, ...words, file.slice(folder.length)])
  return folder === '' ? line : `cd ${shellLine([folder.replace(/\/$/, '')])} && ${line}`
}

const RUNNERS: readonly (readonly [name: string, pattern: RegExp, words: readonly string[]])[] = [
  ['vitest', /\bvitest\b/, ['vitest', 'run']],
  ['jest', /\bjest\b/, ['jest']],
  ['mocha', /\bmocha\b/, ['mocha']],
  ['ava', /\bava\b/, ['ava']],
  ['tap', /(^|[\s;])tap\b/, ['tap']],
  ['tsx', /\btsx\b.*--test\b|--import[= ]tsx\b/, ['tsx', '--test']],
  ['bun', /\bbun test\b/, ['bun', 'test']],
  ['node', /\bnode\b.*--test\b/, ['node', '--test']],
]

function starter(known: ReadonlySet<string>): readonly string[] {
  if (known.has('pnpm-lock.yaml')) return ['pnpm', 'exec']
  if (known.has('yarn.lock')) return ['yarn']
  return known.has('bun.lock') || known.has('bun.lockb') ? ['bunx'] : ['npx']
}

function goTest(paths: readonly string[], file: string): string {
  const known = new Set(paths)
  const module = foldersAbove(file).find(one => known.has(`${one}go.mod`)) ?? ''
  const folder = seenFrom(module, file.replace(/[^/]*$/, ''))
  return shellLine([...inFolder(['go', 'test'], module), folder === '.' ? folder : `./${folder}`])
}

function cargoTest(paths: readonly string[], file: string): string | null {
  const known = new Set(paths)
  const folder = foldersAbove(file).find(one => known.has(`${one}Cargo.toml`))
  if (folder === undefined) return null
  const name = /^tests\/([\w-]+)(?:\.rs|\/main\.rs)$/.exec(file.slice(folder.length))?.[1]
  return shellLine([
    ...['cargo', 'test'],
    ...(folder === '' ? [] : ['--manifest-path', `${folder}Cargo.toml`]),
    ...(name === undefined ? [] : ['--test', name]),
  ])
}

/** For example `a/b/`, `a/` and the top itself. */
function foldersAbove(file: string): readonly string[] {
  const parts = file.split('/').slice(0, -1)
  return [...parts.map((_, at) => `${parts.slice(0, parts.length - at).join('/')}/`), '']
}
