// The embedded planner: analyses goal and repository without a model, at no cost. It finds the files, the commands and a final
// check, fills in the steps of the goal's kind, and states assumptions and unknowns.

import type { Json, JsonObject } from '../../domain/json.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { type CommandStepsInput, commandSteps, rolloutSteps } from './command-steps.ts'
import { composePlan, type GoalPlaces, type WriteScopes } from './compose-plan.ts'
import { changeLog, openLogs } from './draft/change-log.ts'
import { likelyTest, oneTestCommand } from './draft/one-test.ts'
import { causesToday, endsToday, judgedToday, placedToday, redToday, scopeToday } from './draft/today.ts'
import { type FollowedComments, readComments, type TaskKind } from './draft-comments.ts'
import { endChecks, namedDependency } from './end-checks.ts'
import { findToolchain, type Toolchain } from './found-commands.ts'
import { type GoalWords, readGoal } from './goal.ts'
import { type JudgedGoal, judgeGoal, saysNothing } from './goal-kind.ts'
import { protectedPaths } from './goal-limits.ts'
import { docsScope } from './kinds/docs-page.ts'
import type { EndCheck } from './kinds/end-check.ts'
import { type Removal, removalIn } from './kinds/removal.ts'
import { goalNames, renameCommand, withoutFiles } from './kinds/rename.ts'
import { settingsGoal, settingsSteps } from './kinds/settings.ts'
import { holdsWord, namedIn } from './kinds/word-search.ts'
import type { Looked, LookedCommand } from './look-result.ts'
import { KIND_WORDS, missingNames, openQuestions, type Unsure } from './open-questions.ts'
import type {
  FoundCommand,
  GoalAnalysis,
  PastChange,
  PastPlan,
  PlanComment,
  Planner,
  PlanProposal,
  PlanRequest,
  RepositoryView,
} from './planner.ts'
import { type FileRole, isAside, languageOf, roleOf } from './ranking/file-role.ts'
import { passagesFor } from './ranking/passages.ts'
import { type Ranking, rankFiles } from './ranking/rank-files.ts'
import { splitGoal } from './split-goal.ts'
import { DEPENDENCY_FILES, SETTINGS } from './toolchain/dependency.ts'
import { commandScope } from './toolchain/named-commands.ts'
import { reportFolders, withNamedResults } from './toolchain/named-results.ts'
import { scriptsOf } from './toolchain/node.ts'
import { stepsOf, type WorkStep } from './work-steps.ts'
import { writeScopes } from './write-scopes.ts'

export { commandsToLookAt, type Lookable } from './toolchain/harmless-commands.ts'
export { readPrinted } from './toolchain/printed-failure.ts'

export function heuristicPlanner(): Planner {
  return { name: NAME, propose, split: async ({ goal }) => splitGoal(goal) }
}

const NAME = 'heuristic'

export const isUnclearGoal = async (goal: string, repository: Pick<RepositoryView, 'files'>): Promise<boolean> =>
  saysNothing(
    readGoal(goal),
    (await repository.files()).map(({ path }) => path),
  )

/** Documents read beside the sources, because goals name things in them. */
const READ_BESIDE =
  /^(readme\.\w+|package\.json|requirements.*\.txt|pyproject\.toml|go\.mod|Cargo\.toml|Gemfile|\.gitignore|setup\.(py|cfg)|composer\.json)$/i

async function propose({
  goal: text,
  repository,
  comments = [],
  past = [],
  looked,
}: PlanRequest): Promise<PlanProposal> {
  const goal = readGoal(text)
  const files = await repository.files()
  const paths = files.map(({ path }) => path)
  const beside = await readBeside(repository, paths, goal)
  const known = {
    sourceFiles: paths.filter(path => roleOf(path) === 'source').length,
    dependencies: [namedDependency({ goal, texts: beside })?.name ?? []].flat(),
  }
  const first = judgeGoal(goal, known)
  const [ranking, state, locks] = await Promise.all([
    rankFiles(repository, goal, { roles: rolesFor(first) }),
    repository.state(),
    first.kind === 'dependency-update' || first.kind === 'chore'
      ? readAlso(repository, paths)
      : new Map<string, string>(),
  ])
  const isPlaced = !/^(?:weak guess|changes often$|$)/.test(ranking.files[0]?.reason ?? '')
  const placedGoal = first.kind === 'vague' && isPlaced ? judgeGoal(goal, { ...known, isPlaced }) : first
  const judged =
    looked === undefined
      ? placedGoal
      : judgedToday(placedGoal, goal, looked, (await findToolchain(repository)).commands)
  const read = new Map([...ranking.texts, ...beside, ...locks])
  const removed = removalIn(goal, judged.kind, { paths, texts: beside })
  const texts =
    judged.kind === 'rename' || removed !== null
      ? new Map([...read, ...(await namedIn(repository, files, removed?.words ?? goalNames(goal), read))])
      : read
  const spared = protectedPaths(goal.limits, paths).filter(path => !goal.files.includes(path))
  const command = judged.kind === 'rename' ? await renameCommand(repository, goal, texts) : null
  const tasks = new Map<string, TaskKind>([
    ...OTHER_TASKS,
    ...stepsOf(goal, judged, removed).map(({ id }) => [id, 'external'] as const),
  ])
  if (command !== null) tasks.set('rename', 'command')
  const feedback = readComments(comments, { paths, tasks })
  const followed = { ...feedback, not: [...feedback.not, ...spared] }
  const placedFirst = placed(aboutFiles(ranking, goal, judged), followed)
  const found = await findToolchain(repository, removed === null ? testedFiles(placedFirst, judged) : [], looked)
  const toolchain = await withTestCommand(repository, found, followed)
  const settings =
    judged.kind === 'chore' ? settingsGoal({ goal, paths, texts, ranked: placedFirst.files, not: followed.not }) : null
  const holding = holdingFiles(goal, removed, texts, followed.not)
  const ends = [
    ...endsToday(endChecks({ goal, kind: judged.kind, toolchain, paths, texts, not: followed.not }), looked),
    ...(settings?.ends ?? []),
    ...(removed === null || holding.length === 0 ? [] : removed.ends),
  ]
  const causes = causesToday(judged, ends, looked)
  const about = placedToday(aboutFiles(ranking, goal, judged), causes, paths)
  const containing =
    removed === null
      ? []
      : holding.filter(path => !path.endsWith('/**')).map(path => ({ path, score: 1, reason: 'it has the name' }))
  const ranked = placed(containing.length > 0 ? { ...about, files: containing } : about, followed)
  const analysis = analysisOf(goal, toolchain, ranked, looked)
  const given = { goal, judged, toolchain, ends, texts }
  const own = commandSteps(given) ?? stepsOf(goal, judged, removed)
  const steps = settings === null ? own : settingsSteps(own, settings)
  const isDeployed = judged.irreversible.some(({ word }) => word === 'deploy')
  const release = isDeployed && judged.kind !== 'rollout' ? rolloutSteps(given) : []
  // A staged deployment has its own steps instead of one at the end.
  const isStaged = release.length > 0 || judged.kind === 'rollout'
  const irreversible = judged.irreversible.filter(({ word }) => !(isStaged && word === 'deploy'))
  // Protected code uses the old name, so the rename needs a person's attention.
  const isBound = command?.files.some(path => spared.includes(path) && languageOf(path) !== null) === true
  const renaming = isBound ? null : withoutFiles(command, followed.not)
  const history = await repository.history()
  const likely = writeScopes({
    ...{
      goal,
      judged,
      analysis,
      paths,
      texts,
      history,
      followed,
      home: ranking.home,
      settings: settings?.files ?? null,
    },
  })
  const scopes =
    judged.kind === 'failing-command'
      ? { ...likely, ...filesOfCommands(given, paths, followed, causes) }
      : judged.kind === 'docs'
        ? { ...likely, docs: docsOf({ goal, paths, texts, files: analysis.files }, likely, followed) }
        : likely
  const places = await placesOf(repository, {
    ...{ goal, analysis, toolchain, paths, texts, holding, history, causes },
  })
  const { test, allTests } = toolchain.commands
  const script = await scriptOf(repository, test)
  const nameResults = async (found: FoundCommand | null | undefined): Promise<readonly string[] | null> =>
    found == null ? null : withNamedResults(found.run, await scriptOf(repository, found))
  const suite = await nameResults(test)
  const allSuite = await nameResults(allTests)
  const missing = await missingNames(repository, { goal, judged, paths, texts })
  const asked = openQuestions({ goal, judged, toolchain, analysis, ends, steps, texts, missing })
  const unsure = {
    ...asked,
    assumptions: [...otherWishes(text, judged), ...asked.assumptions, ...redToday(looked, causes)],
  }
  const similar = similarPlans(goal, past)
  const risks = [
    ...risksOf([...steps, ...release], irreversible),
    ...similar
      .filter(({ status }) => status === 'failed')
      .map(({ name }) => `the plan '${name}' with a similar goal failed`),
  ]
  const rationale = rationaleOf(judged, analysis, ends, similar)
  const context = contextOf({ goal, judged, analysis, unsure, risks, rationale, similar, state, comments })
  const settled = { ...judged, irreversible }
  const parts = {
    ...given,
    judged: settled,
    analysis,
    steps,
    release,
    scopes,
    places,
    suite,
    allSuite,
    reports: reportFolders(script, beside.get('.gitignore')),
    renaming,
    context,
    ...unsure,
    ...followed,
  }
  const definition = composePlan(parts)
  const all = composePlan({ ...parts, dropped: new Set() })
  return {
    planner: NAME,
    definition,
    kind: judged.kind,
    rationale,
    assumptions: unsure.assumptions,
    risks,
    questions: unsure.questions.map(question => question.text),
    irreversible: [
      ...[...steps, ...release].flatMap(({ id, why, approval }) =>
        approval === undefined ? [] : [{ task: id, why: why.replace(/^T/, 't').replace(/\.$/, '') }],
      ),
      ...irreversible.map(({ word, said }) => ({ task: word, why: `the goal says '${said}'` })),
    ],
    estimate: { workMs: workOf(definition), cost: null },
    analysis,
    framing: { suite, allSuite, installation: toolchain.installation },
    unfollowed: [...followed.unfollowed, ...unread(followed, comments, all)],
  }
}

/** Wishes of another kind get no steps; they are reported. */
function otherWishes(text: string, { kind }: JudgedGoal): readonly string[] {
  const others = splitGoal(text).filter(({ title }) => {
    const wish = judgeGoal(readGoal(title), { sourceFiles: 1 })
    return wish.kind !== kind && wish.kind !== 'vague'
  })
  const titles = others.map(({ title }) => `'${title}'`).join(', ')
  return others.length === 0 || splitGoal(text).length < 2
    ? []
    : [`it asks for more than one thing: ${titles} has no steps of its own here, and is better split off`]
}

async function scriptOf(repository: RepositoryView, found: FoundCommand | null): Promise<string | null> {
  const [, path, name] = /^(\S*package\.json), script '(.+)'$/.exec(found?.from ?? '') ?? []
  const [text] = path === undefined ? [] : await repository.read([path])
  return scriptsOf(text ?? null)[name ?? ''] ?? null
}

/** Files with the word to remove or the misspelling quoted in the goal; none if there are too many to be plausible. */
function holdingFiles(
  goal: GoalWords,
  removed: Removal | null,
  texts: ReadonlyMap<string, string>,
  not: readonly string[],
): readonly string[] {
  const words = removed?.words ?? goal.quoted.filter(text => /^[\p{L}\p{N}_$-]+$/u.test(text))
  // A removed file is also imported by path: `from './word'`.
  const holds = (text: string, word: string): boolean =>
    holdsWord(text, word) || (removed !== null && holdsWord(text.replaceAll('/', ' '), word))
  const found = [...texts].filter(([, text]) => words.some(word => holds(text, word))).map(([path]) => path)
  if (found.length > (removed === null ? HOLDING_MAX : REMOVED_MAX)) return []
  return [...new Set([...(removed?.files ?? []), ...found])].filter(path => !not.includes(path)).sort()
}

/** Without protected files; the readme if nothing matches. */
function docsOf(
  input: Parameters<typeof docsScope>[0],
  { docs }: WriteScopes,
  { not }: FollowedComments,
): readonly string[] {
  const found = docsScope(input).filter(path => !not.includes(path))
  return found.length > 0 ? found : docs
}

const HOLDING_MAX = 20
const REMOVED_MAX = 60

interface PlacesInput {
  readonly goal: GoalWords
  readonly analysis: GoalAnalysis
  readonly toolchain: Toolchain
  readonly paths: readonly string[]
  readonly texts: ReadonlyMap<string, string>
  readonly holding: readonly string[]
  readonly causes: readonly LookedCommand[]
  readonly history: readonly PastChange[]
}

async function placesOf(
  repository: RepositoryView,
  { goal, analysis, toolchain, paths, texts, holding, history, causes }: PlacesInput,
): Promise<GoalPlaces> {
  const test = likelyTest(analysis, paths)
  const ranked = [...new Set([...holding, ...analysis.files.map(({ path }) => path)])]
  return {
    passages: passagesFor(
      { ...goal, frames: [...causes.flatMap(({ places }) => places), ...goal.frames] },
      ranked,
      texts,
    ),
    causes,
    changeLog: changeLog({ paths, history, limits: goal.limits }),
    openLogs: openLogs({ paths, history, limits: goal.limits, file: analysis.files[0]?.path ?? '' }),
    test: test?.path ?? null,
    oneTest: test === undefined ? null : await oneTestCommand(repository, { toolchain, paths, file: test.path }),
    holding,
  }
}

/** Other tasks that comments may name. */
const OTHER_TASKS: readonly (readonly [string, TaskKind])[] = [
  ['clarify', 'gate'],
  ['baseline', 'other'],
  ['tests-before', 'other'],
  ['all-tests-before', 'other'],
  ['repeat-before', 'other'],
  ['repeat-after', 'other'],
  ['safe-point', 'other'],
  ['all-tests', 'other'],
  ['lint', 'other'],
  ['types', 'other'],
  ['test', 'other'],
  ['build', 'other'],
  ['review', 'gate'],
  ['set-up', 'external'],
  ['install', 'other'],
  ['submodules', 'other'],
  ['approve-specification', 'gate'],
  ...(['push', 'deploy', 'delete', 'migrate'] as const).flatMap(
    word =>
      [
        [word, 'external'],
        [`approve-${word}`, 'gate'],
      ] as const,
  ),
]

function rolesFor({ kind }: JudgedGoal): readonly FileRole[] {
  if (kind === 'docs') return ['docs', 'source']
  if (kind === 'dependency-update') return ['source', 'config']
  if (kind === 'chore') return ['config', 'source']
  if (kind === 'flaky-test') return ['source', 'test']
  return ['source']
}

async function readBeside(
  repository: RepositoryView,
  paths: readonly string[],
  goal: GoalWords,
): Promise<ReadonlyMap<string, string>> {
  return await textsOf(
    repository,
    paths.filter(path => READ_BESIDE.test(path) || goal.files.includes(path)),
  )
}

/** Manifests, lock files and settings, for versions. */
const readAlso = (repository: RepositoryView, paths: readonly string[]): Promise<ReadonlyMap<string, string>> =>
  textsOf(
    repository,
    paths.filter(path => DEPENDENCY_FILES.test(path) || SETTINGS.test(path)),
    SETTINGS_MAX,
  )

/** A workspace has manifests for each package. */
const SETTINGS_MAX = 200

async function textsOf(
  repository: RepositoryView,
  paths: readonly string[],
  max = 30,
): Promise<ReadonlyMap<string, string>> {
  const wanted = paths.slice(0, max)
  const texts = await repository.read(wanted)
  return new Map(wanted.flatMap((path, index) => (texts[index] == null ? [] : [[path, texts[index]] as const])))
}

async function withTestCommand(
  repository: RepositoryView,
  found: Toolchain,
  { testCommand }: FollowedComments,
): Promise<Toolchain> {
  if (testCommand === null) return found
  const program = testCommand[0]!
  const isHere = (await repository.findProgram(program)) !== null
  const from = 'a comment on the draft'
  const test: FoundCommand = isHere
    ? { run: testCommand, from, exists: true }
    : { run: testCommand, from, exists: false, missing: `'${program}' is not installed` }
  return { ...found, commands: { ...found.commands, test } }
}

/** The files whose package is tested at each step: those about as relevant as the best. */
function testedFiles({ files: all }: Pick<Ranking, 'files'>, { kind }: JudgedGoal): readonly string[] {
  const files = isAside(all[0]?.path ?? '') ? all : all.filter(({ path }) => !isAside(path))
  const [best] = files
  if (best === undefined || best.reason.startsWith('weak guess') || OF_ALL.has(kind)) return []
  return files
    .slice(0, TESTED_MAX)
    .filter(({ score }) => score >= best.score * TESTED_SCORE)
    .map(({ path }) => path)
}

const TESTED_MAX = 3
const TESTED_SCORE = 0.6
/** Kinds whose changes may be anywhere. */
const OF_ALL: ReadonlySet<JudgedGoal['kind']> = new Set([
  'rename',
  'dependency-update',
  'chore',
  'failing-command',
  'rollout',
])

/** Words such as 'lint' match the linter instead of what it complains about, so only named files count. */
const aboutFiles = (ranking: Ranking, { files }: GoalWords, { kind }: JudgedGoal): Ranking =>
  kind === 'failing-command' || kind === 'rollout'
    ? { ...ranking, files: ranking.files.filter(({ path }) => files.includes(path)), tests: [] }
    : kind === 'dependency-update'
      ? { ...ranking, files: ranking.files.filter(({ reason }) => !reason.startsWith('weak guess')) }
      : ranking

function filesOfCommands(
  { goal, toolchain, ends }: CommandStepsInput,
  paths: readonly string[],
  { not, also }: FollowedComments,
  causes: readonly LookedCommand[],
): Pick<WriteScopes, 'sources' | 'tests'> {
  const named = goal.files.filter(file => paths.includes(file) && !not.includes(file))
  if (named.length > 0) return { sources: [...named, ...also], tests: [] }
  const today = scopeToday(causes, ends)?.filter(file => !not.includes(file)) ?? []
  if (today.length > 0) return { sources: [...today, ...also], tests: [] }
  const commands = ends.flatMap(({ command }) => command ?? [])
  const left = [...not, ...toolchain.tools]
  return {
    sources: [...commandScope({ commands, languages: toolchain.languages, paths, not: left }), ...also],
    tests: [],
  }
}

/** Applies comments: named files first, excluded ones removed. */
function placed(ranking: Ranking, { also, not }: FollowedComments): Ranking {
  const [best] = ranking.files
  const named = also.filter(path => roleOf(path) !== 'test')
  const first = named.map(path => ({ path, score: best?.score ?? 1, reason: 'named in a comment on the draft' }))
  const files = [...first, ...ranking.files.filter(({ path }) => !named.includes(path))]
  const isAllowed = ({ path }: { readonly path: string }): boolean => !not.includes(path)
  return { ...ranking, files: files.filter(isAllowed), tests: ranking.tests.filter(isAllowed) }
}

function analysisOf(goal: GoalWords, toolchain: Toolchain, ranking: Ranking, looked: Looked | undefined): GoalAnalysis {
  const { languages, packageManagers, commands } = toolchain
  const { quoted, files, symbols, errors, frames } = goal
  return {
    languages,
    packageManagers,
    files: ranking.files,
    tests: ranking.tests,
    commands,
    ...(looked === undefined ? {} : { looked }),
    mentions: { quoted, files, symbols, errors, frames },
    limits: ranking.limits,
  }
}

/** Comments on tasks that the plan does not have, or that no worker would read. */
function unread(
  { unfollowed, instructions }: FollowedComments,
  comments: readonly PlanComment[],
  { tasks }: PlanDefinition,
): PlanProposal['unfollowed'] {
  const ids = new Set(tasks.map(({ id }) => id as string))
  const isRead = tasks.some(({ instruction }) => instruction !== undefined)
  const reported = new Set(unfollowed.map(({ comment }) => comment))
  return comments.flatMap(comment => {
    if (reported.has(comment)) return []
    if (comment.task !== null && !ids.has(comment.task))
      return [{ comment, why: `the draft has no task '${comment.task}'` }]
    if (comment.task === null && !isRead && instructions.has(comment))
      return [{ comment, why: 'no task of this plan has instructions, so a comment cannot change it: edit the plan' }]
    return []
  })
}

const risksOf = (steps: readonly WorkStep[], irreversible: JudgedGoal['irreversible']): readonly string[] => [
  ...new Set(steps.flatMap(({ risks = [] }) => risks)),
  ...irreversible.map(({ word, said }) => `'${said}' is irreversible (task ${word}, after an approval)`),
]

function rationaleOf(
  judged: JudgedGoal,
  { files }: GoalAnalysis,
  ends: readonly EndCheck[],
  similar: readonly PastPlan[],
): string {
  const [top] = files
  return [
    `Recognised as ${KIND_WORDS[judged.kind]} (${judged.because}).`,
    top === undefined
      ? ''
      : top.reason.startsWith('weak guess')
        ? `The place is a guess: ${top.path}. The goal names no file that exists here.`
        : `The work most likely begins at ${top.path} (${top.reason}).`,
    ends.length === 0
      ? 'The goal says nothing that a command could check, so the review decides.'
      : `It is done when ${ends.map(({ text }) => text).join(' and ')}; the baseline ${ends.some(({ command }) => command !== undefined) ? 'records how that ends today' : 'shows that this fails today'}.`,
    similar.length === 0
      ? ''
      : `Similar plans before: ${similar.map(({ name, status }) => `${name} (${status})`).join(', ')}.`,
  ]
    .filter(sentence => sentence !== '')
    .join(' ')
}

const SIMILAR_MAX = 3

/** Past plans whose goals have at least half of the significant words of this one. */
function similarPlans({ terms }: GoalWords, past: readonly PastPlan[]): readonly PastPlan[] {
  if (terms.length < 2) return []
  return past
    .map(plan => {
      const theirs = new Set(readGoal(plan.goal).terms.map(({ stem }) => stem))
      return { plan, shared: terms.filter(({ stem }) => theirs.has(stem)).length / terms.length }
    })
    .filter(({ shared }) => shared >= 0.5)
    .sort((a, b) => b.shared - a.shared)
    .slice(0, SIMILAR_MAX)
    .map(({ plan }) => plan)
}

interface ContextInput {
  readonly goal: GoalWords
  readonly judged: JudgedGoal
  readonly analysis: GoalAnalysis
  readonly unsure: Unsure
  readonly risks: readonly string[]
  readonly rationale: string
  readonly similar: readonly PastPlan[]
  readonly state: Awaited<ReturnType<RepositoryView['state']>>
  readonly comments: NonNullable<PlanRequest['comments']>
}

/** The context of the draft, stored with the plan to explain it later. */
function contextOf(input: ContextInput): JsonObject {
  const { judged, analysis, unsure, risks, rationale, similar, state, comments } = input
  const context = {
    planner: NAME,
    kind: judged.kind,
    rationale,
    assumptions: unsure.assumptions,
    questions: unsure.questions.map(({ text }) => text),
    risks,
    constraints: judged.constraints,
    files: analysis.files.slice(0, 10),
    tests: analysis.tests.slice(0, 5),
    commands: analysis.commands,
    looked: analysis.looked,
    languages: analysis.languages.slice(0, 5),
    repository: state,
    limits: analysis.limits,
    similar: similar.map(({ name }) => name),
    comments,
  }
  return JSON.parse(JSON.stringify(context)) as { readonly [key: string]: Json }
}

const workOf = ({ tasks }: PlanDefinition): number => tasks.reduce((sum, { estimateMs = 0 }) => sum + estimateMs, 0)
