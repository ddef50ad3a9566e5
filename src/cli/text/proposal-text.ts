// A proposed plan as people read it before they approve it: the tree, the stages, why each step is there, what it costs, what cannot
// be taken back, what was assumed and what is asked.

import type { TaskName } from '../../domain/id.ts'
import { numberOf, spoken } from '../../domain/phrases.ts'
import type { CommandLine, Criterion, PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { criterionText } from '../../domain/plan-rules/criterion-text.ts'
import { commandsOf } from '../../domain/policy/policy-in-state.ts'
import { allTasks } from '../../domain/state/task-index.ts'
import { tree } from '../../format/pictures/tree.ts'
import { analyzed } from '../../operations/analyze-plan.ts'
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
      (['test', 'lint', 'build'] as const).map(name => `${name}: ${commandText(analysis.commands[name])}`),
    ),
    ...section('What each task runs', shownCommands(definition, proposal.planner).lines),
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

const COMMAND_MAX = 500
const COMMANDS_MAX = 60

/** Of a draft that a model or an agent wrote: its commands, and the tasks of which every command is shown. Others stay in the sandbox. */
export function shownCommands(
  definition: PlanDefinition,
  planner: string,
): { readonly lines: readonly string[]; readonly tasks: readonly TaskName[] } {
  if (planner !== 'model' && planner !== 'agent') return { lines: [], tasks: [] }
  const top = (id: TaskName): TaskName => id.split('/', 1)[0] as TaskName
  const lines: string[] = []
  const hidden = new Set<TaskName>()
  for (const task of allTasks(definition)) {
    const said = Object.entries(task.env ?? {}).map(([name, value]) => `${name}=${value}`)
    const texts = [...commandsOf(task), ...preconditionsOf(task)].map(command => [...said, lineOf(command)].join(' '))
    for (const text of texts) {
      if (text.length <= COMMAND_MAX && lines.length < COMMANDS_MAX) lines.push(`${task.id}: $ ${text}`)
      else {
        if (lines.length < COMMANDS_MAX)
          lines.push(`${task.id}: ${text.length} characters, too long to show here; it runs in the sandbox`)
        hidden.add(top(task.id))
      }
    }
  }
  const tasks = new Set(allTasks(definition).map(({ id }) => top(id)))
  return { lines, tasks: [...tasks].filter(id => !hidden.has(id)) }
}

const preconditionsOf = ({ preconditions = [] }: TaskDefinition) =>
  preconditions.flatMap(one => (one.type === 'check' ? [one.command] : []))

const lineOf = (command: CommandLine): string => ('argv' in command ? command.argv.join(' ') : command.script)

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
