// The search for a word in the whole repository, as a check of a plan and as the planner does it: other people's code, what git ignores and
// the record of the past are left out.

import { shellQuoted } from '../../../domain/plan-rules/shell-words.ts'
import type { RepositoryFile, RepositoryView } from '../planner.ts'
import type { EndCheck } from './end-check.ts'

/** Other people's code, the record of the past. */
const LEFT_OUT =
  "--exclude-dir=.git --exclude-dir=.planfold --exclude-dir=node_modules --exclude='CHANGE*' --exclude='*.lock' --exclude='*-lock.*' --exclude=go.sum"

/** Does the search for a name look at it? */
export const isSearched = (path: string): boolean =>
  !/(^|\/)(\.git|\.planfold|node_modules)\/|(^|\/)CHANGE[^/]*$|\.lock$|-lock\.\w+$|(^|\/)go\.sum$/.test(path)

/** Folders that git ignores by their name, and that hold nothing of the repository: what was built says the old name for long. */
export function ignoredFolders(paths: readonly string[], ignore: string | undefined): readonly string[] {
  const lines = (ignore ?? '')
    .split('\n')
    .map(line => /^(?:\*\*)?\/?([\w-]+|[\w.][\w.-]*(?=\/))(?:\/\**)?$/.exec(line.trim())?.[1])
  const names = [...new Set(['.venv', ...lines.flatMap(name => name ?? [])])]
  return names.filter(name => !paths.some(path => `/${path}`.includes(`/${name}/`))).slice(0, IGNORED_MAX)
}
const IGNORED_MAX = 20

/** `ignored`: names of folders. */
export const searchFor = (flags: string, word: string, ignored: readonly string[]): string =>
  `grep ${flags} ${[LEFT_OUT, ...ignored.map(name => `--exclude-dir=${shellQuoted(name)}`)].join(' ')} -e ${shellQuoted(wordPattern(word))} .`

/** The word, for `grep -E`; not where it is part of a longer one, or the name of a file in a path. */
const wordPattern = (word: string): string => `(^|[^[:alnum:]_$/])${word.replace(/[.$?]/g, '\\$&')}([^[:alnum:]_$]|$)`

/** Succeeds when the word stands nowhere any more. */
export const goneCheck = (word: string, ignored: readonly string[]): EndCheck => ({
  script: `! ${searchFor('-rnIE', word, ignored)}`,
  text: `${word} no longer occurs`,
})

/** The same for a text that was read. */
export const holdsWord = (text: string, word: string): boolean => {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1))
    if (!/[\w$/]/.test(text[at - 1] ?? '') && !/[\w$]/.test(text[at + word.length] ?? '')) return true
  return false
}

/** Files that are no source, and hold one of these names all the same: scripts, documents, settings. */
export async function namedIn(
  repository: RepositoryView,
  files: readonly RepositoryFile[],
  names: readonly string[],
  read: ReadonlyMap<string, string>,
): Promise<readonly (readonly [path: string, text: string])[]> {
  if (names.length === 0) return []
  const others = files
    .filter(({ path, bytes }) => !read.has(path) && bytes <= SEARCHED_BYTES_MAX && isSearched(path))
    .map(({ path }) => path)
    .slice(0, SEARCHED_MAX)
  const texts = await repository.read(others)
  return others.flatMap((path, at) => {
    const text = texts[at] ?? ''
    return names.some(name => holdsWord(text, name)) ? [[path, text] as const] : []
  })
}

const SEARCHED_MAX = 5_000
const SEARCHED_BYTES_MAX = 500_000
