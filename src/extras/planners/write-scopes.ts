// The write scopes of the steps: the most relevant files, tests near them, the manifest, the page.

import { asksFirst } from '../../domain/plan-rules/instruction-file.ts'
import type { WriteScopes } from './compose-plan.ts'
import type { FollowedComments } from './draft-comments.ts'
import { namedDependency, namedFiles, newFiles } from './end-checks.ts'
import type { GoalWords } from './goal.ts'
import type { JudgedGoal } from './goal-kind.ts'
import { sparedParts } from './goal-limits.ts'
import { docsPage } from './kinds/docs-page.ts'
import { renameNames } from './kinds/rename.ts'
import { holdsWord } from './kinds/word-search.ts'
import type { GoalAnalysis, PastChange, RankedFile } from './planner.ts'
import { isAside, isMetadata, languageOf, roleOf } from './ranking/file-role.ts'
import { holds, scopeEntries } from './ranking/scope-entries.ts'
import { updatedFiles, usersOf } from './toolchain/dependency.ts'
import { packageFolders, packagesAround } from './toolchain/packages.ts'
import { isShown } from './work-steps.ts'

export interface ScopeInput {
  readonly goal: GoalWords
  readonly judged: JudgedGoal
  readonly analysis: GoalAnalysis
  readonly paths: readonly string[]
  readonly texts: ReadonlyMap<string, string>
  readonly history: readonly PastChange[]
  readonly followed: FollowedComments
  /** The package that the goal starts with; no other is included. */
  readonly home: string | null
  /** For goals about settings. */
  readonly settings: readonly string[] | null
}

const SOURCES_MAX = 6
/** Maximum share of a repository's files in a scope, and a minimum for small ones. */
const SOURCES_PART = 0.085
const SOURCES_MIN = 8
/** Likelihood that the goal needs a new file. */
const UNSEEN = 0.04
const UNSEEN_WHEN_ADDED = 0.2
const ADDS =
  /^\W*(add|allow|build|create|extend|implement|introduce|let|make|port|provide|split|extract|support|write)(s|ed|ing)?\b/i
/** Maximum number of files that import a dependency. */
const USERS_MAX = 40

export function writeScopes({
  goal,
  judged,
  analysis,
  paths,
  texts,
  history,
  followed,
  home,
  settings,
}: ScopeInput): WriteScopes {
  const closed = new Set(followed.not)
  const outside = home === null ? [] : paths.filter(path => !path.startsWith(home) && !goal.files.includes(path))
  const unlikely = unlikelyFiles(goal, analysis, paths)
  const adds = ['feature', 'endpoint'].includes(judged.kind) || ADDS.test(goal.wanted)
  const likely = scopeEntries({
    ranked: analysis.files,
    paths,
    history,
    closed: new Set([...closed, ...outside]),
    unlikely,
    role: 'source',
    unseen: adds ? UNSEEN_WHEN_ADDED : UNSEEN,
    budget: Math.max(SOURCES_MIN, Math.floor(paths.length * SOURCES_PART)),
    entries: SOURCES_MAX,
  })
  const beside = rankedNear(analysis, paths).filter(
    path =>
      !closed.has(path) && !outside.includes(path) && !unlikely.has(path) && !likely.some(entry => holds(entry, path)),
  )
  const fresh = newFiles({ goal, paths })
  const rename = judged.kind === 'rename' ? renameNames(goal) : null
  const named = judged.kind === 'dependency-update' ? namedDependency({ goal, texts }) : null
  const users = named === null ? [] : usersOf(named, texts).slice(0, USERS_MAX)
  const holding =
    rename === null ? users : [...texts].filter(([, text]) => holdsWord(text, rename.old)).map(([path]) => path)
  const shown = isShown(goal, judged.kind) ? [docsPage({ goal, paths }) ?? []].flat() : []
  const sources = [
    ...new Set([
      ...holding,
      ...namedFiles(goal, paths).filter(path => roleOf(path) !== 'test'),
      ...(settings ?? []),
      ...(holding.length > 0 || settings !== null ? [] : [...likely, ...beside]),
      ...followed.also,
      ...wholeFolders(goal, paths, closed),
      ...fresh.filter(path => !likely.some(entry => holds(entry, path))),
      ...shown.filter(path => !unlikely.has(path)),
    ]),
  ]
  const allowed = (all: readonly string[]): readonly string[] => all.filter(path => !followed.not.includes(path))
  const page = docsPage({ goal, paths })
  const manifest = paths.find(path => MANIFEST.test(path))
  const isSpared = sparedParts(goal.limits).includes('tests')
  const snapshots = isSpared ? [] : snapshotFolders(analysis, { paths, texts, closed })
  const own = ['bug', 'security'].includes(judged.kind) ? withoutTests(sources, paths) : sources
  const tests = isSpared ? [] : testScope({ goal, analysis, paths, history, texts, closed, home, fresh: fresh[0] })
  return {
    // What a snapshot records changes with the source.
    sources: own.length === 0 ? [] : allowed([...own, ...snapshots]),
    tests: [...tests, ...snapshots.filter(folder => !tests.some(entry => entry === folder || holds(entry, folder)))],
    docs: allowed(page === null ? ['README.md'] : [page]),
    manifest: allowed(
      named !== null
        ? updatedFiles(named)
        : manifest === undefined
          ? ['package.json']
          : [manifest, ...paths.filter(path => LOCK.test(path))],
    ),
    new: allowed(NEW_PROJECT),
  }
}

/** Files far below the best, those beside the product and those of other packages, unless the goal names them or they fit it almost as well as the best. */
function unlikelyFiles(goal: GoalWords, { files }: GoalAnalysis, paths: readonly string[]): ReadonlySet<string> {
  const [first] = files
  if (first === undefined || first.reason.startsWith('weak guess')) return new Set()
  const folders = packageFolders(paths)
  const packageOf = (path: string): string => packagesAround(path, folders)[0]!
  const isNamed = (path: string): boolean => goal.files.some(file => path === file || path.endsWith(`/${file}`))
  const isCalled = (folder: string): boolean =>
    new RegExp(
      `(?<![\\w-])${folder
        .split('/')
        .at(-2)
        ?.replace(/[^\w-]/g, '.')}(?![\\w-])`,
      'i',
    ).test(goal.text)
  // A name of several words is no topic, as `typescript` may be one: it is this package.
  const own = packageOf(first.path)
  const share = /\w-\w[\w-]*\/$/.test(own) && isCalled(own) ? 1 : CLOSE
  const close = files.filter(({ path, score }) => isNamed(path) || score >= first.score * share).map(({ path }) => path)
  const isIncluded = (folder: string): boolean =>
    folder === '' || isCalled(folder) || close.some(path => packageOf(path) === folder)
  const elsewhere = own === '' ? [] : [...folders].filter(folder => !isIncluded(folder))
  const best = bestOf(files.filter(({ path }) => packageOf(path) === own))
  const low = new Set(files.filter(({ score }) => score < best * LOW).map(({ path }) => path))
  const isUnlikely = (path: string): boolean =>
    low.has(path) ||
    (SAMPLES.test(path) && !SAMPLES.test(first.path) && !/\b(?:examples?|bench\w*)\b/i.test(goal.wanted)) ||
    elsewhere.includes(packageOf(path))
  return new Set(paths.filter(path => isUnlikely(path) && !isNamed(path)))
}

/** A file that the goal names is so far above all others that these are measured by the best of them. */
const bestOf = (files: readonly RankedFile[]): number =>
  (files.find(({ reason }) => !reason.includes('the goal names it')) ?? files[0])?.score ?? 0

/** Shares of the best score. */
const CLOSE = 0.6
const NEAR = 0.4
const LOW = 0.15
const SAMPLES = /(?:^|\/)(?:_?examples?|bench\w*|docs\/api)\/|(?:^|\/)bench\w*\.\w+$/i

/** Beside tests of the package that compare with snapshots. */
function snapshotFolders(
  { files: [first] }: GoalAnalysis,
  { paths, texts, closed }: Pick<ScopeInput, 'paths' | 'texts'> & { readonly closed: ReadonlySet<string> },
): readonly string[] {
  if (first === undefined) return []
  const around = packageFolders(paths)
  const own = packagesAround(first.path, around)[0]!
  const users = paths.filter(
    path => path.startsWith(own) && roleOf(path) === 'test' && /snapshot/i.test(texts.get(path) ?? ''),
  )
  const beside = new Set(users.map(path => path.slice(0, path.lastIndexOf('/') + 1)))
  const kept = paths.filter(path => SNAPSHOT.test(path) && !asksFirst(path))
  const folders = new Set(kept.map(path => SNAPSHOT.exec(path)![1]!))
  return [...folders]
    .filter(folder => beside.has(folder.replace(/[^/]+\/$/, '')) && ![...closed].some(path => path.startsWith(folder)))
    .slice(0, SNAPSHOTS_MAX)
    .map(folder => `${folder}**`)
}

const SNAPSHOT = /^((?:.*\/)?(?:__snapshots__|snapshots)\/)[^/]+\.(?:snap|snap\.\w+|md)$/
const SNAPSHOTS_MAX = 2

/** The first ranked files in the folder or package of the best one: a fix often reaches beyond the file where the fault shows. */
function rankedNear({ files }: GoalAnalysis, paths: readonly string[]): readonly string[] {
  const [first, ...others] = files.slice(0, NEAR_MAX)
  if (first === undefined || first.reason.startsWith('weak guess')) return []
  const folders = packageFolders(paths)
  const packageOf = (path: string): string => packagesAround(path, folders)[0]!
  const best = bestOf(files.filter(({ path }) => packageOf(path) === packageOf(first.path)))
  const isNear = ({ path, reason, score }: RankedFile): boolean =>
    score >= best * NEAR &&
    packageOf(path) === packageOf(first.path) &&
    isAside(path) === isAside(first.path) &&
    roleOf(path) === 'source' &&
    !isMetadata(path) &&
    !asksFirst(path) &&
    !reason.startsWith('weak guess')
  return others.filter(isNear).map(({ path }) => path)
}

const NEAR_MAX = 5

/** Where tests are beside sources, an open folder would allow a fix to change the test that shows the fault. */
const withoutTests = (entries: readonly string[], paths: readonly string[]): readonly string[] =>
  entries.flatMap(entry => {
    const inside = paths.filter(path => holds(entry, path))
    return inside.some(path => roleOf(path) === 'test') ? inside.filter(path => roleOf(path) === 'source') : [entry]
  })

/** `all handlers`, `every command`: the folder of that name, if it may be included. */
function wholeFolders({ wanted }: GoalWords, paths: readonly string[], closed: ReadonlySet<string>): readonly string[] {
  const nouns = [...wanted.matchAll(/\b(?:all|every|each)(?: of)?(?: the| our)? ((?:[\w-]+ )?[\w-]+)/gi)].flatMap(
    ([, words]) => words!.toLowerCase().split(' ').map(singular),
  )
  if (nouns.length === 0) return []
  const sources = paths.filter(path => roleOf(path) === 'source' && !isAside(path))
  const folders = new Set(sources.map(path => path.slice(0, path.lastIndexOf('/') + 1)))
  const fitting = [...folders].filter(folder => nouns.includes(singular(folder.split('/').at(-2)?.toLowerCase() ?? '')))
  return fitting
    .filter(folder => sources.filter(path => path.startsWith(folder)).length > 2)
    .filter(folder => ![...closed].some(path => path.startsWith(folder)))
    .slice(0, 2)
    .map(folder => `${folder}**`)
}

const singular = (word: string): string => word.replace(/(?<=\w{2})s$/, '')

const MANIFEST = /^(package\.json|requirements\.txt|pyproject\.toml|go\.mod|Cargo\.toml|Gemfile|composer\.json)$/
const LOCK =
  /^(package-lock\.json|pnpm-lock\.yaml|yarn\.lock|go\.sum|Cargo\.lock|poetry\.lock|uv\.lock|Gemfile\.lock|composer\.lock)$/
const NEW_PROJECT = [
  'src/**',
  'test/**',
  'tests/**',
  'README.md',
  'package.json',
  'pyproject.toml',
  'Makefile',
  '.gitignore',
]

/** The tests for these sources in their package; and a new one, named like the others. */
function testScope({ goal, analysis, paths, history, texts, closed, home, fresh: made }: TestInput): readonly string[] {
  const all = paths.filter(path => roleOf(path) === 'test')
  const [source] = analysis.files
  const own = source === undefined ? '' : packagesAround(source.path, packageFolders(paths))[0]!
  const isNear = (path: string): boolean => path.startsWith(own)
  // Rust unit tests are in the source file.
  const isInside =
    source !== undefined &&
    (/#\[cfg\(test\)\]/.test(texts.get(source.path) ?? '') || (source.path.endsWith('.rs') && !all.some(isNear)))
  // If only a package's tests run, tests elsewhere prove nothing.
  const isAlone =
    home !== null || (analysis.commands.allTests !== undefined && own !== '' && (all.some(isNear) || isInside))
  const outside = new Set(isAlone ? [...closed, ...paths.filter(path => !isNear(path))] : closed)
  const near = all.some(isNear)
    ? analysis.tests.map(test => (isNear(test.path) ? test : { ...test, score: test.score / 2 }))
    : analysis.tests
  const ranked = [...near].sort((a, b) => b.score - a.score)
  const found = scopeEntries({
    ranked,
    paths,
    history,
    closed: outside,
    role: 'test',
    leads: analysis.files.map(({ path }) => path),
    unseen: UNSEEN_TEST,
    budget: Math.max(TESTS_MIN, Math.floor(paths.length * TESTS_PART)),
    entries: TESTS_MAX,
  })
  const isCovered = (path: string): boolean => found.some(entry => entry === path || holds(entry, path))
  const within = isInside ? [source.path] : []
  const fresh = within.length > 0 ? [] : newTests(goal, made ?? source?.path, ranked[0]?.path, closed, paths)
  const scope = [...found, ...within, ...fresh.filter(path => !isCovered(path))].slice(0, TEST_ENTRIES_MAX)
  if (scope.length > 0) return scope.filter(path => !closed.has(path))
  return [`${own}${analysis.languages[0] === 'Python' ? 'tests' : 'test'}/**`]
}

interface TestInput {
  readonly goal: GoalWords
  readonly analysis: GoalAnalysis
  readonly paths: readonly string[]
  readonly history: readonly PastChange[]
  readonly texts: ReadonlyMap<string, string>
  readonly closed: ReadonlySet<string>
  readonly home: string | null
  /** A source file to be created. */
  readonly fresh?: string | undefined
}

const TESTS_MAX = 3
const TEST_ENTRIES_MAX = 4
const TESTS_MIN = 4
const TESTS_PART = 0.06
const UNSEEN_TEST = 0.2
const NEW_WORDS_MAX = 2

/**
 * A new test: in a test folder, named after the goal's topic; else beside the best source and named like it (`retry_test.go`).
 */
function newTests(
  goal: GoalWords,
  source: string | undefined,
  beside: string | undefined,
  closed: ReadonlySet<string>,
  paths: readonly string[],
): readonly string[] {
  if (beside === undefined) return []
  const name = beside.slice(beside.lastIndexOf('/') + 1)
  const root = /^(?:.*?\/)?(?:tests?|testing|specs?|__tests__)\//.exec(beside)?.[0]
  if (root !== undefined) {
    const isLarge = /^\p{Lu}/u.test(name)
    const own = (source ?? '').split('/').map(part => part.replace(/\.\w+$|^_+|_+$/g, ''))
    const called = own.findLast(part => !/^(?:index|main|mod|lib|init|src)?$/.test(part)) ?? ''
    const isThing = ({ word }: GoalWords['terms'][number]): boolean =>
      /^(?!tests?$|specs?$)[a-z0-9]{4,}$/.test(word) &&
      paths.some(path => new RegExp(`(^|[/_.-])${word}[^/]*\\.\\w+$`, 'i').test(path))
    const things = goal.terms.filter(isThing).sort((a, b) => Number(b.named) - Number(a.named))
    return [called, ...things.map(({ stem }) => stem)]
      .filter(word => word.length > 2 && ![...closed].some(path => path.toLowerCase().includes(word.toLowerCase())))
      .slice(0, NEW_WORDS_MAX)
      .map(word => `${root}**/*${isLarge ? word[0]!.toUpperCase() + word.slice(1) : word}*`)
  }
  if (source === undefined || languageOf(source) !== languageOf(beside)) return []
  const [folder, file] = [source.slice(0, source.lastIndexOf('/') + 1), source.slice(source.lastIndexOf('/') + 1)]
  const stem = file.replace(/\.\w+$/, '')
  const ending = /(?:[._-](?:test|spec)s?|Test|Spec)?\.\w+$/.exec(name)?.[0] ?? ''
  const fresh = `${folder}${name.startsWith('test_') ? 'test_' : ''}${stem}${ending}`
  // Beside a plain `tests.js` there is no name that makes a test of it.
  return roleOf(fresh) === 'test' ? [fresh] : []
}
