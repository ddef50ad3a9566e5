// What each step of a draft may write: the files the goal is most likely about, the tests near them, the manifest, the page.

import type { WriteScopes } from './compose-plan.ts'
import type { FollowedComments } from './draft-comments.ts'
import { docsPage, holdsWord, namedDependency, renameNames } from './end-checks.ts'
import type { GoalWords } from './goal.ts'
import type { JudgedGoal } from './goal-kind.ts'
import type { GoalAnalysis } from './planner.ts'
import { roleOf } from './ranking/file-role.ts'
import { updatedFiles, usersOf } from './toolchain/dependency.ts'

export interface ScopeInput {
  readonly goal: GoalWords
  readonly judged: JudgedGoal
  readonly analysis: GoalAnalysis
  readonly paths: readonly string[]
  readonly texts: ReadonlyMap<string, string>
  readonly followed: FollowedComments
}

const SOURCES_MAX = 5
/** Files that load a dependency. */
const USERS_MAX = 40
/** Of the score of the first: below it a file is told, but not opened for writing. */
const LIKELY = 0.55

export function writeScopes({ goal, judged, analysis, paths, texts, followed }: ScopeInput): WriteScopes {
  const [best] = analysis.files
  const likely = analysis.files.filter(({ score }) => best !== undefined && score >= best.score * LIKELY)
  const known = new Set(paths)
  const fresh = goal.files.filter(
    file => !known.has(file) && /^[\w][\w./-]*$/.test(file) && !file.includes('..') && file.includes('/'),
  )
  const rename = judged.kind === 'rename' ? renameNames(goal) : null
  const named = judged.kind === 'dependency-update' ? namedDependency({ goal, texts }) : null
  const users = named === null ? [] : usersOf(named, texts).slice(0, USERS_MAX)
  const holding =
    rename === null ? users : [...texts].filter(([, text]) => holdsWord(text, rename.old)).map(([path]) => path)
  const sources = [
    ...new Set([
      ...holding,
      ...(users.length > 0 ? [] : likely.slice(0, SOURCES_MAX).map(({ path }) => path)),
      ...followed.also,
      ...fresh,
    ]),
  ]
  const allowed = (all: readonly string[]): readonly string[] => all.filter(path => !followed.not.includes(path))
  const page = docsPage({ goal, paths })
  const manifest = paths.find(path => MANIFEST.test(path))
  return {
    sources: allowed(sources),
    tests: withoutSpared(testScope(analysis, paths), paths, followed.not),
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

/** The folder of the tests, where there is one; else the tests near the files. */
function testScope({ tests, languages }: GoalAnalysis, paths: readonly string[]): readonly string[] {
  const all = paths.filter(path => roleOf(path) === 'test')
  const folders = new Map<string, number>()
  for (const path of all) {
    const folder = /^(.*?(?:^|\/)(?:tests?|specs?|__tests__))\//.exec(path)?.[1]
    if (folder !== undefined) folders.set(folder, (folders.get(folder) ?? 0) + 1)
  }
  const [most] = [...folders].sort((a, b) => b[1] - a[1])
  if (most !== undefined && most[1] >= all.length / 3) return [`${most[0]}/**`]
  if (tests.length > 0) return tests.slice(0, 5).map(({ path }) => path)
  return [languages[0] === 'Python' ? 'tests/**' : 'test/**']
}

/** A folder that holds a file to be left alone becomes its other files, and a folder beside them for what is new. */
function withoutSpared(scope: readonly string[], paths: readonly string[], not: readonly string[]): readonly string[] {
  return scope.flatMap(pattern => {
    const folder = pattern.replace(/\*\*$/, '')
    const inside = paths.filter(path => path.startsWith(folder))
    if (folder === pattern) return not.includes(pattern) ? [] : [pattern]
    if (!inside.some(path => not.includes(path))) return [pattern]
    return [...inside.filter(path => !not.includes(path)).slice(0, SPELLED_OUT_MAX), `${folder}new/**`]
  })
}

const SPELLED_OUT_MAX = 100
