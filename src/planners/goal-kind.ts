// What kind of goal it is: a bug, a rename, a question, a vague wish, … told from its words, in English and, roughly, in some other
// languages. Also: what it forbids, what in it cannot be taken back, and whether it contradicts itself.

import { type GoalWords, stemOf } from './goal.ts'

export type GoalKind =
  | 'bug'
  | 'failing-test'
  /** A lint, a type check, a build, a CI job or an audit that fails. */
  | 'failing-command'
  | 'rename'
  | 'dependency-update'
  | 'flaky-test'
  | 'docs'
  | 'research'
  | 'refactor'
  | 'endpoint'
  | 'performance'
  | 'security'
  | 'feature'
  /** A deployment in stages. */
  | 'rollout'
  | 'empty-repository'
  | 'vague'
  | 'contradiction'

export interface JudgedGoal {
  readonly kind: GoalKind
  /** The word or fact it was recognised by: `keyword 'crash'`, `there is no source file yet`. */
  readonly because: string
  /** Its language when it is not English. */
  readonly language: string | null
  /** Sentences that limit what may be done. */
  readonly constraints: readonly string[]
  readonly irreversible: readonly IrreversibleStep[]
  /** The two parts that do not go together. */
  readonly conflict: readonly [string, string] | null
}

export interface IrreversibleStep {
  readonly word: 'push' | 'deploy' | 'delete' | 'migrate'
  readonly said: string
}

export function judgeGoal(goal: GoalWords, repository: { readonly sourceFiles: number }): JudgedGoal {
  const conflict = conflictIn(goal.text)
  const language = languageOfText(goal.text)
  const rest = { language, constraints: constraintsIn(goal.text), irreversible: irreversibleIn(goal.text), conflict }
  if (conflict !== null)
    return { kind: 'contradiction', because: `'${conflict[0]}' contradicts '${conflict[1]}'`, ...rest }
  const { kind, because } = kindOf(goal)
  if (repository.sourceFiles === 0 && kind !== 'docs' && kind !== 'research')
    return { kind: 'empty-repository', because: 'there is no source file yet', ...rest }
  return { kind, because, ...rest }
}

/** The first that fits. */
const KINDS: readonly (readonly [GoalKind, RegExp])[] = [
  ['flaky-test', /\b(flak[ey]\w*|intermittent\w*|sporadic\w*|sometimes fails?|randomly fails?|non-?deterministic)\b/i],
  [
    'failing-test',
    /\b(fail(s|ing|ed)?|broken|red)\b[^.]{0,40}\b(tests?|specs?|suite|build|ci)\b|\b(tests?|specs?|suite|ci)\b[^.]{0,40}\b(fail(s|ing|ed)?|broken|red)\b|\bmake\b[^.]{0,30}\btests?\b[^.]{0,20}\b(pass|green)\b/i,
  ],
  ['rename', /\b(renam(e|es|ed|ing)|umbenenn\w*|renomm\w*|renombr\w*|rinomin\w*)\b|переименов|重命名|改名/i],
  [
    'security',
    /\b(security|vulnerab\w*|cve-\d+|xss|csrf|injection|traversal|exploit\w*|unsafe input|sanitis\w*|sanitiz\w*|secrets? leak\w*|sicherheits\w*|sécurité|seguridad)\b/i,
  ],
  [
    'dependency-update',
    /\b(bump|upgrade|downgrade)\b|\b(update|pin|migrate to)\b[^.]{0,40}\b(dependenc\w+|package|library|version|to v?\d)|\bdependenc(y|ies)\b/i,
  ],
  [
    'performance',
    /\b(performance|slow(er|ly|ness)?|fast(er)?|speed( up)?|latency|throughput|memory (usage|use|leak)|optimi[sz]e\w*|takes too long|schneller|langsam\w*|plus rapide|más rápido)\b/i,
  ],
  [
    'endpoint',
    /\b(endpoint|route|rest api|http api|webhook|endpunkt\w*|point d.accès)\b|\b(GET|POST|PUT|PATCH|DELETE)\s+\/\w/,
  ],
  [
    'refactor',
    /\b(refactor\w*|extract|split|deduplicat\w*|restructur\w*|simplif\w*|clean ?up|move\b.{1,60}\b(into|to)\b|decouple|inline|consolidate|refaktor\w*)\b/i,
  ],
  [
    'docs',
    /\b(docs?|document(s|ed|ing|ation)?|readme|changelog|tutorial|docstrings?|dokument\w*|explain .{0,30} in the (readme|docs))\b/i,
  ],
  [
    'research',
    /^\s*(why|how|what|which|should|could|can|is|are|does|do|where|when|who|wieso|warum|wie|welche|pourquoi|comment|por qué)\b.*\?\s*$|\b(investigate|research|compare|evaluate|find out|figure out|analy[sz]e|assess|explore|look into)\b/is,
  ],
  [
    'bug',
    /\b(fix(es|ed|ing)?|bugs?|crash\w*|broken|wrong(ly)?|incorrect\w*|fails?|failing|error|exception|regression|throws?|panics?|hangs?|leaks?|does(n't| not) work|beheb\w*|fehler\w*|repar\w*|corrig\w*|arregl\w*|bogue)\b|修复|ошибк|исправ|バグ/i,
  ],
  [
    'feature',
    /\b(add(s|ed|ing)?|implement\w*|support\w*|allow\w*|create\w*|introduc\w*|provid\w*|let|make|write|build|enabl\w*|accept\w*|return\w*|show|print|handle|füge|hinzu\w*|ajout\w*|añad\w*|agreg\w*|aggiung\w*|adicion\w*|erstell\w*)\b|添加|追加|добав/i,
  ],
]

const FAULTS: readonly GoalKind[] = ['flaky-test', 'failing-test', 'security', 'performance', 'bug']

const WISHFUL =
  /\b(better|nicer|improve\w*|modern\w*|good|great|awesome|perfect|cool|user-?friendly|polish\w*|cleaner|beautiful|professional|amazing|robust|quality|besser|schöner|mieux|mejor)\b/i

function kindOf(goal: GoalWords): { readonly kind: GoalKind; readonly because: string } {
  const { wanted, limits, frames, errors, files, symbols, quoted, terms } = goal
  if (frames.length > 0) return { kind: 'bug', because: 'it contains a stack trace' }
  // A limit says something about what is wanted, too.
  const words = terms.length + limits.length
  const isNamed = files.length + symbols.length + quoted.length > 0
  const wishful = WISHFUL.exec(wanted)
  if (wishful !== null && !isNamed && words <= 6)
    return { kind: 'vague', because: `'${wishful[0]}' can mean many things` }
  for (const [kind, pattern] of KINDS) {
    const found = pattern.exec(wanted)
    if (found === null) continue
    // `make it better` and `add something` name nothing that could be done.
    if (kind === 'feature' && !isNamed && words < 3) continue
    return { kind, because: `keyword '${short(found[0])}'` }
  }
  // `The parser must not crash` is all limit, and says what is wrong today.
  const forbidden = limits.filter(({ isBehaviour }) => isBehaviour).map(({ text }) => text)
  for (const [kind, pattern] of KINDS.filter(([kind]) => FAULTS.includes(kind))) {
    const found = pattern.exec(forbidden.join('\n'))
    if (found !== null) return { kind, because: `keyword '${short(found[0])}'` }
  }
  if (errors.length > 0) return { kind: 'bug', because: 'it contains an error message' }
  if (isNamed || words >= 4) return { kind: 'feature', because: 'it describes how something should be' }
  return { kind: 'vague', because: 'no word in it says what to do' }
}

/** `fix`, `make it work`: nothing in it says what to work on. `asdf qwer` is no better where no path has a word of it. */
export function saysNothing(goal: GoalWords, paths: readonly string[]): boolean {
  const { wanted, limits, frames, errors, files, symbols, quoted, terms } = goal
  if ([limits, frames, errors, files, symbols, quoted].some(({ length }) => length > 0)) return false
  if (terms.length === 0) return true
  if (terms.length > 2 || WISHFUL.test(wanted) || KINDS.some(([, pattern]) => pattern.test(wanted))) return false
  return !paths.some(path => terms.some(({ stem }) => path.toLowerCase().includes(stem)))
}

const short = (text: string): string => (text.length > 60 ? `${text.slice(0, 57)}…` : text).replace(/\s+/g, ' ').trim()

export const CONSTRAINT =
  /\b(without|don'?t|do not|must not|mustn'?t|never|keep|only|no new|leave|backwards?[- ]compatible|unchanged|ohne|sans|sin)\b/i

const sentencesOf = (text: string): readonly string[] =>
  text
    .split(/(?<=[.!?])\s+|\n+|;\s+/)
    .map(sentence => sentence.trim())
    .filter(sentence => sentence !== '')

const constraintsIn = (text: string): readonly string[] =>
  sentencesOf(text)
    .filter(sentence => CONSTRAINT.test(sentence) && sentence.length < 400)
    .slice(0, 5)

const IRREVERSIBLE: readonly (readonly [IrreversibleStep['word'], RegExp])[] = [
  [
    'deploy',
    /\b(deploy\w*|publish\w*|releas(e|es|ing) (it|to|v?\d|the|a new)|ship (it|to)|roll(ing)? out|go live|to production)\b/i,
  ],
  ['push', /\b(push(es|ing)? (it|to|the|upstream|a branch|main|origin)|force[- ]push\w*|git push)\b/i],
  [
    'delete',
    /\b(delet\w+|drop\w*|purg\w+|wip\w+|eras\w+|truncat\w+)\b[^.]{0,30}\b(data|database|table|tables|users?|records?|rows|accounts?|bucket|backups?|branches|production|prod|history)\b/i,
  ],
  ['migrate', /\b(migrat\w+)\b[^.]{0,40}\b(data|database|schema|tables?|production|prod|users?)\b/i],
]

export const irreversibleIn = (text: string): readonly IrreversibleStep[] =>
  IRREVERSIBLE.flatMap(([word, pattern]) => {
    const found = pattern.exec(text)
    return found === null ? [] : [{ word, said: short(found[0]) }]
  })

// Contradictions: two clauses about the same thing, one of which wants it changed and the other wants it left.

const CLAUSES = /\s*(?:[,;.!?\n]|\b(?:but|and|while|yet|although|though|however|aber|mais|pero)\b)\s*|\s+(?=without\b)/i
const CHANGES =
  /\b(remov\w*|delet\w*|drop\w*|renam\w*|chang\w*|modif\w*|edit\w*|rewrit\w*|replac\w*|get rid of|disabl\w*|touch\w*|mov\w*|eliminat\w*|add\w*|updat\w*|bump\w*|upgrad\w*)\b/i
const KEEPS = /\b(keep\w*|retain\w*|preserv\w*|leav(e|es|ing)|unchanged|as (it|they) (is|are)|stays?|untouched)\b/i
const NEGATES = /\b(don'?t|do not|not|never|without|no|must not|mustn'?t)\b/i

export function conflictIn(text: string): readonly [string, string] | null {
  const clauses = text
    .slice(0, 4_000)
    .split(CLAUSES)
    .map(clause => clause.trim())
    .filter(clause => clause !== '')
    .slice(0, 40)
    .map(clause => ({ clause, wants: wantOf(clause), about: thingsIn(clause) }))
  for (const [index, first] of clauses.entries()) {
    for (const second of clauses.slice(index + 1)) {
      if (first.wants === null || second.wants === null || first.wants === second.wants) continue
      // A pronoun means what was spoken of before it.
      const isSame =
        second.about.some(thing => first.about.includes(thing)) ||
        (/\b(it|them|that)\b/i.test(second.clause) && second.about.length === 0)
      if (isSame) return [short(first.clause), short(second.clause)]
    }
  }
  return null
}

function wantOf(clause: string): 'change' | 'keep' | null {
  const isNegated = NEGATES.test(clause)
  if (CHANGES.test(clause)) return isNegated ? 'keep' : 'change'
  if (KEEPS.test(clause)) return isNegated ? 'change' : 'keep'
  return null
}

const NO_THINGS = new Set(
  'the a an to of in on for and or is are be with it its all any every this that these those from into by as at do not don dont never without no must keep leave unchanged change changing remove removing delete deleting rename renaming drop add adding update touch edit edited modify them exactly completely name names named new old code file files behaviour behavior other others anything else nothing one use everywhere stays stay'.split(
    ' ',
  ),
)

const thingsIn = (clause: string): readonly string[] =>
  (clause.toLowerCase().match(/[\p{L}_][\p{L}\p{N}_./-]*/gu) ?? [])
    .map(word => word.replace(/[./-]+$/, ''))
    .filter(word => word.length > 1 && !NO_THINGS.has(word) && !CHANGES.test(word) && !KEEPS.test(word))
    .map(stemOf)

// The language of the goal, told by its small words or its script.

const SMALL_WORDS: readonly (readonly [string, ReadonlySet<string>])[] = [
  [
    'German',
    new Set(
      'der die das und ein eine einen nicht mit für ist den dem auf von zu im wird werden bitte soll sollen wenn dass'.split(
        ' ',
      ),
    ),
  ],
  [
    'French',
    new Set('le la les un une des et est pas pour avec dans que qui sur du au ne se cette doit être'.split(' ')),
  ],
  ['Spanish', new Set('el la los las un una y es no para con en que por del se al esta debe ser'.split(' '))],
  ['Italian', new Set('il lo la gli un una e è non per con di che nel del si questo deve essere'.split(' '))],
  ['Portuguese', new Set('o a os as um uma e é não para com em que do da no na se deve ser'.split(' '))],
  ['Dutch', new Set('de het een en is niet met voor van op te dat die moet worden'.split(' '))],
]
const ENGLISH = new Set(
  'the a an and is are not with for of to in on that this it be when should must from by as at if'.split(' '),
)
const SCRIPTS: readonly (readonly [string, RegExp])[] = [
  ['Japanese', /[\p{Script=Hiragana}\p{Script=Katakana}]/u],
  ['Chinese', /\p{Script=Han}/u],
  ['Korean', /\p{Script=Hangul}/u],
  ['Russian', /\p{Script=Cyrillic}/u],
  ['Arabic', /\p{Script=Arabic}/u],
  ['Greek', /\p{Script=Greek}/u],
]

function languageOfText(text: string): string | null {
  for (const [language, script] of SCRIPTS) if (script.test(text)) return language
  const words = text.toLowerCase().match(/\p{L}+/gu) ?? []
  const count = (known: ReadonlySet<string>): number => words.filter(word => known.has(word)).length
  const english = count(ENGLISH)
  const [best] = SMALL_WORDS.map(([language, known]) => ({ language, score: count(known) })).sort(
    (a, b) => b.score - a.score,
  )
  return best !== undefined && best.score >= 2 && best.score > english ? best.language : null
}
