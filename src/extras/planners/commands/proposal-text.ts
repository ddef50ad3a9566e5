// A proposed plan as people read it before they approve it: one screen with what they approve, and the rest on request.

import type { Context } from '../../../cli/context.ts'
import { cut, width, wrap } from '../../../cli/terminal/table.ts'
import { shownCommands } from '../../../cli/text/shown-commands.ts'
import { capsOf } from '../../../domain/budget/amounts.ts'
import { amountsText } from '../../../domain/budget/budget-text.ts'
import { numberOf } from '../../../domain/phrases.ts'
import type { Criterion, PlanDefinition } from '../../../domain/plan.ts'
import { isTask } from '../../../domain/plan-rules/authors.ts'
import { criterionText } from '../../../domain/plan-rules/criterion-text.ts'
import { commandLines } from '../../../domain/views/pages/foreign-text.ts'
import { irreversibleTasks, questionsIn, taskFacts, type Worker } from '../../../domain/views/pages/task-facts.ts'
import { tree } from '../../../format/plan/tree.ts'
import { analyzed } from '../../../operations/analyze-plan.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { isByOthers } from '../goals/plan-goal.ts'
import type { TimeRange } from '../goals/time-range.ts'
import {
  type FoundCommand,
  type Looked,
  type LookedCommand,
  lookedLine,
  lookedText,
  type PlanProposal,
} from '../planner.ts'

const COLUMNS = 100
const ASSUMED_SHOWN = 6
const ROWS_LEFT = 3

type Shown = Omit<PlanProposal, 'definition'>

/**
 * The first screen: for each task what runs, what it may write and what proves it, in whole sentences and commands. Only where the
 * terminal is too low for them are they cut, to two lines below each task or to one.
 */
export function proposalScreen(
  { paint, terminal }: Pick<Context, 'paint' | 'terminal'>,
  proposal: Shown,
  definition: PlanDefinition,
  { worker = null, range = null }: { readonly worker?: Worker; readonly range?: TimeRange | null } = {},
): readonly string[] {
  const columns = columnsOf(terminal)
  const { assumptions, questions, irreversible, unfollowed, estimate, planner } = proposal
  const row = (label: string, items: readonly string[]): readonly string[] =>
    items.flatMap((item, at) =>
      wrap(item, columns - LABEL).map((line, of) =>
        at + of === 0 ? `${paint.bold(label.padEnd(LABEL))}${line}` : `${' '.repeat(LABEL)}${line}`,
      ),
    )
  const assumed = assumptions.map(explained(proposal))
  const left = assumed.length - ASSUMED_SHOWN
  const { budget } = definition.policy ?? {}
  const capsText =
    budget === undefined
      ? null
      : `at most ${amountsText(capsOf(budget))}; then ${budget.exceeded === 'fail' ? 'it fails' : 'you are asked'}`
  const time = range === null ? '' : `, ${rangeText(range)}`
  const restOf = (isWhole: boolean): readonly string[] => [
    '',
    ...row('Asked first', questionsIn(definition, questions).map(escaped)),
    ...row(
      'Not applied',
      unfollowed.map(({ comment, why }) =>
        escaped(`${comment.task === null ? '' : `${comment.task}: `}${comment.text} (${why})`),
      ),
    ),
    ...row('Cannot be undone', orNothing(irreversibleTasks(definition, irreversible).map(escaped))),
    ...row('Looked', lookedRow(proposal.analysis.looked, isWhole ? null : 2 * (columns - LABEL) - LABEL)),
    ...row('Assumed', [
      ...assumed.slice(0, ASSUMED_SHOWN).map(text => (isWhole ? text : cut(text, columns - LABEL))),
      ...(left > 0 ? [`… and ${left} more`] : []),
    ]),
    ...row('Budget', capsText === null ? [] : [capsText]),
    ...row('Drafting cost', estimate.cost === null ? [] : [escaped(estimate.cost)]),
    paint.dim(
      escaped(
        `${numberOf(definition.tasks.length, 'task')} by the planner '${planner}'${time}; nothing has happened yet`,
      ),
    ),
  ]
  const drawn = (linesMax: number): readonly string[] =>
    tree(definition, new Map(), {
      below: (task, indent) => {
        const facts = taskFacts(definition, task, worker, { isPlain: linesMax > 2 })
        return factLines(facts, columns - indent, linesMax)
      },
    }).flatMap((line, at) => {
      const text = at === 0 && linesMax > 2 ? headOf(definition) : line
      const shown = linesMax > 2 ? hung(escaped(text), columns) : [cut(escaped(text), columns)]
      return at === 0 || TASK_LINE.test(line) ? shown : shown.map(paint.dim)
    })
  const whole = [...drawn(Number.POSITIVE_INFINITY), ...restOf(true)]
  if (terminal === null) return whole
  const room = terminal.rows() - ROWS_LEFT
  const roomy = [...drawn(2), ...restOf(false)]
  return [whole, roomy].find(lines => lines.length <= room) ?? [...drawn(1), ...restOf(false)]
}

/** The name and the goal, whole if it is a line. */
function headOf({ name, title, goal = '' }: PlanDefinition): string {
  const [line = ''] = goal.split('\n')
  const isCut =
    title?.endsWith('…') === true && line.startsWith(title.slice(0, -1).trimEnd()) && line.length <= HEAD_MAX
  const text = isCut ? line : (title ?? line).slice(0, HEAD_MAX)
  return text === '' ? name : `${name} — ${text}`
}

const HEAD_MAX = 300

/** A line of the tree; what does not fit stands below it, beside the branches. */
function hung(line: string, columns: number): readonly string[] {
  const [first = '', ...others] = wrap(line, columns)
  const branches = /^[│├└─ ]*/.exec(line)![0].replaceAll('├', '│').replace(/[└─]/g, ' ')
  return others.length === 0
    ? [first]
    : [
        first,
        ...wrap(line.slice(first.length).trimStart(), columns - branches.length - 4).map(
          text => `${branches}    ${text}`,
        ),
      ]
}

export function moreLines(
  { paint, terminal }: Pick<Context, 'paint' | 'terminal'>,
  proposal: Shown,
  definition: PlanDefinition,
): readonly string[] {
  const columns = columnsOf(terminal)
  const { analysis, assumptions, risks } = proposal
  const tell = explained(proposal)
  const section = (title: string, items: readonly string[]): readonly string[] =>
    items.length === 0 ? [] : ['', paint.bold(title), ...items.flatMap(item => indented(item, columns))]
  return [
    ...section('Why', [tell(proposal.rationale)]),
    ...section(
      'Why each step',
      definition.tasks.flatMap(({ id, rationale }) => (rationale === undefined ? [] : [`${id}: ${tell(rationale)}`])),
    ),
    ...section(
      'Where',
      analysis.files.map(({ path, reason }) => `${path} (${reason})`),
    ),
    ...section(
      'Stages',
      analyzed(definition).waves.map((wave, at) => `${at + 1}. ${wave.join(', ')}`),
    ),
    ...section(
      'Commands found',
      (['test', 'lint', 'types', 'build'] as const).map(name => `${name}: ${commandText(analysis.commands[name])}`),
    ),
    ...section(
      'What each task may write',
      definition.tasks.flatMap(({ id, write = [] }) => (write.length === 0 ? [] : [`${id}: ${write.join(', ')}`])),
    ),
    ...commandSection({ paint, terminal }, proposal.planner, definition),
    ...section('Done when', (definition.done ?? []).map(doneText)),
    ...section(
      'Assumed',
      assumptions.map(tell).filter((text, at) => at >= ASSUMED_SHOWN || width(text) > columns - LABEL),
    ),
    ...section('Risks', risks),
    ...section('Limits', analysis.limits),
  ]
}

export function commandSection(
  { paint, terminal }: Pick<Context, 'paint' | 'terminal'>,
  planner: unknown,
  definition: PlanDefinition,
): readonly string[] {
  const columns = columnsOf(terminal)
  const lines = isByOthers(planner) ? shownCommands(definition, isTask).lines : commandLines(definition.tasks)
  if (lines.length === 0) return []
  return ['', paint.bold('What each task runs, as it is written'), ...lines.flatMap(line => indented(line, columns))]
}

const LABEL = 18
const TASK_LINE = /^[│ ]*[├└]─ /

const columnsOf = (terminal: Context['terminal']): number => Math.max(40, terminal?.columns() ?? COLUMNS) - 1
/** Cut where that many columns are full, if any: what fails comes first. */
function lookedRow(looked: Looked | undefined, columns: number | null): readonly string[] {
  if (looked === undefined) return []
  const { commands, ms, none } = looked
  if (none !== undefined) return [escaped(`nothing was run: ${none}`)]
  const known = (['fails', 'passes'] as const).flatMap(status =>
    commands.filter(one => one.status === status).map(lookedText),
  )
  const sorted = [...known, ...unknownTexts(commands)]
  const time = ` · ${Math.max(1, Math.round(ms / 1000))} s`
  const text = escaped(sorted.join(' · '))
  return [`${columns === null ? text : cut(text, columns - time.length)}${time}`]
}

/** Commands with the same reason together: one missing program may keep all of them from running. */
function unknownTexts(commands: readonly LookedCommand[]): readonly string[] {
  const unknown = commands.filter(({ status }) => status === 'unknown')
  const reasons = [...new Set(unknown.map(({ why }) => why))]
  return reasons.map(why => {
    const [first, ...others] = unknown.filter(one => one.why === why)
    return [...others.map(lookedLine), lookedText(first!)].join(', ')
  })
}

const orNothing = (items: readonly string[]): readonly string[] =>
  items.length === 0 ? ['nothing in this plan'] : items
const escaped = (text: string): string => escapeForTerminal(text)

/** On one line where they fit; else what runs has lines of its own; with two lines or one the longer facts are cut. */
function factLines(facts: readonly string[], columns: number, linesMax: number): readonly string[] {
  const [first, ...others] = facts.map(escaped)
  if (first === undefined) return []
  const all = [first, ...others]
  const isWide = width(all.join(BETWEEN)) > columns
  if (isWide && linesMax > 2) return [first, others.join(BETWEEN)].filter(text => text !== '').flatMap(inLines(columns))
  return isWide && linesMax > 1 && others.length > 0
    ? [cut(first, columns), together(others, columns)]
    : [together(all, columns)]
}

const inLines =
  (columns: number) =>
  (text: string): readonly string[] =>
    width(text) <= columns ? [text] : wrap(text, columns - 2).map((line, at) => (at === 0 ? line : `  ${line}`))

const BETWEEN = ' · '

function together(texts: readonly string[], columns: number): string {
  let left = columns - BETWEEN.length * (texts.length - 1)
  let count = texts.length
  const shares = new Map<string, number>()
  for (const text of [...texts].sort((a, b) => width(a) - width(b))) {
    const share = Math.min(width(text), Math.floor(left / count))
    shares.set(text, share)
    left -= share
    count--
  }
  return texts.map(text => cut(text, shares.get(text)!)).join(BETWEEN)
}

const explained =
  ({ analysis: { files, tests } }: Shown) =>
  (text: string): string =>
    escaped(
      [...files, ...tests].reduce(
        (rest, { reason }) => rest.replaceAll(` (${reason})`, '').replaceAll(`: ${reason}`, ''),
        text,
      ),
    )

const UNITS = [
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const

export function rangeText({ fromMs, toMs, runs }: TimeRange): string {
  const [unit, ms] = UNITS.find(([, length]) => toMs >= 2 * length) ?? UNITS[2]
  const [from, to] = [Math.max(1, Math.round(fromMs / ms)), Math.max(1, Math.ceil(toMs / ms))]
  return `about ${from >= to ? '' : `${from}–`}${to} ${unit} (from ${numberOf(runs, 'earlier run')})`
}

const doneText = (criterion: Criterion): string =>
  criterion.type !== 'prose' && criterion.text !== undefined
    ? `${criterion.text} (${criterionText(criterion)})`
    : criterionText(criterion)

const commandText = (found: FoundCommand | null): string =>
  found === null
    ? 'none found'
    : `${found.run.join(' ')} (${found.from}${found.exists ? '' : `; ${found.missing ?? 'missing'}`})`

const indented = (text: string, columns: number): readonly string[] =>
  wrap(escapeForTerminal(text), columns - 4).map((line, at) => `${at === 0 ? '  ' : '    '}${line}`)
