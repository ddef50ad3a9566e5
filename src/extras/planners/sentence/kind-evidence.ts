// Evidence for the kind of a goal: its main verb and object, reported problems, error messages, named things. All kinds are
// weighed; subordinate clauses ("before checking the route") do not count.

import type { GoalWords } from '../goal.ts'
import { FOREIGN, foreignWish, languageOfText } from './goal-language.ts'
import { headOf, hideQuotes, mainClause, objectOf, sentencesOf, type Wish, wishOf } from './main-verb.ts'

export type GoalKind =
  | 'bug'
  | 'failing-test'
  /** A failing lint, type check, build, CI job or audit. */
  | 'failing-command'
  | 'rename'
  | 'dependency-update'
  /** Supported versions, workflows, builds. */
  | 'chore'
  | 'flaky-test'
  | 'docs'
  /** Tests for existing code. */
  | 'tests'
  | 'research'
  | 'refactor'
  | 'endpoint'
  | 'performance'
  | 'security'
  | 'feature'
  /** A staged deployment. */
  | 'rollout'
  | 'empty-repository'
  | 'vague'
  | 'contradiction'

export interface Evidence {
  readonly kind: GoalKind
  readonly points: number
  /** Follows "because": `it says 'crashes'`. */
  readonly says: string
}

/** Weights of a verb, its object, and a single word. The object decides between kinds that share a verb. */
const TRACE = 9
const THING = 6
const VERB = 5
const STATE = 4
export const HINT = 2
/** An imperative of any kind. */
const WEAK = 1

const KIND_OF: { readonly [wish in Wish]?: GoalKind } = {
  fix: 'bug',
  add: 'feature',
  remove: 'refactor',
  refactor: 'refactor',
  rename: 'rename',
  document: 'docs',
  speed: 'performance',
  research: 'research',
  test: 'tests',
}

/** Conventional commit types, and other words before a colon. */
const AREAS: readonly (readonly [GoalKind, RegExp])[] = [
  ['bug', /^(?:fix|bug|bugfix|hotfix)$/],
  ['feature', /^feat(?:ure)?$/],
  ['docs', /^(?:docs?|documentation|readme)$/],
  ['refactor', /^refactor$/],
  ['performance', /^perf(?:ormance)?$/],
  ['tests', /^tests?$/],
  ['security', /^security$/],
  ['chore', /^(?:ci|build|lint)$/],
]
export const LANGUAGE =
  'python|node(?:\\.?js)?|go(?:lang)?|ruby|php|java|jdk|rust|msrv|deno|bun|typescript|kotlin|\\.net'
export const LANGUAGE_VERSION = new RegExp(
  `(?<![@\\w./-])(?:${LANGUAGE})(?: versions?)?(?: from v?\\d[\\d.]*)?(?: to)? v?\\d[\\w.]*\\+?(?=\\s*(?:$|[,;)]|\\.(?!\\d))|\\s+(?:and|or|from|in|on|to|support)\\b)`,
  'i',
)
/** Where only CI can be meant; a product may have workflows of its own. */
const IN_CI =
  /\b(?:to|in|into|from|on|for|of) (?:the |our |all )?(?:ci(?: (?:workflow|matrix|pipeline|job|run|build)s?)?|github (?:actions?|workflows?)|(?:test|build) matrix|all (?:the )?workflows|(?:lint|test|build|release|publish|codeql) (?:workflow|job)s?)(?=\s*$|[,.;)]|\s(?:and|so|to|for|with|on|from)\b)|^run (?:ci|tests?)\b.* (?:on|for|with)\b|\bthe ci (?:\w+ )?(?:step|job|workflow|matrix)\b/i
const OF_TOOL =
  /\bgh (?:actions?|workflows?)\b|^\W*(?:replace|drop|remove|adopt|switch (?:from|to)) (?:prettier|eslint|tslint|biome|flake8|pylint|black|isort|yapf|ruff|rubocop|golangci-lint|codespell|pre-commit)\b|\b(?:pnpm|npm|yarn|eslint|prettier|tsconfig|vitest|jest|ruff|mypy|golangci-lint|rubocop|clippy|renovate|biome|pre-commit) (?:config\w*|settings?|rules?)\b/i
/** Workflows of CI, and not whatever else a project calls a workflow. */
const OF_RUNS = /\b(?:permissions?|runners?|secrets|concurrency|triggers?)\b.*\bworkflows?$/i
/** `Rails 5.2 support`: a tested version, not a feature. */
const OLD_SUPPORT = /\b[A-Z][\w.]* v?\d[\d.]*(?: and v?\d[\d.]*)? support\b/
const VERSIONS = new RegExp(`\\b(?:${LANGUAGE}) versions\\b`, 'i')
/** `an exports field in package.json`. */
const IN_SETTINGS =
  /\b(?:to|in|into|from|of) (?:the |our )?[`'"]?(?:package\.json|pyproject\.toml|cargo\.toml|tsconfig[\w.-]*\.json|tox\.ini|setup\.cfg|go\.mod|composer\.json|makefile|dockerfile|\.\w[\w.-]*)(?![\w/])|\bexports? (?:field|map)\b/i
/** `actions/checkout to v5`; not `@types/node to 20`, nor a module with a host. */
export const ACTION =
  /(?<![@\w./-])([\w-]+\/[\w-]+)(?: (?:github )?action)?(?:@\S+)?(?: from \S+)? (?:to|->|→) (v?\d[\w.]*)/i
const SETTINGS =
  /^(?:workflows?|ci|matrix|dockerfile|makefile|dependabot|renovate|pre-commit|codeowners|builds?|\.?gitignore|\.?editorconfig)$/

const DOCS =
  /^(?:readme(?:\.\w+)?|docs?|documentation|changelog|docstrings?|docblocks?|jsdoc|javadoc|rustdoc|typos?|tutorials?|guides?|comments?|examples?|faq|wording|grammar|spelling|contributing|manual|badges?|glossary|section|instructions|notes?|descriptions?|[\w./-]+\.(?:md|rst|adoc))$/
const IN_DOCS =
  /\b(?:in|to|of|from|into) (?:the |our |a )?(?:\w+ )?(?:readme|docs|documentation|changelog|contributing|guide|tutorial|wiki)\b/i
const OF_PAGE =
  /^typos?\b|^(?:the )?(?:readme|docs|documentation)\b|\b(?:changelog|readme|docs|documentation) (?:entry|entries|page|link|section)s?\b|\b(?:broken|dead|outdated) (?:\w+ )?links?\b/i
const TESTS = /^(?:tests?|specs?|coverage|testcases?|[\w./-]+[._-](?:test|spec)s?(?:\.\w+)?|test_\w+)$/
const TESTS_FOR = /^.{0,40}\btests? (?:for|of|that)\b/i
const ENDPOINT = /^(?:endpoints?|routes?|webhooks?)$/
const ROUTE = /\b(?:GET|POST|PUT|PATCH|DELETE)\s+\/\w/
const CODE =
  '(?:code|logic|functions?|methods?|helpers?|class(?:es)?|imports?|includes?|definitions?|declarations?|implementations?|types?|tests?|constants?|modules?|files?|snippets?|boilerplate|parsing|handling)'
/** `duplicate entries` are a fault of what it does, duplicate code is not. */
const TIDY = /\b(?:unused|dead|obsolete|redundant|unnecessary|unneeded|leftover|deprecated)\b/i
const REPEATED_CODE = new RegExp(`\\bduplicat(?:es?|ed|ing) (?:the |our |any |of )?(?:[\\w-]+ ){0,2}?${CODE}\\b`, 'i')
const REPEATED = new RegExp(`\\b(?:duplicated?|repeated) (?!(?:[\\w-]+ )?${CODE}\\b)\\w+`, 'i')
/** `use` changes the code but not what it does where it names a way to write. */
const WAY_TO_WRITE =
  /\b(?:everywhere|throughout|consistent(?:ly)?|shared|common|helpers?|utilit(?:y|ies)|f-strings?|comprehensions?|arrow functions?|async\/await|template (?:literals?|strings?)|optional chaining|destructuring|type (?:hints?|annotations?)|decorators?|dataclass(?:es)?|enums?|constants?|generics?|pathlib|built-?ins?|std(?:lib)?|standard library|idiom\w*|syntax|style|macros?)\b|^(?:the )?[`'"](?:const|let|var|function|class|import|require|any|unknown|interface|type)[`'"]/i
/** What goes wrong, said anywhere in the goal, also as the reason for another wish. */
const FAULTY =
  /\binstead of (?:crash|fail|throw|rais|hang|return|los|drop|ignor|silently)\w*|\boff[- ]by[- ](?:one|an?)\b|\bcrash(?:es|ed|ing)?\b|\b(?:wrong|incorrect)(?:ly)?\b|\b(?:throws|raises|panics|hangs|fails|breaks|loses|drops|swallows|ignores|overwrites|corrupts|truncates|leaks|mangles)\b|\b(?:is|are|gets?) (?:not |wrongly |silently )?(?:lost|ignored|dropped|truncated|broken|treated as|mistaken for|overwritten)\b|\bdoes(?:n['’]?t| not) (?:work|match|handle|respect|apply)\b/i
/** Verbs that may serve a correction as well; `refactor`, `extract` or `simplify` never do. */
const MAY_CORRECT = /^(?:use|replace|convert|swap)$/
const READABLE = /\b(?:readab|maintainab|legib)\w*|\bcode (?:quality|style|structure)\b/i
const BEHAVIOUR = /^(?:limits?|defaults?|restrictions?|requirements?)$/

const FAILS = 'fail(?:s|ing|ed|ures?)?|broken|red|complain\\w*'
const COMMAND =
  '(?:lint(?:er|ing|s)?|(?:go )?vet|gofmt|eslint|biome|prettier|flake8|ruff|pylint|clippy|rubocop|golangci(?:-lint)?|type[ -]?check(?:er|ing|s)?|tsc|mypy|pyright|build|compil\\w+|ci|pipeline|workflow|(?:\\w+ )?job|(?:security |npm |cargo |pip |yarn )?audit)'
const FAILING_COMMAND = [
  new RegExp(`\\b${COMMAND}\\b[^.,]{0,25}\\b(?:${FAILS})\\b`, 'i'),
  new RegExp(`\\b(?:failing|broken|red) ${COMMAND}\\b`, 'i'),
  new RegExp(`\\b(?:make|get|bring|turn)\\b[^.]{0,20}\\b${COMMAND}\\b[^.]{0,20}\\b(?:green|pass|work|happy)`, 'i'),
  new RegExp(
    `\\b(?:fix|fixes|fixed|resolve|correct|repair|silence|clean up)\\s+(?:\\w+\\s+){0,3}?(?:${COMMAND}|types?|typescript|ts|compiler)[ -](?:errors?|warnings?|failures?|issues?|problems?|violations?)\\b`,
    'i',
  ),
  new RegExp(`^(?:fix|repair)(?:es|ed)?\\s+(?:the\\s+)?(?:failing\\s+|broken\\s+)?${COMMAND}$`, 'i'),
]
const TEST_NAME = '(?:(?:unit |e2e |integration )?tests?|specs?|test suite|suite|test_\\w+|[\\w./-]+[._]test\\.\\w+)'
const FAILING_TEST = [
  new RegExp(`\\b${TEST_NAME}\\b[^.,]{0,60}\\b(?:fail(?:s|ing|ed)?|broken|red)\\b`, 'i'),
  new RegExp(`\\b(?:failing|broken|red) (?:\\w+ )?${TEST_NAME}\\b`, 'i'),
  new RegExp(`\\bmake\\b[^.]{0,30}\\b${TEST_NAME}\\b[^.]{0,20}\\b(?:pass|green)`, 'i'),
]
const FLAKY =
  /\b(?:flaky|flakes|flakiness|flaking)\b|\b(?:tests?|specs?|suite|ci|test_\w+)\b[^.]{0,60}\b(?:sometimes|randomly|sporadic\w*|intermittent\w*|occasionally|non-?deterministic\w*)|\b(?:sometimes|randomly|sporadic\w*|intermittent\w*|occasionally|non-?deterministic\w*)\b[^.]{0,30}\b(?:tests?|specs?|suite)\b/i
const SECURITY =
  /\b(?:vulnerab\w*|cve-\d+\S*|xss|csrf|ssrf|redos|prototype pollution|(?<!dependency )(?<!dependency-)injections?|(?:path|directory) traversal|traversal|exploit\w*|unsafe input|privilege escalation|secrets? leak\w*|leak\w* (?:secrets?|passwords?|tokens?|credentials?)|security (?:hole|issue|bug|problem|fix|flaw|vulnerab\w*))\b/i
const SLOW =
  /\b(?:performance|slow(?:er|ly|ness)?|faster|speed(?: up|s up|ing up)|latency|throughput|memory (?:usage|use|footprint|consumption)|bottlenecks?|(?:startup|start-up|load(?:ing)?|build|compile|response) times?|tak(?:es|ing) (?:too|so|very|way too) long|takes \d+ (?:seconds|minutes|hours)|quadratic|n\+1|o\(n\S*\)|allocations?|lazily|hot path)\b/i
const FOR_SPEED =
  /\bfor (?:better |more )?(?:performance|speed)\b|\bto (?:improve|increase|gain) (?:the )?(?:performance|speed)\b|\b(?:improve|increase|boost)\w*\b.{0,40}\bperformance\b|\bmore efficient\w*\b|\b(?:reduce|cut|lower)\w*\b.{0,20}\b(?:memory|allocations?|bundle size|latency|overhead|(?:startup|load|build) time)\b|\bmake\b.{1,40}\bfaster\b|\bavoid\w* (?:unnecessary|extra|redundant|repeated|needless) \w+/i
const WRONG =
  /\b(?:crash\w*|breaks?|broken|loses?|lost|chok(?:es?|ing)|rais(?:es|ing)|throws?|throwing|panics?|hangs?|leak(?:s|ing)?|silent failures?|data races?|drops|swallows?|ignores|ignored|mangles|corrupts?\w*|misses|duplicates|collides?|overwrites|clobbers?|freezes|stuck|deadlocks?|overflows?|wrong(?:ly)?|incorrect\w*|invalid|bugs?|buggy|regressions?|fails?|failing|failed|missing|undefined|(?:is|are|was|were|be|being|been|gets?) (?:null|nan|empty|ignored|lost|truncated|cut off)|uncaught|unhandled|unexpected(?:ly)?|errors? out|race conditions?|off[- ]by[- ]one|no longer|not (?:work|recogni[sz]ed|found|respected|inherit\w*|set|present|call\w*|escap\w*|handl\w*|work\w*|updat\w*|clos\w*|possible|allowed|propagat\w*|applied|shown|sent|saved|kept|done|run|cleaned|released|freed)|does(?:n['’]?t| not)|do(?:n['’]?t| not) (?!use\b)|did(?:n['’]?t| not)|cannot|can ?not|can['’]?t|won['’]?t|should(?:n['’]?t| not)|must(?:n['’]?t| not)|isn['’]?t|aren['’]?t|never \w+s)\b/i
const PROPERLY =
  /\b(?:properly|correctly|correct|edge cases?|workaround|proper|compatib\w+|thread[- ]safe|instead of (?:crash|fail|throw|rais|hang|return)\w*)\b/i
const IS_TODAY =
  /^(?!.*\b(?:should|must|now|can|could|would|will|needs? to|want)\b).+?\s(?:is|are|has|have|returns|gives|shows|prints|uses|takes|gets|does|goes|sends|writes|reads|accepts|allows|requires|causes)\s/i
/** Verbs that mostly mean a correction. */
const CORRECTS =
  /^(?:return|keep|ignore|pass|set|check|skip|get|throw|treat|revert|exclude|relax|mark|make|raise|reject|catch|infer|propagate|close|abort|clear|reset)$/
const ADVISORY =
  /\b(?:(?:npm|yarn|pnpm|pip|cargo|bundle|bundler|composer)[- ]audit|dependabot|snyk|advisor(?:y|ies)|cve-\d+\S*|vulnerab\w*|ghsa-\S+)\b/i
const DEPENDENCIES = /\b(?:dependenc(?:y|ies)|deps|packages|lock ?files?|(?:third[- ]party )?librar(?:y|ies))\b/i
const TO_VERSION =
  /\bto (?:the )?(?:[A-Z][\w.+#-]* )?(?:v(?:ersion )?)?\d+(?:\.\d+)+|\b(?:from|to) v\d+\b|\bto (?:the )?(?:latest|newest)\b|@\^?\d/i
const UNIT = /\b\d+\s*(?:%|ms|s|secs?|seconds?|minutes?|hours?|days?|bytes|[kmg]i?b|mb|px|lines|items|times)\b/i
const ROLLOUT =
  /\bcanar(?:y|ies)\b(?! (?:builds?|releases?|versions?|packages?|tags?))|\b(?:staged|gradual|phased|progressive) (?:roll-?out|deployment|release)|\bgradually\b|\bblue[-/ ]green\b|\bin (?:stages|steps|waves)\b|\d+ ?(?:%|percent)(?: of)?(?: the)? ?(?:traffic|users|instances|hosts|servers)/i
const QUESTION =
  /^\s*(?:why|how|what|which|should|could|can|is|are|does|do|where|when|who|would|has|have)\b[^?]*\?\s*$|^\s*why\b/is
const SUBORDINATE =
  /\s(?:when|if|unless|while|because|so that|that|which|where|after|before|until|once|since)\s|\s(?:to|for) (?=\w+ (?:when|if)\b)/i

/** All evidence, in any order. `dependencies`: names in the manifests. */
export function kindEvidence(goal: GoalWords, wanted: string, dependencies: readonly string[]): readonly Evidence[] {
  const [first = ''] = sentencesOf(wanted)
  const { area, verb, rest } = mainClause(first)
  const text = hideQuotes(first)
  const cut = SUBORDINATE.exec(text)
  const main = cut === null || cut.index < 4 ? text : text.slice(0, cut.index)
  const { wish, word, isForeign } = commandOf(first, verb, wanted)
  // In German, the infinitive follows its object.
  const about = isForeign ? rest.replace(word, ' ').trim() : rest
  const object = objectOf(hideQuotes(about))
  const head = headOf(objectOf(about))
  // "Print a warning and mention it in the docs" is not a documentation goal.
  const lead = wish === 'add' || wish === 'fix' ? first.split(/[,;]?\s(?:and|und|et|y|e)\s|[,;]\s/i)[0]! : first
  const found: Evidence[] = []
  const add = (kind: GoalKind, points: number, says: string | null | undefined): void => {
    if (says !== null && says !== undefined) found.push({ kind, points, says: `it says '${short(says)}'` })
  }
  const says = (pattern: RegExp, where = main): string | null => pattern.exec(where)?.[0] ?? null
  const saysAny = (patterns: readonly RegExp[], where = main): string | null =>
    patterns.map(pattern => says(pattern, where)).find(one => one !== null) ?? null

  if (goal.frames.length > 0) found.push({ kind: 'bug', points: TRACE, says: 'it contains a stack trace' })
  const [error] = goal.errors.filter(line => /\w(?:Error|Exception)\b|:\s/.test(line))
  if (error !== undefined) found.push({ kind: 'bug', points: THING, says: 'it contains an error message' })
  for (const [kind, pattern] of AREAS)
    if (pattern.test(area ?? '') && !(kind === 'refactor' && wish === 'rename'))
      found.push({ kind, points: VERB + HINT, says: `it begins with '${area}:'` })
  if (wish !== null && KIND_OF[wish] !== undefined) {
    const isBehaviour = wish === 'remove' && BEHAVIOUR.test(head) && !TIDY.test(object)
    const isFault = wish === 'remove' && REPEATED.test(object)
    const kind = isBehaviour ? 'feature' : isFault ? 'bug' : KIND_OF[wish]
    found.push({ kind, points: VERB, says: `its verb is '${word}'` })
  }
  const isQuestion = verb === null && (QUESTION.test(wanted) || FOREIGN.question.test(wanted))
  if (isQuestion) found.push({ kind: 'research', points: THING, says: 'it is a question' })
  if (/^(?:look into|find out|figure out)\b/i.test(first))
    add('research', VERB, first.split(/\s+/).slice(0, 2).join(' '))

  // A verb that commands something else outweighs nouns beside it.
  const isOpen = wish === null || wish === 'fix' || wish === 'change'
  const thing = isOpen ? THING : HINT
  const makes = wish === 'add' || wish === 'change' || wish === null

  const isTypoElsewhere = /^typos?$/.test(head) && rest.length > object.length && !IN_DOCS.test(text)
  if (DOCS.test(head) && wish !== 'speed' && !(wish === 'refactor' && head === 'comments') && !isTypoElsewhere)
    add('docs', THING, head)
  else if (!isQuestion) add('docs', THING, says(IN_DOCS, hideQuotes(lead)))
  add('docs', THING + 1, says(OF_PAGE))
  const isPage = (file: string): boolean => /\.(?:md|mdx|rst|adoc)$/i.test(file)
  if (goal.files.length > 0 && goal.files.every(isPage) && goal.files.some(file => lead.includes(file)))
    add('docs', THING, goal.files[0])
  add('docs', STATE, says(FOREIGN.docs))

  if (TESTS.test(head) || /\btest[- ](?:cases?|suites?|files?|coverage)$/i.test(object) || TESTS_FOR.test(rest))
    if (wish === 'fix') add('failing-test', THING, head)
    else if (wish !== null && wish !== 'research') add('tests', THING, head)
  add('flaky-test', THING + 1, isOpen || wish === 'remove' || wish === 'research' ? says(FLAKY) : null)
  const failingCommand = saysAny(FAILING_COMMAND)
  add('failing-command', THING + HINT, isOpen ? failingCommand : null)
  add(
    'failing-test',
    THING + (failingCommand === null ? 1 : 0),
    isOpen ? (saysAny(FAILING_TEST) ?? says(FOREIGN.failingTest)) : null,
  )

  const named = dependencies.find(name => name.length > 2 && namesIn(wanted).has(name.toLowerCase()))
  const isPackage = named !== undefined || DEPENDENCIES.test(main)
  const upgrades = wish === 'upgrade' || (wish === 'change' && (verb === 'update' || isForeign))
  const isVersioned = TO_VERSION.test(text) && !UNIT.test(text) && !/^(?:the )?versions?$/i.test(object)
  const isPlainName = /^[@a-z][\w@/.-]*$/i.test(object) && !UNIT.test(text) && !/^versions?$/i.test(object)
  if (upgrades && (isPackage || isVersioned))
    add('dependency-update', THING + HINT, named ?? says(DEPENDENCIES) ?? says(TO_VERSION, text))
  else if (wish === 'upgrade' && isPlainName && verb !== 'pin') add('dependency-update', VERB, object)
  // `Add Ruby 3.4 to the matrix` is no dependency update, even if a gem has that name.
  const isSetting = named === undefined || (!upgrades && says(LANGUAGE_VERSION, text) !== null)
  if (isSetting && wish !== null && wish !== 'fix' && wish !== 'research' && wish !== 'document') {
    // TypeScript is a language and also a package.
    const isCompiler = wish === 'upgrade' && /^typescript\b/i.test(object)
    add('chore', TRACE, (isCompiler ? null : says(LANGUAGE_VERSION, text)) ?? says(ACTION, text))
    add('chore', THING, SETTINGS.test(head) ? head : null)
    add('chore', THING, says(IN_CI, text) ?? (wish === 'rename' ? null : says(IN_SETTINGS, first)))
  }
  // Without a verb, only unambiguous evidence counts.
  if (wish === null && !isQuestion) {
    add('chore', TRACE, LANGUAGE_VERSION.test(text) && /\b(?:support|compatibility)$/i.test(main) ? main : null)
    add('chore', THING, says(IN_CI, text))
  }
  add('chore', THING, isQuestion ? null : (says(OF_TOOL, text) ?? says(OF_RUNS, text)))
  if (wish === 'remove') add('chore', TRACE, says(OLD_SUPPORT, text))
  if (wish === 'remove' || wish === 'upgrade' || wish === 'change') add('chore', THING, says(VERSIONS, text))
  add('chore', TRACE, /^\w+\((?:lint\w*|ci|build|workflows?|actions|tooling)\)!?:/.exec(first)?.[0])
  const advisory = says(ADVISORY, text)
  const isOfPackage = named !== undefined || /audit|dependabot|\b(?:upgrade|update|bump)\b/i.test(text)
  if (isOfPackage && wish !== 'add') add('dependency-update', TRACE, advisory)

  add('security', wish === 'add' ? STATE : thing + HINT / 2, says(SECURITY) ?? says(FOREIGN.security))
  const isSpeed = wish === null || wish === 'change' || /^(?:slow|performance)/i.test(says(SLOW) ?? '')
  // It says how it gets faster, so nothing must be found out.
  add('refactor', THING, wish === 'speed' ? (says(TIDY) ?? says(REPEATED_CODE)) : null)
  add('performance', isSpeed && isOpen ? THING : HINT, says(SLOW) ?? says(FOREIGN.slow))
  add('performance', wish === 'fix' && verb !== 'avoid' && verb !== 'prevent' ? HINT : THING, says(FOR_SPEED, text))

  if (makes && (ENDPOINT.test(head) || ROUTE.test(object) || (wish !== 'change' && ROUTE.test(main))))
    add('endpoint', THING, ROUTE.test(main) ? says(ROUTE) : head)
  else if (wish === null || wish === 'add')
    add('endpoint', THING, says(/\bnew (?:endpoint|route|webhook)\b/i) ?? says(FOREIGN.endpoint))
  if (wish === 'operate' || /^roll out\b/i.test(text)) add('rollout', THING, says(ROLLOUT, wanted))

  const wrong = says(WRONG) ?? says(FOREIGN.broken) ?? says(REPEATED)
  if (!isQuestion) add('bug', isOpen ? STATE : HINT, wrong)
  if (MAY_CORRECT.test(verb ?? '')) add('bug', THING, says(FAULTY, hideQuotes(wanted)))
  add('bug', THING, says(/\bto (?:fix|prevent|avoid) (?!unnecessary|extra|redundant)\w+/i, text))
  if (wish === null || wish === 'change') {
    add('bug', HINT, says(PROPERLY, text))
    if (wish === null && wrong === null && !isQuestion && IS_TODAY.test(main))
      found.push({ kind: 'bug', points: HINT, says: 'it tells how something is today' })
    add('feature', STATE, says(/\b(?:configurable|optional|customi[sz]able|pluggable|extensible)\b/i))
    add('refactor', STATE, says(TIDY) ?? says(FOREIGN.refactor) ?? says(/\brefactor\w*|\bclean ?-?up\b/i))
    add('refactor', THING, says(READABLE) ?? says(REPEATED_CODE))
    const isUse = verb === 'use'
    if (isUse) found.push({ kind: isWayToWrite(rest) ? 'refactor' : 'bug', points: HINT, says: `its verb is 'use'` })
    add('bug', HINT, wish === null ? says(/\bshould\b/i) : null)
    if (CORRECTS.test(verb ?? '')) found.push({ kind: 'bug', points: HINT, says: `its verb is '${verb}'` })
    add('feature', HINT, says(/\b(?:must|needs? to|now supports?|can now|support for|new)\b/i) ?? says(FOREIGN.add))
    add('rename', THING, says(FOREIGN.rename) ?? says(/\bchange the name of\b/i))
  }
  if (found.length === 0 && wish !== null) found.push({ kind: 'feature', points: WEAK, says: `its verb is '${word}'` })
  return found
}

/** `Use a shared helper`, "Use `a()` instead of `b()`": another name for the same result. */
const isWayToWrite = (rest: string): boolean =>
  WAY_TO_WRITE.test(rest) || /^[`'"][^`'"]+[`'"] (?:instead of|rather than|over) [`'"][^`'"]+[`'"]\W*$/i.test(rest)

/** The main verb: the first word, else one in another language, else that of a later sentence. */
function commandOf(
  first: string,
  verb: string | null,
  wanted: string,
): { readonly wish: Wish | null; readonly word: string; readonly isForeign: boolean } {
  const wish = wishOf(verb)
  if (wish !== null) return { wish, word: verb!, isForeign: false }
  const foreign = foreignWish(first)
  if (foreign !== null) return { ...foreign, isForeign: true }
  for (const sentence of sentencesOf(wanted).slice(1)) {
    const { verb: later, isCommand } = mainClause(sentence)
    const other = languageOfText(wanted) === null ? null : foreignWish(sentence)
    if (other !== null) return { ...other, isForeign: true }
    if (isCommand && wishOf(later) !== 'change') return { wish: wishOf(later), word: later!, isForeign: false }
  }
  return { wish: null, word: '', isForeign: false }
}

const namesIn = (text: string): ReadonlySet<string> =>
  new Set((text.match(/@?[A-Za-z][\w@/.-]*\w/g) ?? []).map(word => word.toLowerCase()))

export const short = (text: string): string => {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > 60 ? `${line.slice(0, 57)}…` : line
}
