// Detects the language of a goal by its function words or script, and knows the main verbs of some languages.

import type { Wish } from './main-verb.ts'

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '))

const SMALL_WORDS: readonly (readonly [string, ReadonlySet<string>])[] = [
  [
    'German',
    words(
      'der die das und ein eine einen nicht mit für ist den dem des auf von zu im in wird werden bitte soll sollen wenn dass',
    ),
  ],
  ['French', words('le la les un une des et est pas pour avec dans que qui sur du au ne se cette doit être')],
  ['Spanish', words('el la los las un una y es no para con en que por del se al esta debe ser')],
  ['Italian', words('il lo la gli un una e è non per con di che nel del si questo deve essere')],
  ['Portuguese', words('o a os as um uma e é não para com em que do da no na se deve ser')],
  ['Dutch', words('de het een en is niet met voor van op te dat die moet worden')],
]
const ENGLISH = words(
  'the a an and is are not with for of to in on that this it be when should must from by as at if no do die me',
)
const SCRIPTS: readonly (readonly [string, RegExp])[] = [
  ['Japanese', /[\p{Script=Hiragana}\p{Script=Katakana}]/u],
  ['Chinese', /\p{Script=Han}/u],
  ['Korean', /\p{Script=Hangul}/u],
  ['Russian', /\p{Script=Cyrillic}/u],
  ['Arabic', /\p{Script=Arabic}/u],
  ['Greek', /\p{Script=Greek}/u],
]

/** Null for English, and if undecided. */
export function languageOfText(text: string): string | null {
  for (const [language, script] of SCRIPTS) if (script.test(text)) return language
  const tokens = text.toLowerCase().match(/\p{L}+/gu) ?? []
  const count = (known: ReadonlySet<string>): number => tokens.filter(word => known.has(word)).length
  const english = count(ENGLISH)
  const [best] = SMALL_WORDS.map(([language, known]) => ({ language, score: count(known) })).sort(
    (a, b) => b.score - a.score,
  )
  return best !== undefined && best.score >= 2 && best.score > english ? best.language : null
}

/** German, French, Spanish and Portuguese imperatives and infinitives, without accents; umlauts may be written with an e. */
const VERBS: readonly (readonly [Wish, RegExp])[] = [
  [
    'rename',
    /\b(?:benenn\w*\b(?=.*\bum\b)|umbenenn\w*|umzubenennen|renomm(?:e|er|ez|ons)|renombr(?:a|ar|e|en)|renome(?:ar|ia|ie|iem)|rinomin\w+)\b/,
  ],
  [
    'fix',
    /\b(?:(?:beheb|reparier|korrigier|berichtig)(?:e|en|t)?|corrig(?:e|er|ez|eons|ir|a)|corrij(?:a|am)|corregir|repar(?:er|ez|a|ar)|repare (?=l)|arregl(?:a|ar|e|en)|soluciona[r]?|consert(?:a|ar|e))\b/,
  ],
  [
    'add',
    /\b(?:fue?g\w*\b(?=.*\bhinzu\b)|hinzufue?gen|(?:ergae?nz|erstell|implementier)(?:e|en)|ajout(?:e|er|ez|ons)|cre(?:er|ez)|anad(?:e|ir|a|an)|agreg(?:a|ar|ue)|crear|criar|adicion(?:a|ar|e|em)|acrescent(?:a|ar|e)|aggiung\w+)\b/,
  ],
  [
    'remove',
    /\b(?:(?:entfern|loe?sch)(?:e|en)|(?:supprim|enlev)(?:e|er|ez|ons)|retir(?:er|ez)|elimin(?:a|ar|e|em)|quita[r]?|borr(?:a|ar|e)|remov(?:er|a|am)|apag(?:a|ar|ue)|exclu(?:a|ir))\b/,
  ],
  [
    'change',
    /\b(?:(?:aktualisier|verbesser)(?:e|en|n)|ae?nder[en]|met(?:s|tre|tez)?\b.{0,12}?\ba jour|actualis(?:e|er|ez)|actuali(?:za|zar|ce|cen)|atuali(?:za|zar|ze|zem))\b/,
  ],
  ['document', /\b(?:(?:dokumentier|beschreib)(?:e|en)|document(?:er|ez|ons|a|ar|em)|documente(?= (?:l|a |o )))\b/],
]

/** A command in one of these languages; the verb may be at the end. */
export function foreignWish(text: string): { readonly wish: Wish; readonly word: string } | null {
  const plain = withoutAccents(text)
  const found = VERBS.flatMap(([wish, pattern]) => {
    const at = pattern.exec(plain)
    return at === null ? [] : [{ wish, word: text.slice(at.index, at.index + at[0].length), at: at.index }]
  })
  const [first] = found.sort((a, b) => a.at - b.at)
  return first ?? null
}

/** Keeps the length, so that positions stay valid. */
const withoutAccents = (text: string): string =>
  [...text.toLowerCase()].map(letter => (letter.length === 1 ? letter.normalize('NFD')[0]! : letter)).join('')

/** Nouns and phrases in these languages, for the same evidence as in English. */
export const FOREIGN = {
  broken:
    /\bfehler\w*|\babst(?:ü|u|ue)rz\w*|st(?:ü|ue)rzt\b.*\bab\b|funktionier\w* nicht|geh(?:t|en) nicht|\bkaputt\b|\bfalsch\w*|\blehnt\b.*\bab\b|\brefuse\b|\brechaza\b|\brejeita\b|\bbogue\b|\berreurs?\b|\bplante\b|ne (?:marche|fonctionne) pas|no funciona|\bfallos?\b|\bfalla\b|n[aã]o funciona|\bfalhas?\b|\berros?\b|修复|ошибк|исправ|バグ|不具合/iu,
  failingTest:
    /\b(?:tests?|testes|pruebas?)\b.{0,40}(?<!\p{L})(?:schl(?:agen|ägt)\b.{0,20}\bfehl|fehlschlag\w*|scheiter\w*|échou\w*|falham?|fallan?|fall[oó])\b|\bfehlschlagende\w* tests?\b/iu,
  docs: /\bdokumentation\b|\bdoku\b|\bdocumentation\b|\bdocumentaci[oó]n\b|\bdocumenta[cç][aã]o\b|文档/iu,
  rename: /переименов|重命名|改名/u,
  add: /添加|追加|добав/u,
  slow: /\b(?:schneller|langsam\w*|plus rapide|lente?s?|m[aá]s r[aá]pido|mais r[aá]pido)\b/iu,
  security: /\b(?:sicherheits\w*|sécurité|seguridad|segurança)\b/iu,
  refactor: /\brefaktor\w*|\brefactoris\w*|\brefactoriz\w*|\brefator\w*/iu,
  question:
    /^\s*(?:wieso|warum|weshalb|wie|welche[rs]?|pourquoi|comment|quel(?:le)?s?|por qu[eéê]|c[oó]mo|como|cu[aá]l|qual)\b.*\?\s*$/isu,
  endpoint: /\bendpunkt\w*|\bpoint d.accès\b/iu,
} as const
