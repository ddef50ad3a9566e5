// What a goal commands that cannot be taken back: a deployment, a push, the deletion or the migration of data. Only a command counts
// ("Deploy it to production", "… and push it to origin"), never a description, a bug report, or a wish for code that does such things.

import { headOf, hideQuotes, mainClause, objectOf, sentencesOf } from './main-verb.ts'

export interface IrreversibleStep {
  readonly word: 'push' | 'deploy' | 'delete' | 'migrate'
  /** As the goal says it. */
  readonly said: string
}

export interface IrreversibleWishes {
  readonly steps: readonly IrreversibleStep[]
  /** May be meant so, or as a change of the code: somebody has to say. */
  readonly doubts: readonly IrreversibleStep[]
}

type Certainty = 'certain' | 'doubtful' | null

export function irreversibleWishes(text: string): IrreversibleWishes {
  const found = sentencesOf(text).flatMap(commandsIn)
  const first = (certainty: Certainty): readonly IrreversibleStep[] => [
    ...new Map(
      found.filter(one => one.certainty === certainty).map(({ word, said }) => [word, { word, said }] as const),
    ).values(),
  ]
  const steps = first('certain')
  return { steps, doubts: first('doubtful').filter(({ word }) => !steps.some(step => step.word === word)) }
}

interface Command extends IrreversibleStep {
  readonly certainty: Exclude<Certainty, null>
}

/** "Once the tests pass, …": only what the work itself leads to may stand before a command. */
const AFTER_WORK =
  /^(?:once|when|after|if|as soon as)\b[^,]*\b(?:tests?|build|ci|green|review(?:ed)?|done|ready|approved|merged|works?|pass(?:es)?|fixed)\b[^,]*,\s*(?:then\s+)?/i
const JOINT =
  /,?\s+(?:and\s+then|then|and)\s+(?=(?:deploy|publish|release|ship|roll|go|push|force|delete|drop|purge|wipe|erase|truncate|migrate|run)\b)|,\s+then\s+/gi
/** What stands before "and" is a purpose or a description: "a command to create and drop tables". */
const IS_PART_OF_WISH = /\b(?:to|that|which|who|can|could|will|would|may|might|must|should|when|if|how|for)\s[^,]*$/i

/** A word that is no verb known here, before an article: "Rebuild the index and …". */
const LIKE_A_COMMAND =
  /^(?!(?:when|while|if|after|once|as|because|since|is|are|was|does|do|did|why|how|what|in|on|at|for|with|all|both|not|that|this|has|have|can|so|until|by|to|from)\s)\w+ (?:the|an?|all|our|this|these|every|your)\s/i

function commandsIn(sentence: string): readonly Command[] {
  const hidden = hideQuotes(sentence)
  const start = AFTER_WORK.exec(hidden)?.[0].length ?? 0
  const joints = [...hidden.matchAll(JOINT)].filter(({ index }) => index >= start)
  const clauses = [
    { from: start, isFirst: true, isThen: true },
    ...joints.map(({ index, 0: mark }) => ({
      from: index + mark.length,
      isFirst: false,
      isThen: /then/i.test(mark),
    })),
  ]
  const main = hidden.slice(start)
  const isCommanded = mainClause(main).isCommand || LIKE_A_COMMAND.test(main)
  return clauses.flatMap(({ from, isFirst, isThen }, at): readonly Command[] => {
    const end = joints[at]?.index ?? sentence.length
    const said = sentence.slice(from, end).replace(/[.!?]+$/, '')
    if (!isFirst && !isCommanded) return []
    const found = commandIn(said, hidden.slice(from, end))
    if (found === null) return []
    const isPart = !isFirst && !isThen && IS_PART_OF_WISH.test(hidden.slice(start, from).replace(/,?\s+and\s+$/i, ''))
    // Data is not deleted on the strength of an "and".
    const isWeak = isPart || (!isFirst && !isThen && (found.word === 'delete' || found.word === 'migrate'))
    if (isPart && found.word !== 'deploy') return []
    return [{ word: found.word, said: clip(said), certainty: isWeak ? 'doubtful' : found.certainty }]
  })
}

const clip = (text: string): string => {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > 200 ? `${line.slice(0, 199)}…` : line
}

/** Speaks of when something does it by itself, or of code, documents and tests that do. */
const OF_CODE =
  /\b(?:when(?:ever)?|if|unless|automatic(?:ally)?|auto|only|on (?:push|tags?|release|merge|every|each|error|failure|exit|startup|close|success|main|master|pull|new|demand)|each time|in (?:ci|the ci|tests?|docs|teardown|setup|[\w-]*\.\w+)|from (?:ci|the ci|travis|github|an? |tests?|docs|code|readme)|(?:with|via|using|through|by|as) (?!a canary|canary|care|no |zero)|workflows?|actions?|pipelines?|scripts?|tests?|specs?|fixtures?|teardown|migrations?|helpers?|mocks?|examples?|readme|function|method|class|module|support|option|flag|before (?:each|every|running|creating|all))\b/i
const LIVE = /\b(?:production|prod|live (?:system|server|site|database|data)|the live|staging)\b/i
const REMOTE =
  /\bto (?:the )?(?:origin|upstream|remote|github|gitlab|bitbucket|main|master|repo(?:sitory)?|server)\b|\bupstream\b/i
const REGISTRY =
  /\bto (?:the )?(?:npm|jsr|pypi|test ?pypi|crates\.io|rubygems|maven(?: central)?|nuget|packagist|docker ?hub|hex|registry|app store|play store|marketplace|production|prod|staging|live|the (?:registry|server|cluster|cloud)|github pages|vercel|netlify|heroku|fly(?:\.io)?|aws|kubernetes)\b/i
const VERSION = /^(?:(?:the|a|new|next|latest|version)\s+)*v?\d+(?:\.[\w.+-]+|(?<=v\d+))(?:\s+version)?$/i
const PRODUCT =
  /^(?:it|this|that|them|everything|all|packages?|version|release|website|site|app|application|product|service|server|api|backend|frontend|library|crate|gem|images?|artifacts?|docs|documentation|book|extension|plugin|fix|hotfix|changes?|branch|main|master|build|candidate|bundle|homepage|blog|stack)$/
const PLAIN_OBJECT = /^(?:\S+|(?:the|an?|our|this|that|these|my|your|all|new|latest|current|next)\s.*)?$/i
const BRANCH =
  /^(?:it|this|them|everything|branch|branches|commits?|tags?|main|master|changes?|fix|work|result|head|origin|upstream)$/
const DATA =
  /^(?:data|databases?|db|tables?|rows|records|users|accounts|customers|buckets?|backups?|branches|history|volumes?|clusters?|namespaces?|instances?|snapshots?|orders|entries|documents)$/
const SOME_OR_ALL =
  /\b(?:all|every|everything|older than|inactive|stale|expired|orphaned|where|created (?:before|after)|existing|last (?:year|month))\b/i

function commandIn(
  said: string,
  hidden: string,
): { readonly word: IrreversibleStep['word']; readonly certainty: 'certain' | 'doubtful' } | null {
  if (
    /^(?:please\s+)?(?:run|execute)\s+[`'"]?(?:git push|(?:npm|pnpm|yarn|cargo|poetry|uv) publish|gem push|twine upload|terraform (?:apply|destroy)|kubectl (?:apply|delete)|helm upgrade)\b/i.test(
      said.trim(),
    ) &&
    !OF_CODE.test(hidden)
  )
    return {
      word: /git push/i.test(said) ? 'push' : /destroy|delete/i.test(said) ? 'delete' : 'deploy',
      certainty: 'certain',
    }
  if (/^[`'"]?git push(?:\s+[\w/.-]+){0,3}[`'"]?$/i.test(said.trim())) return { word: 'push', certainty: 'certain' }
  const { area, verb, isCommand, rest } = mainClause(hidden)
  const goesLive = /^(?:please\s+)?go live\b/i.test(hidden.trim())
  if (goesLive) return { word: 'deploy', certainty: 'certain' }
  if (verb === null || !isCommand) return null
  const object = objectOf(rest).replace(/^(?:out|up)\s+/i, '')
  const found = certaintyOf(verb, rest, object)
  if (found === null || OF_CODE.test(rest)) return null
  // `worker: delete all records` reads like the title of a change.
  return { word: found.word, certainty: area === null ? found.certainty : 'doubtful' }
}

function certaintyOf(
  verb: string,
  rest: string,
  object: string,
): { readonly word: IrreversibleStep['word']; readonly certainty: 'certain' | 'doubtful' } | null {
  const head = headOf(object)
  const sure = { certainty: 'certain' } as const
  switch (verb) {
    case 'roll':
      return /^out\b/i.test(rest) && (PRODUCT.test(head) || VERSION.test(object) || LIVE.test(rest))
        ? { word: 'deploy', ...sure }
        : null
    case 'deploy':
    case 'publish':
    case 'release':
    case 'ship': {
      const isNamed = PRODUCT.test(head) || VERSION.test(object) || REGISTRY.test(` ${rest}`) || LIVE.test(rest)
      // `publish pr package` is the title of a change rather than a command.
      const isTitle =
        !VERSION.test(object) && !PLAIN_OBJECT.test(object) && !REGISTRY.test(` ${rest}`) && !LIVE.test(rest)
      if (isNamed) return { word: 'deploy', certainty: isTitle ? 'doubtful' : 'certain' }
      if (verb === 'deploy' && /\bcanary\b|\d ?%/i.test(rest)) return { word: 'deploy', ...sure }
      return rest === '' ? { word: 'deploy', certainty: 'doubtful' } : null
    }
    case 'push':
    case 'force': {
      if (verb === 'force' && !/^-?\s*push\b/i.test(rest)) return null
      const pushed = verb === 'force' ? headOf(objectOf(rest.replace(/^-?\s*push\s*/i, ''))) : head
      const isBranch = BRANCH.test(pushed) && pushed !== 'it' && pushed !== 'this' && pushed !== 'them'
      if (REMOTE.test(` ${rest}`) && (pushed === '' || BRANCH.test(pushed))) return { word: 'push', ...sure }
      if (/^images?$/.test(pushed) && REGISTRY.test(` ${rest}`)) return { word: 'deploy', certainty: 'doubtful' }
      return (isBranch && !/\sto\s/i.test(rest)) || verb === 'force' ? { word: 'push', ...sure } : null
    }
    case 'delete':
    case 'drop':
    case 'purge':
    case 'wipe':
    case 'erase':
    case 'truncate': {
      if (!DATA.test(head)) return null
      if (
        LIVE.test(rest) ||
        /\bon (?:origin|upstream|the remote)\b/i.test(rest) ||
        (SOME_OR_ALL.test(rest) && !/\b(?:in|from) (?:the )?(?:ui|cache|list|output|report|page)\b/i.test(rest))
      )
        return { word: 'delete', ...sure }
      return /^the\s/i.test(object) ? { word: 'delete', certainty: 'doubtful' } : null
    }
    case 'migrate': {
      if (!DATA.test(head) && !LIVE.test(rest)) return null
      if (head === 'data' || LIVE.test(rest) || (SOME_OR_ALL.test(rest) && DATA.test(head)))
        return { word: 'migrate', ...sure }
      return /^the\s/i.test(object) ? { word: 'migrate', certainty: 'doubtful' } : null
    }
    default:
      return null
  }
}
