// A rename: both names, the command that replaces one by the other if that suffices, and the search that verifies it.

import { shellQuoted } from '../../../domain/plan-rules/shell-words.ts'
import type { GoalWords } from '../goal.ts'
import { protectedPaths } from '../goal-limits.ts'
import type { RepositoryView } from '../planner.ts'
import { languageOf } from '../ranking/file-role.ts'
import type { EndCheck } from './end-check.ts'
import { holdsWord, ignoredFolders, searchFor } from './word-search.ts'

export interface RenameCommand {
  readonly run: readonly string[]
  readonly files: readonly string[]
}

export interface RenameNames {
  readonly old: string
  readonly new: string
}

export function goalNames(goal: GoalWords): readonly string[] {
  const names = renameNames(goal)
  return names === null ? [] : [names.old, names.new]
}

/** The first two names in a goal such as: rename `parse` to `readLine`. */
export function renameNames(goal: GoalWords): RenameNames | null {
  const NAME = '[`\'"“„«]?([A-Za-z_$][\\w$.-]*)(?:\\(\\))?[`\'"”“»]?'
  const NOUN =
    '(?:(?:options?|functions?|methods?|class|flag|parameter|argument|field|property|type|variable|constant|helper|module|command|setting|attribute)\\s+)?'
  const found = new RegExp(`${NAME}\\s+${NOUN}(?:to|into|as|in|zu|en|à|a|→|->|=>)\\s+${NAME}`, 'u').exec(goal.text)
  const [first, second] = found === null ? goal.symbols : [found[1], found[2]]
  if (first === undefined || second === undefined || first === second) return null
  return { old: bare(first), new: bare(second) }
}

/** `utils.is_keyed_tuple` is defined as `is_keyed_tuple`; a last part such as `dump` is too common alone. */
const bare = (name: string): string => {
  const whole = name.replace(/[.-]+$/, '')
  const last = whole.split('.').at(-1)!
  return /[a-z0-9][A-Z]|[^_]_[^_]/.test(last) && !FILE_END.test(whole) ? last : whole
}
const FILE_END = /\.(?:[cm]?[jt]sx?|py|go|rs|rb|java|md|json|ya?ml|toml)$/

/** Plain words in comments are prose: only names that cannot be prose are renamed there. */
const isPlain = (name: string): boolean => /^[a-z]+$/.test(name)
/** Whole-line comments, for `grep -E` and `perl`. */
const COMMENT = '(//|/[*]|[*] |--|# |#$)'

const holdsCode = (text: string, name: string): boolean =>
  holdsWord(isPlain(name) ? text.replace(/^\s*(?:\/\/|\/\*|\* |--|# |#$).*$/gm, '') : text, name)

export interface RenameInput {
  readonly goal: GoalWords
  readonly paths: readonly string[]
  readonly texts: ReadonlyMap<string, string>
  /** Files that keep the old name. */
  readonly not: readonly string[]
}

export function renamed({ goal, paths, texts, not }: RenameInput): readonly EndCheck[] {
  const names = renameNames(goal)
  if (names === null || ![...texts.values()].some(text => holdsCode(text, names.old))) return []
  const ignored = ignoredFolders(paths, texts.get('.gitignore'))
  // `grep` excludes files by base name only, so lines of protected files are filtered afterwards.
  const kept = not.filter(path => holdsWord(texts.get(path) ?? '', names.old))
  const occurs = { script: searchFor('-rqIE', names.new, ignored), text: `${names.new} occurs` }
  // Protected code keeps the old name beside the new one.
  if (protectedPaths(goal.limits, kept).some(path => languageOf(path) !== null)) return [occurs]
  const lines = [
    ...kept.map(path => `^\\./${path.replace(/[.[\]*^$\\+?(){}|]/g, '\\$&')}:`),
    ...(isPlain(names.old) ? [`^[^:]*:[0-9]+:[[:space:]]*${COMMENT}`] : []),
  ]
  const others = lines.length === 0 ? '' : ` | grep -vE${lines.map(line => ` -e ${shellQuoted(line)}`).join('')}`
  const except = [...(kept.length === 0 ? [] : [kept.join(', ')]), ...(isPlain(names.old) ? ['comments'] : [])]
  return [
    {
      script: `! ${searchFor('-rnIE', names.old, ignored)}${others}`,
      text: `${names.old} no longer occurs${except.length === 0 ? '' : `, except in ${except.join(' and ')}`}`,
    },
    occurs,
  ]
}

/** Replaces whole words with `perl`, in the files that contain them now. */
export async function renameCommand(
  repository: RepositoryView,
  goal: GoalWords,
  texts: ReadonlyMap<string, string>,
): Promise<RenameCommand | null> {
  const names = renameNames(goal)
  if (names === null || !IDENTIFIER.test(names.old) || !IDENTIFIER.test(names.new)) return null
  const holding = [...texts].filter(([, text]) => holdsCode(text, names.old)).map(([path]) => path)
  // The new name already exists, so each use needs a person's judgement.
  const isTaken = [...texts.values()].some(text => holdsWord(text, names.new))
  if (holding.length === 0 || holding.length > RENAMED_MAX || isTaken) return null
  if ((await repository.findProgram('perl')) === null) return null
  const files = holding.sort()
  const where = isPlain(names.old) ? ` unless m{^\\s*${COMMENT}}` : ''
  const script = `s{(?<![\\w\\$/])${names.old}(?![\\w\\$])}{${names.new}}g${where}`
  return { run: ['perl', '-pi', '-e', script, ...files], files }
}

export function withoutFiles(command: RenameCommand | null, not: readonly string[]): RenameCommand | null {
  if (command === null) return null
  const files = command.files.filter(path => !not.includes(path))
  const before = command.run.slice(0, command.run.length - command.files.length)
  return files.length === 0 ? null : { run: [...before, ...files], files }
}

const IDENTIFIER = /^[A-Za-z_]\w*$/
const RENAMED_MAX = 200
