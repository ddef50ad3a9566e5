// What each step of a draft may write: the files the goal is most likely about, the tests near them, the manifest, the page.

import type { WriteScopes } from './compose-plan.ts'
import { docsPage } from './docs-page.ts'
import type { FollowedComments } from './draft-comments.ts'
import {
  droppedVersion,
  holdsWord,
  isIntroduced,
  namedDependency,
  namedFiles,
  newFiles,
  renameNames,
} from './end-checks.ts'
import { type GoalWords, wordParts } from './goal.ts'
import type { JudgedGoal } from './goal-kind.ts'
import { sparedParts } from './goal-limits.ts'
import type { GoalAnalysis, PastChange } from './planner.ts'
import { languageOf, roleOf } from './ranking/file-role.ts'
import { holds, scopeEntries } from './ranking/scope-entries.ts'
import { ACTION } from './sentence/kind-evidence.ts'
import { SETTINGS, updatedFiles, usersOf } from './toolchain/dependency.ts'
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
}

const SOURCES_MAX = 6
/** Of the files of a repository, so many may be opened; of a small one at least these. */
const SOURCES_PART = 0.085
const SOURCES_MIN = 8
/** How likely the goal is about a file that does not exist yet. */
const UNSEEN = 0.04
const UNSEEN_WHEN_ADDED = 0.2
const ADDS =
  /^\W*(add|allow|build|create|extend|implement|introduce|let|make|port|provide|split|extract|support|write)(s|ed|ing)?\b/i
/** Files that load a dependency. */
const USERS_MAX = 40

export function writeScopes({ goal, judged, analysis, paths, texts, history, followed }: ScopeInput): WriteScopes {
  const closed = new Set(followed.not)
  const adds = ['feature', 'endpoint'].includes(judged.kind) || ADDS.test(goal.wanted)
  const likely = scopeEntries({
    ranked: analysis.files,
    paths,
    history,
    closed,
    role: 'source',
    unseen: adds ? UNSEEN_WHEN_ADDED : UNSEEN,
    budget: Math.max(SOURCES_MIN, Math.floor(paths.length * SOURCES_PART)),
    entries: SOURCES_MAX,
  })
  const made = newFiles({ goal, paths })
  const fresh = made.length > 0 || !adds ? made : newSources(goal, paths, analysis.files[0]?.path)
  const rename = judged.kind === 'rename' ? renameNames(goal) : null
  const named = judged.kind === 'dependency-update' ? namedDependency({ goal, texts }) : null
  const users = named === null ? [] : usersOf(named, texts).slice(0, USERS_MAX)
  const holding =
    rename === null ? users : [...texts].filter(([, text]) => holdsWord(text, rename.old)).map(([path]) => path)
  const settings = judged.kind === 'chore' ? settingsFor(goal, paths, texts) : []
  const shown = isShown(goal, judged.kind) ? (docsPage({ goal, paths }) ?? []) : []
  const sources = [
    ...new Set([
      ...holding,
      ...namedFiles(goal, paths).filter(path => roleOf(path) !== 'test'),
      ...settings,
      ...(holding.length > 0 || (settings.length > 0 && /\d/.test(goal.wanted)) ? [] : likely),
      ...followed.also,
      ...fresh.filter(path => !likely.some(entry => holds(entry, path))),
      ...[shown].flat(),
    ]),
  ]
  const allowed = (all: readonly string[]): readonly string[] => all.filter(path => !followed.not.includes(path))
  const page = docsPage({ goal, paths })
  const manifest = paths.find(path => MANIFEST.test(path))
  return {
    sources: allowed(sources),
    tests: sparedParts(goal.limits).includes('tests')
      ? []
      : testScope({ goal, analysis, paths, history, texts, closed, fresh: fresh[0] }),
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

const SETTINGS_MAX = 25

/** All settings and what else has the version that goes; for an action the files that use it. */
function settingsFor(goal: GoalWords, paths: readonly string[], texts: ReadonlyMap<string, string>): readonly string[] {
  const holding = (pattern: RegExp): readonly string[] =>
    [...texts].filter(([path, text]) => roleOf(path) !== 'test' && pattern.test(text)).map(([path]) => path)
  const action = ACTION.exec(goal.wanted)?.[1]
  const using = action === undefined ? [] : holding(new RegExp(`\\b${action}@`))
  if (using.length > 0) return using
  const old = droppedVersion(goal)?.split('.')
  const dropped = old === undefined ? [] : holding(new RegExp(`(?<![\\d.])${old[0]}(?:\\.|, )${old[1]}(?![\\d.])`))
  const all = paths.filter(path => SETTINGS.test(path) || LOCK.test(path)).slice(0, SETTINGS_MAX)
  return [...new Set([...all, ...dropped.slice(0, SETTINGS_MAX)])]
}

/** Files for a new thing where its folder is too wide to open: `quota*.go` for `QuotaFs`, at the top if the sources lie there. */
function newSources(goal: GoalWords, paths: readonly string[], beside: string | undefined): readonly string[] {
  const end = /\.\w+$/.exec(beside ?? '')?.[0]
  const name = goal.symbols.find(one => /^[A-Za-z][a-z0-9]{2,}[A-Z]\w*$/.test(one) && isIntroduced(goal, one))
  if (beside === undefined || end === undefined || name === undefined) return []
  const own = beside.split('/').slice(0, -2).join('/')
  const index = beside.slice(beside.lastIndexOf('/'))
  // `src/addDays/index.ts`: each thing has its folder.
  const alike = paths.filter(
    path => path.startsWith(`${own}/`) && path.endsWith(index) && path.split('/').length === beside.split('/').length,
  )
  if (own !== '' && alike.length > FOLDER_EACH)
    return [`${own}/${name}/**`, ...paths.filter(path => path === `${own}${index}`)]
  const isFlat = paths.filter(path => !path.includes('/') && path.endsWith(end) && roleOf(path) === 'source').length > 3
  return [`${isFlat ? '' : beside.slice(0, beside.lastIndexOf('/') + 1)}${wordParts(name)[0]!.toLowerCase()}*${end}`]
}

const FOLDER_EACH = 8

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

/** The tests that belong to these sources, in their package; and a new one, named as the others are. */
function testScope({ goal, analysis, paths, history, texts, closed, fresh: made }: TestInput): readonly string[] {
  const all = paths.filter(path => roleOf(path) === 'test')
  const [source] = analysis.files
  const own = source === undefined ? '' : packagesAround(source.path, packageFolders(paths))[0]!
  const isNear = (path: string): boolean => path.startsWith(own)
  // Where only the tests of a package are run, a test elsewhere proves nothing.
  const isAlone = analysis.commands.allTests !== undefined && own !== '' && all.some(isNear)
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
  const isHeld = (path: string): boolean => found.some(entry => entry === path || holds(entry, path))
  // Unit tests of Rust stand in the source.
  const isInside =
    source !== undefined &&
    (/#\[cfg\(test\)\]/.test(texts.get(source.path) ?? '') || (source.path.endsWith('.rs') && !all.some(isNear)))
  const within = isInside ? [source.path] : []
  const fresh = within.length > 0 ? [] : newTests(goal, made ?? source?.path, ranked[0]?.path, closed, paths)
  const scope = [...found, ...within, ...fresh.filter(path => !isHeld(path))].slice(0, TEST_ENTRIES_MAX)
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
  /** A source that does not exist yet. */
  readonly fresh?: string | undefined
}

const TESTS_MAX = 3
const TEST_ENTRIES_MAX = 4
const TESTS_MIN = 4
const TESTS_PART = 0.06
const UNSEEN_TEST = 0.2
const NEW_WORDS_MAX = 2

/**
 * Tests that do not exist yet: in a folder of tests, those called after what the goal speaks of; else the test of the source, beside
 * the best one and called like it (`retry_test.go`).
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
  const root = /^(?:.*?\/)?(?:tests?|specs?|__tests__)\//.exec(beside)?.[0]
  if (root !== undefined) {
    const isLarge = /^\p{Lu}/u.test(name)
    const isFree = (stem: string): boolean => ![...closed].some(path => path.toLowerCase().includes(stem))
    const isError = (word: string): boolean =>
      goal.symbols.some(one => /(Error|Exception)$/.test(one) && one.toLowerCase().includes(word))
    const isThing = (word: string): boolean =>
      !/^(tests?|specs?)$/.test(word) &&
      paths.some(path => new RegExp(`(^|[/_.-])${word}[^/]*\\.\\w+$`, 'i').test(path))
    return goal.terms
      .filter(
        ({ word, stem, named }) =>
          /^[a-z0-9]{4,}$/.test(word) && isFree(stem) && !isError(word) && (named || isThing(word)),
      )
      .sort((a, b) => Number(b.named) - Number(a.named) || b.word.length - a.word.length)
      .slice(0, NEW_WORDS_MAX)
      .map(({ stem }) => `${root}**/*${isLarge ? stem[0]!.toUpperCase() + stem.slice(1) : stem}*`)
  }
  if (source === undefined || languageOf(source) !== languageOf(beside)) return []
  const [folder, file] = [source.slice(0, source.lastIndexOf('/') + 1), source.slice(source.lastIndexOf('/') + 1)]
  const stem = file.replace(/\.\w+$/, '')
  const ending = /(?:[._-](?:test|spec)s?|Test|Spec)?\.\w+$/.exec(name)?.[0] ?? ''
  return [`${folder}${name.startsWith('test_') ? 'test_' : ''}${stem}${ending}`]
}
