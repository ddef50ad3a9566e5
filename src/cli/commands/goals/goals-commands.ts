// The options and help of the commands that begin with a goal. The code of a command is loaded when it is called.

import { type Command, Option } from 'commander'
import { AGENT_NAMES } from '../../../domain/plan-rules/agent-request.ts'
import type { Act } from '../../context.ts'
import type { PlanOptions } from './plan.ts'

export function addGoals(program: Command, act: Act): void {
  program
    .command('plan')
    .description('propose a plan for a goal, and ask whether to run it')
    .argument('[goal...]', 'what you want, in your own words; a stack trace or an error message helps')
    .option('-y, --yes', 'approve it at once; gates of the plan still ask')
    .option('-n, --dry-run', 'only show it; keep no draft')
    .option('--planner <name>', 'who drafts it: heuristic (the default, needs no model), model, template or agent')
    .option('--model <name>', 'draft with this model, PROVIDER/NAME (default: the default of your settings)')
    .option('--budget <amount>', "how much a model may be used to draft: '3 USD', '40 calls', '600k tokens'")
    .addOption(
      new Option('--with <agent>', 'let your own coding agent draft it; it can only read').choices(AGENT_NAMES),
    )
    .option('--template <name>', 'draft from this template, filled from the goal')
    .option('--split', 'make a sub-goal of each wish in the goal, and a draft for each')
    .option('--goal <id>', 'draft for a goal that was set before: for each of its sub-goals, or for itself')
    .option('--replay <plan>', 'draft this plan again from the recording it keeps, ask nobody, and compare')
    .option('-w, --wait', 'after approval: keep running while the plan waits for people or agents')
    .addHelpText(
      'after',
      `
Examples:
  planfold plan "make transfers resume after a failure"
  planfold plan 'rename \`readRow\` to \`parseRow\`' --yes
  planfold plan "$(cat error.log)" --dry-run
  planfold plan "make transfers resume" --model local/llama3
  planfold plan "make transfers resume" --with claude
  planfold plan "Notes can be exported as Markdown" --template feature-with-tests
  planfold plan "Fix the crash in tally.py. Document the option --json." --split
  planfold plan --replay make-transfers-resume

The draft is kept. Nothing of it runs before you approve it here, or with \`planfold run NAME\`.`,
    )
    .action((goal: string[], options: PlanOptions) =>
      act(async context => (await import('./plan.ts')).plan(context, goal, options)),
    )

  program
    .command('goals')
    .description('list goals, or show one with its sub-goals, plans and progress')
    .argument('[goal]', 'id of the goal')
    .option('--all', 'also goals that are achieved or dropped')
    .action((goal: string | undefined, options: { readonly all?: boolean }) =>
      act(async context => (await import('./goals.ts')).goals(context, goal, options)),
    )
}
