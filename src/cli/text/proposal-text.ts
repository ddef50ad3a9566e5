// A proposed plan as people read it before they approve it: the tree, the stages, why each step is there, what it costs, what cannot
// be taken back, what was assumed and what is asked.

import type { TaskName } from '../../domain/id.ts'
import { numberOf, spoken } from '../../domain/phrases.ts'
import type { Criterion, PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { isTask, NOTIFY, POLICY } from '../../domain/plan-rules/authors.ts'
import { criterionText } from '../../domain/plan-rules/criterion-text.ts'
import { DONE_TASK } from '../../domain/plan-rules/graph-rules.ts'
import { commandsOf } from '../../domain/policy/policy-in-state.ts'
import { allTasks } from '../../domain/state/task-index.ts'
import { commandLines, spelled } from '../../domain/views/pages/spelled-text.ts'
import { tree } from '../../format/pictures/tree.ts'
import { printYaml } from '../../format/plan/print.ts'
import { analyzed } from '../../operations/analyze-plan.ts'
import { isByOthers } from '../../operations/goals/plan-goal.ts'
import type { FoundCommand, PlanProposal } from '../../planners/planner.ts'
import { escapeForTerminal } from '../../safety/text/terminal.ts'
import type { Context } from '../context.ts'
import { cut, wrap } from '../terminal/table.ts'

const FILES_SHOWN = 5
const COLUMNS = 100

export function proposalLines(
  { paint, terminal }: Pick<Context, 'paint' | 'terminal'>,
  proposal: Omit<PlanProposal, 'definition'>,
  definition: PlanDefinition,
): readonly string[] {
  const columns = Math.max(40, terminal?.columns() ?? COLUMNS) - 1
  const { analysis, assumptions, questions, risks, irreversible, unfollowed } = proposal
  const { waves, estimate } = analyzed(definition)
  const section = (title: string, items: readonly string[]): readonly string[] =>
    items.length === 0 ? [] : ['', paint.bold(title), ...items.flatMap(item => indented(item, columns))]
  return [
    ...tree(definition, new Map()).map(line => cut(escapeForTerminal(line), columns)),
    ...section('Why', [proposal.rationale]),
    ...section(
      'Stages',
      waves.map((wave, at) => `${at + 1}. ${wave.join(', ')}`),
    ),
    ...section(
      'Why each step',
      definition.tasks.flatMap(({ id, rationale }) => (rationale === undefined ? [] : [`${id}: ${rationale}`])),
    ),
    ...section(
      'Where',
      analysis.files.slice(0, FILES_SHOWN).map(({ path, reason }) => `${path} (${reason})`),
    ),
    ...section(
      'Commands',
      (['test', 'lint', 'types', 'build'] as const).map(name => `${name}: ${commandText(analysis.commands[name])}`),
    ),
    ...section(
      'What each task runs, as it is written',
      isByOthers(proposal.planner) ? shownCommands(definition, isTask).lines : commandLines(definition.tasks),
    ),
    ...section('Estimate', [
      `${spoken(estimate.elapsedMs)} in parallel, ${spoken(estimate.totalMs)} sequentially (rough estimate); cost: ${proposal.estimate.cost}`,
    ]),
    ...section(
      'Irreversible',
      irreversible.length === 0
        ? ['nothing in this plan']
        : irreversible.map(({ task, why }) => `${task}: ${why}; a person approves it first`),
    ),
    ...section('Done when', (definition.done ?? []).map(doneText)),
    ...section('Assumed', assumptions),
    ...section('Risks', risks),
    ...section('Asked before work begins', questions),
    ...section(
      'Comments that were not applied',
      unfollowed.map(
        ({ comment, why }) => `${comment.task === null ? '' : `${comment.task}: `}${comment.text} (${why})`,
      ),
    ),
    ...section('Limits', analysis.limits),
    '',
    paint.dim(
      `${numberOf(definition.tasks.length, 'task')} by the planner '${proposal.planner}'; nothing has happened yet`,
    ),
  ]
}

const LINE_MAX = 500
const LINES_MAX = 200

/** What others wrote and would run, as it is written, and what of it is shown whole; the rest stays in the sandbox. */
export function shownCommands(
  definition: PlanDefinition,
  of: (name: TaskName) => boolean = () => true,
): { readonly lines: readonly string[]; readonly tasks: readonly TaskName[] } {
  const lines: string[] = []
  const shown: TaskName[] = []
  const show = (name: TaskName, part: Partial<PlanDefinition>): void => {
    const [, , ...text] = spelled(printYaml({ name: definition.name, tasks: [], ...part }).trimEnd()).split('\n')
    const said = text.filter(line => line !== '' && line !== 'tasks: []' && line !== 'tasks:')
    const whole = said.map(line => line.length).reduce((sum, length) => sum + length, 0)
    const told = said.slice(0, Math.max(0, LINES_MAX - lines.length)).map(line => line.slice(0, LINE_MAX))
    const cut = whole - told.reduce((sum, line) => sum + line.length, 0)
    lines.push(...told)
    if (cut > 0 || told.length < said.length)
      lines.push(`${name}: ${cut} of ${whole} characters are not shown; it runs in the sandbox`)
    else shown.push(name)
  }
  const runs = (task: TaskDefinition): boolean =>
    allTasks({ ...definition, done: [], tasks: [{ ...task, needs: [] }] }).some(
      one => one.action.type === 'agent' || commandsOf(one).length > 0 || one.preconditions !== undefined,
    )
  for (const task of definition.tasks.filter(({ id }) => of(id))) {
    if (runs(task)) show(task.id, { tasks: [task] })
    else shown.push(task.id)
  }
  const { done, notify, policy } = definition
  for (const [name, part] of [
    [DONE_TASK, { done }],
    [NOTIFY, { notify }],
    [POLICY, { policy }],
  ] as const)
    if (of(name)) show(name, part)
  return { lines, tasks: shown }
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
