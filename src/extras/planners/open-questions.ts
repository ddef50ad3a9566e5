// The assumptions of a draft, and the questions it asks before work begins.

import type { PlanQuestion } from './compose-plan.ts'
import { isIntroduced, namedDependency, routeIn } from './end-checks.ts'
import type { Toolchain } from './found-commands.ts'
import type { GoalWords } from './goal.ts'
import type { IrreversibleStep, JudgedGoal } from './goal-kind.ts'
import { protectedPaths } from './goal-limits.ts'
import type { EndCheck } from './kinds/end-check.ts'
import { renameNames } from './kinds/rename.ts'
import { holdsWord } from './kinds/word-search.ts'
import { failingToday, type GoalAnalysis, type RepositoryView } from './planner.ts'
import { languageOf, roleOf } from './ranking/file-role.ts'
import type { WorkStep } from './work-steps.ts'
import type { ScopeInput } from './write-scopes.ts'

export interface Judging {
  readonly goal: GoalWords
  readonly judged: JudgedGoal
  readonly toolchain: Toolchain
  readonly analysis: GoalAnalysis
  readonly ends: readonly EndCheck[]
  readonly steps: readonly WorkStep[]
  readonly texts: ReadonlyMap<string, string>
  /** Names in the goal that the repository does not contain. */
  readonly missing: readonly string[]
}

export interface Unsure {
  readonly assumptions: readonly string[]
  readonly questions: readonly PlanQuestion[]
}

const QUESTIONS_MAX = 4

/**
 * Only what has no usual answer is asked, because every question stops the plan until it is answered; the rest is assumed and
 * reported.
 */
export function openQuestions({ goal, judged, toolchain, analysis, ends, steps, texts, missing }: Judging): Unsure {
  const { conflict, rival, language, doubts, deadline } = judged
  const assumptions: string[] = [`this is ${KIND_WORDS[judged.kind]} (${judged.because})`, ...missing]
  const questions: PlanQuestion[] = []
  const { test, allTests } = toolchain.commands
  const [top] = analysis.files
  if (conflict !== null)
    questions.push({ text: `The goal says '${conflict[0]}' and also '${conflict[1]}'. Which of the two applies?` })
  for (const { word, said } of doubts)
    questions.push({
      text: `Does '${said}' mean that it should really ${REAL_WORDS[word]}, or only that the code changes?`,
    })
  if (rival?.isEqual === true && conflict === null)
    questions.push({
      text: `Is this ${KIND_WORDS[judged.kind]} (${judged.because}) or ${KIND_WORDS[rival.kind]} (${rival.because})?`,
      otherwise: KIND_WORDS[judged.kind],
    })
  else if (rival !== null) assumptions.push(`it is not ${KIND_WORDS[rival.kind]}, though ${rival.because}`)
  if (language !== null)
    assumptions.push(`the goal is written in ${language}; only its names and usual verbs were understood`)
  if (deadline !== null)
    assumptions.push(
      deadline.at === null
        ? `'${deadline.said}' is not enforced: it is no whole date, such as 2026-12-01`
        : `deadline: ${deadline.at} ('${deadline.said}')`,
    )
  const kind = kindQuestion({ goal, judged, analysis, texts })
  if (kind?.ask !== undefined) questions.push(kind.ask)
  if (kind?.assume !== undefined) assumptions.push(kind.assume)
  if (top?.reason.startsWith('weak guess') === true && !['empty-repository', 'dependency-update'].includes(judged.kind))
    assumptions.push(`the place is a guess, ${top.path}: the goal names no file that exists here`)
  else if (top !== undefined) assumptions.push(`the place is ${top.path} (${top.reason})`)
  const changes = steps.some(({ scope }) => scope === 'both' || scope === 'holding' || scope === 'tests')
  if (changes && test === null && !['empty-repository', 'failing-command'].includes(judged.kind))
    assumptions.push('whoever reviews it checks that it works: no test command was found')
  if (changes && test?.exists === false)
    assumptions.push(`the tests are run with '${test.run.join(' ')}', but ${test.missing}`)
  else if (changes && test !== null)
    assumptions.push(
      `the tests are run with '${test.run.join(' ')}' (${test.from})${allTests === undefined ? '' : `, at the end all with '${allTests.run.join(' ')}'`}`,
    )
  const hasNewTest = steps.some(({ proof }) => proof === 'red')
  if (ends.length === 0 && judged.kind === 'failing-command')
    questions.push({ text: 'Which command fails? No command of that name was found in this repository.' })
  if (ends.length === 0 && hasNewTest && test !== null)
    assumptions.push('it is done when the new test passes, and all others still do')
  return { assumptions, questions: questions.slice(0, QUESTIONS_MAX) }
}

const REAL_WORDS: { readonly [word in IrreversibleStep['word']]: string } = {
  push: 'be pushed',
  deploy: 'be deployed or published',
  delete: 'delete data',
  migrate: 'migrate data',
}

function kindQuestion({ goal, judged, analysis, texts }: Pick<Judging, 'goal' | 'judged' | 'analysis' | 'texts'>): {
  readonly ask?: PlanQuestion
  readonly assume?: string
} | null {
  switch (judged.kind) {
    case 'vague':
      return {
        ask: { text: 'What should be different afterwards, and for whom? Name one thing that bothers you today.' },
      }
    case 'empty-repository': {
      const named = TECHNOLOGY.exec(goal.text)?.[0] ?? analysis.languages[0]
      return named === undefined
        ? { ask: { text: 'Which language and which tools should it be built with?' } }
        : { assume: `it is built with ${named}, and nothing exists elsewhere that should be brought in` }
    }
    case 'performance':
      return { assume: 'clearly faster, or smaller, than before by the same measurement is enough' }
    case 'research':
      return { assume: 'the answer is for information; nothing is changed' }
    case 'dependency-update': {
      const named = namedDependency({ goal, texts })
      if (named?.version === null)
        return { assume: `${named.name} is updated to the newest version that the tests accept` }
      if (named !== null) return null
      return UPDATED.test(goal.text)
        ? { assume: 'what it names is updated to that version, or to the newest one that the tests accept' }
        : { ask: { text: 'Which dependency is to be updated, and to which version?' } }
    }
    case 'rename': {
      const names = renameNames(goal)
      const left = protectedPaths(goal.limits, [...texts.keys()]).filter(
        path => languageOf(path) !== null && names !== null && holdsWord(texts.get(path) ?? '', names.old),
      )
      if (names !== null && left.length > 0)
        return {
          ask: {
            text: `${left.join(', ')} uses ${names.old} and is left as it is. Does ${names.old} stay, as another name for ${names.new}?`,
            otherwise: 'yes, it stays as an alias',
          },
        }
      return names === null
        ? { ask: { text: 'What is to be renamed, and to what?' } }
        : {
            assume: `every use of the word ${names.old} in the files found means the same thing; files keep their names`,
          }
    }
    case 'endpoint':
      return routeIn(goal) === null
        ? { assume: 'its method and path follow those of the endpoints that are there' }
        : null
    case 'failing-command':
      if (failingToday(analysis.looked).length > 0)
        return { assume: 'the fault is in the source, not in settings or workflow files' }
      return {
        assume:
          'the fault is in the source, not in settings or workflow files; which files shows when the commands have run, so all that they look at may be written',
      }
    case 'security':
      return { assume: 'nothing about this is told outside before it is fixed' }
    default:
      return null
  }
}

/** It says what to update: everything, or a named dependency. */
const UPDATED =
  /\b(?:dependencies|deps|packages|lock ?file|audit)\b|\b(?:bump|upgrad|updat|downgrad|pin)(?:e?[ds]?|ing)\s+(?:up\s+)?(?:to\s+(?=[A-Z]))?(?!(?:the|a|an|our|to|it|version|everything)\b)[@\w]/i

/** Technologies for a new project. */
const TECHNOLOGY =
  /\b(?:python|typescript|javascript|node(?:\.?js)?|deno|bun|react|vue|svelte|next\.?js|django|flask|fastapi|rails|ruby|rust|golang|go (?=program|tool|cli|server|service|module|package)|java|kotlin|swift|c\+\+|c#|\.net|php|laravel|elixir|phoenix|haskell|scala|clojure|zig|bash|shell script|html)(?![\w+#])/i

export const KIND_WORDS: { readonly [kind in JudgedGoal['kind']]: string } = {
  bug: 'a bug',
  'failing-test': 'a failing test',
  'failing-command': 'a check that fails',
  rollout: 'a rollout in stages',
  rename: 'a rename',
  'dependency-update': 'an update of a dependency',
  chore: 'a change of settings, builds or supported versions',
  'flaky-test': 'a flaky test',
  docs: 'documentation',
  tests: 'tests for what is there',
  research: 'a question to be answered',
  refactor: 'a refactoring',
  endpoint: 'a new endpoint',
  performance: 'speed or memory',
  security: 'a security problem',
  feature: 'something new or different',
  'empty-repository': 'a new project',
  vague: 'a request that is not clear yet',
  contradiction: 'a goal that contradicts itself',
}

/** Quoted names and files of the goal that do not exist here, each as a sentence. */
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
    name => name !== renamedTo && !isPath(name) && ![...texts.values()].some(text => holdsName(text, name)),
  )
  if (unknown.length === 0 || unread.length > BESIDE_MAX) return []
  const rest = await repository.read(unread)
  const isNew = MAKES_NEW.has(judged.kind)
  return unknown
    .filter(name => !rest.some(text => text !== null && holdsName(text, name)))
    .slice(0, MISSING_MAX)
    .map(
      name =>
        `\`${name}\` is not in this repository${isNew && (goal.files.includes(name) || isIntroduced(goal, name)) ? '; it is assumed to be something to be created' : ''}`,
    )
}

/** `Response#to_hash` is written as both of its parts, one inside the other. */
const holdsName = (text: string, name: string): boolean =>
  text.includes(name) ||
  (/::|#|\./.test(name) &&
    name
      .split(/::|#|\./)
      .slice(-2)
      .every(part => text.includes(part)))

const BESIDE_MAX = 500
const MISSING_MAX = 5
const MAKES_NEW: ReadonlySet<JudgedGoal['kind']> = new Set(['feature', 'endpoint', 'refactor'])
