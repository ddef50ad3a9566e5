// Ranks the files of a repository by relevance to the goal. The weights were fitted on thirteen public repositories in six
// languages and tested on others; see docs/decisions/0026.

import type { GoalWords } from '../goal.ts'
import type { PastChange, RankedFile, RepositoryFile, RepositoryView } from '../planner.ts'
import { packageFolders } from '../toolchain/packages.ts'
import { termCounter } from './count-terms.ts'
import { type FileFeatures, featuresOf, nameStem, partsOf, type ReadFile } from './features.ts'
import { type FileRole, isAside, roleOf } from './file-role.ts'

export interface Ranking {
  readonly files: readonly RankedFile[]
  readonly tests: readonly RankedFile[]
  /** The package that the goal starts with, or null. */
  readonly home: string | null
  readonly limits: readonly string[]
  readonly texts: ReadonlyMap<string, string>
}

const WEIGHTS: { readonly [K in keyof FileFeatures]: number } = {
  words: 0.9,
  path: 0.55,
  passage: 0.3,
  scope: 0.5,
  defines: 0.5,
  mentions: 0.7,
  lively: 0.2,
  history: 0.6,
  named: 2,
  size: 0.1,
  aside: -1.2,
}

/** Maximum number of files to read; the others are ranked by path and history. */
const FILES_MAX = 25_000
const TEXT_MAX_BYTES = 20_000_000
/** Longer files are truncated. */
export const FILE_MAX_BYTES = 200_000
const RANKED_MAX = 30

export interface RankOptions {
  /** Roles to rank; by default source. */
  readonly roles?: readonly FileRole[]
}

export async function rankFiles(
  repository: Pick<RepositoryView, 'files' | 'read' | 'history'>,
  goal: GoalWords,
  { roles = ['source'] }: RankOptions = {},
): Promise<Ranking> {
  const [all, history] = await Promise.all([repository.files(), repository.history()])
  const kinds = new Map(all.map(({ path }) => [path, roleOf(path)]))
  const isWanted = ({ path }: RepositoryFile): boolean => roles.includes(kinds.get(path)!)
  const isTest = ({ path }: RepositoryFile): boolean => kinds.get(path) === 'test'
  const { read, limits } = await readWithin(
    repository,
    goal,
    all.filter(file => isWanted(file) || isTest(file)),
    history,
  )
  const sources = read.filter(isWanted)
  const tests = read.filter(isTest)
  const files = ranked(goal, sources, tests, history)
  const near = new Set(files.slice(0, 5).map(({ path }) => nameStem(path)))
  const rankedTests = roles.includes('test') ? [] : ranked(goal, tests, [], history, near)
  const home = meantPackage(
    goal,
    all.map(({ path }) => path),
  )
  const texts = new Map(read.flatMap(({ path, text }) => (text === null ? [] : [[path, text] as const])))
  return {
    home,
    files: withinPackage(files, home, goal).slice(0, RANKED_MAX),
    tests: withinPackage(rankedTests, home, goal).slice(0, RANKED_MAX),
    limits: history.length === 0 ? [...limits, 'there is no history to learn from'] : limits,
    texts,
  }
}

/** `appender: fix …` means the package `tracing-appender`; null unless exactly one package matches. */
function meantPackage(goal: GoalWords, paths: readonly string[]): string | null {
  const [part, ...others] = partsOf(goal)
  if (part === undefined || others.length > 0) return null
  const called = [...packageFolders(paths)].filter(folder =>
    new RegExp(`(^|[/_-])${part.replace(/[.+*?^$()[\]{}|\\]/g, '\\$&')}/$`, 'i').test(folder),
  )
  const [folder] = called
  return folder === undefined || called.length > 1 ? null : folder
}

function withinPackage(
  files: readonly RankedFile[],
  home: string | null,
  { files: named }: GoalWords,
): readonly RankedFile[] {
  const own = home === null ? files : files.filter(({ path }) => path.startsWith(home) || named.includes(path))
  return own.length > 0 ? own : files
}

function ranked(
  goal: GoalWords,
  files: readonly ReadFile[],
  tests: readonly ReadFile[],
  history: readonly PastChange[],
  near: ReadonlySet<string> = new Set(),
): readonly RankedFile[] {
  const home = near.size > 0 ? null : definingFile(goal, files)
  const all = featuresOf({ goal, sources: files, tests, history }).map((features, index) => {
    const { path } = files[index]!
    const beside = near.size > 0 && near.has(nameStem(path)) ? 0.8 : 0
    const own = path === home ? DEFINES_IT : 0
    return { path, score: scoreOf(features) + beside + own, reason: reasonOf(features, beside > 0, history.length) }
  })
  return all
    .sort((a, b) => b.score - a.score || (a.path < b.path ? -1 : 1))
    .map(({ score, ...file }) => ({ ...file, score: Math.round(score * 1000) / 1000 }))
}

const DEFINES_IT = 0.6

/** The only file that defines a name of the goal: common words beside the name must not lead elsewhere. */
function definingFile({ symbols, frames }: GoalWords, files: readonly ReadFile[]): string | null {
  const [symbol, ...others] = symbols.filter(name => /^[A-Za-z_$][\w$]{3,}$/.test(name))
  if (symbol === undefined || others.length > 0 || frames.length > 0) return null
  const name = symbol.replaceAll('$', '\\$')
  const defining = new RegExp(
    `(?:^|[\\s(])(?:def|class|fn|func(?: \\([^)\\n]*\\))?|function\\*?|const|let|interface|type|struct|enum|trait|module|macro_rules!) (?:self\\.)?${name}(?![\\w$])`,
    'm',
  )
  const found = files.filter(
    ({ text, path }) => text?.includes(symbol) === true && !isAside(path) && defining.test(text),
  )
  return found.length === 1 ? found[0]!.path : null
}

const KEYS = Object.keys(WEIGHTS) as readonly (keyof FileFeatures)[]

const scoreOf = (features: FileFeatures): number => KEYS.reduce((score, key) => score + WEIGHTS[key] * features[key], 0)

/** The strongest features in words; at most three. */
function reasonOf(features: FileFeatures, isBeside: boolean, changes: number): string {
  const reasons = KEYS.filter(key => REASONS[key] !== undefined && features[key] >= 0.25)
    .filter(key => key !== 'lively' || changes >= OFTEN_MIN)
    .sort((a, b) => WEIGHTS[b] * features[b] - WEIGHTS[a] * features[a])
    .slice(0, 3)
    .map(key => REASONS[key]!)
  const all = isBeside ? ['named like a file above', ...reasons.slice(0, 2)] : reasons
  return all.length === 0 ? 'weak guess: nothing in the goal names it' : all.join('; ')
}

/** With fewer changes in total, no file changes often. */
const OFTEN_MIN = 5

const REASONS: { readonly [K in keyof FileFeatures]?: string } = {
  named: 'the goal names it',
  mentions: 'contains a name exactly as in the goal',
  words: 'contains words from the goal',
  path: 'its path contains words from the goal',
  scope: 'belongs to the part the goal starts with',
  defines: 'defines names similar to the goal',
  passage: 'one passage matches the goal',
  history: 'changed for similar reasons before',
  lively: 'changes often',
}

/** Likely files first, so that the limit drops unlikely ones. */
async function readWithin(
  repository: Pick<RepositoryView, 'read'>,
  goal: GoalWords,
  files: readonly RepositoryFile[],
  history: readonly PastChange[],
): Promise<{ readonly read: readonly ReadFile[]; readonly limits: readonly string[] }> {
  const total = files.reduce((sum, { bytes }) => sum + Math.min(bytes, FILE_MAX_BYTES), 0)
  const order = total <= TEXT_MAX_BYTES && files.length <= FILES_MAX ? files : likelyFirst(goal, files, history)
  const wanted: string[] = []
  let bytes = 0
  for (const file of order) {
    bytes += Math.min(file.bytes, FILE_MAX_BYTES)
    if (bytes > TEXT_MAX_BYTES || wanted.length >= FILES_MAX) break
    wanted.push(file.path)
  }
  const texts = await repository.read(wanted)
  const found = new Map(wanted.map((path, index) => [path, texts[index] ?? null]))
  const left = files.length - wanted.length
  return {
    read: files.map(({ path, bytes: size }) => ({ path, bytes: size, text: found.get(path) ?? null })),
    limits:
      left === 0 ? [] : [`${left} of ${files.length} files were ranked only by path and history: too much to read`],
  }
}

function likelyFirst(
  goal: GoalWords,
  files: readonly RepositoryFile[],
  history: readonly PastChange[],
): readonly RepositoryFile[] {
  const counter = termCounter(goal.terms)
  const changed = new Set(history.slice(0, 500).flatMap(change => change.files))
  const likely = ({ path }: RepositoryFile): number =>
    counter.countPlain(path).reduce((sum, count) => sum + Math.min(count, 1), 0) * 2 + (changed.has(path) ? 1 : 0)
  return files
    .map(file => ({ file, score: likely(file) }))
    .sort((a, b) => b.score - a.score)
    .map(({ file }) => file)
}
