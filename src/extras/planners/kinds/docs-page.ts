// Which page a documentation goal refers to, if any: much documentation is in the source.

import type { GoalWords } from '../goal.ts'
import { isChangeLog } from '../goal-limits.ts'
import type { GoalAnalysis } from '../planner.ts'
import { roleOf } from '../ranking/file-role.ts'

interface DocsInput {
  readonly goal: GoalWords
  readonly paths: readonly string[]
}

/** The page named by the goal or matching its words ("the v3 migration guide"), else the readme. */
export function docsPage({ goal, paths }: DocsInput): string | null {
  const known = new Set(paths)
  const named = goal.files.find(file => known.has(file) && roleOf(file) === 'docs')
  return named ?? titledPage(goal, paths) ?? paths.find(path => /^readme\.(md|rst|txt|adoc)$/i.test(path)) ?? null
}

/** Two words of the goal in its name, or one that is the whole name: `contributing`. */
function titledPage({ terms, wanted }: GoalWords, paths: readonly string[]): string | null {
  if (/\breadme\b/i.test(wanted)) return null
  const found = paths
    .filter(path => roleOf(path) === 'docs' && !/^readme\b/i.test(path))
    .map(path => {
      const words = (/([^/]+)\.\w+$/.exec(path)?.[1] ?? '').toLowerCase().split(/[^\p{L}\p{N}]+/u)
      const matching = terms.filter(({ stem, whole }) =>
        words.some(word => (whole ? word === stem : word.startsWith(stem))),
      )
      return { path, held: matching.length, isWhole: words.length === 1 && matching.length === 1 }
    })
    .filter(({ held, isWhole }) => held > 1 || isWhole)
    .sort((a, b) => b.held - a.held || a.path.length - b.path.length)
  return found[0]?.path ?? null
}

/** Documentation of an identifier is corrected in its source, unless a page describes it. */
export function isInSource({
  goal,
  paths,
  texts,
}: DocsInput & { readonly texts: ReadonlyMap<string, string> }): boolean {
  const page = docsPage({ goal, paths })
  if (page !== null && isMeantPage(goal, page)) return false
  if (OF_SOURCE.test(goal.wanted) || /^\W*(?:remov|delet|drop)/i.test(goal.wanted)) return true
  return (
    SETS_RIGHT.test(goal.wanted) &&
    goal.symbols.length > 0 &&
    !goal.symbols.some(name => texts.get(page ?? '')?.includes(name))
  )
}
/** More than the readme as a fallback. */
const isMeantPage = (goal: GoalWords, page: string): boolean =>
  goal.files.includes(page) || !/^readme\b/i.test(page) || /\breadme\b/i.test(goal.wanted)

const OF_SOURCE =
  /\b(?:doc ?strings?|doc ?blocks?|jsdocs?|javadocs?|rustdocs?|godocs?|rdocs?|yard|doc comments?|comments?)\b/i
const SETS_RIGHT =
  /^\W*(?:(?:docs?|documentation):\s*)?(?:clarif|correct|fix|improv|updat|reword|rephras|refin|complet|expand|not(?:e|ing)\b|mention)/i

const PAGES_MAX = 3

/** The scope of a documentation goal: its page, or the best files if it is in the source. */
export function docsScope(
  input: DocsInput & { readonly texts: ReadonlyMap<string, string>; readonly files: GoalAnalysis['files'] },
): readonly string[] {
  const page = docsPage(input)
  const found = input.files.filter(({ reason }) => !reason.startsWith('weak guess')).map(({ path }) => path)
  if (isInSource(input)) {
    const sources = found.filter(path => roleOf(path) === 'source')
    const holding = sources.filter(path => input.goal.symbols.some(name => input.texts.get(path)?.includes(name)))
    return (holding.length > 0 ? holding : sources).slice(0, PAGES_MAX)
  }
  if (page !== null && isMeantPage(input.goal, page)) return [page]
  // `docs/routing.rst` is the page of `src/routing/rules.py`.
  const parts = new Set(
    (found.find(path => roleOf(path) === 'source') ?? '')
      .replace(/\.\w+$/, '')
      .split('/')
      .slice(1),
  )
  const titled = input.paths.filter(path => isPage(path) && parts.has(/([^/]+)\.\w+$/.exec(path)?.[1] ?? ''))
  const pages = [...titled.slice(0, 1), ...found.filter(isPage)].slice(0, PAGES_MAX - 1)
  return [...new Set([...pages, ...(page === null ? [] : [page])])]
}

const isPage = (path: string): boolean => roleOf(path) === 'docs' && !isChangeLog(path)
