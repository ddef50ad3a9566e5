// Classifies a goal by the evidence in its words. Also finds constraints, unknowns, deadlines, irreversible wishes and
// contradictions.

import { type GoalWords, stemOf } from './goal.ts'
import { type Deadline, deadlineIn } from './sentence/deadline.ts'
import { languageOfText } from './sentence/goal-language.ts'
import { type IrreversibleStep, irreversibleWishes } from './sentence/irreversible-wish.ts'
import { type Evidence, type GoalKind, HINT, kindEvidence, LANGUAGE_VERSION, short } from './sentence/kind-evidence.ts'
import { baseForm, mainClause, sentencesOf } from './sentence/main-verb.ts'
import { statedUnknowns, withoutUnknowns } from './sentence/unknowns.ts'

export type { IrreversibleStep } from './sentence/irreversible-wish.ts'
export type { GoalKind } from './sentence/kind-evidence.ts'

export interface JudgedGoal {
  readonly kind: GoalKind
  /** The evidence: `its verb is 'fix'`, `there is no source file yet`. */
  readonly because: string
  /** A kind with similar evidence but other steps. */
  readonly rival: { readonly kind: GoalKind; readonly because: string; readonly isEqual: boolean } | null
  /** The language, if not English. */
  readonly language: string | null
  /** Constraints in the goal's words. */
  readonly constraints: readonly string[]
  readonly irreversible: readonly IrreversibleStep[]
  /** Could be an irreversible act or a change of code. */
  readonly doubts: readonly IrreversibleStep[]
  /** Stated unknowns, to be found out first: `whether X or Y`, `why the upload hangs`. */
  readonly unknowns: readonly string[]
  readonly deadline: Deadline | null
  /** The two clauses that contradict each other. */
  readonly conflict: readonly [string, string] | null
}

export interface KnownRepository {
  readonly sourceFiles: number
  readonly dependencies?: readonly string[]
  /** The goal's words match a file. */
  readonly isPlaced?: boolean
}

export function judgeGoal(goal: GoalWords, repository: KnownRepository): JudgedGoal {
  const unknowns = statedUnknowns(goal.wanted)
  const isAllLimit = goal.limits.length > 0 && !/\p{L}/u.test(goal.wanted)
  // `Avoid a copy of the list` is a limit and the whole goal.
  const evidenceText = isAllLimit
    ? goal.limits.map(({ text }) => text).join('\n')
    : withoutUnknowns(goal.wanted, unknowns)
  const wanted = evidenceText.replace(/^[\s,.;:]+/, '')
  const conflict = conflictIn(goal.text)
  const { steps, doubts } = irreversibleWishes(wanted)
  const { kind, because, rival } = kindOf(goal, wanted, unknowns.length, repository)
  const rest = {
    rival,
    language: languageOfText(goal.text),
    constraints: isAllLimit ? [] : constraintsIn(goal, wanted),
    irreversible: steps,
    doubts,
    // If the question is the goal, its own steps answer it.
    unknowns: kind === 'research' ? [] : unknowns.map(({ text }) => text),
    deadline: deadlineIn(goal.text),
    conflict,
  }
  if (conflict !== null)
    return { kind: 'contradiction', because: `'${conflict[0]}' contradicts '${conflict[1]}'`, ...rest }
  if (repository.sourceFiles === 0 && kind !== 'docs' && kind !== 'research')
    return { kind: 'empty-repository', because: 'there is no source file yet', ...rest }
  return { kind, because, ...rest }
}

const WISHFUL =
  /\b(better|nicer|improve\w*|modern\w*|good|great|awesome|perfect|cool|user-?friendly|polish\w*|cleaner|beautiful|professional|amazing|robust|quality|besser|schöner|mieux|mejor)\b/i
/** The second kind is a rival if it has at most this many points less than the first. */
const CLOSE = 0.5

function kindOf(
  goal: GoalWords,
  wanted: string,
  unknowns: number,
  { dependencies = [], ...known }: KnownRepository,
): Pick<JudgedGoal, 'kind' | 'because' | 'rival'> {
  const { limits, files, symbols, quoted, terms } = goal
  // Limits also contain words about the goal.
  const words = terms.length + limits.length
  const isNamed = files.length + symbols.length + quoted.length > 0
  const [best, second] = weighed(kindEvidence(goal, wanted, dependencies))
  const wishful = WISHFUL.exec(wanted)
  // Wishful words such as `better` occur in many files and identify none.
  const isPlaced = known.isPlaced === true && thingsOf(goal).some(({ word }) => !WISHFUL.test(word))
  const isWish = wishful !== null && !isNamed && !isPlaced && words <= 6
  const isSpecific = isNamed || isPlaced || limits.length > 0 || thingsOf(goal).length > 0
  if (best !== undefined && isSpecific && !(isWish && best.points <= HINT)) {
    const isClose = second !== undefined && best.points > HINT && second.points >= best.points - CLOSE
    // What works wrongly is shown by a test first, which harms no other change: nobody needs to be asked.
    const isFault = isClose && [best, second].some(one => one.kind === 'bug') && [best, second].some(isInternal)
    const [first, other] = isFault && second.kind === 'bug' ? [second, best] : [best, second]
    const isRival = isClose && !areAlike(best.kind, second.kind)
    const rival = isRival ? { ...other!, isEqual: !isFault && second.points === best.points } : null
    return { kind: first.kind, because: first.because, rival }
  }
  const only = (kind: GoalKind, because: string) => ({ kind, because, rival: null })
  if (unknowns > 0) return only('research', 'it says what is not known, and nothing else')
  if (isWish) return only('vague', `'${wishful[0]}' can mean many things, and no file stands out`)
  if (isNamed || isPlaced || words >= 3) return only('feature', 'it describes how something should be')
  return only('vague', 'neither a word of it nor a file says what to do')
}

interface Weighed {
  readonly kind: GoalKind
  readonly points: number
  readonly because: string
}

/** The strongest evidence of a kind decides, the rest adds a little; best first. */
function weighed(evidence: readonly Evidence[]): readonly Weighed[] {
  const kinds = [...new Set(evidence.map(({ kind }) => kind))]
  return kinds
    .map((kind): Weighed => {
      const own = evidence.filter(one => one.kind === kind).sort((a, b) => b.points - a.points)
      const points = own[0]!.points + own.slice(1).reduce((sum, one) => sum + one.points * 0.25, 0)
      return { kind, points, because: [...new Set(own.map(({ says }) => says))].slice(0, 2).join(', ') }
    })
    .sort((a, b) => b.points - a.points)
}

/** Kinds with nearly the same steps, so confusing them does not matter. */
const ALIKE: readonly (readonly GoalKind[])[] = [
  ['bug', 'feature'],
  ['bug', 'failing-test', 'failing-command'],
  ['refactor', 'performance'],
  ['feature', 'endpoint'],
  ['docs', 'feature'],
]
const areAlike = (one: GoalKind, other: GoalKind): boolean =>
  ALIKE.some(kinds => kinds.includes(one) && kinds.includes(other))

const isInternal = ({ kind }: Weighed): boolean => kind === 'refactor' || kind === 'rename'

/** The goal's words without the main verb. */
function thingsOf({ wanted, terms }: GoalWords): GoalWords['terms'] {
  const { verb } = mainClause(wanted)
  return terms.filter(({ word }) => verb === null || baseForm(word) !== verb)
}

const PLACEHOLDER = /^(?:foo+|bar|baz|qux|quux|lorem|ipsum|asdf\w*|qwer\w*|blah?|hello|hi|hey|test\d+|(.)\1{2,})$/i

/** `fix`, `make it work`: without an object. `asdf qwer` counts as well if no path contains a word of it. */
export function saysNothing(goal: GoalWords, paths: readonly string[]): boolean {
  const { wanted, limits, frames, errors, files, symbols, quoted } = goal
  if ([limits, frames, errors, files, symbols, quoted].some(({ length }) => length > 0)) return false
  const things = thingsOf(goal)
  if (LANGUAGE_VERSION.test(wanted)) return false
  if (things.length === 0) return !irreversibleWishes(wanted).steps.length
  const real = things.filter(({ word }) => !PLACEHOLDER.test(word))
  if (real.length === 0) return true
  const all = paths.join('\n').toLowerCase()
  if (real.some(({ stem }) => all.includes(stem))) return false
  const isKnown = WISHFUL.test(wanted) || languageOfText(wanted) !== null || kindEvidence(goal, wanted, []).length > 0
  return things.length <= 2 && !isKnown
}

export const CONSTRAINT =
  /\b(without|don'?t|do not|must not|mustn'?t|never|keep|only|no new|leave|backwards?[- ]compatible|unchanged|ohne|sans|sin)\b/i
/** Sentences that restrict the work without forbidding anything. */
const ALSO_LIMITS = /^only\b|\bonly (?:change|touch|edit|use)\b|\bbackwards?[- ]compatible\b/i

/** "A request without headers" describes the request. */
const DESCRIBES =
  /^(?:without|sans|sin|ohne|sem) (?!\w+ing\b|an?\b|any\b|the\b|new\b|other\b|ein|.*\bzu\b|une?\b|una?\b|uma?\b|\S*[./]\S|(?<=(?:sans|sin|sem) )\p{L}+(?:[aei]r|re)\b)/iu

function constraintsIn({ limits }: GoalWords, wanted: string): readonly string[] {
  const [, ...others] = sentencesOf(wanted)
  const restrictions = others.filter(sentence => ALSO_LIMITS.test(sentence) && sentence.length < 400)
  const limiting = limits.map(({ text }) => text.trim()).filter(text => !DESCRIBES.test(text))
  return [...limiting, ...restrictions].slice(0, 5)
}

// Contradictions: two clauses about the same thing, one to change it and one to leave it.

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
      // A pronoun refers to the thing mentioned before.
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
