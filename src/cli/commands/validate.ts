// `planfold validate FILE...`: every fault at its place; for a good plan, what each task may do after a crash. Writes nothing.

import { effectOf } from '../../domain/effect.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { answer, print } from '../answer.ts'
import type { Context } from '../context.ts'
import { printDiagnostics } from '../diagnostics.ts'
import { Complaint, EXIT, type FileDiagnostic } from '../exit.ts'
import { readPlanFile } from '../plan-file.ts'
import { table } from '../table.ts'

export async function validate(context: Context, files: readonly string[]): Promise<number> {
  const wrong: FileDiagnostic[] = []
  const good: { file: string; definition: PlanDefinition; warnings: readonly FileDiagnostic[] }[] = []
  for (const file of files) {
    try {
      const { definition, warnings } = await readPlanFile(context, file)
      good.push({ file, definition, warnings })
    } catch (error) {
      if (!(error instanceof Complaint) || error.diagnostics.length === 0) throw error
      wrong.push(...error.diagnostics)
    }
  }
  if (wrong.length > 0) {
    const faults = `${wrong.length} ${wrong.length === 1 ? 'error' : 'errors'}`
    throw new Complaint(
      EXIT.usage,
      'invalid-plan',
      files.length === 1 ? `${files[0]} has ${faults}` : `${faults} in ${files.length} files`,
      wrong[0]?.hint,
      wrong,
    )
  }
  const data = good.map(({ file, definition, warnings }) => ({
    file,
    ok: true,
    name: definition.name,
    tasks: tasksOf(definition),
    warnings: warnings.map(({ source: _, ...warning }) => warning),
  }))
  answer(context, { files: data }, () => [])
  if (!context.settings.json && !context.settings.quiet)
    for (const each of good) print(context, described(context, each))
  return EXIT.done
}

function tasksOf(definition: PlanDefinition) {
  return definition.tasks.map(task => ({
    name: task.id,
    action: task.action.type,
    effect: effectOf(definition, task),
    needs: task.needs ?? [],
  }))
}

const TASKS_SHOWN_MAX = 100

function described(
  context: Context,
  plan: { file: string; definition: PlanDefinition; warnings: readonly FileDiagnostic[] },
): readonly string[] {
  const { paint, terminal } = context
  const tasks = tasksOf(plan.definition)
  const rows = tasks
    .slice(0, TASKS_SHOWN_MAX)
    .map(task => [
      task.name,
      task.action,
      { text: task.effect, tint: task.effect === 'unsafe' ? paint.yellow : paint.green },
      task.needs.join(', '),
    ])
  const unsafe = tasks.filter(task => task.effect === 'unsafe').length
  return [
    ...printDiagnostics(paint, plan.warnings),
    `${paint.green('✔')} ${plan.file}: plan '${plan.definition.name}' with ${tasks.length} ${tasks.length === 1 ? 'task' : 'tasks'}`,
    ...table(paint, ['task', 'action', 'effect', 'needs'], rows, terminal?.columns() ?? null).map(line => `  ${line}`),
    ...(tasks.length > TASKS_SHOWN_MAX ? [paint.dim(`  … and ${tasks.length - TASKS_SHOWN_MAX} more`)] : []),
    ...(unsafe === 0
      ? []
      : [
          '',
          `${unsafe === 1 ? 'One task is' : `${unsafe} tasks are`} ${paint.yellow('unsafe')}: if a crash hits one in the middle it is not run again by itself, but parked until a person decides.`,
          paint.dim('A `write:` scope with `network: []`, or a declared `effect:`, lets it be run again.'),
        ]),
  ]
}
