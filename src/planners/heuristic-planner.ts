// The embedded planner: reads the goal and the repository, asks no model, and costs nothing. It finds the place, the commands and a
// check for the end, fills the steps of that kind of goal, and says what it assumed and what it does not know.

import type { Json, JsonObject } from '../domain/json.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import { findToolchain, type Toolchain } from './commands.ts'
import { composePlan, type RenameCommand } from './compose-plan.ts'
import { type FollowedComments, readComments, type TaskKind } from './draft-comments.ts'
import { type EndCheck, endChecks, holdsWord, isSearched, renameNames } from './end-checks.ts'
import { type GoalWords, readGoal } from './goal.ts'
import { type JudgedGoal, judgeGoal, saysNothing } from './goal-kind.ts'
import { protectedPaths } from './goal-limits.ts'
import { KIND_WORDS, missingNames, openQuestions, type Unsure } from './open-questions.ts'
import type {
  FoundCommand,
  GoalAnalysis,
  PastPlan,
  PlanComment,
  Planner,
  PlanProposal,
  PlanRequest,
  RepositoryFile,
  RepositoryView,
} from './planner.ts'
import { type FileRole, roleOf } from './ranking/file-role.ts'
import { type Ranking, rankFiles } from './ranking/rank-files.ts'
import { splitGoal } from './split-goal.ts'
import { WORK_STEPS } from './work-steps.ts'
import { writeScopes } from './write-scopes.ts'

export function heuristicPlanner(): Planner {
  return { name: NAME, propose, split: async ({ goal }) => splitGoal(goal) }
}

const NAME = 'heuristic'

export const isUnclearGoal = async (goal: string, repository: Pick<RepositoryView, 'files'>): Promise<boolean> =>
  saysNothing(
    readGoal(goal),
    (await repository.files()).map(({ path }) => path),
  )

/** Documents of a repository that are read beside its sources, because goals name what stands in them. */
const READ_BESIDE =
  /^(readme\.\w+|package\.json|requirements.*\.txt|pyproject\.toml|go\.mod|Cargo\.toml|Gemfile|setup\.(py|cfg)|composer\.json)$/i

async function propose({ goal: text, repository, comments = [], past = [] }: PlanRequest): Promise<PlanProposal> {
  const goal = readGoal(text)
  const files = await repository.files()
  const paths = files.map(({ path }) => path)
  const judged = judgeGoal(goal, { sourceFiles: paths.filter(path => roleOf(path) === 'source').length })
  const [ranking, found, state, beside] = await Promise.all([
    rankFiles(repository, goal, { roles: rolesFor(judged) }),
    findToolchain(repository),
    repository.state(),
    readBeside(repository, paths, goal),
  ])
  const read = new Map([...ranking.texts, ...beside])
  const texts = judged.kind === 'rename' ? new Map([...read, ...(await namedIn(repository, files, goal, read))]) : read
  const spared = protectedPaths(goal.limits, paths).filter(path => !goal.files.includes(path))
  const command = judged.kind === 'rename' ? await renameCommand(repository, goal, texts) : null
  const tasks = new Map<string, TaskKind>([
    ...OTHER_TASKS,
    ...WORK_STEPS[judged.kind].map(({ id }) => [id, 'external'] as const),
  ])
  if (command !== null) tasks.set('rename', 'command')
  const said = readComments(comments, { paths, tasks })
  const followed = { ...said, not: [...said.not, ...spared] }
  const toolchain = await withTestCommand(repository, found, followed)
  const analysis = analysisOf(goal, toolchain, placed(ranking, followed))
  const ends = endChecks({ goal, kind: judged.kind, toolchain, paths, texts, not: followed.not })
  const renaming = withoutFiles(command, followed.not)
  const history = await repository.history()
  const scopes = writeScopes({ goal, judged, analysis, paths, texts, history, followed })
  const missing = await missingNames(repository, { goal, judged, paths, texts })
  const unsure = openQuestions({ goal, judged, toolchain, analysis, ends, texts, missing })
  const similar = similarPlans(goal, past)
  const risks = [
    ...risksOf(judged),
    ...similar
      .filter(({ status }) => status === 'failed')
      .map(({ name }) => `the plan '${name}' with a similar goal failed`),
  ]
  const rationale = rationaleOf(judged, analysis, ends, similar)
  const context = contextOf({ goal, judged, analysis, unsure, risks, rationale, similar, state, comments })
  const parts = { goal, judged, analysis, ends, scopes, renaming, context, ...unsure, ...followed }
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
    irreversible: judged.irreversible.map(({ word, said }) => ({ task: word, why: `the goal says '${said}'` })),
    estimate: { workMs: workOf(definition), cost: 'planning is free; the costs of agents are not included' },
    analysis,
    unfollowed: [...followed.unfollowed, ...unread(followed, comments, all)],
  }
}

/** Tasks that are no work steps, as comments may name them. */
const OTHER_TASKS: readonly (readonly [string, TaskKind])[] = [
  ['clarify', 'gate'],
  ['baseline', 'other'],
  ['tests-before', 'other'],
  ['repeat-before', 'other'],
  ['repeat-after', 'other'],
  ['safe-point', 'other'],
  ['lint', 'other'],
  ['build', 'other'],
  ['review', 'gate'],
  ['set-up', 'external'],
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
  if (kind === 'flaky-test') return ['source', 'test']
  return ['source']
}

async function readBeside(
  repository: RepositoryView,
  paths: readonly string[],
  goal: GoalWords,
): Promise<ReadonlyMap<string, string>> {
  const wanted = paths.filter(path => READ_BESIDE.test(path) || goal.files.includes(path)).slice(0, 30)
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

/** What somebody named goes first, what they ruled out goes. */
function placed(ranking: Ranking, { also, not }: FollowedComments): Ranking {
  const [best] = ranking.files
  const named = also.filter(path => roleOf(path) !== 'test')
  const first = named.map(path => ({ path, score: best?.score ?? 1, reason: 'named in a comment on the draft' }))
  const files = [...first, ...ranking.files.filter(({ path }) => !named.includes(path))]
  const isAllowed = ({ path }: { readonly path: string }): boolean => !not.includes(path)
  return { ...ranking, files: files.filter(isAllowed), tests: ranking.tests.filter(isAllowed) }
}

function analysisOf(goal: GoalWords, toolchain: Toolchain, ranking: Ranking): GoalAnalysis {
  const { languages, packageManagers, commands } = toolchain
  const { quoted, files, symbols, errors, frames } = goal
  return {
    languages,
    packageManagers,
    files: ranking.files,
    tests: ranking.tests,
    commands,
    mentions: { quoted, files, symbols, errors, frames },
    limits: ranking.limits,
  }
}

/** Files that are no source, and hold one of the two names of a rename all the same: scripts, documents, settings. */
async function namedIn(
  repository: RepositoryView,
  files: readonly RepositoryFile[],
  goal: GoalWords,
  read: ReadonlyMap<string, string>,
): Promise<readonly (readonly [path: string, text: string])[]> {
  const names = renameNames(goal)
  if (names === null) return []
  const others = files
    .filter(({ path, bytes }) => !read.has(path) && bytes <= SEARCHED_BYTES_MAX && isSearched(path))
    .map(({ path }) => path)
    .slice(0, SEARCHED_MAX)
  const texts = await repository.read(others)
  return others.flatMap((path, at) => {
    const text = texts[at] ?? ''
    return holdsWord(text, names.old) || holdsWord(text, names.new) ? [[path, text] as const] : []
  })
}

const SEARCHED_MAX = 5_000
const SEARCHED_BYTES_MAX = 500_000

/** `perl` puts another word in the place of whole words, in the files that hold it now. */
async function renameCommand(
  repository: RepositoryView,
  goal: GoalWords,
  texts: ReadonlyMap<string, string>,
): Promise<RenameCommand | null> {
  const names = renameNames(goal)
  if (names === null || !IDENTIFIER.test(names.old) || !IDENTIFIER.test(names.new)) return null
  const holding = [...texts].filter(([, text]) => holdsWord(text, names.old)).map(([path]) => path)
  // Where the new name is taken, somebody has to look at each use.
  const isTaken = [...texts.values()].some(text => holdsWord(text, names.new))
  if (holding.length === 0 || holding.length > RENAMED_MAX || isTaken) return null
  if ((await repository.findProgram('perl')) === null) return null
  const files = holding.sort()
  return { run: ['perl', '-pi', '-e', `s{(?<![\\w\\$/])${names.old}(?![\\w\\$])}{${names.new}}g`, ...files], files }
}

/** Files that somebody wants left alone keep the old name. */
function withoutFiles(command: RenameCommand | null, not: readonly string[]): RenameCommand | null {
  if (command === null) return null
  const files = command.files.filter(path => !not.includes(path))
  const before = command.run.slice(0, command.run.length - command.files.length)
  return files.length === 0 ? null : { run: [...before, ...files], files }
}

const IDENTIFIER = /^[A-Za-z_]\w*$/
const RENAMED_MAX = 200

/** Comments on tasks that the plan does not have, or on a plan in which nobody reads instructions. */
function unread(
  { unfollowed, instructions }: FollowedComments,
  comments: readonly PlanComment[],
  { tasks }: PlanDefinition,
): PlanProposal['unfollowed'] {
  const ids = new Set(tasks.map(({ id }) => id as string))
  const isRead = tasks.some(({ instruction }) => instruction !== undefined)
  const told = new Set(unfollowed.map(({ comment }) => comment))
  return comments.flatMap(comment => {
    if (told.has(comment)) return []
    if (comment.task !== null && !ids.has(comment.task))
      return [{ comment, why: `the draft has no task '${comment.task}'` }]
    if (comment.task === null && !isRead && instructions.has(comment))
      return [{ comment, why: 'no task of this plan has instructions, so a comment cannot change it: edit the plan' }]
    return []
  })
}

const risksOf = ({ kind, irreversible }: JudgedGoal): readonly string[] => [
  ...new Set(WORK_STEPS[kind].flatMap(({ risks = [] }) => risks)),
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
      ? 'The goal says nothing that a command could check, so the plan asks a person.'
      : `It is done when ${ends.map(({ text }) => text).join(' and ')}; the baseline shows that this fails today.`,
    similar.length === 0
      ? ''
      : `Similar plans before: ${similar.map(({ name, status }) => `${name} (${status})`).join(', ')}.`,
  ]
    .filter(sentence => sentence !== '')
    .join(' ')
}

const SIMILAR_MAX = 3

/** Plans whose goals share most of the words that matter. */
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

/** The context a plan was made in, kept with it, so that one can still ask why it is as it is. */
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
    languages: analysis.languages.slice(0, 5),
    repository: state,
    limits: analysis.limits,
    similar: similar.map(({ name }) => name),
    comments,
  }
  return JSON.parse(JSON.stringify(context)) as { readonly [key: string]: Json }
}

const workOf = ({ tasks }: PlanDefinition): number => tasks.reduce((sum, { estimateMs = 0 }) => sum + estimateMs, 0)
