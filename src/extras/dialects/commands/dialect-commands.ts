// The options and help of `planfold import`.

import type { Command } from 'commander'
import type { Act } from '../../../cli/context.ts'

export function addCommands(program: Command, act: Act): void {
  program
    .command('import')
    .description('import a plan from another format, without starting it')
    .argument('[file-or-folder]', 'plan file, Backlog.md folder, or planner tables (see below); - reads standard input')
    .option('--from <format>', 'format of the file, see --formats (default: detected)')
    .option('--name <name>', 'name of the plan (default: the name in the file)')
    .option('--start', 'start the plan at once')
    .option('--formats', 'only list the formats that can be imported and exported')
    .addHelpText(
      'after',
      `
Finished tasks stay finished. Planner tables are those of a planner that keeps its plans in a database (task_plans,
task_executions, …), as JSON or SQLite; each row becomes one plan.`,
    )
    .action(act(async () => (await import('./import.ts')).importPlan))
}
