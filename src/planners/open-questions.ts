// What a draft takes for granted, and what it asks before work begins.

import type { Toolchain } from './commands.ts'
import type { PlanQuestion } from './compose-plan.ts'
import { type EndCheck, namedDependency, renameNames, routeIn } from './end-checks.ts'
import type { GoalWords } from './goal.ts'
import type { JudgedGoal } from './goal-kind.ts'
import type { GoalAnalysis, RepositoryView } from './planner.ts'
import { roleOf } from './ranking/file-role.ts'
import { WORK_STEPS } from './work-steps.ts'
import type { ScopeInput } from './write-scopes.ts'

export interface Judging {
  readonly goal: GoalWords
  readonly judged: JudgedGoal
  readonly toolchain: Toolchain
  readonly analysis: GoalAnalysis
  readonly ends: readonly EndCheck[]
  readonly texts: ReadonlyMap<string, string>
  /** What the goal names and the repository does not have. */
  readonly missing: readonly string[]
}

export interface Unsure {
  readonly assumptions: readonly string[]
  readonly questions: readonly PlanQuestion[]
}

const QUESTIONS_MAX = 4

/** What is taken for granted, and what is asked. Whatever has no check for its end is asked about. */
export function openQuestions({ goal, judged, toolchain, analysis, ends, texts, missing }: Judging): Unsure {
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
      else if (named.version === null) assumptions.push(`the newest ${named.name} that the tests accept is wanted`)
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
    case 'failing-command':
      assumptions.push(
        'the fault is in the source: settings of the tools, their scripts and the workflow files may not be changed',
        'which files it is in shows when the commands have run, so all files that they look at may be written',
      )
      break
    case 'security':
      assumptions.push('nothing about this is told outside before it is fixed')
      break
    default:
      break
  }
  if (top?.reason.startsWith('weak guess') === true && judged.kind !== 'dependency-update')
    questions.push({ text: 'Which file or part is meant? The goal names none that exists here.', otherwise: top.path })
  else if (top !== undefined) assumptions.push(`the place is ${top.path} (${top.reason})`)
  const changes = WORK_STEPS[judged.kind].some(({ scope }) => scope === 'both' || scope === 'tests')
  if (changes && test === null && !['empty-repository', 'failing-command', 'dependency-update'].includes(judged.kind))
    questions.push({ text: 'How is this tested? No test command was found.', otherwise: 'by looking at it' })
  if (changes && test?.exists === false)
    assumptions.push(`the tests are run with '${test.run.join(' ')}', but ${test.missing}`)
  else if (changes && test !== null) assumptions.push(`the tests are run with '${test.run.join(' ')}' (${test.from})`)
  // Asked last: it is asked only where nothing above asks what is meant.
  if (ends.length === 0 && judged.kind === 'failing-command')
    questions.push({ text: 'Which command fails? No command of that name was found in this repository.' })
  else if (ends.length === 0 && questions.length === 0 && judged.kind !== 'rollout')
    questions.push({
      text: 'How can you tell that it is done? Name a command, or what you will look at.',
      otherwise: test === null ? 'whoever asked looks at it' : 'the new test passes, and all others',
    })
  return { assumptions, questions: questions.slice(0, QUESTIONS_MAX) }
}

export const KIND_WORDS: { readonly [kind in JudgedGoal['kind']]: string } = {
  bug: 'a bug',
  'failing-test': 'a failing test',
  'failing-command': 'a check that fails',
  rollout: 'a rollout in stages',
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

/** Names in quotes and files that the goal speaks of and nothing here has, each as a sentence. */
export async function missingNames(
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
