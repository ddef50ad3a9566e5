// The words for looking: nothing here changes anything.

import { type Command, Option } from 'commander'
import type { AnalyzeCommandOptions } from '../commands/analyze.ts'
import type { GraphOptions } from '../commands/graph.ts'
import type { ListOptions } from '../commands/list.ts'
import type { LogOptions } from '../commands/log.ts'
import type { ShowOptions } from '../commands/show.ts'
import type { StatusOptions } from '../commands/status.ts'
import type { Act } from '../program.ts'
import { since } from '../since.ts'
import { count, duration, position } from './values.ts'

const GROUP = 'Look:'
const PLAN = 'its name or UUID; may be left out when only one plan is open'

export function addLooking(program: Command, act: Act): void {
  program
    .command('status')
    .helpGroup(GROUP)
    .description('where a plan stands and what waits for whom')
    .argument('[plan]', PLAN)
    .option('--session <id>', 'the active plan of this session')
    .action((word: string | undefined, options: StatusOptions) =>
      act(async context => (await import('../commands/status.ts')).status(context, word, options)),
    )

  program
    .command('show')
    .helpGroup(GROUP)
    .description('a plan with its tasks, or everything about one task')
    .argument('[plan]', PLAN)
    .argument('[task]', 'its name')
    .option('--all', 'leave nothing out of what it asks somebody to agree to')
    .action((plan: string | undefined, task: string | undefined, options: ShowOptions) =>
      act(async context => (await import('../commands/show.ts')).show(context, plan, task, options)),
    )

  program
    .command('list')
    .helpGroup(GROUP)
    .description('all plans that are not archived')
    .option('--status <status>', 'only those in this status')
    .option('--session <id>', 'only those of this session')
    .option('--text <text>', 'only those whose name, title or goal holds it')
    .option('--archived', 'only archived ones')
    .option('--all', 'archived ones as well')
    .option('--limit <n>', 'how many at most', count)
    .option('--cursor <cursor>', 'go on where the last page ended')
    .action((options: ListOptions) =>
      act(async context => (await import('../commands/list.ts')).list(context, options)),
    )

  program
    .command('log')
    .helpGroup(GROUP)
    .description('what happened, or what tasks printed')
    .argument('[plan]', PLAN)
    .argument('[task]', 'only this task')
    .option('-o, --output', 'what was printed, instead of what happened')
    .option('-f, --follow', 'stay, and tell what happens')
    .option('--after <n>', 'only what came after this entry (or piece of output)', position)
    .addOption(new Option('--since <when>', 'only what came later: a while ago, or a time').argParser(since))
    .option('--grep <text>', 'only lines that hold this text, in any case')
    .option('--failed', 'only what failed, was lost, or stopped something')
    .addHelpText(
      'after',
      `
Examples:
  planfold log release --since 2h --failed
  planfold log release build --output --grep error`,
    )
    .action((plan: string | undefined, task: string | undefined, options: LogOptions) =>
      act(async context => (await import('../commands/log.ts')).log(context, plan, task, options)),
    )

  program
    .command('next')
    .helpGroup(GROUP)
    .description('what can be worked on now, and why the rest cannot')
    .argument('[plan]', 'its name or UUID; all open plans when left out')
    .argument('[task]', 'only this task')
    .option('-e, --explain', 'say of every task why it is ready or not')
    .action((plan: string | undefined, task: string | undefined, options: { explain?: boolean }) =>
      act(async context => (await import('../commands/next.ts')).next(context, plan, task, options)),
    )

  program
    .command('analyze')
    .helpGroup(GROUP)
    .description('waves, critical path and estimates, and what is wrong or risky')
    .argument('[plan-or-file]', 'a plan, or a plan document')
    .option('--strict', 'warnings count like errors (exit 2)')
    .option('--assume <duration>', 'how long a task takes that does not say (1m)', duration)
    .option('--max-tasks <n>', 'how many tasks may stand side by side (7)', count)
    .action((word: string | undefined, options: AnalyzeCommandOptions) =>
      act(async context => (await import('../commands/analyze.ts')).analyze(context, word, options)),
    )

  program
    .command('graph')
    .helpGroup(GROUP)
    .description('who needs whom')
    .argument('[plan-or-file]', 'a plan, or a plan document')
    .option('--text', 'as text, in the order of work (the default)')
    .option('--tree', 'as a tree: milestones, tasks, children of groups')
    .option('--markdown', 'as a document to read')
    .option('--mermaid', 'as a Mermaid flowchart')
    .option('--dot', 'for Graphviz')
    .action((word: string | undefined, options: GraphOptions) =>
      act(async context => (await import('../commands/graph.ts')).graph(context, word, options)),
    )
}
