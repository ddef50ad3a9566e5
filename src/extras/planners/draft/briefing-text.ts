// The instruction of a step: the step in the goal's words, comments and earlier results, where the work most likely is, and how
// to try it. Quoted text is marked or numbered line by line, so that it cannot pass for a heading of ours.

import { inScope } from '../../../safety/scope.ts'
import type { PlanParts } from '../compose-plan.ts'
import { isIntroduced, shellLine } from '../end-checks.ts'
import { FIND_OUT, type WorkStep } from '../work-steps.ts'
import { isNoted } from './change-log.ts'
import { printedToday } from './today.ts'

const FILES_TOLD = 5
const GOAL_MAX = 4_000
const LOG_MAX = 2_500

/** An output of an earlier task, by expression. */
export interface Left {
  readonly task: string
  readonly output: string
  readonly title: string
}

/** Escapes text that becomes part of a template. */
export const live = (text: string): string => text.replaceAll('${{', () => '$${{')

/** The text of an output as a quote; `(nothing)` if the task was skipped or has no output. */
export const quoteOf = ({ task, output }: Pick<Left, 'task' | 'output'>, max?: number): string =>
  `\${{ quote(${reference(task)}.outputs.${output}${max === undefined ? '' : `, ${max}`}) }}`

/** The exit status, and the output of a failure. */
function logOf({ task, output }: Left): string {
  const of = reference(task)
  return `\${{ ${of}.exit == 0 ? '> it succeeded' : quote(${of}.outputs.${output}, ${LOG_MAX}) }}`
}

const reference = (task: string): string => (/^\w+$/.test(task) ? `tasks.${task}` : `tasks['${task}']`)

/** `before`: outputs of earlier tasks, oldest first. `logs`: commands that ran before the work. */
export function instructionOf(
  parts: PlanParts,
  step: WorkStep,
  before: readonly Left[],
  logs: readonly Left[],
): string {
  const { goal, judged, questions, dropped } = parts
  const answered = questions.length === 0 || dropped.has('clarify') ? [] : questions
  const sections = [
    ...answered.flatMap(({ text }, at) => [
      '',
      live(`Asked: ${text}`),
      quoteOf({ task: 'clarify', output: `answer${at + 1}` }),
    ]),
    ...before.flatMap(left => ['', live(`From '${left.task}' (${left.title}):`), quoteOf(left)]),
  ]
  const printed = logs.flatMap(left => ['', live(`Before the work, ${left.title}:`), logOf(left)])
  const { deadline = null, unknowns = [] } = judged
  return [
    live(`${step.instruction}${notedIn(parts, step)}${beginsAt(parts, step)}`),
    '',
    live(`Goal: ${goal.text.slice(0, GOAL_MAX)}`),
    ...(step.id === FIND_OUT.id ? listed('Open points:', unknowns) : []),
    ...(deadline === null ? [] : ['', live(`Deadline: ${deadline.said}`)]),
    ...listed('Keep to this:', judged.constraints),
    ...listed('Said about the draft:', saidAbout(parts, step)),
    ...(sections.length + printed.length === 0
      ? []
      : ['', "Lines that begin with '>' quote people, tasks and commands before this one."]),
    ...sections,
    ...placesFor(parts, step).map(live),
    ...printed,
  ].join('\n')
}

const saidAbout = ({ remarks }: PlanParts, { id }: WorkStep): readonly string[] => [
  ...(remarks.get(id) ?? []),
  ...(remarks.get(null) ?? []),
]

const listed = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : ['', title, ...lines.map(text => live(`- ${text}`))]

/** Where a changing step begins: the first passage, or the test file. */
function beginsAt({ goal, analysis, places, scopes }: PlanParts, { scope, instruction }: WorkStep): string {
  const { test } = places
  if (scope === 'tests')
    return test === null || !inScope(scopes.tests, test)
      ? ''
      : ` It belongs into ${test}, or into a new file beside it.`
  const passages = places.passages.filter(({ path }) => scope === 'holding' || inScope(scopes.sources, path))
  const [first] = passages
  if (first === undefined || (scope !== 'both' && scope !== 'sources' && scope !== 'holding')) return ''
  // Plain words lead to many files and lines, so only a passage of the best file counts.
  const [best] = analysis.files
  const isNamed = goal.symbols.some(
    name => !isIntroduced(goal, name) && first.lines.join('\n').includes(name.split(/[.#:]+/).at(-1)!),
  )
  const isShown = goal.frames.length + places.causes.length > 0 || scope === 'holding'
  const isNear = analysis.files.slice(0, NEAR_MAX).some(({ path }) => path === first.path)
  const passage = isShown || (isNamed && isNear) ? first : passages.find(({ path }) => path === best?.path)
  if (passage === undefined || (best?.reason.startsWith('weak guess') === true && !isShown)) return ''
  const isList = /(^|\n)- .*$/.test(instruction)
  return `${isList ? '\n\n' : ' '}Begin at ${passage.path}:${passage.at}.`
}

/** A passage with a name from the goal counts as the place if it is in one of this many best files. */
const NEAR_MAX = 3

const notedIn = ({ places, judged }: PlanParts, step: WorkStep): string =>
  places.changeLog !== null && isNoted(step, judged.kind)
    ? ` Note it in ${places.changeLog.endsWith('/**') ? `a new file of ${places.changeLog.slice(0, -2)}` : places.changeLog}, as earlier changes are.`
    : ''

function placesFor({ analysis, places }: PlanParts, step: WorkStep): readonly string[] {
  const isTest = step.scope === 'tests'
  const ranked = isTest ? [...analysis.tests.slice(0, 2), ...analysis.files] : analysis.files
  const found = ranked.filter(({ reason }) => !reason.startsWith('weak guess'))
  const files = (found.length > 0 ? found : ranked).slice(0, FILES_TOLD)
  const { test, allTests } = analysis.commands
  const isTried = step.scope !== 'docs' && step.scope !== 'new' && test !== null
  const passages = isTest ? places.passages.slice(0, 2) : places.passages
  return [
    ...listed(
      'Most likely here:',
      files.map(({ path, reason }) => `${path} (${reason})`),
    ),
    ...(passages.length === 0 ? [] : ['', 'Passages:']),
    ...passages.flatMap(({ path, line, lines }) => [
      `${path}:${line}`,
      ...lines.map((text, at) => `${String(line + at).padStart(5)}| ${text}`.trimEnd()),
    ]),
    ...(step.scope === 'nothing' ? [] : printedToday(places.causes)),
    ...(isTried ? [''] : []),
    ...(isTried && places.oneTest !== null ? [`One file of tests alone: ${places.oneTest}`] : []),
    ...(isTried ? [`${allTests === undefined ? 'All tests' : 'Tests of the package'}: ${shellLine(test.run)}`] : []),
    ...(isTried && allTests !== undefined ? [`All tests: ${shellLine(allTests.run)}`] : []),
  ]
}

export function oneLine(text: string, max: number): string {
  const line = text.replace(/\s+/g, ' ').trim()
  const cut = line.length > max ? `${line.slice(0, max - 1)}…` : line
  return cut === '' ? 'an empty goal' : cut
}
