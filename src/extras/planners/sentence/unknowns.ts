// Stated unknowns in a goal ("I don't know why", "find out whether X or Y"): to be found out before the work, and never limits.

export interface StatedUnknown {
  readonly from: number
  readonly to: number
  /** `whether X or Y`, `why the upload hangs`. */
  readonly text: string
}

const ASKED =
  '(why|how|whether|if|what|where|when|which|who|warum|wieso|ob|wie|was|wo|welche\\w*|pourquoi|si|comment|por qu[eé]|c[oó]mo)'
const LEADS = [
  "(?:i|we|nobody|no one)(?: really| still)? (?:do not|don['’]?t|does not|doesn['’]?t|did not|didn['’]?t|cannot|can['’]?t)(?: really)? (?:know|understand|see|tell)",
  '(?:nobody|no one) (?:knows|understands)',
  "(?:i['’]?m|i am|we are|we['’]?re|it is|it['’]?s)?\\s*not (?:sure|certain|clear|known)",
  "(?:it is |it['’]s )?(?:unclear|unknown)",
  '(?:i have )?no idea',
  '(?:please )?(?:first )?(?:find out|figure out|work out|determine|check|investigate|verify)',
  'ich wei(?:ß|ss) nicht,?|(?:es ist )?unklar,?|finde heraus,?|prüfe,?',
  'je ne sais pas|no s[eé]|n[aã]o sei',
]
const STATED = new RegExp(`(?<![\\w'’])(?:${LEADS.join('|')})\\s+${ASKED}(?![\\w-])([^.;!?\\n]*)`, 'giu')
/** "… and fix it": the wish continues after it. */
const NEXT =
  /,?\s+(?:and|then|but|und|et|y|e)\s+(?:then\s+|please\s+)?(?=(?:fix|repair|correct|change|add|remove|make|write|update|implement|do|behebe|korrigiere|corrige)\b)|,\s+(?:but|so|then)\b/iu
/** "Check if the file exists before …" asks for code; only the other verbs express not knowing. */
const COMMANDS_CODE = /^(?:please )?(?:first )?(?:check|verify|determine|prüfe)/iu

export function statedUnknowns(text: string): readonly StatedUnknown[] {
  return [...text.matchAll(STATED)].flatMap(found => {
    const [all, word = '', after = ''] = found
    const end = NEXT.exec(after)?.index ?? after.length
    const statement = after.slice(0, end).replace(/[,\s]+$/, '')
    const isChoice = /\bor\b|\boder\b|\bou\b/iu.test(statement)
    if (COMMANDS_CODE.test(all) && !(/^(?:whether|why|ob)$/iu.test(word) && (isChoice || /^why$/i.test(word))))
      return []
    const from = found.index
    const to = from + all.length - (after.length - end)
    const about = statement.trim() === '' ? clauseBefore(text.slice(Math.max(0, from - 300), from)) : statement.trim()
    return [{ from, to, text: `${word.toLowerCase()} ${about}`.trim() }]
  })
}

/** "The upload hangs, I don't know why": the clause before is the unknown. */
function clauseBefore(before: string): string {
  const clause = /([^.;!?\n]*?)[\s,.;!?–-]*(?:\b(?:but|and|aber|und|mais|pero)\s*)?$/iu.exec(before)?.[1]?.trim() ?? ''
  return clause === '' || /^[A-Z]{2}/.test(clause) ? clause : `${clause[0]!.toLowerCase()}${clause.slice(1)}`
}

export function withoutUnknowns(text: string, unknowns: readonly StatedUnknown[]): string {
  let rest = text
  for (const { from, to } of [...unknowns].reverse())
    rest = `${rest.slice(0, from).replace(/[\s,]+(?:but|and|aber|und)?\s*$/i, '')} ${rest.slice(to)}`
  return rest.trim().replace(/^(?:and|then|but|so|und|aber)\s+(?:then\s+)?/i, '')
}
