// What a goal wants to remove: a name, a file, or a dependency that is dropped or replaced.

import { shellQuoted } from '../../../domain/plan-rules/shell-words.ts'
import { namedFiles } from '../end-checks.ts'
import type { GoalWords } from '../goal.ts'
import type { GoalKind } from '../goal-kind.ts'
import { splitGoal } from '../split-goal.ts'
import { dependencyNames } from '../toolchain/dependency.ts'
import { isDeprecation, PLAIN } from '../work-steps.ts'
import type { EndCheck } from './end-check.ts'
import { goneCheck, ignoredFolders } from './word-search.ts'

export interface Removal {
  /** Words that must not occur any more, or that lead to what must change with a file. */
  readonly words: readonly string[]
  /** Always in scope: the file itself, or the manifest. */
  readonly files: readonly string[]
  readonly ends: readonly EndCheck[]
  readonly isReplaced: boolean
}

const GOES =
  '\\b(?:remove|delete|drop|get rid of|eliminate|entferne?|lösche?|supprime[rz]?|elimin[ae]r?|quita[r]?)\\s+(?:(?:the|our|all|old|an?|unused|obsolete|dependenc(?:y|ies)|package|library|module|file|on|uses?|usage|of|die|den|das|la|le|el)\\s+)*'
const REPLACED =
  '\\b(?:instead of|replac(?:e|ing)|swap(?:ping)?(?: out)?|(?:away|migrate|switch|move|change|convert) from|in place of)\\s+(?:the )?'
const ENDS =
  '(?=[`\'"]?(?:\\s*$|[.,;)](?!\\w)|\\s+(?:dependency|package|library|module|file|and|with|by|to|in favou?r|as|for|completely|entirely|altogether|from (?:the )?(?:dep|package|requirements|project|manifest))))'

export function removalIn(
  goal: GoalWords,
  kind: GoalKind,
  { paths, texts }: { readonly paths: readonly string[]; readonly texts: ReadonlyMap<string, string> },
): Removal | null {
  const wanted = goal.wanted.toLowerCase()
  const ignored = ignoredFolders(paths, texts.get('.gitignore'))
  const checkFor = (word: string): EndCheck => goneCheck(word, ignored)
  // Cheap test first: of hundreds of names in a lock file, the goal contains hardly any.
  const says = (before: string, name: string): boolean =>
    wanted.includes(name.toLowerCase()) &&
    new RegExp(`${before}[\`'"]?${name.replace(/[.+*?^$()[\]{}|\\]/g, '\\$&')}${ENDS}`, 'i').test(goal.wanted)
  const lastOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
  // A second wish would have no step, and the search could forbid what it adds.
  if (!PLAIN.has(kind) || splitGoal(goal.text).length > 1) return null
  const file = namedFiles(goal, paths).find(path => says(`${GOES}(?:[\\w./-]*/)?`, lastOf(path)))
  if (file !== undefined) {
    const also = /\b(?:mentions?|refers? to|references? to|uses?)\s+[`'"]?([\w.-]*\w)/i.exec(goal.wanted)?.[1]
    const ends = [{ script: `test ! -e ${shellQuoted(file)}`, text: `${file} is gone` }]
    return also === undefined
      ? { words: [lastOf(file)], files: [file], ends, isReplaced: false }
      : { words: [lastOf(file), also], files: [file], ends: [...ends, checkFor(also)], isReplaced: false }
  }
  const folder = FOLDER.exec(goal.wanted)?.[1]?.replace(/\/$/, '')
  const inside = folder === undefined ? [] : paths.filter(path => path.startsWith(`${folder}/`))
  if (folder !== undefined && inside.length > 0)
    return {
      words: [folder],
      files: inside.length <= FOLDER_LISTED ? inside : [`${folder}/**`],
      ends: [{ script: `test ! -e ${shellQuoted(folder)}`, text: `${folder} is gone` }],
      isReplaced: false,
    }
  for (const [manifest, text] of texts)
    for (const name of dependencyNames(manifest, text)) {
      const isReplaced = says(REPLACED, name)
      if (name.length < 2 || !(isReplaced || says(GOES, name))) continue
      const lock = paths.filter(path => /^(?:[\w-]+[-.]lock(?:\.\w+)?|go\.sum)$/.test(path))
      return { words: [name], files: [manifest, ...lock], ends: [checkFor(name)], isReplaced }
    }
  const word = removedName(goal, kind)
  const old = word === null ? replacedName(goal) : null
  if (old !== null) return { words: [old], files: [], ends: [checkFor(old)], isReplaced: true }
  const [noted] = isDeprecation(goal) ? goal.symbols : []
  if (noted !== undefined) return { words: [noted], files: [], ends: [], isReplaced: false }
  return word === null ? null : { words: [word], files: [], ends: [checkFor(word)], isReplaced: false }
}

const FOLDER =
  /^\W*(?:\w+(?:\([^)]*\))?: )?(?:remove|delete|drop|get rid of) (?:(?:the|our|old|unused|obsolete) )*[`'"]?([\w@-][\w./@-]*)[`'"]? (?:directory|folder)\.?$/i

/** The files of larger folders are not listed: one pattern stands for all. */
const FOLDER_LISTED = 10

const NOUN =
  '(?:functions?|methods?|class|constant|variable|option|flag|parameter|argument|field|property|type|interface|module|helper|export|setting|macro|struct|enum|alias|fonction|función|funktion|método|classe|clase|klasse)'
const REMOVING = new RegExp(
  '^\\W*(?:please\\s+)?(?:remove|delete|drop|get rid of|entferne?|supprime[rz]?|elimin[ae]r?|remov[ae]r?)\\s+' +
    '(?:(?:the|an?|our|all|old|unused|dead|obsolete|deprecated|legacy|die|das|den|la|le|el|o)\\s+)*' +
    `(${NOUN}\\s+)?[\`'"]?((?:--)?[A-Za-z_$][\\w$-]*[?!]?)(?:\\(\\))?[\`'"]?(\\s+${NOUN})?` +
    '(?:\\s+(?:from|in|of)\\s+[`\'"]?[\\w./-]+\\.\\w+[`\'"]?)?\\s*$',
  'i',
)

/** "Replace `oldName` with …", "use … instead of `oldName`": one name that cannot be prose. */
function replacedName({ wanted, symbols }: GoalWords): string | null {
  const found =
    /^\W*(?:\w+: )?replac\w* (?:[a-z-]+ ){0,4}?[`'"]?([A-Za-z_$][\w$.]*)(?:\(\))?[`'"]? (?:with|by) [`'"]?[\w$.]+(?:\(\))?[`'"]?(?: (?:in|everywhere)\b.*)?$/i.exec(
      wanted.trim().replace(/\.$/, ''),
    )?.[1]
  return found !== undefined && symbols.includes(found) && /[a-z][A-Z]|_|\./.test(found) ? found : null
}

/** The single name to remove; null if the goal wants something else or more. */
export function removedName(goal: GoalWords, kind: GoalKind): string | null {
  if (!PLAIN.has(kind)) return null
  // `Remove Grape::Util::Values, resolving …`: the last part is the name, the clause says how.
  const wanted = goal.wanted
    .trim()
    .replace(/\b(?:[A-Z]\w*::)+(?=[A-Z]\w*[a-z][A-Z])|\b[A-Z]\w*[.#](?=[a-z]\w*[\d_]\w*[?!])/g, '')
    .replace(/, \w+ing\b.*$/s, '')
  const [first = '', ...rest] = wanted.split(/[.;!]?(?:\s*\n\s*|\s+(?=[A-Z])(?<=[.;!]\s+))|[.;!]$/)
  const found = rest.some(sentence => sentence !== '') ? null : REMOVING.exec(first)
  // "Remove the leaky lru_cache": any words may precede a name that cannot be prose.
  const plain =
    /^\W*(?:remove|delete|drop|get rid of) (?:[a-z-]+ ){0,3}[`'"]?([\w$]*(?:[a-z][A-Z]|[a-z]_)[\w$]*)(?:\(\))?[`'"]?$/.exec(
      first.trim().replace(/^[A-Z]/, letter => letter.toLowerCase()),
    )?.[1]
  const name = found?.[2] ?? plain
  if (name === undefined) return null
  const isNamed =
    found?.[1] !== undefined ||
    found?.[3] !== undefined ||
    goal.symbols.some(one => one === name || one.endsWith(`::${name}`))
  return isNamed ? name : null
}
