// Irreversible commands in a goal: deployment, push, deletion or migration of data. Only commands count ("Deploy it to
// production", "… and push it to origin"), not descriptions, bug reports, or wishes for code that does such things.

import { headOf, hideQuotes, isTypeOfChange, mainClause, objectOf, sentencesOf } from './main-verb.ts'

export interface IrreversibleStep {
  readonly word: 'push' | 'deploy' | 'delete' | 'migrate'
  /** In the goal's words. */
  readonly said: string
}

export interface IrreversibleWishes {
  readonly steps: readonly IrreversibleStep[]
  /** Could be a command or a change of code: a person has to say. */
  readonly doubts: readonly IrreversibleStep[]
}

type Found = { readonly word: IrreversibleStep['word']; readonly isSure: boolean }

export function irreversibleWishes(text: string): IrreversibleWishes {
  const found = sentencesOf(text).flatMap(commandsIn)
  const each = (sure: boolean): readonly IrreversibleStep[] => {
    const own = found.filter(({ isSure }) => isSure === sure).map(({ word, said }) => [word, { word, said }] as const)
    return [...new Map(own).values()]
  }
  const steps = each(true)
  return { steps, doubts: each(false).filter(({ word }) => !steps.some(step => step.word === word)) }
}

/** "Once the tests pass, …": only the result of the work itself may precede a command. */
const AFTER_WORK =
  /^(?:once|when|after|if|as soon as)\b[^,]*\b(?:tests?|build|ci|green|review(?:ed)?|done|ready|approved|merged|works?|pass(?:es)?|fixed)\b[^,]*,\s*(?:then\s+)?/i
const JOINT =
  /,?\s+(?:and\s+then|then|and)\s+(?=(?:deploy|publish|release|ship|roll|go|push|force|delete|drop|purge|wipe|erase|truncate|migrate|run)\b)|,\s+then\s+|,\s+(?=(?:deploy|publish|release|ship|push)\b)/gi
/** Before "and" there is a purpose or a description: "a command to create and drop tables". */
const IS_PART_OF_WISH = /\b(?:to|that|which|who|can|could|will|would|may|might|must|should|when|if|how|for)\s[^,]*$/i

/** "Collect the events and publish them" */
const MAY_BE_CODE = /^(?:publish|release|ship)\s+(?:it|this|that|them|these|those|everything)$/i
/** "Support fetch and push to origin": two things of the same kind. */
const IS_LIST =
  /^(?:add|allow|describe|document|enable|handle|implement|log|mock|separate|show|split|support|test)\s+\S+$/i
/** "Add a workflow to build and deploy": the new code does it. */
const IS_OF_NEW_CODE =
  /\ban?\s(?:\S+\s){0,2}(?:workflow|command|hook|job|step|action|pipeline|button|script|target|task|tool|way)\s(?:to|that|which|for)\b[^,]*$/i

/** An unknown verb before an article: "Rebuild the index and …". */
const LIKE_A_COMMAND =
  /^(?:commit|tag)\b|^(?!(?:when|while|if|after|once|as|because|since|is|are|was|does|do|did|why|how|what|in|on|at|for|with|all|both|not|that|this|has|have|can|so|until|by|to|from)\s)\w+ (?:the|an?|all|our|this|these|every|your)\s/i

function commandsIn(sentence: string): readonly (Found & IrreversibleStep)[] {
  const hidden = hideQuotes(sentence)
  const start = AFTER_WORK.exec(hidden)?.[0].length ?? 0
  const main = hidden.slice(start)
  const joints = [...main.matchAll(JOINT)].map(({ index, 0: mark }) => ({ from: start + index, mark }))
  const isCommanded = mainClause(main).isCommand || LIKE_A_COMMAND.test(main)
  return [{ from: start, mark: '' }, ...(isCommanded ? joints : [])].flatMap(({ from, mark }, at) => {
    const [begin, end] = [from + mark.length, joints[at]?.from ?? sentence.length]
    const clause = sentence
      .slice(begin, end)
      .replace(/[.!?]+$/, '')
      .replace(/\s+/g, ' ')
      .trim()
      .slice(0, SAID_MAX)
    const found = commandIn(clause, hidden.slice(begin, end))
    if (found === null) return []
    const isPart = /and\s+$/i.test(mark) && IS_PART_OF_WISH.test(hidden.slice(start, from))
    if (isPart && (found.word !== 'deploy' || IS_OF_NEW_CODE.test(hidden.slice(start, from)))) return []
    // An "and" is not enough evidence for deleting data, nor a comma for anything.
    const isJoined = mark !== '' && !/then\s+$/i.test(mark)
    const isListed = !/and\s+$/i.test(mark) || IS_LIST.test(hidden.slice(start, from))
    const isVague = found.word === 'delete' || found.word === 'migrate' || MAY_BE_CODE.test(clause)
    const isWeak = isPart || (isJoined && (isListed || isVague))
    return [{ word: found.word, said: clause, isSure: found.isSure && !isWeak }]
  })
}

const SAID_MAX = 200

/** Describes automatic behaviour, or code, documents and tests that do it. */
const OF_CODE =
  /^notes?\b|\b(?:when(?:ever)?|if|unless|automatic(?:ally)?|auto|only|on (?:push|tags?|release|merge|every|each|error|failure|exit|startup|close|success|main|master|pull|new|demand)|each time|every (?:\w+ )?(?:minutes?|hours?|days?|nights?|weeks?|months?)|nightly|daily|in (?:ci|the ci|tests?|docs|teardown|setup|[\w-]*\.\w+)|from (?:ci|the ci|travis|github|an? |tests?|docs|code|readme)|workflows?|actions?|pipelines?|scripts?|tests?|specs?|fixtures?|teardown|migrations?|helpers?|mocks?|examples?|readme|function|method|class|module|support|option|flag|before (?:each|every|running|creating|all))\b/i
const MEANS =
  /\b(?:with|via|using|through|over|as) (?!a canary|canary|care|no |zero)|\bby (?!(?:mon|tues|wednes|thurs|fri|satur|sun)day|to(?:day|night|morrow)|noon|next|the end|eod|\d)|\bin (?!.*\b(?:production|prod|staging|live|database|db)\b)|\bon (?:windows|linux|mac\w*|arm\w*|node)\b/i
const LIVE = /\b(?:production|prod|live (?:system|server|site|database|data)|the live|staging)\b/i
const REMOTE =
  /\bto (?:the )?(?:origin|upstream|remote|github|gitlab|bitbucket|main|master|repo(?:sitory)?|server)\b|\bupstream\b/i
const REGISTRY =
  /\bto (?:the )?(?:npm|jsr|pypi|test ?pypi|crates\.io|rubygems|maven(?: central)?|nuget|packagist|docker ?hub|hex|registry|app store|play store|marketplace|production|prod|staging|live|the (?:registry|server|cluster|cloud)|github pages|vercel|netlify|heroku|fly(?:\.io)?|aws|kubernetes)\b/i
const VERSION = /^(?:(?:the|a|new|next|latest|version)\s+)*v?\d+(?:\.[\w.+-]+|(?<=v\d+))(?:\s+version)?$/i
const PRODUCT =
  /^(?:it|this|that|them|everything|all|packages?|version|release|website|site|app|application|product|service|server|api|backend|frontend|library|crate|gem|images?|artifacts?|docs|documentation|book|extension|plugin|fix|hotfix|changes?|branch|main|master|build|candidate|bundle|homepage|blog|stack)$/
const PLAIN_OBJECT =
  /^(?:it|this|that|them|everything|all|main|master|(?:the|an?|our|this|that|these|my|your|all|new|latest|current|next)\s.*)?$/i
const BRANCH =
  /^(?:it|this|them|everything|branch|branches|commits?|tags?|main|master|changes?|fix|work|result|head|origin|upstream)$/
const DATA =
  /^(?:data|databases?|db|tables?|rows|records|users|accounts|customers|buckets?|backups?|branches|history|volumes?|clusters?|namespaces?|instances?|snapshots?|orders|entries|documents)$/
const SOME_OR_ALL =
  /\b(?:all|every|everything|older than|inactive|stale|expired|orphaned|where|created (?:before|after)|existing|last (?:year|month))\b/i
/** Programs have these in memory, too: only with a storage place they are data. */
const MAY_BE_IN_MEMORY = /^(?:history|snapshots?|entries|documents)$/

/** Stored data, all or some: not "… in LruCache" or "users of request()". */
function isDataIn(rest: string, head: string): boolean {
  const place = /\b(?:in|from|of)\s+(.*)$/i.exec(rest)?.[1]
  const holder = headOf(objectOf(place ?? ''))
  const isStored = place === undefined ? !MAY_BE_IN_MEMORY.test(head) : DATA.test(holder) || /\d$|^year$/.test(holder)
  return isStored && SOME_OR_ALL.test(rest)
}
const PROGRAM =
  /^(?:please\s+)?(?:run|execute)\s+[`'"]?(git push|(?:npm|pnpm|yarn|cargo|poetry|uv) publish|gem push|twine upload|terraform (?:apply|destroy)|kubectl (?:apply|delete)|helm upgrade)\b|^[`'"]?(git push|npm publish)(?:\s+[\w/.-]+){0,3}[`'"]?$|^(?:please\s+)?(go live)\b/i
/** In German, French, Spanish and Portuguese, only wishes that name production count as commands. */
const FOREIGN: readonly (readonly [IrreversibleStep['word'], RegExp])[] = [
  [
    'deploy',
    /(?:^|\b(?:und|et|y|e|bitte|dann|puis)\s)(?:deploye|veröffentlich|déploie|déployer|publie[rz]?\s|despl[ie]+g|publi[cq])\S*\s.*\bprod/iu,
  ],
  ['delete', /(?:^|\b(?:und|et|y|e|bitte|dann|puis)\s)(?:lösch|loesch|supprim|elimin|borra|apag|vaci)\S*\s.*\bprod/iu],
]

function commandIn(sentencePart: string, hidden: string): Found | null {
  const program = PROGRAM.exec(sentencePart)
    ?.slice(1)
    .find(one => one !== undefined)
  if (program !== undefined && !OF_CODE.test(hidden))
    return {
      word: /git/i.test(program) ? 'push' : /destroy|delete/i.test(program) ? 'delete' : 'deploy',
      isSure: !MEANS.test(hidden),
    }
  const foreign = FOREIGN.find(([, pattern]) => pattern.test(hidden))
  if (foreign !== undefined) return { word: foreign[0], isSure: true }
  const { area, verb, isCommand, rest } = mainClause(hidden)
  if (verb === null || !isCommand || OF_CODE.test(rest) || isTypeOfChange(area)) return null
  const found = wishIn(verb, rest)
  // `worker: delete all records` looks like a commit title, and "with" may introduce how code does it.
  return found === null ? null : { ...found, isSure: found.isSure && area === null && !MEANS.test(rest) }
}

function wishIn(verb: string, rest: string): Found | null {
  const object = objectOf(rest.replace(/^-?\s*(?:out|up|push)\b\s*|\s+out\b/i, ''))
  const head = headOf(object)
  const to = ` ${rest}`
  const isLive = LIVE.test(rest)
  switch (verb) {
    case 'deploy':
    case 'publish':
    case 'release':
    case 'ship':
    case 'roll': {
      if (rest === '' || (verb === 'roll' && !/^(?:\w+\s+){0,2}out\b/i.test(rest)))
        return rest === '' ? { word: 'deploy', isSure: false } : null
      const isSure =
        VERSION.test(object) || REGISTRY.test(to) || isLive || (verb === 'deploy' && /\bcanary\b|\d ?%/i.test(rest))
      if (verb === 'publish' && !isSure && /\sto\s/i.test(rest)) return null
      // `publish pr package` is a commit title rather than a command.
      return isSure || PRODUCT.test(head) ? { word: 'deploy', isSure: isSure || PLAIN_OBJECT.test(object) } : null
    }
    case 'force':
    case 'push': {
      if (verb === 'force' && !/^-?\s*push\b/i.test(rest)) return null
      if (rest === '') return { word: 'push', isSure: false }
      if (/^(?:images?|it|this|them)$/.test(head) && REGISTRY.test(to)) return { word: 'deploy', isSure: isLive }
      const isBranch = BRANCH.test(head) && !(/^(?:it|this|them)$/.test(head) || /\sto\s/i.test(rest))
      const isSent = REMOTE.test(to) && (head === '' || BRANCH.test(head))
      const isForced = verb === 'force' && /^\S*$/.test(object)
      // Programs push to servers, too.
      return isBranch || isSent || isForced
        ? { word: 'push', isSure: isBranch || !/\bto (?:the )?server\b/i.test(rest) }
        : null
    }
    case 'delete':
    case 'drop':
    case 'purge':
    case 'wipe':
    case 'erase':
    case 'truncate':
    case 'reset': {
      if (verb === 'reset' && !isLive) return null
      const isSure = isLive || /\bon (?:origin|upstream)\b/i.test(rest) || isDataIn(rest, head)
      const isData = DATA.test(head) || (isLive && /^(?:it|them|all|everything)$/.test(head))
      return isData && (isSure || /^(?:the|all|every)\s/i.test(object)) ? { word: 'delete', isSure } : null
    }
    case 'migrate': {
      const isSure = isLive || head === 'data' || isDataIn(rest, head)
      return (DATA.test(head) || isLive) && (isSure || /^the\s/i.test(object)) ? { word: 'migrate', isSure } : null
    }
    default:
      return null
  }
}
