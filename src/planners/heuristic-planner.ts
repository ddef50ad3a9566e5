// The embedded planner: reads the goal and the repository, asks no model, and costs nothing. It finds the place, the commands and a
// check for the end, fills the steps of that kind of goal, and says what it assumed and what it does not know.

import type { Json, JsonObject } from '../domain/json.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import { findToolchain, type Toolchain } from './commands.ts'
import { composePlan, type PlanQuestion, type RenameCommand, type WriteScopes } from './compose-plan.ts'
import { type FollowedComments, readComments, type TaskKind } from './draft-comments.ts'
import {
  docsPage,
  type EndCheck,
  endChecks,
  holdsWord,
  isSearched,
  namedDependency,
  renameNames,
  routeIn,
} from './end-checks.ts'
import { type GoalWords, readGoal } from './goal.ts'
import { type JudgedGoal, judgeGoal, saysNothing } from './goal-kind.ts'
import { protectedPaths } from './goal-limits.ts'
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
  const scopes = scopesOf({ goal, judged, analysis, paths, texts, followed })
  const missing = await missingNames(repository, { goal, judged, paths, texts })
  const unsure = judgementOf({ goal, judged, toolchain, analysis, ends, texts, missing })
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

interface ScopeInput {
  readonly goal: GoalWords
  readonly judged: JudgedGoal
  readonly analysis: GoalAnalysis
  readonly paths: readonly string[]
  readonly texts: ReadonlyMap<string, string>
  readonly followed: FollowedComments
}

const SOURCES_MAX = 5
/** Of the score of the first: below it a file is told, but not opened for writing. */
const LIKELY = 0.55

function scopesOf({ goal, judged, analysis, paths, texts, followed }: ScopeInput): WriteScopes {
  const [best] = analysis.files
  const likely = analysis.files.filter(({ score }) => best !== undefined && score >= best.score * LIKELY)
  const known = new Set(paths)
  const fresh = goal.files.filter(
    file => !known.has(file) && /^[\w][\w./-]*$/.test(file) && !file.includes('..') && file.includes('/'),
  )
  const rename = judged.kind === 'rename' ? renameNames(goal) : null
  const holding =
    rename === null ? [] : [...texts].filter(([, text]) => holdsWord(text, rename.old)).map(([path]) => path)
  const sources = [
    ...new Set([...holding, ...likely.slice(0, SOURCES_MAX).map(({ path }) => path), ...followed.also, ...fresh]),
  ]
  const allowed = (all: readonly string[]): readonly string[] => all.filter(path => !followed.not.includes(path))
  const page = docsPage({ goal, paths })
  const manifest = namedDependency({ goal, texts })?.manifest ?? paths.find(path => MANIFEST.test(path))
  return {
    sources: allowed(sources),
    tests: withoutSpared(testScope(analysis, paths), paths, followed.not),
    docs: allowed(page === null ? ['README.md'] : [page]),
    manifest: allowed(manifest === undefined ? ['package.json'] : [manifest, ...paths.filter(path => LOCK.test(path))]),
    new: allowed(NEW_PROJECT),
  }
}

const MANIFEST = /^(package\.json|requirements\.txt|pyproject\.toml|go\.mod|Cargo\.toml|Gemfile|composer\.json)$/
const LOCK =
  /^(package-lock\.json|pnpm-lock\.yaml|yarn\.lock|go\.sum|Cargo\.lock|poetry\.lock|uv\.lock|Gemfile\.lock|composer\.lock)$/
const NEW_PROJECT = [
  'src/**',
  'test/**',
  'tests/**',
  'README.md',
  'package.json',
  'pyproject.toml',
  'Makefile',
  '.gitignore',
]

/** The folder of the tests, where there is one; else the tests near the files. */
function testScope({ tests, languages }: GoalAnalysis, paths: readonly string[]): readonly string[] {
  const all = paths.filter(path => roleOf(path) === 'test')
  const folders = new Map<string, number>()
  for (const path of all) {
    const folder = /^(.*?(?:^|\/)(?:tests?|specs?|__tests__))\//.exec(path)?.[1]
    if (folder !== undefined) folders.set(folder, (folders.get(folder) ?? 0) + 1)
  }
  const [most] = [...folders].sort((a, b) => b[1] - a[1])
  if (most !== undefined && most[1] >= all.length / 3) return [`${most[0]}/**`]
  if (tests.length > 0) return tests.slice(0, 5).map(({ path }) => path)
  return [languages[0] === 'Python' ? 'tests/**' : 'test/**']
}

/** A folder that holds a file to be left alone becomes its other files, and a folder beside them for what is new. */
function withoutSpared(scope: readonly string[], paths: readonly string[], not: readonly string[]): readonly string[] {
  return scope.flatMap(pattern => {
    const folder = pattern.replace(/\*\*$/, '')
    const inside = paths.filter(path => path.startsWith(folder))
    if (folder === pattern) return not.includes(pattern) ? [] : [pattern]
    if (!inside.some(path => not.includes(path))) return [pattern]
    return [...inside.filter(path => !not.includes(path)).slice(0, SPELLED_OUT_MAX), `${folder}new/**`]
  })
}

const SPELLED_OUT_MAX = 100

/** Names in quotes and files that the goal speaks of and nothing here has, each as a sentence. */
async function missingNames(
  repository: RepositoryView,
  { goal, judged, paths, texts }: Pick<ScopeInput, 'goal' | 'judged' | 'paths' | 'texts'>,
): Promise<readonly string[]> {
  if (judged.kind === 'empty-repository') return []
  const renamedTo = judged.kind === 'rename' ? renameNames(goal)?.new : undefined
  const isPath = (name: string): boolean => paths.some(path => `/${path}`.endsWith(`/${name.replace(/^\.?\//, '')}`))
  const quoted = goal.quoted.filter(name => goal.symbols.includes(name) || goal.files.includes(name))
  const framed = new Set(goal.frames.map(({ file }) => file))
  const named = goal.files.filter(file => file.includes('/') && !framed.has(file))
  const unread = paths.filter(path => !texts.has(path) && ['docs', 'config', 'other'].includes(roleOf(path)))
  const unknown = [...new Set([...quoted, ...named])].filter(
    name => name !== renamedTo && !isPath(name) && ![...texts.values()].some(text => text.includes(name)),
  )
  if (unknown.length === 0 || unread.length > BESIDE_MAX) return []
  const rest = await repository.read(unread)
  const isNew = MAKES_NEW.has(judged.kind)
  return unknown
    .filter(name => !rest.some(text => text?.includes(name) === true))
    .slice(0, MISSING_MAX)
    .map(name => `\`${name}\` is not in this repository${isNew ? '; it is assumed to be something to be created' : ''}`)
}

const BESIDE_MAX = 500
const MISSING_MAX = 5
const MAKES_NEW: ReadonlySet<JudgedGoal['kind']> = new Set(['feature', 'endpoint', 'refactor'])

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

interface Judging {
  readonly goal: GoalWords
  readonly judged: JudgedGoal
  readonly toolchain: Toolchain
  readonly analysis: GoalAnalysis
  readonly ends: readonly EndCheck[]
  readonly texts: ReadonlyMap<string, string>
  /** What the goal names and the repository does not have. */
  readonly missing: readonly string[]
}

interface Unsure {
  readonly assumptions: readonly string[]
  readonly questions: readonly PlanQuestion[]
}

const QUESTIONS_MAX = 4

/** What is taken for granted, and what is asked. Whatever has no check for its end is asked about. */
function judgementOf({ goal, judged, toolchain, analysis, ends, texts, missing }: Judging): Unsure {
  const assumptions: string[] = [`this is ${KIND_WORDS[judged.kind]} (${judged.because})`, ...missing]
  const questions: PlanQuestion[] = []
  const { test } = toolchain.commands
  const [top] = analysis.files
  if (judged.conflict !== null)
    questions.push({
      text: `The goal says '${judged.conflict[0]}' and also '${judged.conflict[1]}'. Which of the two applies?`,
    })
  if (judged.language !== null) {
    assumptions.push(`the goal is written in ${judged.language}; only names and a few words of it were understood`)
    questions.push({
      text: `The goal seems to be ${judged.language}. It was recognised as: ${KIND_WORDS[judged.kind]}. Is that right, and what else does it say?`,
    })
  }
  switch (judged.kind) {
    case 'vague':
      questions.push({
        text: 'What should be different afterwards, and for whom? Name one thing that bothers you today.',
      })
      break
    case 'empty-repository':
      assumptions.push('the project begins here, and nothing exists elsewhere that should be brought in')
      questions.push({ text: 'Which language and which tools should it be built with?' })
      break
    case 'performance':
      questions.push({ text: 'What is too slow, measured how, and how fast is fast enough?' })
      break
    case 'research':
      questions.push({
        text: 'What will be decided by the answer?',
        otherwise: 'nothing yet; the answer is for information',
      })
      break
    case 'dependency-update': {
      const named = namedDependency({ goal, texts })
      if (named === null) questions.push({ text: 'Which dependency is to be updated, and to which version?' })
      else if (named.version === null)
        questions.push({
          text: `To which version of ${named.name}?`,
          otherwise: 'the newest one that the tests accept',
        })
      break
    }
    case 'rename': {
      const names = renameNames(goal)
      if (names === null) questions.push({ text: 'What is to be renamed, and to what?' })
      else
        assumptions.push(
          `every use of the word ${names.old} in the files found means the same thing; files keep their names`,
        )
      break
    }
    case 'endpoint':
      if (routeIn(goal) === null) questions.push({ text: 'Which method and path should the endpoint have?' })
      break
    case 'security':
      assumptions.push('nothing about this is told outside before it is fixed')
      break
    default:
      break
  }
  if (top?.reason.startsWith('weak guess') === true)
    questions.push({ text: 'Which file or part is meant? The goal names none that exists here.', otherwise: top.path })
  else if (top !== undefined) assumptions.push(`the place is ${top.path} (${top.reason})`)
  const changes = WORK_STEPS[judged.kind].some(({ scope }) => scope === 'both' || scope === 'tests')
  if (changes && test === null && judged.kind !== 'empty-repository')
    questions.push({ text: 'How is this tested? No test command was found.', otherwise: 'by looking at it' })
  if (changes && test?.exists === false)
    assumptions.push(`the tests are run with '${test.run.join(' ')}', but ${test.missing}`)
  else if (changes && test !== null) assumptions.push(`the tests are run with '${test.run.join(' ')}' (${test.from})`)
  // Asked last: it is asked only where nothing above asks what is meant.
  if (ends.length === 0 && questions.length === 0)
    questions.push({
      text: 'How can you tell that it is done? Name a command, or what you will look at.',
      otherwise: test === null ? 'whoever asked looks at it' : 'the new test passes, and all others',
    })
  return { assumptions, questions: questions.slice(0, QUESTIONS_MAX) }
}

const KIND_WORDS: { readonly [kind in JudgedGoal['kind']]: string } = {
  bug: 'a bug',
  'failing-test': 'a failing test',
  rename: 'a rename',
  'dependency-update': 'an update of a dependency',
  'flaky-test': 'a flaky test',
  docs: 'documentation',
  research: 'a question to be answered',
  refactor: 'a refactoring',
  endpoint: 'a new endpoint',
  performance: 'speed or memory',
  security: 'a security problem',
  feature: 'something new',
  'empty-repository': 'a new project',
  vague: 'a request that is not clear yet',
  contradiction: 'a goal that contradicts itself',
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
