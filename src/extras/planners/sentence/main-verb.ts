// The command in a sentence: its first word if that is a verb, and its object. Introductions ("please", "we need to", `parser:`)
// are removed.

export interface MainClause {
  /** `parser` in `parser: accept tabs`; a conventional commit type without its scope. */
  readonly area: string | null
  /** The base form of the first word, if it is a known verb. */
  readonly verb: string | null
  /** The verb is in its base form: `publish`, not `published` or `publishing`. */
  readonly isCommand: boolean
  /** The text after the verb, or the whole clause without one. */
  readonly rest: string
}

const AREA = /^(?:\[([\w ./-]{2,30})\]\s*:?|([A-Za-z][\w./-]*)(?:\([^)]*\))?!?(?: \([^)]*\))?:)\s+(?=\S)/
const REFERENCE = /^(?:(?:fix|clos|resolv)e[sd]?\s+)?(?:#\d+|[A-Z]{2,}-\d+)\s*[-:,]?\s+/i
const OPENING =
  /^(?:(?:please|pls|bitte|also|then|finally|next|now|first|secondly?|thirdly?|afterwards|after that|let'?s|just|kindly|go ahead and|make sure to|i(?:'d| would) like (?:you )?to|i want (?:you )?to|we (?:need|want|have|ought) to|we should|you should|you need to|(?:can|could|would|will) you(?: please)?|s'il (?:te|vous) pla[iî]t|por favor)[,:]?\s+)+/i

/** Base forms, by their effect on the code. */
export const VERBS_BY_WISH = {
  fix: 'fix correct repair resolve prevent avoid handle ensure restore guard tolerate respect honor honour preserve escape address solve recover stop patch sanitize sanitise await normalize normalise',
  add: 'add allow implement support introduce create enable provide expose accept let extend export print show display emit offer include build write generate log notify warn validate list send store save greet',
  change:
    'update improve change make use set refine tweak adjust check switch increase decrease reduce disable skip run try get put configure reuse rewind enforce revert require hide lower raise relax limit bring turn apply keep mark pass throw treat exclude ignore return reject catch infer propagate close abort clear reset default alter defer deprecate',
  remove: 'remove delete drop eliminate',
  refactor:
    'refactor extract split deduplicate restructure simplify clean cleanup move decouple inline consolidate replace swap convert rewrite port migrate reorganize reorganise merge unify separate encapsulate tidy rework modularize isolate',
  rename: 'rename',
  document: 'document describe explain clarify mention reword',
  speed: 'optimize optimise speed cache memoize accelerate',
  research: 'investigate research compare evaluate analyze analyse assess explore',
  upgrade: 'bump upgrade downgrade pin',
  test: 'test cover',
  operate: 'deploy publish release ship push purge wipe erase truncate roll force',
} as const

export type Wish = keyof typeof VERBS_BY_WISH

const WISH_OF: ReadonlyMap<string, Wish> = new Map(
  (Object.keys(VERBS_BY_WISH) as Wish[]).flatMap(wish =>
    VERBS_BY_WISH[wish].split(' ').map(verb => [verb, wish] as const),
  ),
)

export const wishOf = (verb: string | null): Wish | null => (verb === null ? null : (WISH_OF.get(verb) ?? null))

export function baseForm(word: string): string | null {
  const lower = word.toLowerCase()
  const stem = /^(.{2,}?)(?:ies|ied)$/.exec(lower)?.[1]
  const cut = ['', 's', 'd', 'es', 'ed', 'ing'].flatMap(end =>
    lower.endsWith(end) ? [lower.slice(0, lower.length - end.length)] : [],
  )
  const tries = [...cut, ...cut.map(one => `${one}e`), ...cut.map(one => one.replace(/(.)\1$/, '$1')), `${stem}y`]
  return tries.find(one => WISH_OF.has(one)) ?? null
}

/** "Listing orders is slow": the first word is the subject, not a command. */
const IS_SUBJECT =
  /^(?!.*\b(?:that|which|when|where|if)\b.*\b(?:is|are)\b).*?\s(?:is|are|was|takes?|fails?|does|doesn['’]?t|hangs?|crashes|breaks|should|must)\b/i

/** "Move to the end does not work", "Extract returns a wrong name": the name of a function or command, and what is wrong with it. */
const NAMES =
  /^\s+(?:(?:returns|fails|crashes|breaks|hangs|throws|raises|panics|loses|drops|ignores|collides|gives|produces|leaks|swallows|overwrites)\b|of\b|(?!(?:[^.,;:]*\s)?(?:that|which|who|what|why|how|when|where|if|unless|while|because|since|so|as|instead|whether|until|after|before)\s)[^.,;:]{1,60}?\s(?:fails|crashes|hangs|breaks|does(?: not|n['’]t)|(?:is|are) (?:not|wrong|broken|ignored|lost))\b)/i

export function mainClause(sentence: string): MainClause {
  const bare = sentence.trim().replace(REFERENCE, found => (/^fix/i.test(found) ? 'Fix ' : ''))
  const [found = '', tag, area] = AREA.exec(bare) ?? []
  const subject = bare.slice(found.length).replace(OPENING, '')
  const [, first = '', rest = ''] = /^([A-Za-z]+)\b(?![.(_:/])(.*)$/s.exec(subject) ?? []
  const verb = baseForm(first)
  const isSubject =
    verb !== null && (verb !== first.toLowerCase() ? IS_SUBJECT.test(rest) : wishOf(verb) !== 'fix' && NAMES.test(rest))
  const isVerb = verb !== null && !isSubject
  return {
    area: (tag ?? area)?.toLowerCase() ?? null,
    verb: isVerb ? verb : null,
    isCommand: isVerb && verb === first.toLowerCase(),
    rest: isVerb ? rest.trim() : subject,
  }
}

const PHRASE_END =
  /[,;:.!?()]\s|[,;:.!?()]$|\s(?:[-–—]|to|about|for|from|in|into|on|onto|of|with|without|when|if|by|at|as|and|or|via|using|because|so|that|which|where|after|before|until|unless|instead|than|older|newer|created|under|over|between|across|through|against|is|are|was)\s/i

/** The noun phrase after a verb: `the users table` in `the users table in production`. */
export function objectOf(rest: string): string {
  const end = PHRASE_END.exec(`${rest} `)
  return (end === null ? rest : rest.slice(0, end.index)).trim()
}

/** The head noun, in lower case. */
export const headOf = (phrase: string): string =>
  /([\p{L}\p{N}_@./-]+)[^\p{L}\p{N}]*$/u.exec(phrase)?.[1]?.toLowerCase() ?? ''

/** Masks quoted text without changing the length. */
export const hideQuotes = (text: string): string =>
  text.replace(/`[^`\n]*`|"[^"\n]*"|“[^”\n]*”|(?<!\w)'[^'\n]{2,}'(?!\w)/g, found => '\ue000'.repeat(found.length))

/** Longer sentences are cut. */
const SENTENCE_MAX = 1_000

export const sentencesOf = (text: string): readonly string[] =>
  text
    .split(/(?<=[.!?])\s+(?=[\p{Lu}\p{Lo}`"'“]|\d)|\n+|;\s+/u)
    .map(sentence => sentence.trim().slice(0, SENTENCE_MAX))
    .filter(sentence => sentence !== '')

export const isTypeOfChange = (area: string | null): boolean =>
  area !== null && /^(?:docs?|tests?|ci|build|chore|feat|fix|refactor|perf|style)$/.test(area)
