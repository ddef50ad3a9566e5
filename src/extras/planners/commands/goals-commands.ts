// The options and help of the commands that begin with a goal. The code of a command is loaded when it is called.

import type { Command } from 'commander'
import { count } from '../../../cli/commands/option-values.ts'
import type { Act } from '../../../cli/context.ts'

export function addCommands(program: Command, act: Act): void {
  program
    .command('do')
    .description('draft a plan for a goal, let your coding agent do it, and review the change')
    .argument('[goal...]', 'what you want, in your own words (default: continue the last open goal)')
    .option('--with <agent>', 'the agent (default: the one last used here, or the only one installed)')
    .option('--model <name>', 'the model that the agent asks, PROVIDER/NAME')
    .option('--budget <amount>', "limit for all of it: '2 USD', '40 calls', '600k tokens'")
    .option('--no-look', 'draft without running the tests, lint, type check and build first')
    .option('-y, --yes', 'approve the draft; the change is still reviewed')
    .addHelpText(
      'after',
      `
Examples:
  planfold do "the date parser breaks on 29 February"
  planfold do 'add an option \`--json\` to tally.py' --with opencode --budget '2 USD'
  planfold do                                    continue after a crash, Ctrl-C or a break

The agent works in the sandbox. Then you see the whole change: approve it (it is committed on the branch plan/NAME; your
branch and your uncommitted files stay as they are), send it back with a comment, or undo all of it.`,
    )
    .action(act(async () => (await import('./do.ts')).doGoal))

  program
    .command('plan')
    .description('propose a plan for a goal, and ask whether to run it')
    .argument('[goal...]', 'what you want, in your own words; you can include a stack trace or an error message')
    .option('-y, --yes', 'approve it at once; approval steps of the plan still ask')
    .option('-n, --dry-run', 'only show it; do not save a draft')
    .option('--no-look', 'draft without running the tests, lint, type check and build first')
    .option('--planner <name>', 'who drafts it: heuristic (the default, needs no model), model, template or agent')
    .option('--model <name>', 'draft with this model, PROVIDER/NAME (default: the default model in your settings)')
    .option('--budget <amount>', "limit for drafting with a model: '3 USD', '40 calls', '600k tokens'")
    .option('--drafts <n>', 'let the model draft it up to 3 times, and keep the draft with the fewest faults', count)
    .option('--with <agent>', 'let your own coding agent draft it; it can only read')
    .option('--worker <agent>', 'let this coding agent work the tasks of the draft, once it is approved')
    .option('--template <name>', 'draft from this template, filled from the goal')
    .option('--split', 'make a sub-goal of each request in the goal, with a draft for each')
    .option(
      '--goal <id>',
      'draft for an existing goal: one draft for each of its sub-goals, or one for the goal itself',
    )
    .option('--replan <plan>', 'draft what is left of this started plan again, as a proposal')
    .option('-m, --message <text>', 'with --replan: what should be different')
    .option('--replay <plan>', 'repeat the drafting of this plan from its recording, offline, and compare')
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
  planfold plan --replan make-transfers-resume -m 'without a new dependency'
  planfold plan --replay make-transfers-resume

The draft is saved. Nothing of it runs before you approve it here, or with \`planfold run NAME\`.

With --replan, tasks that are completed, skipped, running or waiting stay as they are; the rest is drafted from the goal, what
was done, what failed and what you say. Nothing changes before \`planfold approve\` accepts the proposal; a failed plan continues then.`,
    )
    .action(act(async () => (await import('./plan.ts')).plan))
}
