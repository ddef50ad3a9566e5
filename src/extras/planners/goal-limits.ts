// Limits in a goal: "without a new dependency", "do not touch src/a.ts", "keep the docs as they are". They forbid something, so
// they do not count as evidence for the kind, and protected files are excluded from the work.

import { roleOf } from './ranking/file-role.ts'

export interface Limit {
  readonly from: number
  readonly text: string
  /** It forbids changing the files it names. */
  readonly protects: boolean
  /** It describes forbidden behaviour ("must not crash"), so it can be the whole goal. */
  readonly isBehaviour: boolean
}

/** Verbs that begin a wish. */
export const VERBS =
  'add|allow|bump|build|change|clean up|convert|create|delete|deprecate|document|drop|enable|expose|extend|extract|fix|get rid of|handle|implement|introduce|investigate|let|make|merge|migrate|move|port|print|provide|refactor|remove|rename|replace|rewrite|show|simplify|speed up|split|support|translate|update|upgrade|validate|write'

const QUOTED = /`[^`\n]*`|"[^"\n]*"|“[^”\n]*”/g
const SENTENCE = /[.!?;](?=\s|$)\s*|\n+/g
const START = '(?:^|[,(]\\s*|\\b(?:and|but|please|und|aber|bitte|mais|et|pero|y|mas|e)\\s+)'
const STAYS =
  '(?:as (?:it|they|is|are|before)\\b|alone\\b|unchanged|untouched|the same\\b|intact\\b|out of (?:it|this)\\b)'

/** The beginnings of limits; those of the second list include the text before them: "src/a.ts must not change". */
const OPENINGS = [
  /(?<![\w.-])(?:without|ohne|sans|sin(?! us)|sem)(?=\s)|(?<=\s)(?:except|(?:all|everything) but|but not(?= in)|außer|sauf|excepto|exceto)(?=\s)/i,
  /\bno (?:new|additional|extra|further|other)\b|\bno changes? (?:to|in)\b/i,
  new RegExp(
    `${START}(?=(?:do not|don['’]?t|never|leave|lasse?|avoid|hands off)\\b(?! (?:know|understand|see)\\b))`,
    'i',
  ),
  new RegExp(
    `${START}(?=(?:fass|änd[er]+|berühr|bearbeit)\\S*\\s.*\\bnicht\\b|(?:ne|no|não|nao) (?:touch|modifi|chang|edit|toqu|cambi|alter|mex|mud)|n['’](?:édit|altèr))`,
    'iu',
  ),
  new RegExp(`\\b(?=keep\\b.*${STAYS})`, 'i'),
]
const CLOSINGS = [
  /\b(?:must not|mustn['’]?t|should not|shouldn['’]?t)\b/i,
  new RegExp(`\\b(?:stays?|remains?|must (?:stay|remain|be)|bleib(?:t|en)) .{0,20}?(?:${STAYS}|unverändert)`, 'i'),
  /\b(?:is|are) off[- ]limits\b/i,
  /\bnicht (?:ge)?(?:änder|anfass|berühr|anrühr|bearbeit)/i,
]
const CLAUSE_START = /^.*\b(?:but|so|that|while|aber|dass)\s/is
/** After a wish, a comma or "and" starts another clause; otherwise it continues the list of protected things. */
const AFTER_WISH = new RegExp(`^(?:please\\s+)?(?:${VERBS})\\b.*(?:,\\s|\\b(?:and|but|so|that|while)\\s)`, 'is')
/** A clause ends before another wish. */
export const NEXT_WISH = new RegExp(
  `,?\\s+(?:(?:and|then|but|und|aber)\\s+)+(?=(?:${VERBS})\\b)|,\\s+(?=(?:${VERBS}|but|aber)\\b)`,
  'i',
)
/** "Without touching a.ts, show …": a leading limit ends at its comma, unless a list of files continues there. */
const COMMA = /,\s+(?![\w./-]*\.\w+\b|\ue000|and\b|or\b|und\b|oder\b)/

const PROTECTS = new RegExp(
  `\\b(?:touch|chang|edit|modif|alter|off|but|sauf|außer|exce[pt]|fass|toqu|cambi|mex|mud|rewrit|updat|remov|delet|mov|renam|except|leav|lass|keep|stay|remain|toucher|modifi|tocar|cambiar)|änder|anfass|anzufass|berühr|anrühr|bearbeit|${STAYS}`,
  'i',
)
const FORBIDS_CHANGE = /^(?:do not|don|never|must)/i

export function limitsIn(text: string): readonly Limit[] {
  const hidden = text.replace(QUOTED, found => '\ue000'.repeat(found.length))
  const limits: Limit[] = []
  let from = 0
  const ends = [...hidden.matchAll(SENTENCE)].map(({ index, 0: mark }) => [index, index + mark.length] as const)
  for (const [end, next] of [...ends, [hidden.length, hidden.length] as const]) {
    const found = limitOf(hidden.slice(from, end))
    if (found !== null) limits.push(limitAt(text, from + found.from, from + found.to, found.isBehaviour))
    from = next
  }
  return limits
}

export function withoutLimits(text: string, limits: readonly Limit[]): string {
  let rest = text
  for (const { from, text: limitText } of [...limits].reverse())
    rest = `${rest.slice(0, from)} ${rest.slice(from + limitText.length)}`
  return rest
}

function limitAt(text: string, from: number, to: number, isBehaviour: boolean): Limit {
  const clause = text.slice(from, to)
  return { from, text: clause, protects: PROTECTS.test(clause), isBehaviour }
}

function limitOf(
  sentence: string,
): { readonly from: number; readonly to: number; readonly isBehaviour: boolean } | null {
  const opened = first(sentence, OPENINGS)
  const closed = first(sentence, CLOSINGS)
  if (opened !== null && (closed === null || opened.at <= closed.at)) {
    const rest = sentence.slice(opened.from)
    const end = (opened.from === 0 ? COMMA : NEXT_WISH).exec(rest) ?? NEXT_WISH.exec(rest)
    return { from: opened.from, to: opened.from + (end?.index ?? rest.length), isBehaviour: FORBIDS_CHANGE.test(rest) }
  }
  if (closed === null) return null
  const before = sentence.slice(0, closed.at)
  const from = (AFTER_WISH.exec(before) ?? CLAUSE_START.exec(before))?.[0].length ?? 0
  const rest = sentence.slice(closed.at)
  return {
    from,
    to: closed.at + (NEXT_WISH.exec(rest)?.index ?? rest.length),
    isBehaviour: FORBIDS_CHANGE.test(rest) || /^should/i.test(rest),
  }
}

/** `at`: where the pattern matched; `from`: the start of the limit, after a word that only joins clauses. */
function first(text: string, patterns: readonly RegExp[]): { readonly at: number; readonly from: number } | null {
  const found = patterns
    .map(pattern => pattern.exec(text))
    .filter(match => match !== null)
    .map(({ index, 0: word }) => ({
      at: index,
      from: /^[,(]|^(?:and|but(?! not)|please|und|aber|bitte|mais|et|pero|y|mas|e)\s/i.test(word)
        ? index + word.length
        : index,
    }))
    .sort((a, b) => a.from - b.from)
  return found[0] ?? null
}

/** "The exports of src/a.ts" refers to a part of the file, not the file. */
const PART_OF = /\b(?:of|in|from|by|with|for|von|aus)\s+[`"“]?$/i
const ALL_OF =
  /\b(?:anything|something|nothing|changes?|except|not|any of it|contents?|public (?:api|interface)|mexer|mexa)\s+(?:of|in|to|for|em)\s+(?:the\s+)?[`"“]?$/i

/** `history.ts` is code. */
export const isChangeLog = (path: string): boolean =>
  /(^|\/)(CHANGE|HISTORY|NEWS|RELEASE)[^/]*$/i.test(path) && !['source', 'test'].includes(roleOf(path))

/** Groups of files that people name by purpose. */
export type SparedPart = 'tests' | 'docs' | 'changelog' | 'readme' | 'ci'
const PARTS: readonly (readonly [SparedPart, string, (path: string) => boolean])[] = [
  ['tests', '(?:unit |integration )?(?:tests?|specs?|pruebas|testes)', path => roleOf(path) === 'test'],
  ['docs', 'docs?|documentation|doku(?:mentation)?|documentaci[oó]n|documentação', path => roleOf(path) === 'docs'],
  ['changelog', 'change ?log|release notes', isChangeLog],
  ['readme', 'readme', path => /(^|\/)readme(\.\w+)?$/i.test(path)],
  ['ci', 'ci|workflows?|pipelines?', path => /(^|\/)\.(github\/workflows|circleci)\/|(^|\/)\.\w+-ci\.yml$/.test(path)],
]
/** Excludes "the tests that …" and "the docs command". */
const PART_ENDS =
  '(?=\\s*(?:$|[,.;)])|\\s+(?:or|and|nor|as|alone|unchanged|untouched|intact|out|must|should|stays?|remains?|are|is|files?|folders?|director\\w+|suite|setup|config\\w*|settings|zu|nicht|und|oder|bleib\\w+|et|ou|y|o|e)(?![\\w-]))'

/** Whole groups to leave alone, as in "Do not touch the tests or the changelog". */
export function sparedParts(limits: readonly Limit[]): readonly SparedPart[] {
  const protecting = limits.filter(({ protects }) => protects).map(({ text }) => text)
  return PARTS.filter(([, words]) =>
    protecting.some(text => {
      const at = new RegExp(`(?<![\\w./-])(?:${words})${PART_ENDS}`, 'iu').exec(text)
      const before = text.slice(0, at?.index).replace(/\b(?:the|our|any|existing|all|die|den|les|las?|los|os)\s+$/i, '')
      return at !== null && (!PART_OF.test(before) || ALL_OF.test(before))
    }),
  ).map(([part]) => part)
}

/** Paths protected by the limits: by path, file name, folder (`src/old`, "the docs folder"), glob (`*.md`) or group. */
export function protectedPaths(limits: readonly Limit[], paths: readonly string[]): readonly string[] {
  const protecting = limits.filter(({ protects }) => protects).map(({ text }) => text)
  if (protecting.length === 0) return []
  const globs = protecting.flatMap(text => text.match(/[\w./-]*\*[\w./*-]*/g) ?? []).map(globPattern)
  const parts = sparedParts(limits)
  return paths.filter(
    path =>
      globs.some(glob => glob.test(path)) ||
      PARTS.some(([part, , isOf]) => parts.includes(part) && isOf(path)) ||
      protecting.some(text => namesOf(path).some(name => isProtected(text, name))),
  )
}

/** `*.md` matches in any folder. */
const globPattern = (glob: string): RegExp => {
  const source = glob
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*\*\/?|\*/g, stars => (stars === '*' ? '[^/]*' : '.*'))
  return new RegExp(`${glob.includes('/') ? '^(?:\\./)?' : '(?:^|/)'}${source}$`)
}

const FOLDER = 'folder|directory|dir|Ordner|Verzeichnis|dossier|répertoire|carpeta|directorio|pasta|diretório'

function namesOf(path: string): readonly string[] {
  const parts = path.split('/')
  const folders = parts.slice(0, -1).map((_, index) => parts.slice(0, index + 1).join('/'))
  const ends = parts.map((_, index) => parts.slice(index).join('/'))
  return [...ends.filter(end => /[./]|^[A-Z]/.test(end)), ...folders.map(folder => `${folder}/`)]
}

/** A folder name without a slash may be an ordinary word, unless the text says it is a folder. */
function namesFolder(text: string, folder: string): boolean {
  const name = folder.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const whole = `(?<![\\w./-])[\`"“]?${name}[\`"”]?(?![\\w./-]*[\\w/])`
  if (folder.includes('/')) return new RegExp(whole).test(text)
  const isFolder = `${whole}[\`"”]?\\s+(?:${FOLDER})\\b|\\b(?:${FOLDER})\\s+${whole}|\\b(?:touch|change|edit|modify|alter)\\s+${whole}\\s*$`
  return new RegExp(isFolder, 'i').test(text)
}

export function isProtected(text: string, name: string): boolean {
  if (name.endsWith('/') && namesFolder(text, name.slice(0, -1))) return true
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    const before = text.slice(0, at).replace(/(?:^|(?<=\W))\.\/$/, '')
    const after = text.slice(at + name.length)
    const isWhole =
      !/[\w/.-]$/.test(before) && (name.endsWith('/') ? !/^[\w.]/.test(after) : !/^[\w/-]|^\.\w|^['’]s\b/.test(after))
    if (isWhole && (!PART_OF.test(before) || ALL_OF.test(before))) return true
  }
  return false
}
