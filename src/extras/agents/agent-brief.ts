// The prompt of an attempt: goal, task, criteria, write scope, decisions of people, and results of earlier attempts. Quoted text
// is indented under a heading of ours.

import { agentRequest } from '../../domain/plan-rules/agent-request.ts'
import { criterionText } from '../../domain/plan-rules/criterion-text.ts'
import type { EarlierAttempt } from '../../domain/views/board.ts'
import type { AgentFacts, Attempt } from '../../runners/runner.ts'
import { escapeForTerminal } from '../../safety/text/terminal.ts'
import { answerText, reportText } from './agent-report.ts'

export interface BriefOptions {
  readonly facts: AgentFacts
  readonly write: readonly string[] | null
  readonly isResumed: boolean
  readonly isBoxed: boolean
  readonly hasPlanTools: boolean
  /** Why the answer at the end of its last turn was refused. */
  readonly refused?: string | undefined
}

export function agentBrief(attempt: Attempt, options: BriefOptions): string {
  const { definition } = attempt
  const { facts } = options
  const { title, description, accept = [], postconditions = [] } = definition
  const { answer = null } = agentRequest(attempt.action) ?? {}
  const criteria = [...accept, ...postconditions].map(criterion => criterionText(criterion))
  return [
    ...(options.refused !== undefined
      ? [refusedText(options.refused)]
      : options.isResumed
        ? [resumedText(attempt, facts)]
        : []),
    definition.instruction ?? '',
    ...section('The goal of the whole plan', facts.goal === null ? [] : [facts.goal]),
    ...section(
      'Your task',
      [[attempt.task, title].filter(word => word !== undefined).join(': '), description ?? ''].filter(Boolean),
    ),
    ...section('What it was given', inputsText(attempt)),
    ...section('You are done when all of this is true. Planfold checks it itself', criteria),
    ...section('What you may write', writeText(options)),
    ...(facts.judged ?? []).flatMap(({ title, text }) => section(title, [text])),
    ...section('How to end', [...reportText(definition), ...(answer === null ? [] : [answerText(answer)])]),
    ...section('What people decided so far', facts.decisions),
    ...section('Why it was sent back to you', attempt.feedback === undefined ? [] : [attempt.feedback]),
    ...section('What was said about your earlier work on it', attempt.lessons ?? []),
    ...section('What was said about earlier work on these files, in other plans', facts.learnt ?? []),
    ...section('How earlier attempts ended', facts.earlier.map(earlierText)),
    ...section('Files that are changed since this task began', changedText(facts)),
    ...(options.hasPlanTools ? [PLAN_TOOLS] : []),
  ]
    .filter(part => part !== '')
    .join('\n\n')
}

const PLAN_TOOLS =
  'With the tools plan_read and plan_write you can read the plan, note what you found, and ask a person. You cannot decide gates. Do not report this task: its checks run when you end your turn.'

const refusedText = (why: string): string =>
  `Your last message was not the answer that was asked for (${why}). Do no more work: answer again, with that JSON object alone.`

const resumedText = ({ conversation, attempt }: Attempt, { changed }: AgentFacts): string =>
  conversation !== undefined && attempt === 1
    ? 'Your work was reviewed, and changes are asked for: see why it was sent back to you. What you had written is still there.'
    : changed.paths.length === 0
      ? 'You were interrupted. No file was changed since your task began; continue from here.'
      : 'You were interrupted. What you had written is still there, as far as it is listed below; look at it before you continue.'

function writeText({ write, isBoxed }: BriefOptions): readonly string[] {
  const scope =
    write === null ? 'the whole workspace' : write.length === 0 ? 'nothing: only read' : `only ${write.join(', ')}`
  return [
    scope,
    'never: .git, settings of agents, editors and shells, build services, instruction files such as AGENTS.md, and the folder of Planfold',
    isBoxed
      ? 'Other paths are read-only for you, and there is no network beyond what the plan allows. Do not work around it: files that you create elsewhere are removed, and the attempt fails.'
      : 'Do not write anywhere else.',
  ]
}

function inputsText({ inputs }: Attempt): readonly string[] {
  return Object.entries(inputs).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
}

function earlierText({ attempt, how, why, unmet, left }: EarlierAttempt): string {
  const words = how === 'lost' ? `was cut off (${why})` : `failed: ${why}`
  const missing = unmet.map(
    ({ criterion, evidence }) => `not met: ${criterion}${evidence === null ? '' : ` (${evidence})`}`,
  )
  const files =
    left === null || left.paths.length === 0 ? [] : [`it had changed: ${left.paths.join(', ')}${more(left.more)}`]
  return [`attempt ${attempt} ${words}`, ...missing, ...files].join('\n')
}

const changedText = ({ changed }: AgentFacts): readonly string[] =>
  changed.paths.length === 0 ? [] : [`${changed.paths.join(', ')}${more(changed.more)}`]

const more = (count: number): string => (count === 0 ? '' : ` and ${count} more`)

/** Indents quoted text, so that it cannot pass for a heading of ours. */
function section(title: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return []
  const quoted = lines.flatMap(text => text.slice(0, LINE_MAX).split('\n')).map(line => `  ${escapeForTerminal(line)}`)
  return [`## ${title}\n${quoted.join('\n')}`]
}

const LINE_MAX = 20_000
