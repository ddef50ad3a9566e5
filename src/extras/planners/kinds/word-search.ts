// Searches the repository for a word, as a check in the plan and in the planner. Vendored code, ignored files and change logs are
// excluded.

import { shellQuoted } from '../../../domain/plan-rules/shell-words.ts'
import type { RepositoryFile, RepositoryView } from '../planner.ts'
import type { EndCheck } from './end-check.ts'

/** Vendored code, change logs and lock files. */
const LEFT_OUT =
  "--exclude-dir=.git --exclude-dir=.planfold --exclude-dir=node_modules --exclude='CHANGE*' --exclude='*.lock' --exclude='*-lock.*' --exclude=go.sum"

export const isSearched = (path: string): boolean =>
  !/(^|\/)(\.git|\.planfold|node_modules)\/|(^|\/)CHANGE[^/]*$|\.lock$|-lock\.\w+$|(^|\/)go\.sum$/.test(path)

/** Folders that git ignores by name and that contain no tracked files: build output keeps old names for long. */
export function ignoredFolders(paths: readonly string[], ignore: string | undefined): readonly string[] {
  const lines = (ignore ?? '')
    .split('\n')
    .map(line => /^(?:\*\*)?\/?([\w-]+|[\w.][\w.-]*(?=\/))(?:\/\**)?$/.exec(line.trim())?.[1])
  const names = [...new Set(['.venv', ...lines.flatMap(name => name ?? [])])]
  return names.filter(name => !paths.some(path => `/${path}`.includes(`/${name}/`))).slice(0, IGNORED_MAX)
}
const IGNORED_MAX = 20

/** `ignored`: folder names. */
export const searchFor = (flags: string, word: string, ignored: readonly string[]): string =>
  `grep ${flags} ${[LEFT_OUT, ...ignored.map(name => `--exclude-dir=${shellQuoted(name)}`)].join(' ')} -e ${shellQuoted(wordPattern(word))} .`

/** For `grep -E`; not as part of a longer word, nor right after a slash, as a name in a path. */
const wordPattern = (word: string): string => `(^|[^[:alnum:]_$/])${word.replace(/[.$?]/g, '\\$&')}([^[:alnum:]_$]|$)`

/** Succeeds if the word no longer occurs. */
export const goneCheck = (word: string, ignored: readonly string[]): EndCheck => ({
  script: `! ${searchFor('-rnIE', word, ignored)}`,
  text: `${word} no longer occurs`,
})

export const holdsWord = (text: string, word: string): boolean => {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1))
    if (!/[\w$/]/.test(text[at - 1] ?? '') && !/[\w$]/.test(text[at + word.length] ?? '')) return true
  return false
}

/** Files not in `read` that contain one of these names: scripts, documents, settings. */
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
