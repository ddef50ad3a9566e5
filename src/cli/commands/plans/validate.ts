// `planfold validate FILE...`: every fault at its place; for a good plan, what each task may do after a crash, and how each
// criterion is judged. Writes nothing.

import { uncountedLimits } from '../../../domain/analysis/rule-scope.ts'
import { numberOf } from '../../../domain/phrases.ts'
import type { Criterion, PlanDefinition, TaskDefinition, Writer } from '../../../domain/plan.ts'
import { type CriterionKind, criterionKind, criterionText } from '../../../domain/plan-rules/criterion-text.ts'
import { effectOf } from '../../../domain/plan-rules/effect.ts'
import { expandTasks } from '../../../domain/plan-rules/expand.ts'
import { plannedRunOf } from '../../../domain/policy/run-mode.ts'
import { oneLine } from '../../../format/plan/scene.ts'
import { DIAGNOSTICS_MAX } from '../../../format/text/diagnostic.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, CliError, type Context, EXIT, type FileDiagnostic, print, printNote } from '../../command.ts'
import { type PlanFile, readPlanFile, withSurroundings } from '../../plan-file.ts'
import type { Paint } from '../../terminal/paint.ts'
import { type Cell, table } from '../../terminal/table.ts'
import { printDiagnostics } from '../../text/diagnostics.ts'
import { asYouLine, noSandboxLine, writerOfFile } from '../../text/run-mode-text.ts'

// Every criterion of a plan, and which of the three ways it is judged: by an expression, by a command, or by a critic or a
// person. A criterion that could not be judged is never taken for true.

interface ShownCriterion {
  /** Null for the plan's own definition of done. */
  readonly task: string | null
  readonly key: 'done' | 'accept' | 'preconditions' | 'postconditions' | 'gate' | 'failure_modes'
  readonly judgedBy: CriterionKind
  readonly text: string
  /** The author's own words, when the criterion was derived from them. */
  readonly words: string | null
}

const SHOWN_MAX = 60
const TEXT_MAX = 160

function criteriaOf(definition: PlanDefinition): readonly ShownCriterion[] {
  return [...(definition.done ?? []).map(one => shown(null, 'done', one)), ...expandTasks(definition).flatMap(ofTask)]
}

function ofTask(task: TaskDefinition): readonly ShownCriterion[] {
  return [
    ...(task.preconditions ?? []).map(one => shown(task.id, 'preconditions', one)),
    ...(task.action.type === 'gate' ? (task.action.checks ?? []) : []).map(one => shown(task.id, 'gate', one)),
    ...(task.accept ?? []).map(one => shown(task.id, 'accept', one)),
    ...(task.postconditions ?? []).map(one => shown(task.id, 'postconditions', one)),
    ...(task.failureModes ?? []).map(({ detect }) => shown(task.id, 'failure_modes', detect)),
  ]
}

function shown(task: string | null, key: ShownCriterion['key'], criterion: Criterion): ShownCriterion {
  const about = { task, key, judgedBy: criterionKind(criterion) }
  switch (criterion.type) {
    case 'prose':
      return { ...about, text: criterion.text, words: null }
    case 'expect':
      return { ...about, text: criterion.expression, words: criterion.text ?? null }
    case 'check':
    case 'tests':
      return { ...about, text: criterionText(criterion), words: criterion.text ?? null }
    default:
      return criterion satisfies never
  }
}

const WORDS: Readonly<Record<CriterionKind, string>> = {
  expression: 'expression',
  command: 'command',
  verdict: 'a person',
}

function criterionRows(criteria: readonly ShownCriterion[], paint: Paint): readonly (readonly Cell[])[] {
  const rows = criteria
    .slice(0, SHOWN_MAX)
    .map(({ task, key, judgedBy, text, words }) => [
      task ?? 'the plan',
      key,
      { text: WORDS[judgedBy], tint: judgedBy === 'verdict' ? paint.yellow : paint.green },
      oneLine(words === null ? text : `${text} (${words})`, TEXT_MAX),
    ])
  const left = criteria.length - rows.length
  return left > 0 ? [...rows, [`… ${left} more`, '', '', '']] : rows
}

export async function validate(context: Context, files: readonly string[]): Promise<number> {
  const wrong: FileDiagnostic[] = []
  const good: PlanFile[] = []
  let cut = false
  for (const file of files) {
    try {
      const read = await withSurroundings(context, await readPlanFile(context, file))
      await askRepository(context, read)
      good.push(read)
    } catch (error) {
      if (!(error instanceof CliError) || error.diagnostics.length === 0) throw error
      // The policy applies to every plan, so the error is reported once.
      if (error.code === 'invalid-policy') throw error
      wrong.push(...error.diagnostics)
      if (error.diagnostics.length >= DIAGNOSTICS_MAX) cut = true
    }
  }
  if (wrong.length > 0) {
    const atLeast = cut ? 'at least ' : ''
    const faults = `${atLeast}${wrong.length} ${wrong.length === 1 ? 'error' : 'errors'}`
    throw new CliError(
      EXIT.usage,
      'invalid-plan',
      files.length === 1 ? `${files[0]} has ${faults}` : `${faults} in ${files.length} files`,
      wrong[0]?.hint,
      wrong,
    )
  }
  const data = good.map(file => {
    const { path, definition, warnings, told } = file
    return {
      file: path,
      ok: true,
      name: definition.name,
      dialect: told.dialect,
      sketch: told.sketch,
      tasks: tasksOf(file, writerOfFile(file, context)),
      criteria: criteriaOf(definition),
      warnings: warnings.map(({ source: _, ...warning }) => warning),
    }
  })
  answer(context, { files: data }, () => [])
  if (!context.settings.json && !context.settings.quiet) {
    for (const each of good) print(context, described(context, each))
    const { whyNoSandbox } = await import('../../../operations/upkeep/doctor.ts')
    const { cwd: root, environment } = context
    const check = async () => ({ ok: (await whyNoSandbox({ root, environment })) === null })
    const unheld = await noSandboxLine(
      data.flatMap(({ tasks }) => tasks),
      check,
    )
    if (unheld !== null) printNote(context, unheld)
  }
  return EXIT.done
}

async function askRepository(context: Context, file: PlanFile): Promise<void> {
  const { usesGit } = await import('../../../operations/check-plan.ts')
  if (!usesGit(file.definition)) return
  const { withScratchState } = await import('./run.ts')
  const { refuseRepository } = await import('./run.ts')
  await withScratchState(context, composed => refuseRepository(composed, file))
}

function tasksOf({ definition }: Pick<PlanFile, 'definition'>, writer: Writer | undefined) {
  return expandTasks(definition).map(task => ({
    name: task.id,
    action: task.action.type,
    effect: effectOf(definition, task),
    runs: plannedRunOf(definition, task, writer),
    needs: task.needs ?? [],
  }))
}

const TASKS_SHOWN_MAX = 100

function described(context: Context, file: PlanFile): readonly string[] {
  const { path, definition, warnings, told } = file
  const writer = writerOfFile(file, context)
  const { paint, terminal } = context
  const columns = terminal?.columns() ?? null
  const tasks = tasksOf(file, writer)
  const rows = tasks
    .slice(0, TASKS_SHOWN_MAX)
    .map(task => [
      task.name,
      task.action,
      { text: task.effect, tint: task.effect === 'unsafe' ? paint.yellow : paint.green },
      task.runs ?? '',
      task.needs.join(', '),
    ])
  const unsafe = tasks.filter(task => task.effect === 'unsafe').length
  const readAs = told.dialect === null ? '' : paint.dim(` (read as ${told.dialect})`)
  const criteria = criteriaOf(definition)
  const asYou = asYouLine(tasks)
  const uncounted = uncountedLimits(definition)
  return [
    ...printDiagnostics(paint, warnings),
    `${paint.green('✔')} ${escapeForTerminal(path)}: plan '${definition.name}' with ${numberOf(tasks.length, 'task')}${definition.done?.length ? ' and a definition of done' : ''}${readAs}`,
    ...table(paint, ['task', 'action', 'effect', 'runs', 'needs'], rows, columns).map(line => `  ${line}`),
    ...(tasks.length > TASKS_SHOWN_MAX ? [paint.dim(`  … and ${tasks.length - TASKS_SHOWN_MAX} more`)] : []),
    ...(criteria.length === 0
      ? []
      : [
          '',
          ...table(paint, ['task', 'key', 'checked by', 'check'], criterionRows(criteria, paint), columns).map(
            line => `  ${line}`,
          ),
        ]),
    ...(unsafe === 0
      ? []
      : [
          '',
          `${unsafe === 1 ? 'One task is' : `${unsafe} tasks are`} ${paint.yellow('unsafe')}: if ${unsafe === 1 ? 'it is' : 'they are'} interrupted, Planfold does not run ${unsafe === 1 ? 'it' : 'them'} again, but asks you.`,
          paint.dim(
            'To make a task safe to repeat: `write:` and `network: []` (commands), `key:` (http, db), or `effect:` (what it may change).',
          ),
        ]),
    ...(asYou === null ? [] : ['', paint.dim(asYou)]),
    ...(tasks.some(({ action, effect }) => action === 'external' && effect === 'model')
      ? [
          '',
          paint.dim(
            'The effect `model` of an external task means: if it is interrupted, somebody else can be asked to do it.',
          ),
        ]
      : []),
    ...(uncounted.length === 0
      ? []
      : [
          '',
          paint.dim(
            `The limit of ${uncounted.join(' and ')} cannot be counted: prices are known in USD. Before a task spends money, Planfold asks you whether to start it all the same.`,
          ),
        ]),
    ...(told.sketch.length === 0
      ? []
      : [
          '',
          `${paint.yellow('This is a sketch')}: it can be looked at (validate, analyze, graph), but not run.`,
          ...told.sketch.slice(0, SKETCH_SHOWN_MAX).map(why => paint.dim(`  ${escapeForTerminal(why)}`)),
        ]),
  ]
}

const SKETCH_SHOWN_MAX = 5
